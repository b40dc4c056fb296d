use std::sync::Arc;

use portolan_cache::SnapshotCache;
use portolan_core::NodeId;
use portolan_server::XdsServer;
use serde_json::Value;

use super::{Answer, HELP, answer};
use crate::testbed::kind::Kind;
use crate::testbed::state::State;

struct Harness {
    state: State,
    xds: XdsServer,
}

impl Harness {
    fn new() -> Self {
        let (writer, reader) = SnapshotCache::new(NodeId::default()).split();
        Self {
            state: State::new(writer),
            xds: XdsServer::builder(Arc::new(reader)).build(),
        }
    }

    fn answer(&self, line: &str) -> Answer {
        answer(&self.state, self.xds.status(), line)
    }

    fn say(&self, line: &str) -> String {
        self.answer(line).to_string()
    }

    /// The version that the node is served of a type.
    fn version(&self, node: &str, kind: Kind) -> Option<String> {
        let versions = self.state.versions(node)?;
        let version = versions.into_iter().find(|(found, _)| *found == kind)?.1;
        Some(version.as_str().to_owned())
    }
}

#[test]
fn a_set_labels_every_type_also_without_resources() {
    let harness = Harness::new();
    assert_eq!(harness.say("set n v1 CDS=a CDS=b EDS=a"), "ok");
    for kind in Kind::ALL {
        assert_eq!(harness.version("n", kind).as_deref(), Some("v1"));
    }
    assert_eq!(harness.say("set n v2"), "ok");
    assert_eq!(
        harness.say("update n CDS a"),
        r#"error NOT_FOUND node "n" has no CDS resource "a""#
    );
}

#[test]
fn a_change_labels_its_type_alone_and_may_keep_the_label() {
    let harness = Harness::new();
    harness.say("set n v1 CDS=a");
    for (line, label) in [
        ("update n CDS a v2", "v2"),
        ("add n CDS b v3", "v3"),
        ("remove n CDS a v4", "v4"),
        ("add n CDS a", "v4"),
        ("update n CDS a v4", "v4"),
        ("remove n CDS b", "v4"),
    ] {
        assert_eq!(harness.say(line), "ok", "{line}");
        assert_eq!(harness.version("n", Kind::Cluster).as_deref(), Some(label));
        assert_eq!(harness.version("n", Kind::Endpoint).as_deref(), Some("v1"));
    }
}

#[test]
fn a_type_may_be_named_by_its_url() {
    let harness = Harness::new();
    let url = Kind::Route.type_url();
    assert_eq!(harness.say(&format!("set n v1 {url}=a")), "ok");
    assert_eq!(harness.say(&format!("update n {url} a v2")), "ok");
    assert_eq!(harness.version("n", Kind::Route).as_deref(), Some("v2"));
}

#[test]
fn what_is_wrong_is_told_with_where() {
    let harness = Harness::new();
    harness.say("set n v1 CDS=a");
    for (line, expected) in [
        (
            "set n v2 SDS=a",
            r#"INVALID_ARGUMENT resources[0]: node "n": unknown type "SDS"; there are LDS, CDS, RDS and EDS"#,
        ),
        (
            "set n v2 CDS",
            r#"INVALID_ARGUMENT resources[0]: node "n": CDS resource without a name"#,
        ),
        (
            "set n v2 CDS=a CDS=a",
            r#"INVALID_ARGUMENT resources[1]: node "n": two CDS resources are named "a""#,
        ),
        (
            "give n v2 CDS=a",
            r#"INVALID_ARGUMENT resources[0]: node "n": CDS resource without a name"#,
        ),
        (
            "give n v2 x.org/T=a= CDS=b=0x",
            r#"INVALID_ARGUMENT resources[1]: node "n": CDS resource whose body is not hexadecimal"#,
        ),
        (
            "add n cds a",
            r#"INVALID_ARGUMENT node "n": unknown type "cds"; there are LDS, CDS, RDS and EDS"#,
        ),
        (
            "add n CDS a v2",
            r#"ALREADY_EXISTS node "n" has CDS resource "a" already"#,
        ),
        (
            "remove n LDS a v2",
            r#"NOT_FOUND node "n" has no LDS resource "a""#,
        ),
        (
            "add other CDS a v2",
            r#"NOT_FOUND node "other" has no state, set one first"#,
        ),
    ] {
        assert_eq!(harness.say(line), format!("error {expected}"), "{line}");
    }
    for kind in Kind::ALL {
        assert_eq!(harness.version("n", kind).as_deref(), Some("v1"));
    }
}

#[test]
fn a_name_that_clients_could_not_ask_for_is_refused() {
    let harness = Harness::new();
    harness.say("set n v1");
    let name = "xdstp://authority/envoy.config.listener.v3.Listener/a";
    for line in [format!("set n v2 CDS={name}"), format!("add n CDS {name}")] {
        let answer = harness.say(&line);
        assert!(answer.starts_with("error INVALID_ARGUMENT "), "{answer}");
        assert!(answer.contains(name), "{answer}");
    }
}

#[test]
fn a_line_that_is_no_command_is_answered_with_the_usage() {
    let harness = Harness::new();
    for line in [
        "",
        "  ",
        "SET n v1",
        "set n",
        "update n CDS",
        "add n CDS a v1 more",
        "clear",
        "quit now",
    ] {
        let answer = harness.answer(line);
        assert!(
            answer
                .line()
                .starts_with("error INVALID_ARGUMENT usage: set "),
            "{line}: {answer}"
        );
        assert!(!answer.is_last());
    }
}

#[test]
fn clearing_forgets_and_may_be_repeated() {
    let harness = Harness::new();
    harness.say("set n v1 CDS=a");
    assert_eq!(harness.say("clear n"), "ok");
    assert_eq!(harness.version("n", Kind::Cluster), None);
    assert_eq!(harness.say("clear n"), "ok");
    assert!(harness.say("update n CDS a").starts_with("error NOT_FOUND"));
}

#[test]
fn status_is_of_all_nodes_or_of_one() {
    let harness = Harness::new();
    harness.say("set b v1 CDS=a");
    harness.say("set a v2");
    let status = |line: &str| {
        let answer = harness.say(line);
        serde_json::from_str::<Value>(answer.strip_prefix("ok ").unwrap()).unwrap()
    };
    let all = status("status");
    assert_eq!(all["nodes"][0]["node"], "a");
    assert_eq!(all["nodes"][1]["served"]["CDS"], "v1");
    assert_eq!(all["nodes"].as_array().unwrap().len(), 2);
    assert_eq!(status("status a"), all["nodes"][0]);
    assert_eq!(status("status nobody")["served"], Value::Null);
}

#[test]
fn an_answer_is_one_line_whatever_was_said() {
    let harness = Harness::new();
    let (escape, other) = ("add n\u{1b} CDS a", "add n\u{b} x\u{85}y CDS a");
    for line in [
        "help",
        "status",
        escape,
        other,
        "set n v1 CDS=\u{7}",
        "status n",
    ] {
        let answer = harness.say(line);
        assert!(!answer.contains(char::is_control), "{answer:?}");
    }
}

#[test]
fn only_quit_is_the_last() {
    let harness = Harness::new();
    assert!(harness.answer(" quit \r\n").is_last());
    assert_eq!(harness.say("quit"), "ok");
    assert!(!harness.answer("help").is_last());
}

#[test]
fn every_command_is_in_the_help() {
    let usage = Harness::new().say("help");
    for command in usage.strip_prefix("ok ").unwrap().split(" | ") {
        assert!(HELP.contains(&format!("\n  {command} ")), "{command}");
    }
}
