//! The words of a line.

/// A word, and whether it stands in quotation marks: then it means itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) quoted: bool,
}

pub(super) fn word_of(text: &str) -> Word {
    let quoted = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    Word {
        text: quoted.unwrap_or(text).to_owned(),
        quoted: quoted.is_some(),
    }
}

/// What precedes a list or a value.
const KEYS: [&str; 9] = ["irv", "err=", "v=", "n=", "+", "-", "?", "~", "!"];

/// A line that is read from the left.
#[derive(Debug)]
pub(super) struct Line<'a> {
    rest: &'a str,
}

impl<'a> Line<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text.trim() }
    }

    pub(super) fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn end(&self) -> Result<(), String> {
        match self.is_over() {
            true => Ok(()),
            false => Err(format!("{:?} is too much", self.rest)),
        }
    }

    /// The first word of a line.
    pub(super) fn keyword(&mut self) -> Result<&'a str, String> {
        let end = self.rest.find(' ').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        match word {
            "" => Err("a word is missing".to_owned()),
            word => Ok(word),
        }
    }

    /// The next word. A quoted part may hold anything but a quotation mark.
    pub(super) fn word(&mut self) -> Result<Word, String> {
        let mut quoted = false;
        let end = self.rest.find(|c| {
            quoted ^= c == '"';
            !quoted && matches!(c, ' ' | ']' | '}' | '{')
        });
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.trim_start();
        Ok(word_of(word))
    }

    pub(super) fn text(&mut self) -> Result<String, String> {
        match self.is_over() {
            true => Err("a word is missing".to_owned()),
            false => Ok(self.word()?.text),
        }
    }

    /// What is before a mark, which is taken too.
    pub(super) fn until(&mut self, mark: char) -> Result<String, String> {
        let (before, rest) = self
            .rest
            .split_once(mark)
            .ok_or_else(|| format!("{mark:?} is missing"))?;
        self.rest = rest;
        Ok(before.to_owned())
    }

    /// All words that are left.
    pub(super) fn rest(&mut self) -> Result<Vec<String>, String> {
        let mut words = Vec::new();
        while !self.is_over() {
            words.push(self.text()?);
        }
        Ok(words)
    }

    pub(super) fn at_key(&self) -> bool {
        self.peek().is_some()
    }

    /// What says what follows: a list without a key has the empty one.
    pub(super) fn key(&mut self) -> Option<&'static str> {
        let key = self.peek()?;
        self.rest = &self.rest[key.len()..];
        Some(key)
    }

    fn peek(&self) -> Option<&'static str> {
        let opens = |key: &&str| match self.rest.strip_prefix(*key) {
            Some(_) if key.ends_with('=') => true,
            Some(rest) => rest.starts_with('['),
            None => false,
        };
        let none = self.rest.starts_with('[').then_some("");
        none.or_else(|| KEYS.into_iter().find(opens))
    }

    /// `[a b]`
    pub(super) fn words(&mut self) -> Result<Vec<Word>, String> {
        self.between('[', ']')
    }

    pub(super) fn list(&mut self) -> Result<Vec<String>, String> {
        Ok(self.words()?.into_iter().map(|word| word.text).collect())
    }

    /// `{a=b c}`, where there is one.
    pub(super) fn braces(&mut self) -> Result<Option<Vec<String>>, String> {
        if !self.rest.starts_with('{') {
            return Ok(None);
        }
        let words = self.between('{', '}')?;
        Ok(Some(words.into_iter().map(|word| word.text).collect()))
    }

    fn between(&mut self, open: char, close: char) -> Result<Vec<Word>, String> {
        let inside = self.rest.strip_prefix(open);
        self.rest = inside.ok_or_else(|| format!("{open:?} is missing"))?;
        let mut words = Vec::new();
        loop {
            self.rest = self.rest.trim_start();
            if let Some(rest) = self.rest.strip_prefix(close) {
                self.rest = rest.trim_start();
                return Ok(words);
            }
            if self.is_over() {
                return Err(format!("{close:?} is missing"));
            }
            words.push(self.word()?);
        }
    }
}
