//! The quickstart as its user meets it: a process, a file, and what it prints.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::program::Program;

const QUICKSTART: &str = env!("CARGO_BIN_EXE_quickstart");

fn config(directory: &TempDir, services: &str) -> PathBuf {
    let path = directory.path().join("services.yaml");
    std::fs::write(&path, services).unwrap();
    path
}

const SERVICES: &str = "\
listener: { port: 10000 }
services:
- name: web
  endpoints: [\"127.0.0.1:9001\"]
routes:
- { prefix: /, service: web }
";

#[test]
fn it_serves_a_file_follows_it_refuses_what_makes_no_sense_and_stops() {
    let directory = TempDir::new().unwrap();
    let path = config(&directory, SERVICES);
    let args = ["--listen", "127.0.0.1:0", "--demo-client", "--config"];
    let mut quickstart = Program::start(
        QUICKSTART,
        args.iter().map(OsStr::new).chain([path.as_os_str()]),
    );
    let serving = quickstart.expect("serving xDS on 127.0.0.1:");
    assert!(!serving.ends_with(":0"), "{serving}");
    quickstart.expect("demo-client connected from");
    quickstart.expect("demo client got CDS");
    quickstart.expect("web at version");
    quickstart.expect("demo client got RDS");

    config(&directory, &SERVICES.replace("9001", "9002"));
    quickstart.expect("demo client got EDS");

    config(
        &directory,
        &SERVICES.replace("service: web", "service: wbe"),
    );
    let refusal = quickstart.expect("refused");
    assert!(
        refusal.contains("services.yaml:6") && refusal.contains("\"wbe\""),
        "{refusal}"
    );

    let two = SERVICES.replace(
        "routes:",
        "- name: api\n  endpoints: [\"127.0.0.1:9003\"]\nroutes:",
    );
    config(&directory, &two);
    quickstart.expect("demo client got CDS");
    quickstart.expect("api at version");
    let refusals = quickstart
        .seen()
        .iter()
        .filter(|line| line.contains("refused"));
    assert_eq!(refusals.count(), 1, "{:?}", quickstart.seen());

    quickstart.interrupt();
}

#[test]
fn a_file_that_makes_no_sense_is_an_error_at_the_start() {
    let directory = TempDir::new().unwrap();
    let path = config(&directory, &SERVICES.replace("port: 10000", "prot: 10000"));
    let output = Command::new(QUICKSTART)
        .arg("--config")
        .arg(&path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text.contains("services.yaml:1") && text.contains("prot"),
        "{text}"
    );
}
