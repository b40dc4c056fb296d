use std::time::Duration;

use bytes::Bytes;
use portolan_core::{FailureCode, Name, ResourceFailure, ResourceTypes, TypeUrl};
use portolan_engine::Locator;

use super::text::{Line, Word, word_of};
use crate::fixture::Fixture;

/// Among the words of a body, those that are none.
const ON_DEMAND: &str = "on-demand";
const BASE: &str = "base";
const TTL: &str = "ttl=";
const ALIAS: &str = "alias=";

/// What a script does, line by line.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// `put`, `remove`, `label`: a part of the next publication.
    Edit(Edit),
    /// `publish`: what was edited so far becomes a publication of its own, or the same again.
    Publish,
    /// `unpublish`: there is no publication any more.
    Unpublish,
    /// `>`: a request.
    Send(Ask),
    /// `<`: a response that must come, and in this order.
    Receive(Expected),
    /// `quiet`: nothing more comes.
    Quiet,
    /// `wait 5s`.
    Wait(Duration),
    /// `hold` and `release`: the client ceases to read, and reads again.
    Read(bool),
    /// `stream 2`: the lines below are about this stream, which opens when first named.
    Stream(usize),
    /// `reconnect`: the stream ends and another takes its place.
    Reconnect,
    /// `restart`: as `reconnect`, to another server with the same resources, made anew.
    Restart,
    /// `! invalid_argument`: the stream has ended, by the client's fault.
    Ended(String),
    /// `* acked EDS n1`, `* nacked EDS n1 "text"`, `* stale EDS n0`: what the embedder was told since it was last asked.
    Told(Told),
    /// `* no acked`: nothing of this kind was told beyond what was asked for.
    NotTold(String),
}

#[derive(Clone, Debug)]
pub(super) enum Edit {
    Put(Vec<Fixture>),
    Remove(TypeUrl, Vec<Name>),
    /// `pending`: names of which it is not known yet whether there is a resource.
    Pending(TypeUrl, Vec<String>),
    /// `fail`: errors in the place of resources.
    Fail(TypeUrl, ResourceFailure, Vec<Name>),
    Label(TypeUrl, String),
}

impl Edit {
    /// The types of what it puts in, takes out or labels.
    pub(super) fn types(&self) -> Vec<TypeUrl> {
        match self {
            Self::Put(fixtures) => {
                let resources = fixtures.iter().cloned().map(Fixture::build);
                resources.map(|r| r.type_url().clone()).collect()
            }
            Self::Remove(type_url, _)
            | Self::Pending(type_url, _)
            | Self::Fail(type_url, ..)
            | Self::Label(type_url, _) => {
                vec![type_url.clone()]
            }
        }
    }
}

/// A request as it is written: what it leaves out is as the protocol's client has it.
#[derive(Clone, Debug, Default)]
pub(super) struct Ask {
    pub(super) type_url: String,
    /// `ACK n1`, `NACK n1`
    pub(super) answers: Option<(Verdict, String)>,
    pub(super) names: Option<Names>,
    pub(super) subscribe: Names,
    pub(super) unsubscribe: Names,
    pub(super) initial_versions: Vec<Item>,
    pub(super) version: Option<Word>,
    pub(super) nonce: Option<Word>,
    /// Code and text.
    pub(super) error: Option<(i32, String)>,
}

/// The names of a request, and those that come with parameters: `a<env=prod>`, or `a<>` without any.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) plain: Vec<String>,
    pub(super) located: Vec<Locator>,
}

impl Names {
    fn parse(line: &mut Line<'_>) -> Result<Self, String> {
        let mut names = Self::default();
        for word in line.list()? {
            match in_angles(&word) {
                Some((stem, parameters)) => names.located.push(locator(stem, parameters)?),
                None => names.plain.push(word),
            }
        }
        Ok(names)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.located.is_empty()
    }
}

fn locator(stem: &str, parameters: &str) -> Result<Locator, String> {
    let parameters = parameters
        .split(',')
        .filter(|parameter| !parameter.is_empty());
    let parameters = parameters.map(|parameter| {
        let (key, value) = parameter.split_once('=').ok_or("a parameter has a value")?;
        Ok((Bytes::from(key.to_owned()), Bytes::from(value.to_owned())))
    });
    let parameters = parameters.collect::<Result<Vec<_>, &str>>()?;
    Ok(Locator::new(stem.to_owned(), parameters))
}

/// `a<env=prod>`: a name, and what stands behind it.
fn in_angles(word: &str) -> Option<(&str, &str)> {
    word.strip_suffix('>')?.split_once('<')
}

/// A name as it is shown where it has constraints.
fn shown_name(word: &str) -> String {
    // Behind the name may be a revision or a time to live.
    match word.split_once('<') {
        Some((stem, rest)) => format!("{stem}{{{}", rest.replacen('>', "}", 1)),
        None => word.to_owned(),
    }
}

