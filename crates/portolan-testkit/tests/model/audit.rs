//! Reads a transcript and finds what was said without a reason.
//!
//! Independent of the session: it knows only lines. A resource may be sent when its content is not what was sent
//! before, when it was asked for, when its cluster was sent, or when it was rejected.

use std::collections::{BTreeMap, BTreeSet};

use portolan_engine::Variant;

/// What has been said of one type on the current stream.
#[derive(Default)]
struct Said {
    begun: bool,
    answered: bool,
    names: BTreeSet<String>,
    /// Content last sent or brought along, by name.
    sent: BTreeMap<String, String>,
    /// Names that were asked for since they were last sent.
    asked: BTreeSet<String>,
    everything_asked: bool,
    rejected: BTreeSet<String>,
    responses: BTreeMap<String, BTreeSet<String>>,
}

pub(crate) struct Auditor {
    variant: Variant,
    types: BTreeMap<String, Said>,
    /// What was gone once without being told: whenever it is sent, it may have returned.
    gone: BTreeSet<(String, String)>,
}

struct Line<'a> {
    words: Vec<&'a str>,
    lists: BTreeMap<char, Vec<&'a str>>,
}

impl<'a> Line<'a> {
    /// Splits `EDS n3 [a@2 b] -[c]` into words and lists; a list without a mark has the mark ` `.
    fn parse(text: &'a str) -> Self {
        let (mut words, mut lists) = (Vec::new(), BTreeMap::new());
        let mut rest = text;
        while let Some(open) = rest.find('[') {
            let close = open + rest[open..].find(']').expect("lists are closed");
            let head = &rest[..open];
            let mark = match head.chars().last() {
                Some(mark @ ('+' | '-' | '?')) => mark,
                Some('v') if head.ends_with("irv") => 'i',
                _ => ' ',
            };
            words.extend(head.split_whitespace());
            let names = rest[open + 1..close].split_whitespace();
            lists.insert(mark, names.collect());
            rest = &rest[close + 1..];
        }
        words.extend(rest.split_whitespace());
        Self { words, lists }
    }

    fn list(&self, mark: char) -> &[&'a str] {
        self.lists.get(&mark).map_or(&[], Vec::as_slice)
    }
}

fn name_of(content: &str) -> &str {
    content.split_once('@').map_or(content, |(name, _)| name)
}

impl Auditor {
    pub(crate) fn new(variant: Variant) -> Self {
        Self {
            variant,
            types: BTreeMap::new(),
            gone: BTreeSet::new(),
        }
    }

    /// Goes through all lines; gives the first that has no reason.
    pub(crate) fn audit(mut self, lines: &[String]) -> Result<(), String> {
        for (at, line) in lines.iter().enumerate() {
            if line.starts_with("-- stream") {
                self.types = std::mem::take(&mut self.types)
                    .into_iter()
                    .map(|(url, said)| (url, said.left_behind()))
                    .collect();
            } else if let Some(gone) = line.strip_prefix("-- gone ") {
                self.gone(gone);
            } else if let Some(request) = line.strip_prefix("> ") {
                self.request(&Line::parse(request));
            } else if let Some(response) = line.strip_prefix("< ") {
                self.response(&Line::parse(response))
                    .map_err(|why| format!("line {at}: {line}: {why}"))?;
            }
        }
        Ok(())
    }

    /// Where a client is not told that something is gone, its return is news.
    fn gone(&mut self, type_and_name: &str) {
        let (at, name) = type_and_name.split_once(' ').expect("a type and a name");
        let url = ["CDS", "EDS", "RDS", "SDS"][at.parse::<usize>().expect("a number")];
        let told = match self.variant {
            Variant::Sotw => url == "CDS",
            _ => url != "SDS",
        };
        if told {
            return;
        }
        self.gone.insert((url.to_owned(), name.to_owned()));
    }

    fn request(&mut self, line: &Line<'_>) {
        let verdict = matches!(line.words[0], "ACK" | "NACK");
        let url = line.words[usize::from(verdict)].to_owned();
        if line.words[0] == "NACK" {
            let said = self.types.entry(url.clone()).or_default();
            let rejected = said.responses.get(line.words[2]).cloned();
            said.rejected.extend(rejected.unwrap_or_default());
        }
        if line.words[0] == "ACK" {
            let said = self.types.entry(url.clone()).or_default();
            said.accept(line.words[2], self.variant);
        }
        let clusters_begun = self.types.get("CDS").is_some_and(|said| said.begun);
        let said = self.types.entry(url.clone()).or_default();
        match self.variant {
            Variant::Sotw if verdict && !line.lists.contains_key(&' ') => {}
            Variant::Sotw => {
                let fresh = !said.begun || (said.answered && line.words.contains(&"n="));
                said.ask_for(line.list(' '), fresh);
            }
            _ => {
                let claims = line.list('i');
                // Too many clusters were sent before to remember which: all endpoints may come.
                let many = said.asked.len() >= 64;
                let in_full = claims.is_empty() || (url == "EDS" && (many || !clusters_begun));
                said.subscribe(line, !said.begun && in_full);
                let sub = line.list('+');
                let everything = sub.contains(&"*") || (sub.is_empty() && url == "CDS");
                for content in claims.iter().filter(|_| !said.begun) {
                    let name = name_of(content).to_owned();
                    let wanted = everything || sub.contains(&name.as_str());
                    if wanted {
                        said.sent.insert(name, (*content).to_owned());
                    }
                }
            }
        }
        said.begun = true;
    }

