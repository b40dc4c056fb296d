//! The gate that asks an Envoy, with programs in its place; what a real one says is in `cargo xtask interop`.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its fixtures too"
)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan_core::{Resource, Snapshot};
use portolan_resources::{AddTyped, build};
use portolan_testkit::envoy_gate::{EnvoyGate, EnvoyGateError, Rejection, Verdict};
use tempfile::TempDir;

/// A program that takes what it finds in its last argument for a bootstrap, in `$file`. Another process writes it: a file
/// that this one has open, which any process that is started meanwhile has open too, cannot be executed.
fn program(directory: &TempDir, script: &str) -> PathBuf {
    let path = directory.path().join("envoy");
    let mut shell = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
        .arg(&path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let text = format!("#!/bin/sh\nfor file; do :; done\n{script}\n");
    let mut input = shell.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    assert!(shell.wait().unwrap().success());
    path
}

/// A program that rejects every bootstrap in which these words are.
fn rejecting(words: &str) -> String {
    format!(
        "if grep -qaE '{words}' \"$file\"; then
            echo \"[critical] error initializing configuration '$file': it says {words}\" >&2
            exit 1
        fi"
    )
}

/// Two clusters with endpoints, a listener, its table, and a table that is in no listener.
fn snapshot() -> Snapshot {
    let table = |name: &str, cluster: &str| {
        let all = build::virtual_host("all", ["*"], [build::prefix_route("/", cluster)]);
        build::route_configuration(name, [all])
    };
    let mut snapshot = Snapshot::builder();
    for (name, address) in [("web", "10.0.0.1:80"), ("api", "10.0.0.2:80")] {
        snapshot.add(&build::eds_cluster(name)).unwrap();
        let endpoints = build::assignment(name, [address.parse().unwrap()]);
        snapshot.add(&endpoints).unwrap();
    }
    let listener = build::http_listener("ingress", "0.0.0.0:80".parse().unwrap(), "routes");
    snapshot.add(&listener).unwrap();
    snapshot.add(&table("routes", "in-routes")).unwrap();
    snapshot.add(&table("spare", "in-spare")).unwrap();
    snapshot.build()
}

fn judge(script: &str) -> Result<Verdict, EnvoyGateError> {
    let directory = TempDir::new().unwrap();
    let gate = EnvoyGate::new(program(&directory, script));
    gate.with_deadline(Duration::from_secs(20))
        .judge(&snapshot())
}

fn rejected(script: &str) -> Rejection {
    match judge(script).unwrap() {
        Verdict::Rejected(rejection) => rejection,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_envoy_takes_is_accepted() {
    assert_eq!(judge("exit 0").unwrap(), Verdict::Accepted);
}

#[test]
fn what_is_rejected_is_led_back_to_its_resource() {
    for (words, url, name) in [
        ("10[.]0[.]0[.]2", &ENDPOINT, "api"),
        ("api", &CLUSTER, "api"),
        ("in-routes", &ROUTE, "routes"),
        ("in-spare", &ROUTE, "spare"),
        ("ingress", &LISTENER, "ingress"),
    ] {
        let rejection = rejected(&rejecting(words));
        assert_eq!(rejection.message(), format!("it says {words}"));
        assert_eq!(rejection.type_url(), Some(url), "{words}");
        assert_eq!(rejection.name().unwrap().as_str(), name, "{words}");
    }
}

#[test]
fn what_is_rejected_without_any_resource_is_nobodys_fault() {
    let rejection = rejected("echo \"error initializing configuration '$file': no\" >&2; exit 1");
    assert_eq!((rejection.message(), rejection.name()), ("no", None));
}

#[test]
fn what_the_snapshot_does_not_have_is_left_to_be_discovered() {
    let directory = TempDir::new().unwrap();
    let script = "[ \"$(grep -ao 'eds_of_web' \"$file\" | wc -l)\" = 1 ]";
    let gate = EnvoyGate::new(program(&directory, script));
    let mut cluster = build::eds_cluster("web");
    let eds = cluster.eds_cluster_config.as_mut().unwrap();
    eds.service_name = "eds_of_web".to_owned();
    let mut snapshot = Snapshot::builder();
    snapshot.add(&cluster).unwrap();
    assert_eq!(gate.judge(&snapshot.build()).unwrap(), Verdict::Accepted);
}

#[test]
fn an_envoy_that_does_not_end_is_killed() {
    let directory = TempDir::new().unwrap();
    let gate = EnvoyGate::new(program(&directory, "exec sleep 600"));
    let error = gate
        .with_deadline(Duration::from_millis(50))
        .judge(&snapshot());
    let error = error.unwrap_err();
    assert!(matches!(error, EnvoyGateError::TimedOut { .. }), "{error}");
}

#[test]
fn an_envoy_that_dies_has_no_verdict_and_its_last_words_are_told() {
    let error = judge("echo dying >&2; exit 3").unwrap_err();
    assert!(matches!(error, EnvoyGateError::Died { .. }), "{error}");
    assert!(
        error.to_string().ends_with("exit status: 3: dying"),
        "{error}"
    );
    // Whatever has a code of one has not said a word of a configuration.
    assert!(judge("echo usage >&2; exit 1").is_err());
}

#[test]
fn of_much_output_the_end_is_kept() {
    let rejection = rejected(
        "dd if=/dev/zero bs=1024 count=4096 2>/dev/null | tr '\\0' x >&2
        echo ': Proto constraint validation failed (A.B: too much)' >&2
        exit 1",
    );
    let expected = "Proto constraint validation failed (A.B: too much)";
    assert_eq!(rejection.message(), expected);
}

#[test]
fn an_envoy_that_is_not_there_is_told() {
    let error = EnvoyGate::new(Path::new("not/there")).judge(&snapshot());
    let error = error.unwrap_err();
    assert_eq!(error.to_string(), "not/there does not start");
}

#[test]
fn a_body_that_is_no_message_is_told_with_its_resource() {
    let mut snapshot = Snapshot::builder();
    let broken = Resource::builder(CLUSTER, "broken", &b"\xff"[..]);
    snapshot.insert(broken).unwrap();
    let error = EnvoyGate::new("never-started").judge(&snapshot.build());
    let error = error.unwrap_err();
    assert!(error.to_string().contains("\"broken\""), "{error}");
}
