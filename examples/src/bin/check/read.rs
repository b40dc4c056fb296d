//! Reads files into resources, each with its place.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use portolan::core::Resource;
use portolan::resources::inner_name;
use portolan::types::envoy::service::discovery::v3::Resource as Wrapper;
use prost::{Message as _, Name as _};
use serde_saphyr::{Location, Spanned};

use crate::document::{Document, Entry};

/// Largest file that is read.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Where in which file something is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) file: PathBuf,
    line: Option<(u64, u64)>,
}

impl Place {
    fn new(file: &Path, location: Option<Location>) -> Self {
        let known = location.filter(|location| *location != Location::UNKNOWN);
        Self {
            file: file.to_owned(),
            line: known.map(|location| (location.line(), location.column())),
        }
    }
}

/// As compilers and editors write it.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        match self.line {
            Some((line, column)) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// Why a file cannot be read.
#[derive(Debug)]
pub(crate) struct Unreadable {
    place: Place,
    reason: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

/// The resources of a file.
pub(crate) fn read(file: &Path) -> Result<Vec<(Place, Resource)>, Unreadable> {
    let unreadable = |reason: String| Unreadable {
        place: Place::new(file, None),
        reason,
    };
    let opened = File::open(file).map_err(|e| unreadable(e.to_string()))?;
    let mut text = Vec::new();
    // Of what is no file the size is not known.
    let most = MAX_BYTES as u64 + 1;
    let read = opened.take(most).read_to_end(&mut text);
    read.map_err(|e| unreadable(e.to_string()))?;
    if text.len() > MAX_BYTES {
        return Err(unreadable(format!("it has more than {MAX_BYTES} bytes")));
    }
    parse(file, &text)
}

/// JSON is YAML too.
fn parse(file: &Path, mut text: &[u8]) -> Result<Vec<(Place, Resource)>, Unreadable> {
    // The file is who runs this one's own, and its size is bounded.
    let options = serde_saphyr::options! { with_snippet: false, budget: None };
    let documents = serde_saphyr::read_with_options::<_, Spanned<Document>>(&mut text, options);
    let mut resources = Vec::new();
    for (at, document) in documents.enumerate() {
        let document = document.map_err(|error| {
            let place = Place::new(file, error.location());
            let says = without_place(&error.to_string());
            let reason = match place.line {
                Some(_) => says,
                None => format!("document {}: {says}", at + 1),
            };
            Unreadable { place, reason }
        })?;
        for entry in document.value.0 {
            let place = Place::new(file, entry.at.or(Some(document.referenced)));
            match resource(entry) {
                Ok(resource) => resources.push((place, resource)),
                Err(reason) => return Err(Unreadable { place, reason }),
            }
        }
    }
    Ok(resources)
}

fn resource(entry: Entry) -> Result<Resource, String> {
    let (wrapper, body) = match entry.body.type_url == Wrapper::type_url() {
        true => {
            let wrapper = Wrapper::decode(entry.body.value).map_err(|e| e.to_string())?;
            let body = wrapper.resource.clone();
            (wrapper, body.ok_or("a wrapper without `resource`")?)
        }
        false => (Wrapper::default(), entry.body),
    };
    let url = body.type_url.as_str();
    let named = |name: &str| {
        let resource = Resource::builder(url, name, body.value.clone());
        let aliases = wrapper.aliases.iter();
        let resource = aliases.fold(resource, |resource, alias| resource.alias(alias));
        resource.build().map_err(|error| error.to_string())
    };
    if !wrapper.name.is_empty() {
        return named(&wrapper.name);
    }
    // What it is called makes no difference to what stands in its body.
    match inner_name(&named("unnamed")?) {
        Some(name) if !name.is_empty() => named(&name),
        _ => Err(format!(
            "{url} without a name; one whose message has none goes into the `resource` of a {}, with its name in `name`",
            Wrapper::type_url()
        )),
    }
}

/// What an error says, in one line. Its place is told in front, and what a program that reads YAML could do about it is
/// nothing that who wrote it can.
fn without_place(error: &str) -> String {
    let says = error.lines().next().unwrap_or_default();
    let ends = [" at line ", ", set DuplicateKeyPolicy"];
    let says = ends.iter().fold(says, |says, end| {
        says.split_once(end).map_or(says, |(says, _)| says)
    });
    says.to_owned()
}