/// `a`, `a<env=prod>`: a name, and its constraints as they are displayed.
fn name(word: &str) -> Result<Name, String> {
    let Some((stem, constraints)) = in_angles(word) else {
        return Ok(Name::from(word));
    };
    let name = Name::from(format!("{stem}\0{constraints}"));
    match name.constraints() {
        Some(_) => Ok(name),
        None => Err(format!("{constraints:?} are no constraints")),
    }
}

fn names(line: &mut Line<'_>) -> Result<Vec<Name>, String> {
    line.rest()?.iter().map(|word| name(word)).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Ack,
    Nack,
}

/// A resource by name and revision, or with a version that is given as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) revision: Word,
}

/// A response as it must be.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) type_url: TypeUrl,
    pub(super) version: Option<Word>,
    pub(super) nonce: String,
    pub(super) resources: Vec<String>,
    pub(super) removed: Vec<String>,
    pub(super) bodyless: Vec<String>,
    pub(super) heartbeats: Vec<String>,
    pub(super) errors: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) kind: String,
    pub(super) type_url: TypeUrl,
    pub(super) nonce: String,
    pub(super) code: Option<i32>,
    pub(super) message: Option<String>,
}

impl Step {
    pub(super) fn parse(line: &mut Line<'_>) -> Result<Self, String> {
        let step = match line.keyword()? {
            "put" => Self::Edit(Edit::Put(put(line)?)),
            "remove" => Self::Edit(Edit::Remove(type_url(line)?, names(line)?)),
            "pending" => Self::Edit(Edit::Pending(type_url(line)?, line.rest()?)),
            "fail" => Self::Edit(Edit::Fail(type_url(line)?, failure(line)?, names(line)?)),
            "label" => Self::Edit(Edit::Label(type_url(line)?, line.text()?)),
            "publish" => Self::Publish,
            "unpublish" => Self::Unpublish,
            ">" => Self::Send(Ask::parse(line)?),
            "<" => Self::Receive(Expected::parse(line)?),
            "quiet" => Self::Quiet,
            "wait" => Self::Wait(duration(&line.text()?)?),
            "hold" => Self::Read(false),
            "release" => Self::Read(true),
            "stream" => Self::Stream(number(&line.text()?)?),
            "reconnect" => Self::Reconnect,
            "restart" => Self::Restart,
            "!" => Self::Ended(line.text()?),
            "*" => match line.text()?.as_str() {
                "no" => Self::NotTold(kind(line.text()?)?),
                told => Self::Told(Told::parse(told, line)?),
            },
            other => return Err(format!("no step begins with {other:?}")),
        };
        line.end()?;
        Ok(step)
    }
}

impl Ask {
    fn parse(line: &mut Line<'_>) -> Result<Self, String> {
        let mut ask = Self::default();
        let mut first = line.text()?;
        let verdict = match first.as_str() {
            "ACK" => Some(Verdict::Ack),
            "NACK" => Some(Verdict::Nack),
            _ => None,
        };
        if let Some(verdict) = verdict {
            first = line.text()?;
            ask.answers = Some((verdict, line.text()?));
            if verdict == Verdict::Nack {
                ask.error = Some((13, "rejected".to_owned()));
            }
        }
        ask.type_url = match first.as_str() {
            "?" => String::new(),
            name => known(name).to_string(),
        };
        while let Some(key) = line.key() {
            match key {
                "" => ask.names = Some(Names::parse(line)?),
                "+" => ask.subscribe = Names::parse(line)?,
                "-" => ask.unsubscribe = Names::parse(line)?,
                "irv" => ask.initial_versions = items(&line.words()?),
                "v=" => ask.version = Some(line.word()?),
                "n=" => ask.nonce = Some(line.word()?),
                "err=" => ask.error = Some(error(line)?),
                other => return Err(format!("a request has no {other:?}")),
            }
        }
        Ok(ask)
    }
}

impl Expected {
    pub(super) fn parse(line: &mut Line<'_>) -> Result<Self, String> {
        let type_url = type_url(line)?;
        let mut version = None;
        let mut nonce = line.word()?;
        if !line.at_key() && !line.is_over() {
            version = Some(std::mem::replace(&mut nonce, line.word()?));
        }
        let mut expected = Self {
            type_url,
            version,
            nonce: nonce.text,
            resources: Vec::new(),
            removed: Vec::new(),
            bodyless: Vec::new(),
            heartbeats: Vec::new(),
            errors: Vec::new(),
        };
        while let Some(key) = line.key() {
            let names = line.list()?;
            let names = names.into_iter().map(|name| shown_name(&name)).collect();
            match key {
                "" => expected.resources = names,
                "-" => expected.removed = names,
                "?" => expected.bodyless = names,
                "~" => expected.heartbeats = names,
                "!" => expected.errors = names,
                other => return Err(format!("a response has no {other:?}")),
            }
        }
        Ok(expected)
    }
}

impl Told {
    fn parse(told: &str, line: &mut Line<'_>) -> Result<Self, String> {
        let mut told = Self {
            kind: kind(told.to_owned())?,
            type_url: type_url(line)?,
            nonce: line.text()?,
            code: None,
            message: None,
        };
        if line.key() == Some("err=") {
            let (code, message) = error(line)?;
            (told.code, told.message) = (Some(code), Some(message));
        } else if !line.is_over() {
            told.message = Some(line.text()?);
        }
        Ok(told)
    }
}

