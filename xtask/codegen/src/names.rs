//! Resolves type and option names to absolute ones, by the scoping rules of the protobuf language.
//!
//! A relative name is searched from the innermost scope outwards, among what the file defines and imports. The
//! descriptor pool searches among every file it holds instead, so that in a tree of this size a package that the file
//! never imports can shadow the one it means; with absolute names there is nothing left to search.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    ServiceDescriptorProto, UninterpretedOption,
};

/// Makes every name in `files` absolute. `known` holds files that are resolved already and can be imported.
pub(crate) fn make_absolute<'a>(
    files: &mut BTreeMap<String, FileDescriptorProto>,
    known: impl Iterator<Item = &'a FileDescriptorProto>,
) -> Result<()> {
    let mut exports: BTreeMap<String, Exports> = known
        .map(|file| (file.name().to_owned(), Exports::of(file)))
        .collect();
    exports.extend(
        files
            .values()
            .map(|file| (file.name().to_owned(), Exports::of(file))),
    );

    for file in files.values_mut() {
        let name = file.name().to_owned();
        let visible = Visible::to(&name, &file.dependency, &exports)?;
        visible.resolve_file(file).with_context(|| name)?;
    }
    Ok(())
}

/// What a file offers to those that import it.
struct Exports {
    /// Full names of its messages, enums and extensions.
    names: BTreeSet<String>,
    public_imports: Vec<String>,
}

impl Exports {
    fn of(file: &FileDescriptorProto) -> Self {
        let mut names = BTreeSet::new();
        let package = file.package();
        names.extend(file.enum_type.iter().map(|e| join(package, e.name())));
        names.extend(file.extension.iter().map(|e| join(package, e.name())));
        for message in &file.message_type {
            Self::add_message(&mut names, package, message);
        }
        let public_imports = file
            .public_dependency
            .iter()
            .filter_map(|&index| file.dependency.get(usize::try_from(index).ok()?).cloned())
            .collect();
        Self {
            names,
            public_imports,
        }
    }

    fn add_message(names: &mut BTreeSet<String>, scope: &str, message: &DescriptorProto) {
        let full = join(scope, message.name());
        names.extend(message.enum_type.iter().map(|e| join(&full, e.name())));
        names.extend(message.extension.iter().map(|e| join(&full, e.name())));
        for nested in &message.nested_type {
            Self::add_message(names, &full, nested);
        }
        names.insert(full);
    }
}

/// The definitions that one file can name.
struct Visible<'a>(Vec<&'a BTreeSet<String>>);

impl<'a> Visible<'a> {
    fn to(file: &str, imports: &[String], exports: &'a BTreeMap<String, Exports>) -> Result<Self> {
        let mut seen = BTreeSet::new();
        let mut pending: Vec<&str> = imports.iter().map(String::as_str).collect();
        pending.push(file);
        let mut names = Vec::new();
        while let Some(import) = pending.pop() {
            if seen.insert(import) {
                let exported = exports
                    .get(import)
                    .with_context(|| format!("{file} imports {import}, which is in no source"))?;
                names.push(&exported.names);
                pending.extend(exported.public_imports.iter().map(String::as_str));
            }
        }
        Ok(Self(names))
    }

