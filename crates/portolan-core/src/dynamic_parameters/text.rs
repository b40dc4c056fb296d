//! Parameters and constraints as text, which is what a name has behind its stem: short, readable, and one text for each.

use std::fmt::{self, Write};

use super::constraints::Term;
use super::{Constraints, DynamicParameters};

/// Deepest nesting that is read. More cannot be published.
const MAX_DEPTH: usize = 64;

/// What stands for itself in no key and no value.
const MARKS: &str = "%&|!()=?,";

pub(super) fn write_parameters(parameters: &DynamicParameters, out: &mut dyn Write) -> fmt::Result {
    for (at, (key, value)) in parameters.iter().enumerate() {
        if at > 0 {
            out.write_char(',')?;
        }
        write_word(key, out)?;
        out.write_char('=')?;
        write_word(value, out)?;
    }
    Ok(())
}

pub(super) fn write_term(term: &Term, out: &mut dyn Write) -> fmt::Result {
    let (mark, terms) = match term {
        Term::Value(key, value) => {
            write_word(key, out)?;
            out.write_char('=')?;
            return write_word(value, out);
        }
        Term::Exists(key) => {
            write_word(key, out)?;
            return out.write_char('?');
        }
        Term::Not(term) => {
            out.write_char('!')?;
            return write_term(term, out);
        }
        Term::All(terms) => ('&', terms),
        Term::Any(terms) => ('|', terms),
    };
    out.write_char(mark)?;
    out.write_char('(')?;
    for (at, term) in terms.iter().enumerate() {
        if at > 0 {
            out.write_char(',')?;
        }
        write_term(term, out)?;
    }
    out.write_char(')')
}

fn write_word(word: &str, out: &mut dyn Write) -> fmt::Result {
    word.chars().try_for_each(|c| match c {
        c if c.is_ascii() && (c.is_ascii_control() || MARKS.contains(c)) => {
            write!(out, "%{:02X}", c as u32)
        }
        c => out.write_char(c),
    })
}

/// `None` of what nobody wrote here.
pub(crate) fn read_parameters(text: &str) -> Option<DynamicParameters> {
    let mut reader = Reader { rest: text };
    let mut parameters = Vec::new();
    loop {
        let key = reader.word()?;
        reader.take('=')?;
        parameters.push((key, reader.word()?));
        match reader.take(',') {
            Some(()) => {}
            None if reader.rest.is_empty() => return Some(parameters.into_iter().collect()),
            None => return None,
        }
    }
}

/// `None` of what nobody wrote here.
pub(crate) fn read_constraints(text: &str) -> Option<Constraints> {
    let mut reader = Reader { rest: text };
    let term = reader.term(MAX_DEPTH)?;
    reader.rest.is_empty().then(|| Constraints::of(term))
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn take(&mut self, mark: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(mark)?;
        Some(())
    }

    fn term(&mut self, depth: usize) -> Option<Term> {
        let depth = depth.checked_sub(1)?;
        if self.take('!').is_some() {
            return self.term(depth).map(|term| Term::Not(Box::new(term)));
        }
        if self.take('&').is_some() {
            return self.list(depth).map(Term::All);
        }
        if self.take('|').is_some() {
            return self.list(depth).map(Term::Any);
        }
        let key = self.word()?.into();
        match self.take('?') {
            Some(()) => Some(Term::Exists(key)),
            None => {
                self.take('=')?;
                Some(Term::Value(key, self.word()?.into()))
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Box<[Term]>> {
        self.take('(')?;
        let mut terms = Vec::new();
        if self.take(')').is_some() {
            return Some(Box::default());
        }
        loop {
            terms.push(self.term(depth)?);
            if self.take(')').is_some() {
                return Some(terms.into_boxed_slice());
            }
            self.take(',')?;
        }
    }

    /// A key or a value, as it is meant.
    fn word(&mut self) -> Option<String> {
        let is_mark = |c: char| c != '%' && MARKS.contains(c);
        let end = self.rest.find(is_mark).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if word.contains(|c: char| c.is_ascii_control()) {
            return None;
        }
        let mut parts = word.split('%');
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let code = part.get(..2)?;
            let byte = u8::from_str_radix(code, 16).ok()?;
            out.push(char::from(byte).is_ascii().then(|| char::from(byte))?);
            out.push_str(&part[2..]);
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    use super::*;

    fn word() -> impl Strategy<Value = String> {
        "[a-cé%&|!()=?,\0\n]{0,4}"
    }

    fn constraints() -> impl Strategy<Value = Constraints> {
        let leaf = prop_oneof![
            (word(), word()).prop_map(|(k, v)| Constraints::value(k, v)),
            word().prop_map(Constraints::exists),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Constraints::all_of),
                vec(inner.clone(), 0..4).prop_map(Constraints::any_of),
                inner.prop_map(|c| !c),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(constraints in constraints()) {
            let text = constraints.to_string();
            prop_assert!(!text.contains('\0'));
            prop_assert_eq!(read_constraints(&text), Some(constraints));
        }

        #[test]
        fn parameters_are_read_as_they_were_written(parameters in btree_map(word(), word(), 1..4)) {
            let parameters: DynamicParameters = parameters.into_iter().collect();
            let text = parameters.to_string();
            prop_assert!(!text.contains('\0'));
            prop_assert_eq!(read_parameters(&text), Some(parameters));
        }

        #[test]
        fn any_text_is_read_or_is_not(text in "[a&|!()=?,%é0-9]{0,16}") {
            let _ = (read_constraints(&text), read_parameters(&text));
        }
    }

    #[test]
    fn what_is_nested_without_end_is_not_read() {
        let deep = "!".repeat(1_000_000) + "a?";
        assert_eq!(read_constraints(&deep), None);
    }
}
