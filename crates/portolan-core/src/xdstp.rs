//! Names in URL form: `xdstp://authority/type/id?key=value&…`, where the id has any number of segments.
//!
//! Two of them are equal if their components are, once decoded, in whatever order the context parameters stand (C-331,
//! C-336). Each has one canonical text: parameters sorted by key, of several with one key the last (C-338), and no byte
//! percent-encoded that need not be. What is malformed, or has a fragment, is no such name (C-337).

use std::borrow::Cow;
use std::collections::BTreeMap;

const SCHEME: &str = "xdstp://";

/// The last segment of the name of a collection's members.
const ANY: &str = "*";

/// Why a text that begins like a URL is none that names a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    Path,
    Fragment,
    Escape,
    /// It is of another type.
    Type,
}

impl Malformed {
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Path => "it has no type or no id",
            Self::Fragment => "it has a fragment",
            Self::Escape => {
                "a percent sign stands before something that is not two hexadecimal digits"
            }
            Self::Type => "it is of another type",
        }
    }
}

/// The components of a name, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    authority: Vec<u8>,
    resource_type: Vec<u8>,
    id: Vec<Vec<u8>>,
    params: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// The canonical text of a name. What is no URL, or a malformed one, stays as it is (C-330).
pub(crate) fn canonical(name: &str) -> Cow<'_, str> {
    if !is_url(name) {
        return Cow::Borrowed(name);
    }
    // What a name has behind its stem is no part of the URL.
    if let Some((stem, _)) = name.split_once('\0') {
        return match canonical(stem) {
            Cow::Borrowed(_) => Cow::Borrowed(name),
            Cow::Owned(text) => Cow::Owned(text + &name[stem.len()..]),
        };
    }
    match Parts::parse(name) {
        Some(Ok(parts)) => {
            let text = parts.text();
            match text == name {
                true => Cow::Borrowed(name),
                false => Cow::Owned(text),
            }
        }
        Some(Err(_)) | None => Cow::Borrowed(name),
    }
}

/// Whether a text begins like a URL of this scheme.
pub(crate) fn is_url(name: &str) -> bool {
    name.starts_with(SCHEME)
}

/// Whether a text can name a resource of a type: any text can that is no URL; of others those that are well-formed and
/// of that type.
pub(crate) fn check(name: &str, type_url: &str) -> Result<(), Malformed> {
    let Some(parts) = Parts::parse(name) else {
        return Ok(());
    };
    let message = type_url.rsplit('/').next().unwrap_or_default();
    match parts?.resource_type == message.as_bytes() {
        true => Ok(()),
        false => Err(Malformed::Type),
    }
}

/// The glob that stands for all names beside this canonical one: of the same authority, type, context parameters, and id
/// but for its last segment (C-345, C-346).
pub(crate) fn glob_of(name: &str) -> Option<String> {
    let (directory, query) = split(name)?;
    Some([directory, ANY, query].concat())
}

/// Whether a canonical name stands for all names of a directory.
pub(crate) fn is_glob(name: &str) -> bool {
    directory_of(name).is_some()
}

/// What the names of all members of a glob begin with; `None` of what is no glob, as are plain names that end like one
/// (B70).
pub(crate) fn directory_of(glob: &str) -> Option<&str> {
    let (directory, query) = split(glob)?;
    let last = &glob[directory.len()..glob.len() - query.len()];
    (last == ANY).then_some(directory)
}

/// What a canonical name has before the last segment of its id, and behind it.
fn split(name: &str) -> Option<(&str, &str)> {
    let rest = name.strip_prefix(SCHEME)?;
    let path = rest.split('?').next().unwrap_or_default();
    let at_id = path.match_indices('/').nth(1)?.0;
    let last = path.rfind('/').filter(|last| *last >= at_id)?;
    let head = SCHEME.len() + last + 1;
    Some((&name[..head], &rest[path.len()..]))
}

impl Parts {
    /// `None` where the text does not begin like a URL of this scheme.
    fn parse(name: &str) -> Option<Result<Self, Malformed>> {
        let rest = name.strip_prefix(SCHEME)?;
        Some(Self::parse_rest(rest))
    }