    /// The absolute form, with a leading dot, of `name` as used inside `scope`.
    fn absolute(&self, scope: &str, name: &str) -> Result<String> {
        if name.starts_with('.') {
            return Ok(name.to_owned());
        }
        let mut scope = scope;
        loop {
            let candidate = join(scope, name);
            if self.0.iter().any(|names| names.contains(&candidate)) {
                return Ok(format!(".{candidate}"));
            }
            if scope.is_empty() {
                bail!("`{name}` is neither defined nor imported");
            }
            scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
    }

    fn resolve_file(&self, file: &mut FileDescriptorProto) -> Result<()> {
        let package = file.package().to_owned();
        if let Some(options) = &mut file.options {
            self.resolve_options(&package, &mut options.uninterpreted_option)?;
        }
        for message in &mut file.message_type {
            self.resolve_message(&package, message)?;
        }
        for enumeration in &mut file.enum_type {
            self.resolve_enum(&package, enumeration)?;
        }
        for extension in &mut file.extension {
            self.resolve_field(&package, extension)?;
        }
        for service in &mut file.service {
            self.resolve_service(&package, service)?;
        }
        Ok(())
    }

    fn resolve_message(&self, scope: &str, message: &mut DescriptorProto) -> Result<()> {
        let full = join(scope, message.name());
        if let Some(options) = &mut message.options {
            self.resolve_options(&full, &mut options.uninterpreted_option)?;
        }
        for field in message.field.iter_mut().chain(&mut message.extension) {
            self.resolve_field(&full, field)?;
        }
        for oneof in &mut message.oneof_decl {
            if let Some(options) = &mut oneof.options {
                self.resolve_options(&full, &mut options.uninterpreted_option)?;
            }
        }
        for enumeration in &mut message.enum_type {
            self.resolve_enum(&full, enumeration)?;
        }
        for nested in &mut message.nested_type {
            self.resolve_message(&full, nested)?;
        }
        Ok(())
    }

    fn resolve_field(&self, scope: &str, field: &mut FieldDescriptorProto) -> Result<()> {
        for name in field.type_name.iter_mut().chain(&mut field.extendee) {
            *name = self.absolute(scope, name)?;
        }
        if let Some(options) = &mut field.options {
            self.resolve_options(scope, &mut options.uninterpreted_option)?;
        }
        Ok(())
    }

    fn resolve_enum(&self, scope: &str, enumeration: &mut EnumDescriptorProto) -> Result<()> {
        if let Some(options) = &mut enumeration.options {
            self.resolve_options(scope, &mut options.uninterpreted_option)?;
        }
        for value in &mut enumeration.value {
            if let Some(options) = &mut value.options {
                self.resolve_options(scope, &mut options.uninterpreted_option)?;
            }
        }
        Ok(())
    }

    fn resolve_service(&self, scope: &str, service: &mut ServiceDescriptorProto) -> Result<()> {
        if let Some(options) = &mut service.options {
            self.resolve_options(scope, &mut options.uninterpreted_option)?;
        }
        for method in &mut service.method {
            for name in method.input_type.iter_mut().chain(&mut method.output_type) {
                *name = self.absolute(scope, name)?;
            }
            if let Some(options) = &mut method.options {
                self.resolve_options(scope, &mut options.uninterpreted_option)?;
            }
        }
        Ok(())
    }

    fn resolve_options(&self, scope: &str, options: &mut [UninterpretedOption]) -> Result<()> {
        for part in options.iter_mut().flat_map(|option| &mut option.name) {
            if part.is_extension {
                part.name_part = self.absolute(scope, &part.name_part)?;
            }
        }
        Ok(())
    }
}

fn join(scope: &str, name: &str) -> String {
    if scope.is_empty() {
        name.to_owned()
    } else {
        format!("{scope}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `package`, what it imports, one message `M` with one field of type `uses`.
    fn file(name: &str, package: &str, imports: &[&str], uses: &str) -> FileDescriptorProto {
        FileDescriptorProto {
            name: Some(name.to_owned()),
            package: Some(package.to_owned()),
            dependency: imports.iter().map(|&import| import.to_owned()).collect(),
            message_type: vec![DescriptorProto {
                name: Some("M".to_owned()),
                field: vec![FieldDescriptorProto {
                    type_name: Some(uses.to_owned()),
                    ..FieldDescriptorProto::default()
                }],
                ..DescriptorProto::default()
            }],
            ..FileDescriptorProto::default()
        }
    }

    fn resolve(files: Vec<FileDescriptorProto>) -> Result<String> {
        let first = files[0].name().to_owned();
        let mut files = files
            .into_iter()
            .map(|file| (file.name().to_owned(), file))
            .collect();
        make_absolute(&mut files, std::iter::empty())?;
        Ok(files[&first].message_type[0].field[0]
            .type_name()
            .to_owned())
    }

    #[test]
    fn innermost_scope_wins() {
        let inner = file("inner", "a.b.c", &[], ".x");
        let outer = file("outer", "c", &[], ".x");
        assert_eq!(
            resolve(vec![
                file("f", "a.b", &["inner", "outer"], "c.M"),
                inner,
                outer
            ])
            .unwrap(),
            ".a.b.c.M"
        );
    }

    #[test]
    fn what_is_not_imported_shadows_nothing() {
        let inner = file("inner", "a.b.c", &[], ".x");
        let outer = file("outer", "c", &[], ".x");
        assert_eq!(
            resolve(vec![file("f", "a.b", &["outer"], "c.M"), inner, outer]).unwrap(),
            ".c.M"
        );
    }

    #[test]
    fn public_imports_are_passed_on() {
        let far = file("far", "far", &[], ".x");
        let mut near = file("near", "near", &["far"], ".x");
        assert!(
            resolve(vec![
                file("f", "a", &["near"], "far.M"),
                near.clone(),
                far.clone()
            ])
            .is_err()
        );

        near.public_dependency = vec![0];
        assert_eq!(
            resolve(vec![file("f", "a", &["near"], "far.M"), near, far]).unwrap(),
            ".far.M"
        );
    }

    #[test]
    fn unknown_name_is_reported_with_its_file() {
        let error = resolve(vec![file("f.proto", "a", &[], "Nowhere")]).unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            "f.proto: `Nowhere` is neither defined nor imported"
        );
    }
}
