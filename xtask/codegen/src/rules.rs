//! The validation rules of the schema, read from its annotations. One that is not known here stops the generator: what
//! validates must not pass over what it should ask.

use anyhow::{Context, Result, bail, ensure};
use prost_reflect::{
    DynamicMessage, ExtensionDescriptor, FieldDescriptor, MessageDescriptor, OneofDescriptor,
    ReflectMessage as _, Value,
};

use prost_reflect::DescriptorPool;

/// The annotations that hold rules.
#[derive(Debug)]
pub(crate) struct Annotations {
    rules: ExtensionDescriptor,
    required: ExtensionDescriptor,
    switches: [ExtensionDescriptor; 2],
}

/// The rules of a field: each with the way to it, as in `repeated.items.string.min_len`.
#[derive(Debug, Default)]
pub(crate) struct Rules(Vec<(String, Value)>);

impl Annotations {
    pub(crate) fn of(pool: &DescriptorPool) -> Result<Self> {
        let annotation = |name: &str| {
            let found = pool.get_extension_by_name(name);
            found.with_context(|| format!("the schema has no annotation {name}"))
        };
        Ok(Self {
            rules: annotation("validate.rules")?,
            required: annotation("validate.required")?,
            switches: [
                annotation("validate.disabled")?,
                annotation("validate.ignored")?,
            ],
        })
    }

    /// Fails for a message whose rules are switched off, which none is.
    pub(crate) fn check(&self, message: &MessageDescriptor) -> Result<()> {
        let options = message.options();
        let mut switches = self.switches.iter();
        let off = switches.find(|switch| options.has_extension(switch));
        match off {
            Some(off) => bail!("{}: {} is not known", message.full_name(), off.full_name()),
            None => Ok(()),
        }
    }

    pub(crate) fn of_field(&self, field: &FieldDescriptor) -> Rules {
        let mut rules = Rules::default();
        let options = field.options();
        if options.has_extension(&self.rules)
            && let Some(message) = options.get_extension(&self.rules).as_message()
        {
            rules.read("", message);
        }
        rules
    }

    pub(crate) fn is_required(&self, oneof: &OneofDescriptor) -> bool {
        oneof.options().get_extension(&self.required).as_bool() == Some(true)
    }
}

impl Rules {
    fn read(&mut self, way: &str, message: &DynamicMessage) {
        for (field, value) in message.fields() {
            let way = match way {
                "" => field.name().to_owned(),
                way => format!("{way}.{}", field.name()),
            };
            match value {
                Value::Message(inner) if inner.descriptor().package_name() == "validate" => {
                    self.read(&way, inner);
                }
                value => self.0.push((way, value.clone())),
            }
        }
    }

    /// Takes out a rule; what nobody takes is not known.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(way, _)| way == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// Takes out all rules that begin with this, without it.
    pub(crate) fn take_all(&mut self, prefix: &str) -> Self {
        let (taken, left) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|(way, _)| way.starts_with(prefix));
        self.0 = left;
        let taken: Vec<(String, Value)> = taken;
        let inner = taken.into_iter();
        Self(
            inner
                .map(|(way, value)| (way[prefix.len()..].to_owned(), value))
                .collect(),
        )
    }

    pub(crate) fn take_bool(&mut self, name: &str) -> bool {
        self.take(name).and_then(|value| value.as_bool()) == Some(true)
    }

    pub(crate) fn take_text(&mut self, name: &str) -> Option<String> {
        self.take(name)?.as_str().map(str::to_owned)
    }

    pub(crate) fn take_count(&mut self, name: &str) -> Option<u64> {
        self.take(name)?.as_u64()
    }

    pub(crate) fn take_list(&mut self, name: &str) -> Vec<Value> {
        let list = self.take(name);
        list.as_ref()
            .and_then(Value::as_list)
            .map(<[_]>::to_vec)
            .unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fails if any is left.
    pub(crate) fn finish(&self, place: &str) -> Result<()> {
        let left: Vec<_> = self.0.iter().map(|(way, _)| way.as_str()).collect();
        ensure!(
            left.is_empty(),
            "{place}: the rule {} is not known for what the field holds",
            left.join(", ")
        );
        Ok(())
    }
}
