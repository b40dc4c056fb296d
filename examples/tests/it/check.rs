//! The command that checks files: what it reads, what it prints, and its exit code.

use std::process::Command;

use tempfile::TempDir;

const CHECK: &str = env!("CARGO_BIN_EXE_check");

const TABLE: &str = r#"
"@type": type.googleapis.com/envoy.config.route.v3.RouteConfiguration
name: routes
virtual_hosts:
- name: all
  domains: ["*"]
  routes:
  - match: { prefix: / }
    route: { cluster: web }
"#;

const LISTENER: &str = r#"
- "@type": type.googleapis.com/envoy.config.listener.v3.Listener
  name: ingress
  address: { socket_address: { address: 0.0.0.0, port_value: 80 } }
  filter_chains:
  - filters:
    - name: http
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
        stat_prefix: ingress
        rds: { config_source: { ads: {} }, route_config_name: routes }
"#;

const CLUSTERS: &str = r#"{ "version_info": "1", "resources": [
    { "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": "web", "type": "STATIC", "connectTimeout": "1.5s" },
    { "name": "api", "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster" }
]}"#;

/// Runs it in a directory with these files; gives the exit code, what it found, and what it complains of.
fn check(files: &[(&str, &str)], options: &[&str]) -> (i32, String, String) {
    let directory = TempDir::new().unwrap();
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let names = files.iter().map(|(name, _)| name);
    let output = Command::new(CHECK)
        .current_dir(directory.path())
        .args(names.chain(options))
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

#[test]
fn files_of_every_form_are_checked_together() {
    let files = [
        ("routes.yaml", TABLE),
        ("listeners.yaml", LISTENER),
        ("clusters.json", CLUSTERS),
    ];
    let (code, found, complaints) = check(&files, &[]);
    assert_eq!(found, "4 resources: 0 errors, 0 warnings, 0 infos\n");
    assert_eq!((code, complaints.as_str()), (0, ""));
}

#[test]
fn documents_of_one_file_are_checked_together() {
    let all = format!("{CLUSTERS}\n---\n{TABLE}---\n{LISTENER}---\n");
    let (code, found, _) = check(&[("all.yaml", &all)], &[]);
    assert_eq!(found, "4 resources: 0 errors, 0 warnings, 0 infos\n");
    assert_eq!(code, 0);
}

#[test]
fn what_is_found_has_its_place_its_rule_and_a_hint() {
    let table = TABLE.replace("cluster: web", "cluster: wbe");
    let twins = format!(
        "{LISTENER}{}",
        LISTENER.replace("name: ingress", "name: again")
    );
    let files = [
        ("routes.yaml", &*table),
        ("listeners.yaml", &twins),
        ("clusters.json", CLUSTERS),
    ];
    let (code, found, complaints) = check(&files, &[]);
    let expected = "\
listeners.yaml:2:3: error[address-clash]: Listener \"ingress\" › address \"tcp 0.0.0.0:80\": Listener \"again\" has it too
  hint: give each listener an address and port of its own
routes.yaml:2:1: error[missing]: RouteConfiguration \"routes\" › virtual_hosts[0] › routes[0] › route › cluster \"wbe\": there is no such Cluster
  hint: there are \"api\", \"web\"; if clients have it from elsewhere, say --external Cluster=wbe
5 resources: 2 errors, 0 warnings, 0 infos
";
    assert_eq!(found, expected);
    assert_eq!((code, complaints.as_str()), (1, ""));

    let files = [files[0], files[2]];
    let (code, found, _) = check(&files, &["--external", "Cluster=wbe"]);
    let expected = "\
routes.yaml:2:1: info[unreferenced]: RouteConfiguration \"routes\": nothing refers to it
  hint: take it out, or refer to it
3 resources: 0 errors, 0 warnings, 1 info
";
    assert_eq!((code, found.as_str()), (0, expected));
}

#[test]
fn a_value_that_the_schema_does_not_allow_is_an_error() {
    let table = TABLE.replace("name: all", "name: \"\"");
    let files = [
        ("routes.yaml", &*table),
        ("listeners.yaml", LISTENER),
        ("clusters.json", CLUSTERS),
    ];
    let (code, found, _) = check(&files, &[]);
    let expected = "routes.yaml:2:1: error[schema]: RouteConfiguration \"routes\" › virtual_hosts[0] › name: must have at least 1 character, and has 0\n";
    assert!(found.starts_with(expected), "{found}");
    assert_eq!(code, 1);
}

#[test]
fn a_resource_that_is_there_twice_is_an_error() {
    let (code, found, _) = check(&[("a.json", CLUSTERS), ("b.json", CLUSTERS)], &[]);
    assert!(
        found.starts_with("b.json:2:5: error[duplicate]: Cluster \"web\" is at a.json:2:5 too\n"),
        "{found}"
    );
    assert_eq!(code, 1);
}

#[test]
fn a_wrapper_gives_a_name_to_what_has_none_and_aliases() {
    let host = r#"
"@type": type.googleapis.com/envoy.service.discovery.v3.Resource
name: routes/shop
resource:
  "@type": type.googleapis.com/envoy.config.route.v3.VirtualHost
  name: shop
  domains: [shop.example]
"#;
    let cluster = r#"
"@type": type.googleapis.com/envoy.service.discovery.v3.Resource
name: web-7
aliases: [web]
resource: { "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster, name: web-7 }
"#;
    let all = format!("{host}---{cluster}---{TABLE}---{LISTENER}");
    let (code, found, complaints) = check(&[("all.yaml", &all)], &[]);
    assert_eq!(
        (code, found.as_str(), complaints.as_str()),
        (0, "4 resources: 0 errors, 0 warnings, 0 infos\n", "")
    );
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    const CLUSTER: &str = "\"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster";
    for (name, text, expected) in [
        (
            "enum.yaml",
            format!("{CLUSTER}\nname: web\ntype: NOPE\n"),
            "enum.yaml:3:7: unrecognized enum value 'NOPE'",
        ),
        (
            "field.yaml",
            format!("- {CLUSTER}\n  nmae: web\n"),
            "field.yaml:1:3: unrecognized field name 'nmae'",
        ),
        (
            "type.yaml",
            CLUSTER.replace("Cluster", "Clutser"),
            "type.yaml: document 1: message 'envoy.config.cluster.v3.Clutser' not found",
        ),
        (
            "unnamed.yaml",
            format!("---\n{CLUSTER}\n"),
            "unnamed.yaml:2:1: type.googleapis.com/envoy.config.cluster.v3.Cluster without a name",
        ),
        (
            "open.json",
            "{ \"resources\": [\n}".to_owned(),
            "open.json:1:16: mismatched bracket",
        ),
        (
            "beside.json",
            "{ \"resources\": [], \"resource\": 1 }".to_owned(),
            "beside.json: document 1: unrecognized field name 'resource'",
        ),
        (
            "empty.json",
            "{}".to_owned(),
            "empty.json: document 1: neither `@type` nor `resources` is here",
        ),
        (
            "twice.yaml",
            format!("{CLUSTER}\nname: a\nname: b\n"),
            "twice.yaml:3:1: duplicate mapping key: name\n",
        ),
        (
            "aliases.yaml",
            aliases(),
            "aliases.yaml:7:8: alias replay limit exceeded: total_replayed_events=1000001 > 1000000\n",
        ),
        (
            "text.yaml",
            "cluster".to_owned(),
            "text.yaml: document 1: invalid type",
        ),
    ] {
        let (code, found, complaints) = check(&[(name, &text), ("good.json", CLUSTERS)], &[]);
        assert!(complaints.starts_with(expected), "{complaints}");
        assert_eq!((code, found.as_str()), (2, ""), "{name}");
    }
    let host = "\"@type\": type.googleapis.com/envoy.config.route.v3.VirtualHost\nname: shop\n";
    let (code, _, complaints) = check(&[("host.yaml", host)], &[]);
    assert!(
        code == 2 && complaints.contains("envoy.service.discovery.v3.Resource"),
        "{complaints}"
    );
}

/// Texts of texts, which would be thousands of millions.
fn aliases() -> String {
    let lists = ('a'..='i').zip('b'..='j').map(|(of, name)| {
        let of = vec![format!("*{of}"); 9].join(", ");
        format!("{name}: &{name} [{of}]\n")
    });
    let first = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    std::iter::once(first).chain(lists).collect()
}

#[cfg(unix)]
#[test]
fn what_has_no_end_is_not_read_to_it() {
    let (code, _, complaints) = check(&[], &["/dev/zero"]);
    let expected = "/dev/zero: it has more than 67108864 bytes\n";
    assert_eq!((code, &*complaints), (2, expected));
}

#[test]
fn who_reads_what_is_printed_may_go() {
    let directory = TempDir::new().unwrap();
    std::fs::write(directory.path().join("listeners.yaml"), LISTENER).unwrap();
    let mut command = Command::new(CHECK);
    command.current_dir(directory.path()).arg("listeners.yaml");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_file_that_is_not_there_is_told_beside_others() {
    let (code, _, complaints) = check(&[("field.yaml", "a: b")], &["missing.yaml"]);
    assert!(
        complaints.contains("missing.yaml: ") && complaints.contains("field.yaml: document 1: "),
        "{complaints}"
    );
    assert_eq!(code, 2);
}

#[cfg(unix)]
#[test]
fn an_envoy_is_asked_too() {
    use std::io::Write;
    use std::process::Stdio;

    let directory = TempDir::new().unwrap();
    let envoy = directory.path().join("envoy");
    let script = "#!/bin/sh
for file; do :; done
grep -qa ingress \"$file\" || exit 0
echo \"error initializing configuration '$file': no ingress today\" >&2
exit 1
";
    // A file that this process has open cannot be executed, nor one that a process has that is just being started.
    let mut shell = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
        .arg(&envoy)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = shell.stdin.take().unwrap();
    input.write_all(script.as_bytes()).unwrap();
    drop(input);
    assert!(shell.wait().unwrap().success());
    let option = ["--envoy", envoy.to_str().unwrap()];
    let (code, found, _) = check(&[("a.json", CLUSTERS)], &option);
    assert_eq!(
        (code, &*found),
        (0, "2 resources: 0 errors, 0 warnings, 0 infos\n")
    );
    let files = [
        ("a.json", CLUSTERS),
        ("b.yaml", TABLE),
        ("c.yaml", LISTENER),
    ];
    let (code, found, _) = check(&files, &option);
    let expected = "c.yaml:2:3: error[envoy]: Listener \"ingress\": no ingress today\n";
    assert!(found.starts_with(expected), "{found}");
    assert_eq!(code, 1);
    let (code, _, complaints) = check(&files, &["--envoy", "not-there"]);
    assert!(
        complaints.starts_with("not-there does not start: "),
        "{complaints}"
    );
    assert_eq!(code, 2);
}
