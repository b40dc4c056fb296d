//! The commands that a harness sends a line each.

mod status;
#[cfg(test)]
mod tests;

use std::fmt;

use portolan_server::StatusRegistry;
use tonic::Code;

use super::error::StateError;
use super::state::{State, Target, kind_of, named_and_given};

/// The commands, as `testbed --help` shows them.
pub const HELP: &str = "\
Each line on standard input is a command, and is answered by one line: `ok`, which may be followed by a text, or
`error CODE text` with the name of a gRPC status code.

  set NODE VERSION [TYPE=NAME ...]   serve the node these minimal resources, and nothing else
  give NODE VERSION [TYPE=NAME=HEX ...]  serve the node these messages, of any type, and nothing else
  update NODE TYPE NAME [VERSION]    change the content of a resource
  add NODE TYPE NAME [VERSION]       add a minimal resource
  remove NODE TYPE NAME [VERSION]    take a resource away
  clear NODE                         forget what the node is served
  status [NODE]                      what is served, sent, accepted and rejected, as JSON
  help                               the commands
  quit                               end

NODE is the id of the node. TYPE is LDS, CDS, RDS or EDS, or their type URL; of `give`, any. VERSION is what the type is labelled; the label
stays as it is where none is given. Words are separated by spaces, and cannot hold any.";

const USAGE: &str = "set NODE VERSION [TYPE=NAME ...] | give NODE VERSION [TYPE=NAME=HEX ...] | update NODE TYPE NAME [VERSION] | \
    add NODE TYPE NAME [VERSION] | remove NODE TYPE NAME [VERSION] | clear NODE | status [NODE] | help | quit";

/// The answer to a command: one line, without its end. Displays as that line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    line: String,
    last: bool,
}

impl Answer {
    fn ok(text: impl fmt::Display) -> Self {
        Self {
            line: format!("ok {text}").trim_end().to_owned(),
            last: false,
        }
    }

    fn last() -> Self {
        Self {
            last: true,
            ..Self::ok("")
        }
    }

    fn error(code: Code, text: impl fmt::Display) -> Self {
        let code = code_name(code);
        Self {
            line: format!("error {code} {text}"),
            last: false,
        }
    }

    /// The line.
    #[must_use]
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Whether the command was to end.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.last
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl From<StateError> for Answer {
    fn from(error: StateError) -> Self {
        Self::error(error.code(), error)
    }
}

/// Does what a line says.
pub(super) fn answer(state: &State, registry: &StatusRegistry, line: &str) -> Answer {
    let words: Vec<&str> = line.split_whitespace().collect();
    let done = match words[..] {
        ["set", node, version, ref resources @ ..] => set(state, node, version, resources),
        ["give", node, version, ref resources @ ..] => give(state, node, version, resources),
        ["update", node, kind, name, ref version @ ..] if version.len() < 2 => {
            target(node, kind, name, version).and_then(|target| state.update(&target))
        }
        ["add", node, kind, name, ref version @ ..] if version.len() < 2 => {
            target(node, kind, name, version).and_then(|target| state.add(&target))
        }
        ["remove", node, kind, name, ref version @ ..] if version.len() < 2 => {
            target(node, kind, name, version).and_then(|target| state.remove(&target))
        }
        ["clear", node] => state.clear(node).map(drop),
        ["status"] => return Answer::ok(status::of_all(state, registry)),
        ["status", node] => return Answer::ok(status::of(state, registry, node)),
        ["help"] => return Answer::ok(USAGE),
        ["quit"] => return Answer::last(),
        _ => return Answer::error(Code::InvalidArgument, format_args!("usage: {USAGE}")),
    };
    match done {
        Ok(()) => Answer::ok(""),
        Err(error) => error.into(),
    }
}

fn set(state: &State, node: &str, version: &str, resources: &[&str]) -> Result<(), StateError> {
    let minimal = |word: &&str| {
        let (kind, name) = word.split_once('=').unwrap_or((word, ""));
        Ok(kind_of(node, kind)?.minimal(name))
    };
    state.set(node, version, resources.iter().map(minimal))
}

fn give(state: &State, node: &str, version: &str, words: &[&str]) -> Result<(), StateError> {
    let given = |word: &&str| {
        let (type_name, rest) = word.split_once('=').unwrap_or((word, ""));
        let (name, digits) = rest.rsplit_once('=').unwrap_or_default();
        let body = decode_hex(digits).ok_or_else(|| StateError::NotHexadecimal {
            node: node.to_owned(),
            type_name: type_name.to_owned(),
        })?;
        named_and_given(node, type_name, name, body)
    };
    state.set(node, version, words.iter().map(given))
}

/// `None` if there is an odd number of digits, or anything but digits.
fn decode_hex(digits: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<_>> = digits.chars().map(|digit| digit.to_digit(16)).collect();
    let pairs = digits.filter(|digits| digits.len() % 2 == 0)?;
    pairs
        .chunks(2)
        .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok())
        .collect()
}

fn target(node: &str, kind: &str, name: &str, version: &[&str]) -> Result<Target, StateError> {
    Target::new(node, kind, name, version.first().unwrap_or(&""))
}

/// As the gRPC specification writes it.
fn code_name(code: Code) -> &'static str {
    match code {
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::NotFound => "NOT_FOUND",
        _ => "INVALID_ARGUMENT",
    }
}
