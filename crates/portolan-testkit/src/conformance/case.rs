use std::fmt;

use portolan_core::{DynamicParameters, TypeUrl};
use portolan_engine::{Transitions, TtlPolicy, Variant};

use super::step::{Edit, Step};
use super::text::Line;

/// A rule of the protocol as a conversation: what is published and said, and what must be said in return.
///
/// See the [module](super) for how one is written.
#[derive(Clone, Debug)]
pub struct Case {
    pub(super) rules: Vec<String>,
    pub(super) title: String,
    pub(super) options: Options,
    pub(super) scripts: Vec<Script>,
}

/// `with` and `only`.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    pub(super) legacy_wildcard: Option<bool>,
    pub(super) max_response: Option<usize>,
    /// Of the node, and of the server.
    pub(super) features: Vec<String>,
    pub(super) user_agent: Option<String>,
    pub(super) ttl: Option<TtlPolicy>,
    pub(super) transitions: Option<Transitions>,
    pub(super) parameters: DynamicParameters,
    pub(super) only: Option<Only>,
}

/// The services that a case is about, where it is not about all that it can be run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Only {
    Aggregated,
    Single,
}

/// The conversation in one variant.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) variant: Variant,
    /// Each with the number of its line in the text.
    pub(super) steps: Vec<(usize, Step)>,
}

/// A text that is no case: the line, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct CaseError {
    line: usize,
    reason: String,
}

impl Case {
    /// Reads the cases of a text.
    ///
    /// # Errors
    /// The first line that cannot be read.
    pub fn parse(text: &str) -> Result<Vec<Self>, CaseError> {
        let lines = text.lines().enumerate();
        let lines = lines.map(|(index, line)| (index + 1, line.trim()));
        let lines: Vec<_> = lines
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            .collect();
        let mut cases = Vec::new();
        let mut rest = &lines[..];
        while let Some((first, after)) = rest.split_first() {
            let begins = |(_, line): &(usize, &str)| line.starts_with("case ");
            let end = after.iter().position(begins).unwrap_or(after.len());
            let (body, next) = after.split_at(end);
            let types = body.first().and_then(|(_, line)| line.strip_prefix("for "));
            match types {
                Some(types) => {
                    for name in types.split(' ') {
                        cases.push(Self::read(*first, &body[1..], Some(name))?);
                    }
                }
                None => cases.push(Self::read(*first, body, None)?),
            }
            rest = next;
        }
        Ok(cases)
    }

    /// Reads one case, in which `T` is this type.
    fn read(
        (number, head): (usize, &str),
        body: &[(usize, &str)],
        type_name: Option<&str>,
    ) -> Result<Self, CaseError> {
        let wrong = |line, reason| CaseError { line, reason };
        let head = head.strip_prefix("case ");
        let head = head.ok_or_else(|| wrong(number, "no case has begun".to_owned()))?;
        let mut case = Self::begin(head).map_err(|reason| wrong(number, reason))?;
        let mut read = |number, line: &str| {
            let read = case.line(number, line);
            read.map_err(|reason| wrong(number, reason))
        };
        let Some(name) = type_name else {
            body.iter()
                .try_for_each(|(number, line)| read(*number, line))?;
            return Ok(case);
        };
        for (number, line) in body {
            let of_type = |word| if word == "T" { name } else { word };
            let words: Vec<_> = line.split(' ').map(of_type).collect();
            read(*number, &words.join(" "))?;
        }
        case.title += &format!(" ({name})");
        Ok(case)
    }

    fn begin(head: &str) -> Result<Self, String> {
        let (rules, title) = head
            .split_once(": ")
            .ok_or("a case has rules, a colon and a title")?;
        let is_rule = |rule: &&str| rule.strip_prefix("C-").is_some_and(|n| n.len() == 3);
        if let Some(other) = rules.split(' ').find(|rule| !is_rule(rule)) {
            return Err(format!("{other:?} is no rule"));
        }
        Ok(Self {
            rules: rules.split(' ').map(str::to_owned).collect(),
            title: title.to_owned(),
            options: Options::default(),
            scripts: Vec::new(),
        })
    }

    fn line(&mut self, number: usize, line: &str) -> Result<(), String> {
        let variant = match line {
            "sotw" => Some(Variant::Sotw),
            "delta" => Some(Variant::Delta),
            _ => None,
        };
        if let Some(variant) = variant {
            let steps = Vec::new();
            self.scripts.push(Script { variant, steps });
            return Ok(());
        }
        match self.scripts.last_mut() {
            Some(script) => {
                let step = Step::parse(&mut Line::new(line))?;
                script.steps.push((number, step));
                Ok(())
            }
            None => self.options.set(line),
        }
    }

    /// The rules that it proves, as `C-nnn`.
    #[must_use]
    pub fn rules(&self) -> &[String] {
        &self.rules
    }

    /// What is so when they hold.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rules.join(" "), self.title)
    }
}

impl Options {
    fn set(&mut self, line: &str) -> Result<(), String> {
        match line {
            "only ads" => self.only = Some(Only::Aggregated),
            "only single" => self.only = Some(Only::Single),
            "with legacy_wildcard=off" => self.legacy_wildcard = Some(false),
            "with ttl=never" => self.ttl = Some(TtlPolicy::Never),
            "with ttl=always" => self.ttl = Some(TtlPolicy::Always),
            "with transitions=ordered" => self.transitions = Some(Transitions::Ordered),
            other => match other.strip_prefix("with ").and_then(|w| w.split_once('=')) {
                Some(("max_response", bytes)) => {
                    self.max_response = Some(bytes.parse().map_err(|_| "no number")?);
                }
                Some(("features", names)) => {
                    self.features = names.split(',').map(str::to_owned).collect();
                }
                Some(("parameters", list)) => {
                    let pairs = list.split(',').map(|pair| pair.split_once('='));
                    let pairs = pairs.collect::<Option<Vec<_>>>();
                    self.parameters = pairs.ok_or("no parameters")?.into_iter().collect();
                }
                Some(("user_agent", name)) => self.user_agent = Some(name.to_owned()),
                _ => return Err(format!("{other:?} is no option, and no script has begun")),
            },
        }
        Ok(())
    }
}

impl Script {
    /// Whether its client ceases to read at some time.
    pub(super) fn has_slow_reader(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|(_, step)| matches!(step, Step::Read(_)))
    }

    /// The type that all its requests are about, if there is only one.
    pub(super) fn only_type(&self) -> Option<&str> {
        let mut urls = self.steps.iter().filter_map(|(_, step)| match step {
            Step::Send(ask) if !ask.type_url.is_empty() => Some(ask.type_url.as_str()),
            _ => None,
        });
        let first = urls.next()?;
        urls.all(|url| url == first).then_some(first)
    }

    /// Whether nothing of another type is put into a publication.
    pub(super) fn publishes_only(&self, type_url: &TypeUrl) -> bool {
        let edits = self.steps.iter().filter_map(|(_, step)| match step {
            Step::Edit(edit) => Some(edit),
            _ => None,
        });
        edits.flat_map(Edit::types).all(|url| url == *type_url)
    }
}