    fn parse_rest(rest: &str) -> Result<Self, Malformed> {
        if rest.contains('#') {
            return Err(Malformed::Fragment);
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut segments = path.split('/');
        let authority = decode(segments.next().unwrap_or_default())?;
        let resource_type = decode(segments.next().unwrap_or_default())?;
        let id = segments.map(decode).collect::<Result<Vec<_>, _>>()?;
        if resource_type.is_empty() || id.is_empty() {
            return Err(Malformed::Path);
        }
        let mut params = BTreeMap::new();
        for param in query.split('&').filter(|param| !param.is_empty()) {
            let (key, value) = param.split_once('=').unwrap_or((param, ""));
            params.insert(decode(key)?, decode(value)?);
        }
        Ok(Self {
            authority,
            resource_type,
            id,
            params,
        })
    }

    fn text(&self) -> String {
        let mut text = SCHEME.to_owned();
        encode(&self.authority, is_literal, &mut text);
        for segment in [&self.resource_type].into_iter().chain(&self.id) {
            text.push('/');
            encode(segment, is_literal, &mut text);
        }
        for (at, (key, value)) in self.params.iter().enumerate() {
            text.push(if at == 0 { '?' } else { '&' });
            encode(key, is_literal_in_query, &mut text);
            text.push('=');
            encode(value, is_literal_in_query, &mut text);
        }
        text
    }
}

fn decode(text: &str) -> Result<Vec<u8>, Malformed> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    let digit = |bytes: &mut std::str::Bytes<'_>| {
        let digit = bytes.next().and_then(|b| char::from(b).to_digit(16));
        digit.ok_or(Malformed::Escape)
    };
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => (digit(&mut bytes)? << 4 | digit(&mut bytes)?) as u8,
            byte => byte,
        });
    }
    Ok(out)
}