    fn response(&mut self, line: &Line<'_>) -> Result<(), String> {
        let url = line.words[0];
        let full_state = self.variant == Variant::Sotw && url == "CDS";
        let said = self.types.entry(url.to_owned()).or_default();
        let nonce = line.words.iter().find(|w| w.starts_with('n'));
        let resources = line.list(' ');
        let gone: Vec<_> = [line.list('-'), line.list('?')].concat();
        let returned = |r: &str| self.gone.contains(&(url.to_owned(), name_of(r).to_owned()));
        let reason = |r: &&str| said.is_reason(r) || returned(r);
        let news: Vec<_> = resources.iter().copied().filter(reason).collect();
        let lost = gone.iter().filter(|name| said.is_reason_to_remove(name));
        match full_state {
            true => said.check_full_state(resources, news.is_empty())?,
            false if news.len() < resources.len() => {
                return Err(format!("not all of {resources:?} has a reason"));
            }
            false if lost.count() < gone.len() => {
                return Err(format!("not all of {gone:?} was there or asked for"));
            }
            false if resources.is_empty() && gone.is_empty() && !said.everything_asked => {
                return Err("an empty answer that nobody asked for".to_owned());
            }
            false => {}
        }
        let nonce = nonce.expect("responses have nonces");
        said.note(nonce, resources, &gone, full_state);
        if url == "CDS" {
            let endpoints = self.types.entry("EDS".to_owned()).or_default();
            endpoints
                .asked
                .extend(news.iter().map(|r| name_of(r).to_owned()));
        }
        Ok(())
    }
}

impl Said {
    /// What is remembered of it on the next stream: what the client was sent and did not accept may be sent again.
    fn left_behind(self) -> Self {
        let awaited = self.responses.into_values().flatten();
        let rejected: BTreeSet<_> = awaited.chain(self.rejected).collect();
        Self {
            // Of many names not all are remembered: then all may come.
            everything_asked: rejected.len() > 64 || (self.everything_asked && !self.answered),
            rejected,
            ..Self::default()
        }
    }

    fn accept(&mut self, nonce: &str, variant: Variant) {
        let number = |nonce: &str| nonce[1..].parse::<u64>().ok();
        self.responses.retain(|other, _| match variant {
            Variant::Sotw => number(other) > number(nonce),
            _ => other != nonce,
        });
    }

    fn ask_for(&mut self, names: &[&str], fresh: bool) {
        let names: BTreeSet<_> = names.iter().map(|n| (*n).to_owned()).collect();
        self.everything_asked |= names.contains("*") && !self.names.contains("*");
        if fresh {
            self.everything_asked = true;
        }
        self.asked.extend(names.difference(&self.names).cloned());
        self.names = names;
    }

    fn subscribe(&mut self, line: &Line<'_>, first: bool) {
        let (sub, unsub) = (line.list('+'), line.list('-'));
        self.everything_asked |= first || (sub.contains(&"*") && !(line.lists.contains_key(&'i')));
        let named = sub.iter().chain(unsub).map(|n| (*n).to_owned());
        self.asked.extend(named);
        self.names.extend(sub.iter().map(|n| (*n).to_owned()));
        self.names.retain(|name| !unsub.contains(&name.as_str()));
        if unsub.contains(&"*") {
            let names = &self.names;
            self.sent.retain(|name, _| names.contains(name));
        }
    }

    fn is_reason(&self, content: &str) -> bool {
        let name = name_of(content);
        self.everything_asked
            || self.asked.contains(name)
            || self.rejected.contains(name)
            || self.sent.get(name).map(String::as_str) != Some(content)
    }

    fn is_reason_to_remove(&self, name: &str) -> bool {
        self.everything_asked
            || self.asked.contains(name)
            || self.rejected.contains(name)
            || self.sent.contains_key(name)
    }

    /// All of a full-state type is sent when one of it has a reason.
    fn check_full_state(&self, resources: &[&str], nothing_new: bool) -> Result<(), String> {
        let sent: BTreeSet<_> = self.sent.values().map(String::as_str).collect();
        let same = resources.iter().copied().collect::<BTreeSet<_>>() == sent;
        let asked = !self.asked.is_empty() || self.everything_asked;
        match same && nothing_new && !asked {
            true => Err("the same again".to_owned()),
            false => Ok(()),
        }
    }

    fn note(&mut self, nonce: &str, resources: &[&str], gone: &[&str], full_state: bool) {
        if full_state {
            self.sent.clear();
            self.asked.clear();
            self.rejected.clear();
        }
        let mut touched = BTreeSet::new();
        for content in resources {
            let name = name_of(content).to_owned();
            self.sent.insert(name.clone(), (*content).to_owned());
            touched.insert(name);
        }
        for name in gone {
            self.sent.remove(*name);
            touched.insert((*name).to_owned());
        }
        for name in &touched {
            self.asked.remove(name);
            self.rejected.remove(name);
        }
        self.everything_asked = false;
        self.answered = true;
        self.responses.insert(nonce.to_owned(), touched);
    }
}
