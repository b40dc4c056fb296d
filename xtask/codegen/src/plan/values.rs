use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, bail, ensure};
use prost_reflect::{EnumDescriptor, Kind, Value};

use crate::rules::Rules;

/// What is asked of values, each once, with a name that tells it.
#[derive(Default)]
pub(super) struct Values(BTreeMap<String, (&'static str, String)>);

impl Values {
    pub(super) fn render(&self, out: &mut String) {
        for (name, (kind, value)) in &self.0 {
            let _ = writeln!(out, "static {name}: {kind} = {value};");
        }
        out.push('\n');
    }

    fn put(&mut self, kind: &'static str, name: &str, value: String) -> String {
        let mut name: String = name
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_uppercase()
                } else {
                    '_'
                }
            })
            .collect();
        let (plain, mut others) = (name.clone(), 1);
        while self.0.get(&name).is_some_and(|(_, known)| *known != value) {
            others += 1;
            name = format!("{plain}_{others}");
        }
        self.0.insert(name.clone(), (kind, value));
        name
    }

    pub(super) fn items(&mut self, min: u64, max: Option<u64>, unique: bool) -> String {
        let max = max.map(|max| max.to_string());
        let mut name = format!("ITEMS_{min}");
        let mut value = format!("Items {{ min: {min}, ");
        if let Some(max) = max {
            let _ = write!(name, "_{max}");
            let _ = write!(value, "max: {max}, ");
        }
        if unique {
            name += "_UNIQUE";
            value += "unique: true, ";
        }
        if name == "ITEMS_0" {
            return "T::Many(&Items::FREE)".to_owned();
        }
        value += "..Items::FREE }";
        format!("T::Many(&{})", self.put("Items", &name, value))
    }

    pub(super) fn text(&mut self, rules: &mut Rules) -> Result<String> {
        let mut name = "TEXT".to_owned();
        let mut value = String::new();
        for rule in ["min_len", "max_len", "max_bytes"] {
            let count = rules.take_count(&format!("string.{rule}"));
            if let Some(count) = count.filter(|count| *count > 0) {
                let _ = write!(name, "_{rule}_{count}");
                let _ = write!(value, "{rule}: {count}, ");
            }
        }
        for rule in ["prefix", "suffix"] {
            if let Some(text) = rules.take_text(&format!("string.{rule}")) {
                let _ = write!(name, "_{rule}");
                let _ = write!(value, "{rule}: {text:?}, ");
            }
        }
        let one_of = rules.take_list("string.in");
        if !one_of.is_empty() {
            let one_of: Vec<_> = one_of.iter().filter_map(Value::as_str).collect();
            let _ = write!(name, "_{}", one_of.join("_"));
            let _ = write!(value, "one_of: &{one_of:?}, ");
        }
        if let Some(form) = self.form(rules)? {
            let _ = write!(name, "_{form}");
            let _ = write!(value, "form: {form}, ");
        }
        if rules.take_bool("string.ignore_empty") {
            name += "_or_empty";
            value += "or_empty: true, ";
        }
        if value.is_empty() {
            return Ok("Text::FREE".to_owned());
        }
        name = name
            .replace("Form::", "")
            .replace("Pattern(&", "")
            .replace(')', "");
        Ok(self.put("Text", &name, format!("Text {{ {value}..Text::FREE }}")))
    }

    fn form(&mut self, rules: &mut Rules) -> Result<Option<String>> {
        let known = rules.take("string.well_known_regex");
        let strict = rules
            .take("string.strict")
            .and_then(|value| value.as_bool())
            != Some(false);
        let pattern = rules.take_text("string.pattern");
        Ok(
            match (known.as_ref().and_then(Value::as_enum_number), pattern) {
                (None, None) => None,
                (None, Some(pattern)) => {
                    let value = format!("Pattern::new({pattern:?})");
                    let name = self.put("Pattern", "PATTERN", value);
                    Some(format!("Form::Pattern(&{name})"))
                }
                (Some(1), None) if strict => Some("Form::HeaderName".to_owned()),
                (Some(2), None) if strict => Some("Form::HeaderValue".to_owned()),
                (Some(1 | 2), None) => Some("Form::Line".to_owned()),
                (known, pattern) => bail!("the form {known:?} {pattern:?} is not known"),
            },
        )
    }

    pub(super) fn one_of_enum(
        &mut self,
        rules: &mut Rules,
        described: &EnumDescriptor,
    ) -> Result<Option<String>> {
        let defined_only = rules.take_bool("enum.defined_only");
        let not_in = rules.take_list("enum.not_in");
        let not_in: Vec<_> = not_in.iter().filter_map(Value::as_i32).collect();
        if !defined_only && not_in.is_empty() {
            return Ok(None);
        }
        let defined = defined_only.then(|| {
            let mut defined: Vec<_> = described.values().map(|value| value.number()).collect();
            defined.sort_unstable();
            defined.dedup();
            format!("Some(&{defined:?})")
        });
        let name = format!("ENUM_{}", described.full_name().replace("envoy.", ""));
        let defined = defined.unwrap_or_else(|| "None".to_owned());
        let value = format!("Enum {{ defined: {defined}, not_in: &{not_in:?} }}");
        Ok(Some(self.put("Enum", &name, value)))
    }

    /// A number, a truth, or bytes.
    pub(super) fn scalar(&mut self, kind: &Kind, rules: &mut Rules) -> Result<String> {
        if rules.is_empty() {
            let wire = match kind {
                Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => "Fixed64",
                Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => "Fixed32",
                Kind::Bytes => "Bytes",
                _ => "Varint",
            };
            return Ok(format!("H::Opaque(W::{wire})"));
        }
        let (family, holds) = match kind {
            Kind::Bool => {
                let only = rules.take("bool.const").and_then(|value| value.as_bool());
                return Ok(format!(
                    "H::Truth({})",
                    only.context("a truth has no such rule")?
                ));
            }
            Kind::Bytes => return self.octets(rules),
            Kind::Int32 => ("int32", "H::Integer(I::I32"),
            Kind::Int64 => ("int64", "H::Integer(I::I64"),
            Kind::Uint32 => ("uint32", "H::Integer(I::U32"),
            Kind::Uint64 => ("uint64", "H::Integer(I::U64"),
            Kind::Float => ("float", "H::Real(R::F32"),
            Kind::Double => ("double", "H::Real(R::F64"),
            kind => bail!("rules for {kind:?} are not known"),
        };
        let number = |value: &Value| match value {
            Value::I32(value) => Ok(value.to_string()),
            Value::I64(value) => Ok(value.to_string()),
            Value::U32(value) => Ok(value.to_string()),
            Value::U64(value) => Ok(value.to_string()),
            Value::F32(value) => Ok(format!("{:?}", f64::from(*value))),
            Value::F64(value) => Ok(format!("{value:?}")),
            value => bail!("{value:?} is no number"),
        };
        let (kind, name) = match kind {
            Kind::Float | Kind::Double => ("Range<f64>", "REAL"),
            _ => ("Range<i128>", "INTEGER"),
        };
        let range = self.range((kind, name), family, rules, number)?;
        Ok(format!("{holds}, &{range})"))
    }

    pub(super) fn duration(&mut self, rules: &mut Rules) -> Result<String> {
        let nanos = |value: &Value| {
            let message = value.as_message().context("a bound is a duration")?;
            let part = |name: &str| {
                message
                    .get_field_by_name(name)
                    .map(|part| part.into_owned())
            };
            let seconds = part("seconds").and_then(|part| part.as_i64()).unwrap_or(0);
            let nanos = part("nanos").and_then(|part| part.as_i32()).unwrap_or(0);
            Ok((i128::from(seconds) * 1_000_000_000 + i128::from(nanos)).to_string())
        };
        self.range(("Range<i128>", "NANOS"), "duration", rules, nanos)
    }

    fn range(
        &mut self,
        (kind, name): (&'static str, &str),
        family: &str,
        rules: &mut Rules,
        show: impl Fn(&Value) -> Result<String>,
    ) -> Result<String> {
        let mut name = name.to_owned();
        let mut side = |open: &str, closed: &str| {
            let mut bounds = Vec::new();
            for (rule, bound) in [(open, "Open"), (closed, "Closed")] {
                if let Some(value) = rules.take(&format!("{family}.{rule}")) {
                    let value = show(&value)?;
                    let _ = write!(name, "_{rule}_{value}");
                    bounds.push(format!("Bound::{bound}({value})"));
                }
            }
            ensure!(bounds.len() < 2, "it has two bounds of one side");
            Ok(bounds.pop().unwrap_or_else(|| "Bound::None".to_owned()))
        };
        let (lower, upper) = (side("gt", "gte")?, side("lt", "lte")?);
        let or_zero = rules.take_bool(&format!("{family}.ignore_empty"));
        if or_zero {
            name += "_or_zero";
        }
        let value = format!("Range {{ lower: {lower}, upper: {upper}, or_zero: {or_zero} }}");
        Ok(self.put(kind, &name, value))
    }

    fn octets(&mut self, rules: &mut Rules) -> Result<String> {
        let min = rules.take_count("bytes.min_len").unwrap_or(0);
        let max = rules
            .take_count("bytes.max_len")
            .map_or_else(|| "usize::MAX".to_owned(), |max| max.to_string());
        let value = format!("Octets {{ min_len: {min}, max_len: {max} }}");
        let name = self.put("Octets", &format!("OCTETS_{min}_{max}"), value);
        Ok(format!("H::Octets(&{name})"))
    }
}
