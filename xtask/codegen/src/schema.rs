//! Schema text to descriptors, in pure Rust.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow};
use prost_reflect::DescriptorPool;
use prost_types::FileDescriptorProto;

use crate::names;
use crate::sources::ProtoFiles;

/// The compiled schema: every file, each behind what it imports, with its options and without comments.
#[derive(Debug)]
pub(crate) struct Schema {
    pool: DescriptorPool,
}

impl Schema {
    /// Parses and links `files`; the well-known `google/protobuf/*.proto` come with the linker.
    pub(crate) fn compile(files: &ProtoFiles) -> Result<Self> {
        let well_known = DescriptorPool::global();
        let mut parsed = BTreeMap::new();
        for (name, text) in files {
            let mut file =
                protox_parse::parse(name, text).map_err(|error| anyhow!("{name}: {error:?}"))?;
            file.source_code_info = None;
            parsed.insert(name.clone(), file);
        }
        names::make_absolute(&mut parsed, well_known.file_descriptor_protos())?;

        let mut ordered: Vec<_> = well_known.file_descriptor_protos().cloned().collect();
        ordered.extend(imports_first(parsed));
        let mut pool = DescriptorPool::new();
        pool.add_file_descriptor_protos(ordered)
            .context("cannot link the schema")?;
        Ok(Self { pool })
    }

    /// The files for the code generator, which reads no extension options.
    pub(crate) fn files(&self) -> Vec<&FileDescriptorProto> {
        self.pool.file_descriptor_protos().collect()
    }

    /// The files with the values of extension options.
    pub(crate) fn pool(&self) -> &DescriptorPool {
        &self.pool
    }

    /// The encoded `google.protobuf.FileDescriptorSet`, validation rules and other extension options included.
    pub(crate) fn encode(&self) -> Vec<u8> {
        self.pool.encode_to_vec()
    }
}

/// The files in an order in which each comes behind its imports; among equals by name.
fn imports_first(mut files: BTreeMap<String, FileDescriptorProto>) -> Vec<FileDescriptorProto> {
    let mut ordered = Vec::with_capacity(files.len());
    while let Some((_, file)) = files.pop_first() {
        append(file, &mut files, &mut ordered);
    }
    ordered
}

fn append(
    file: FileDescriptorProto,
    rest: &mut BTreeMap<String, FileDescriptorProto>,
    ordered: &mut Vec<FileDescriptorProto>,
) {
    for import in &file.dependency {
        if let Some(import) = rest.remove(import) {
            append(import, rest, ordered);
        }
    }
    ordered.push(file);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(files: &[(&str, &str)]) -> Schema {
        let text = |body: &str| format!("syntax = \"proto3\";\n{body}");
        let files = files
            .iter()
            .map(|(name, body)| ((*name).to_owned(), text(body)))
            .collect();
        Schema::compile(&files).expect("valid schema")
    }

    #[test]
    fn files_come_behind_their_imports() {
        let schema = compile(&[
            (
                "a.proto",
                "package a; import \"c.proto\"; message M { c.M m = 1; }",
            ),
            ("b.proto", "package b; message M {}"),
            (
                "c.proto",
                "package c; import \"b.proto\"; message M { b.M m = 1; }",
            ),
        ]);
        let names: Vec<_> = schema.files().iter().map(|file| file.name()).collect();

        assert!(
            names.ends_with(&["b.proto", "c.proto", "a.proto"]),
            "{names:?}"
        );
    }

    #[test]
    fn values_of_extension_options_are_kept() {
        let schema = compile(&[
            (
                "rules.proto",
                "package rules; import \"google/protobuf/descriptor.proto\"; message Rules { uint32 min = 1; }
                 extend google.protobuf.FieldOptions { Rules rules = 50000; }",
            ),
            (
                "user.proto",
                "package user; import \"rules.proto\";
                 message M { string a = 1 [(rules.rules).min = 77]; string b = 2 [(rules.rules) = {min: 78}]; }",
            ),
        ]);
        let encoded = schema.encode();

        // Field 50000 of two bytes: field 1, the value.
        for value in [77, 78] {
            let option = [0x82, 0xb5, 0x18, 2, 0x08, value];
            assert!(
                encoded.windows(option.len()).any(|window| window == option),
                "{value}"
            );
        }
    }
}
