//! Which protobuf package needs which.

use std::collections::{BTreeMap, BTreeSet};

use prost_types::{DescriptorProto, FileDescriptorProto};

/// The packages of a schema with their direct dependencies.
#[derive(Debug)]
pub(crate) struct Packages(BTreeMap<String, BTreeSet<String>>);

impl Packages {
    pub(crate) fn of(files: &[&FileDescriptorProto]) -> Self {
        let names: BTreeSet<&str> = files.iter().map(|file| file.package()).collect();
        let mut packages = Self(BTreeMap::new());
        for file in files {
            let needs = packages.0.entry(file.package().to_owned()).or_default();
            let mut uses = Vec::new();
            for message in &file.message_type {
                collect_uses(message, &mut uses);
            }
            for method in file.service.iter().flat_map(|service| &service.method) {
                uses.extend([method.input_type(), method.output_type()]);
            }
            needs.extend(
                uses.into_iter()
                    .filter_map(|name| package_of(name, &names))
                    .map(str::to_owned),
            );
        }
        packages
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// `roots` and everything they need, directly or not.
    pub(crate) fn closure<'a>(
        &'a self,
        roots: impl IntoIterator<Item = &'a str>,
    ) -> BTreeSet<&'a str> {
        let mut seen = BTreeSet::new();
        let mut pending: Vec<&str> = roots.into_iter().collect();
        while let Some(package) = pending.pop() {
            if seen.insert(package) {
                pending.extend(
                    self.0
                        .get(package)
                        .into_iter()
                        .flatten()
                        .map(String::as_str),
                );
            }
        }
        seen
    }
}

fn collect_uses<'a>(message: &'a DescriptorProto, uses: &mut Vec<&'a str>) {
    uses.extend(
        message
            .field
            .iter()
            .filter_map(|field| field.type_name.as_deref()),
    );
    for nested in &message.nested_type {
        collect_uses(nested, uses);
    }
}

/// The package that defines the absolute `name`: messages nest, so it is the longest prefix that is a package.
fn package_of<'a>(name: &str, packages: &BTreeSet<&'a str>) -> Option<&'a str> {
    let mut scope = name.trim_start_matches('.');
    while let Some((outer, _)) = scope.rsplit_once('.') {
        if let Some(package) = packages.get(outer) {
            return Some(package);
        }
        scope = outer;
    }
    None
}

#[cfg(test)]
mod tests {
    use prost_types::FieldDescriptorProto;

    use super::*;

    fn file(package: &str, uses: &[&str]) -> FileDescriptorProto {
        let field = |name: &&str| FieldDescriptorProto {
            type_name: Some((*name).to_owned()),
            ..FieldDescriptorProto::default()
        };
        FileDescriptorProto {
            package: Some(package.to_owned()),
            message_type: vec![DescriptorProto {
                field: uses.iter().map(field).collect(),
                ..DescriptorProto::default()
            }],
            ..FileDescriptorProto::default()
        }
    }

    #[test]
    fn closure_follows_uses_of_nested_messages_transitively() {
        let files = [
            file("a", &[".b.Outer.Inner"]),
            file("b", &[".b.c.M"]),
            file("b.c", &[]),
            file("d", &[".a.M"]),
        ];
        let packages = Packages::of(&files.iter().collect::<Vec<_>>());

        assert_eq!(packages.closure(["a"]), BTreeSet::from(["a", "b", "b.c"]));
    }
}
