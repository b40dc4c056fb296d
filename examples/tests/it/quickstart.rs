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
    let place = format!("refused: {}:6: ", path.display());
    assert_eq!(
        refusal.strip_prefix(&place),
        Some("route \"/\" goes to service \"wbe\", which is not among the services (web)")
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

/// What is said of a file at the start.
pub(crate) fn refused(services: &str) -> String {
    let directory = TempDir::new().unwrap();
    let path = config(&directory, services);
    let output = Command::new(QUICKSTART)
        .arg("--config")
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_file_that_makes_no_sense_is_an_error_at_the_start() {
    let text = refused(&SERVICES.replace("port: 10000", "prot: 10000"));
    assert!(
        text.contains("services.yaml:1") && text.contains("prot"),
        "{text}"
    );
}

#[test]
fn a_file_that_does_not_fit_together_is_an_error_at_the_start_in_its_own_words() {
    let text = refused(&format!(
        "{SERVICES}- {{ prefix: /cart, service: cart }}\n- {{ prefix: /old, service: cart }}\n"
    ));
    for (line, prefix) in [(7, "/cart"), (8, "/old")] {
        let expected = format!(
            "services.yaml:{line}: route {prefix:?} goes to service \"cart\", which is not among the services (web)"
        );
        assert!(text.contains(&expected), "{text}");
    }
    for word in ["Cluster", "RouteConfiguration", "virtual_hosts"] {
        assert!(!text.contains(word), "{text}");
    }
}