fn encode(bytes: &[u8], is_literal: fn(u8) -> bool, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in bytes {
        if is_literal(*byte) {
            out.push(char::from(*byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

/// What may stand for itself in a segment of a URL's path.
fn is_literal(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

/// The same in a key or a value of its query.
fn is_literal_in_query(byte: u8) -> bool {
    b"/?".contains(&byte) || (is_literal(byte) && !b"&=".contains(&byte))
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn c331_parameters_have_no_order() {
        assert_eq!(canonical("xdstp://a/T/x?b=2&a=1"), "xdstp://a/T/x?a=1&b=2");
    }

    #[test]
    fn c330_what_is_no_url_is_left_alone() {
        for name in [
            "",
            "foo?b=1&a=2",
            "xdstp:/a/T/x?b=1&a=2",
            "XDSTP://a/T/x?b&a",
            "rc/*",
            "a%20b",
        ] {
            assert_eq!(canonical(name), name);
            assert_eq!(glob_of(name), None);
            assert!(!is_glob(name) && check(name, "t/T").is_ok());
        }
    }

    #[test]
    fn c336_what_is_encoded_is_what_it_is_decoded() {
        for (written, meant) in [
            ("xdstp://a/T/a%20b", "xdstp://a/T/a b"),
            ("xdstp://a/T/%41", "xdstp://a/T/A"),
            ("xdstp://a/T/%c3%a4", "xdstp://a/T/ä"),
            ("xdstp://a/T/x?%61=%2f", "xdstp://a/T/x?a=/"),
            ("xdstp://a/T/x?", "xdstp://a/T/x"),
            ("xdstp://a/T/x?a", "xdstp://a/T/x?a="),
        ] {
            assert_eq!(canonical(written), canonical(meant));
        }
        assert_eq!(canonical("xdstp://a/T/a%2fb"), "xdstp://a/T/a%2Fb");
        assert_ne!(canonical("xdstp://a/T/a%2fb"), canonical("xdstp://a/T/a/b"));
        assert_ne!(
            canonical("xdstp://a/T/x%3fa=1"),
            canonical("xdstp://a/T/x?a=1")
        );
        assert_ne!(
            canonical("xdstp://a/T/x?a=1%26b=2"),
            canonical("xdstp://a/T/x?a=1&b=2")
        );
    }

    #[test]
    fn c338_of_several_values_the_last_counts() {
        assert_eq!(canonical("xdstp://a/T/x?a=1&a=2"), "xdstp://a/T/x?a=2");
    }

    #[test]
    fn c337_what_is_malformed_is_left_alone_and_names_nothing() {
        for (name, why) in [
            ("xdstp:///", Malformed::Path),
            ("xdstp://a", Malformed::Path),
            ("xdstp://a/T", Malformed::Path),
            ("xdstp://a//x", Malformed::Path),
            ("xdstp://a/T/x#alt=xdstp://b/T/x", Malformed::Fragment),
            ("xdstp://a/T/%4", Malformed::Escape),
            ("xdstp://a/T/x?b=%zz&a=1", Malformed::Escape),
        ] {
            assert_eq!(canonical(name), name);
            assert_eq!(check(name, "t/T"), Err(why), "{name}");
        }
        assert_eq!(check("xdstp://a/Other/x", "t/T"), Err(Malformed::Type));
        assert_eq!(check("xdstp:///T/x", "t/T"), Ok(()));
        assert_eq!(check("xdstp://a/T/", "t/T"), Ok(()));
    }

    #[test]
    fn c345_c346_a_glob_has_one_directory_and_exactly_its_parameters() {
        let glob = |name| glob_of(name).unwrap();
        assert_eq!(glob("xdstp://a/T/x"), "xdstp://a/T/*");
        assert_eq!(glob("xdstp://a/T/foo/x"), "xdstp://a/T/foo/*");
        assert_eq!(glob("xdstp://a/T/foo/x/y"), "xdstp://a/T/foo/x/*");
        assert_eq!(glob("xdstp:///T/foo/x?k=/v/*"), "xdstp:///T/foo/*?k=/v/*");
        assert_eq!(
            directory_of("xdstp://a/T/foo/*?k=v"),
            Some("xdstp://a/T/foo/")
        );
        for other in [
            "xdstp://a/T/foo/**",
            "xdstp://a/T/foo/x",
            "xdstp://a/T",
            "xdstp://a/*",
            "xdstp://a/T/x?k=/*",
        ] {
            assert!(!is_glob(other), "{other}");
        }
    }

    fn component() -> impl Strategy<Value = Vec<u8>> {
        let special = prop::sample::select(b"/?#%&=*+ ".to_vec());
        let byte = prop_oneof![8 => any::<u8>(), 4 => special, 4 => b'a'..=b'c'];
        vec(byte, 0..4)
    }

    prop_compose! {
        fn parts()(
            authority in component(),
            resource_type in component().prop_filter("a type", |t| !t.is_empty()),
            id in vec(component(), 1..4),
            params in btree_map(component(), component(), 0..3),
        ) -> Parts {
            Parts { authority, resource_type, id, params }
        }
    }

    /// A text of the same components that was written without care.
    fn written(parts: &Parts, reverse: bool) -> String {
        let all = |bytes: &Vec<u8>| {
            bytes
                .iter()
                .map(|b| format!("%{b:02x}"))
                .collect::<String>()
        };
        let mut params: Vec<_> = parts
            .params
            .iter()
            .map(|(k, v)| format!("{}={}", all(k), all(v)))
            .collect();
        if reverse {
            params.reverse();
        }
        let id: Vec<_> = parts.id.iter().map(all).collect();
        let (authority, resource_type) = (all(&parts.authority), all(&parts.resource_type));
        format!(
            "{SCHEME}{authority}/{resource_type}/{}?{}",
            id.join("/"),
            params.join("&")
        )
    }

    proptest! {
        #[test]
        fn c331_c336_equal_components_have_one_text(parts in parts(), reverse: bool) {
            let text = parts.text();
            prop_assert_eq!(Parts::parse(&text), Some(Ok(parts.clone())));
            prop_assert_eq!(canonical(&text), text.as_str());
            let written = written(&parts, reverse);
            prop_assert_eq!(canonical(&written), text.as_str());
        }

        #[test]
        fn c345_c346_members_of_a_glob_differ_in_the_last_segment(a in parts(), b in parts(), same: bool) {
            let b = match same {
                true => Parts { id: [&a.id[..a.id.len() - 1], &b.id[b.id.len() - 1..]].concat(), ..a.clone() },
                false => b,
            };
            let directory = |parts: &Parts| {
                let mut parts = parts.clone();
                parts.id.pop();
                (parts.authority, parts.resource_type, parts.id, parts.params)
            };
            let (glob, other) = (glob_of(&a.text()).unwrap(), glob_of(&b.text()).unwrap());
            prop_assert_eq!(glob == other, directory(&a) == directory(&b));
            prop_assert!(a.text().starts_with(directory_of(&glob).unwrap()));
        }

        #[test]
        fn whatever_the_text_the_canonical_one_is_its_own(text in "(xdstp://)?[a-c/?&=%#*0-9 ]{0,24}") {
            let once = canonical(&text).into_owned();
            prop_assert_eq!(canonical(&once), once.as_str());
            let _ = (glob_of(&once), is_glob(&once), check(&once, "t/a"));
        }
    }
}