/// `13:"text"`
fn error(line: &mut Line<'_>) -> Result<(i32, String), String> {
    Ok((number(&line.until(':')?)?, line.text()?))
}

/// The codes of errors, as scripts write them.
pub(super) const CODES: [(&str, FailureCode); 5] = [
    ("unknown", FailureCode::Unknown),
    ("not_found", FailureCode::NotFound),
    ("permission_denied", FailureCode::PermissionDenied),
    ("internal", FailureCode::Internal),
    ("unavailable", FailureCode::Unavailable),
];

/// `not_found`, `not_found:text`
fn failure(line: &mut Line<'_>) -> Result<ResourceFailure, String> {
    let word = line.text()?;
    let (code, text) = word.split_once(':').unwrap_or((&word, ""));
    match CODES.iter().find(|(known, _)| *known == code) {
        Some((_, code)) => Ok(ResourceFailure::new(*code, text)),
        None => Err(format!("{code:?} is no code of an error")),
    }
}

/// What one can be told of.
fn kind(kind: String) -> Result<String, String> {
    match ["acked", "nacked", "stale"].contains(&kind.as_str()) {
        true => Ok(kind),
        false => Err(format!("nobody is told {kind:?}")),
    }
}

/// A type by the name that everybody calls it, or by its URL.
pub(super) fn known(name: &str) -> TypeUrl {
    let types = ResourceTypes::well_known();
    let found = types.iter().find(|known| known.short_name() == name);
    found.map_or_else(|| TypeUrl::from(name), |known| known.url().clone())
}

fn type_url(line: &mut Line<'_>) -> Result<TypeUrl, String> {
    Ok(known(&line.text()?))
}

fn put(line: &mut Line<'_>) -> Result<Vec<Fixture>, String> {
    let type_url = type_url(line)?;
    let mut fixtures = Vec::new();
    while !line.is_over() {
        let Item {
            name: word,
            revision,
        } = item(&line.word()?);
        let constraints = name(&word)?.constraints();
        let name = in_angles(&word).map_or(&*word, |(stem, _)| stem).to_owned();
        let (aliases, words) = without_aliases(line.braces()?);
        let (words, ttl) = without_ttl(words)?;
        let own = format!("name={name}");
        let fixture = match words {
            Some(words) => words.iter().fold(
                Fixture::new(type_url.clone(), name),
                |fixture, word| match word.as_str() {
                    ON_DEMAND => fixture.on_demand(true),
                    BASE => fixture.on_demand(false),
                    word => fixture.word(word),
                },
            ),
            None => Fixture::of(&type_url, name),
        };
        let fixture = match ttl {
            Some(ttl) => fixture.word(&own).ttl(ttl),
            None => fixture.word(&own),
        };
        let fixture = aliases.into_iter().fold(fixture, Fixture::alias);
        let fixture = match constraints {
            Some(constraints) => fixture.constraints(constraints),
            None => fixture,
        };
        fixtures.push(match revision.text.as_str() {
            "" => fixture,
            revision => fixture.revision(number(revision)?),
        });
    }
    match fixtures.is_empty() {
        true => Err("nothing is put".to_owned()),
        false => Ok(fixtures),
    }
}

/// The aliases that stood among the words of a body, and the others. Where nothing else did, the body is the usual one.
fn without_aliases(words: Option<Vec<String>>) -> (Vec<String>, Option<Vec<String>>) {
    let Some(words) = words else {
        return (Vec::new(), None);
    };
    let is_alias = |word: &String| word.starts_with(ALIAS);
    let (aliases, words): (Vec<_>, Vec<_>) = words.into_iter().partition(is_alias);
    let only_aliases = words.is_empty() && !aliases.is_empty();
    let aliases = aliases.iter().map(|word| word[ALIAS.len()..].to_owned());
    (aliases.collect(), (!only_aliases).then_some(words))
}

/// The words of a body, and the time to live that stood among them. Where nothing else did, the body is the usual one.
fn without_ttl(
    words: Option<Vec<String>>,
) -> Result<(Option<Vec<String>>, Option<Duration>), String> {
    let Some(mut words) = words else {
        return Ok((None, None));
    };
    let at = words.iter().position(|word| word.starts_with(TTL));
    let Some(ttl) = at.map(|at| words.remove(at)) else {
        return Ok((Some(words), None));
    };
    let ttl = duration(&ttl[TTL.len()..])?;
    Ok(((!words.is_empty()).then_some(words), Some(ttl)))
}

fn items(words: &[Word]) -> Vec<Item> {
    words.iter().map(item).collect()
}

/// `a`, `a@2`, `a@"some version"`
fn item(word: &Word) -> Item {
    let (name, revision) = word.text.split_once('@').unwrap_or((&word.text, ""));
    Item {
        name: name.to_owned(),
        revision: word_of(revision),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1),
        None => (text.trim_end_matches('s'), 1_000),
    };
    Ok(Duration::from_millis(number::<u64>(digits)? * unit))
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}
