//! The pinned schema package: downloaded by cargo, verified, and read from its archive without unpacking it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// Import path (`envoy/config/core/v3/address.proto`) to file text.
pub(crate) type ProtoFiles = BTreeMap<String, String>;

/// `proto/sources.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sources {
    package: Package,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Package {
    name: String,
    version: String,
    /// Of the `.crate` archive, as in the registry's index.
    sha256: String,
    roots: Vec<String>,
    skip: Vec<String>,
}

/// Reads every `.proto` file: those of the pinned package and those of `proto/supplement`.
pub(crate) fn load(root: &Path) -> Result<ProtoFiles> {
    let proto = root.join("proto");
    let manifest = fs::read_to_string(proto.join("sources.toml")).context("proto/sources.toml")?;
    let Sources { package } = toml::from_str(&manifest).context("proto/sources.toml")?;

    let archive = fetch(root, &package)?;
    verify(&archive, &package)?;
    let mut files = read_archive(&archive, &package)?;
    for (name, text) in read_directory(&proto.join("supplement"))? {
        ensure!(
            !files.contains_key(&name),
            "proto/supplement/{name} is in {} {} as well: delete ours",
            package.name,
            package.version
        );
        files.insert(name, text);
    }
    Ok(files)
}

/// Reads the schema of the testbed's own service, `proto/testbed`.
pub(crate) fn testbed(root: &Path) -> Result<ProtoFiles> {
    read_directory(&root.join("proto/testbed"))
}

/// Lets cargo download the package from whatever registry it is configured with, and returns the archive's bytes.
fn fetch(root: &Path, package: &Package) -> Result<Vec<u8>> {
    let dir = root.join("target/codegen");
    fs::create_dir_all(dir.join("src"))?;
    fs::write(dir.join("src/lib.rs"), "")?;
    let manifest = dir.join("Cargo.toml");
    fs::write(
        &manifest,
        format!(
            "[package]\nname = \"schema-fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [dependencies]\n{} = \"={}\"\n\n[workspace]\n",
            package.name, package.version
        ),
    )?;
    // The workspace's lock file, so that the package's own dependencies resolve to what is on disk already.
    fs::copy(root.join("Cargo.lock"), dir.join("Cargo.lock"))?;

    let metadata = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "metadata",
            "--quiet",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(&manifest)
        .output()
        .context("cannot run cargo")?;
    ensure!(
        metadata.status.success(),
        "cargo cannot fetch {} {}:\n{}",
        package.name,
        package.version,
        String::from_utf8_lossy(&metadata.stderr)
    );
    let path = archive_path(&serde_json::from_slice(&metadata.stdout)?, package)?;
    fs::read(&path).with_context(|| format!("no archive at {}", path.display()))
}

/// Where cargo keeps the archive whose unpacked form `metadata` names: `registry/src/<registry>/<package>/` lies
/// beside `registry/cache/<registry>/<package>.crate`.
fn archive_path(metadata: &serde_json::Value, package: &Package) -> Result<PathBuf> {
    let manifest = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|p| p["name"] == package.name.as_str() && p["version"] == package.version.as_str())
        .and_then(|p| p["manifest_path"].as_str())
        .with_context(|| format!("cargo metadata lacks {} {}", package.name, package.version))?;

    let unpacked = Path::new(manifest).parent();
    let index = unpacked.and_then(Path::parent);
    let src = index.and_then(Path::parent);
    match (index.and_then(Path::file_name), src) {
        (Some(index), Some(src)) if src.ends_with("registry/src") => Ok(src
            .with_file_name("cache")
            .join(index)
            .join(format!("{}-{}.crate", package.name, package.version))),
        _ => bail!(
            "{manifest} is not in cargo's registry: is the source replaced by a vendored one?"
        ),
    }
}

fn verify(archive: &[u8], package: &Package) -> Result<()> {
    let found: String = Sha256::digest(archive)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    ensure!(
        found == package.sha256,
        "{} {} has checksum {found}, proto/sources.toml pins {}",
        package.name,
        package.version,
        package.sha256
    );
    Ok(())
}

fn read_archive(archive: &[u8], package: &Package) -> Result<ProtoFiles> {
    let top = format!("{}-{}", package.name, package.version);
    let roots: Vec<PathBuf> = package
        .roots
        .iter()
        .map(|root| Path::new(&top).join(root))
        .collect();

    let mut files = ProtoFiles::new();
    for entry in tar::Archive::new(flate2::read::GzDecoder::new(archive)).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let Some(name) = roots.iter().find_map(|root| import_path(&path, root)) else {
            continue;
        };
        if package.skip.contains(&name) {
            continue;
        }
        let mut text = String::new();
        entry
            .read_to_string(&mut text)
            .with_context(|| name.clone())?;
        files.insert(name, text);
    }
    for name in &package.skip {
        ensure!(!files.contains_key(name), "{name} is in two roots");
    }
    ensure!(
        !files.is_empty(),
        "{top} holds no .proto file below the roots of proto/sources.toml"
    );
    Ok(files)
}

fn read_directory(dir: &Path) -> Result<ProtoFiles> {
    let mut files = ProtoFiles::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(current) = pending.pop() {
        for entry in fs::read_dir(&current).with_context(|| current.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                pending.push(path);
            } else if let Some(name) = import_path(&path, dir) {
                files.insert(name, fs::read_to_string(&path)?);
            }
        }
    }
    Ok(files)
}

/// The name by which other files import `path`, with `/` on every platform; `None` if it is no schema below `root`.
fn import_path(path: &Path, root: &Path) -> Option<String> {
    let relative = path.strip_prefix(root).ok()?;
    (relative.extension()? == "proto")
        .then(|| {
            relative
                .components()
                .map(|part| part.as_os_str().to_str())
                .collect::<Option<Vec<_>>>()
        })
        .flatten()
        .map(|parts| parts.join("/"))
}
