use portolan_consistency::schema::{Rule, Validator, Violation};
use portolan_consistency::{Checks, FindingKind, Policy, Report};
use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET};
use portolan_core::{Resource, TypeUrl};

use crate::world::{checks, keyed, resource, shown, snapshot, whole};

fn validate(type_url: &TypeUrl, text: &str) -> Vec<Violation> {
    let resource = keyed(type_url, "x", text);
    Validator::new().validate(type_url.as_str(), &resource.body())
}

/// What is wrong with a message that is written as text.
fn wrong(message: &str, text: &str) -> Vec<String> {
    let type_url = TypeUrl::from(format!("type.googleapis.com/{message}"));
    let found = validate(&type_url, text);
    found.iter().map(ToString::to_string).collect()
}

fn core(message: &str, text: &str) -> Vec<String> {
    wrong(&format!("envoy.config.core.v3.{message}"), text)
}

fn route(message: &str, text: &str) -> Vec<String> {
    wrong(&format!("envoy.config.route.v3.{message}"), text)
}

const NOTHING: [&str; 0] = [];

#[test]
fn what_is_usual_is_allowed() {
    let checks = checks().with_schema(Validator::new());
    let report = checks.check(&whole());
    let expected = [
        "ClusterLoadAssignment",
        "Cluster \"named\"",
        "Cluster \"secure\"",
    ];
    for shown in shown(&report) {
        assert!(
            !expected.iter().any(|what| shown.starts_with(what)),
            "{shown}"
        );
    }
}

#[test]
fn numbers_are_compared_exactly() {
    assert_eq!(core("Pipe", r#"path: "p" mode: 511"#), NOTHING);
    assert_eq!(
        core("Pipe", r#"path: "p" mode: 512"#),
        ["mode: must be at most 511, and is 512"]
    );
    let socket = |size: u64| {
        core(
            "UdpSocketConfig",
            &format!("max_rx_datagram_size {{ value: {size} }}"),
        )
    };
    assert_eq!(socket(65535), NOTHING);
    let expected = "max_rx_datagram_size: must be more than 0 and less than 65536, and is 18446744073709551615";
    assert_eq!(socket(u64::MAX), [expected]);
    let percent = |value: &str| wrong("envoy.type.v3.Percent", &format!("value: {value}"));
    assert_eq!(percent("100"), NOTHING);
    assert_eq!(percent("-0.0"), NOTHING);
    assert_eq!(percent("nan"), NOTHING);
    assert_eq!(
        percent("100.00000000000001"),
        ["value: must be at least 0 and at most 100, and is 100.00000000000001"]
    );
}

#[test]
fn durations_are_compared_to_the_nanosecond() {
    let timeout = |text: &str| {
        core(
            "HttpUri",
            &format!("uri: \"u\" cluster: \"c\" timeout {{ {text} }}"),
        )
    };
    assert_eq!(timeout(""), NOTHING);
    assert_eq!(timeout("seconds: 4294967295 nanos: 999999999"), NOTHING);
    let expected =
        |is: &str| format!("timeout: must be at least 0s and less than 4294967296s, and is {is}");
    assert_eq!(timeout("nanos: -1"), [expected("-0.000000001s")]);
    assert_eq!(timeout("seconds: 4294967296"), [expected("4294967296s")]);
    assert_eq!(
        core("HttpUri", r#"uri: "u" cluster: "c""#),
        ["timeout: must be there"]
    );
}

#[test]
fn texts_are_measured_in_characters_and_bytes() {
    let key = |key: &str| {
        let mut bytes = vec![0x0a];
        prost::encode_length_delimiter(key.len(), &mut bytes).unwrap();
        bytes.extend(key.as_bytes());
        let url = "type.googleapis.com/envoy.config.core.v3.KeyValue";
        let found = Validator::new().validate(url, &bytes);
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(key(""), ["key: must have at least 1 character, and has 0"]);
    assert_eq!(key(&"é".repeat(8192)), NOTHING);
    let expected = "key: must have at most 16384 bytes, and has 16386";
    assert_eq!(key(&"é".repeat(8193)), [expected]);
}

#[test]
fn forms_of_text_are_matched_whole() {
    let prefix = |text: &str| route("RouteMatch", &format!("path_separated_prefix: {text:?}"));
    assert_eq!(prefix("/a"), NOTHING);
    let expected = "path_separated_prefix: must match ^[^?#]+[^?#/]$";
    for text in ["/a/", "/a\n/", "?"] {
        assert_eq!(prefix(text), [expected], "{text:?}");
    }
    let hash = |key: &str| {
        route(
            "RouteAction.HashPolicy.Header",
            &format!("header_name: {key:?}"),
        )
    };
    assert_eq!(hash("x-user"), NOTHING);
    for text in ["a\n", "a\rb", "a\0"] {
        let expected = "header_name: must be one line, without NUL";
        assert_eq!(hash(text), [expected], "{text:?}");
    }
}

#[test]
fn enums_have_names() {
    let method = |method: i32| {
        let text = format!("path: \"/\" method: {method}");
        core("HealthCheck.HttpHealthCheck", &text)
    };
    assert_eq!(method(1), NOTHING);
    assert_eq!(method(10), ["method: 10 is no value of the enum"]);
    assert_eq!(
        method(6),
        ["method: 6 is a value that may not be used here"]
    );
}

#[test]
fn what_must_be_there_is_missed() {
    let expected = ["address: one of its fields must be there"];
    assert_eq!(core("Address", ""), expected);
    let check = core("HealthCheck", "tcp_health_check {}");
    let missed = [
        "timeout",
        "interval",
        "unhealthy_threshold",
        "healthy_threshold",
    ];
    assert_eq!(check, missed.map(|field| format!("{field}: must be there")));
}

#[test]
fn elements_are_counted_and_compared() {
    let policy = |text: &str| route("InternalRedirectPolicy", text);
    assert_eq!(policy("redirect_response_codes: [1, 2, 3, 4, 5]"), NOTHING);
    assert_eq!(
        policy("redirect_response_codes: [1, 2, 3, 4, 5, 6]"),
        ["redirect_response_codes: must have at most 5, and has 6"]
    );
    assert_eq!(policy(r#"response_headers_to_copy: ["a", "b"]"#), NOTHING);
    let twice = policy(r#"response_headers_to_copy: ["a", "b", "a"]"#);
    let expected =
        "response_headers_to_copy: must not have two that are equal, as [2] and an earlier";
    assert_eq!(twice, [expected]);
    let buckets = |text: &str| wrong("envoy.config.metrics.v3.HistogramBucketSettings", text);
    let found = buckets("match { exact: \"a\" } buckets: [1, 0, 1]");
    let expected = [
        "buckets[1]: must be more than 0, and is 0",
        "buckets: must not have two that are equal, as [2] and an earlier",
    ];
    assert_eq!(found, expected);
}

#[test]
fn keys_and_values_of_maps_are_looked_at() {
    let metadata = core("Metadata", r#"filter_metadata { key: "" value {} }"#);
    let expected = "filter_metadata[\"\"].key: must have at least 1 character, and has 0";
    assert_eq!(metadata, [expected]);
    let bucket = |text: &str| wrong("envoy.service.rate_limit_quota.v3.BucketId", text);
    assert_eq!(bucket(r#"bucket { key: "a" value: "b" }"#), NOTHING);
    assert_eq!(
        bucket(r#"bucket { key: "a" value: "" }"#),
        ["bucket[\"a\"]: must have at least 1 character, and has 0"]
    );
    assert_eq!(bucket(""), ["bucket: must have at least 1, and has 0"]);
}

#[test]
fn what_is_in_an_any_is_looked_at() {
    let listener = keyed(
        &LISTENER,
        "ingress",
        r#"filter_chains { filters { name: "http" typed_config { [@HCM] {
            http_filters { name: "" }
        } } } }"#,
    );
    let found = Validator::new().validate(LISTENER.as_str(), &listener.body());
    let found: Vec<_> = found.iter().map(ToString::to_string).collect();
    let place = "filter_chains[0].filters[0].http_connection_manager";
    let expected = [
        format!("{place}.http_filters[0].name: must have at least 1 character, and has 0"),
        format!("{place}.stat_prefix: must have at least 1 character, and has 0"),
        format!("{place}.route_specifier: one of its fields must be there"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn findings_name_the_resource() {
    let checks = checks().with_schema(Validator::new());
    let cluster = resource(&CLUSTER, "web", "connect_timeout {} lb_policy: 4");
    let report = checks.check(&snapshot([cluster]));
    let expected = [
        "Cluster \"web\" › connect_timeout: must be more than 0s, and is 0s",
        "Cluster \"web\" › lb_policy: 4 is no value of the enum",
    ];
    assert_eq!(shown(&report), expected);
    assert_eq!(report.count(FindingKind::Schema), 2);
    assert!(!report.is_refused());
}

#[test]
fn what_is_allowed_costs_no_allocation() {
    let text = r#"
        connect_timeout { seconds: 1 }
        health_checks { timeout { seconds: 1 } interval { seconds: 1 } healthy_threshold { value: 1 }
            unhealthy_threshold { value: 1 } http_health_check { path: "/" } }
        transport_socket { name: "tls" typed_config { [@ext.transport_sockets.tls.v3.UpstreamTlsContext] {
            common_tls_context { tls_certificate_sds_secret_configs { name: "s" sds_config @ADS } }
        } } }
        typed_extension_protocol_options { key: "http" value { [@ext.upstreams.http.v3.HttpProtocolOptions] {
            explicit_http_config { http2_protocol_options {} }
        } } }
    "#;
    let cluster = resource(&CLUSTER, "web", text);
    let (validator, body) = (Validator::new(), cluster.body());
    let validate = || assert_eq!(validator.validate(CLUSTER.as_str(), &body), []);
    let allocations = allocation_counter::measure(validate);
    assert_eq!(allocations.count_total, 0);
}

fn refused(checks: &Checks, resource: Resource) -> bool {
    let report: Report = checks.check(&snapshot([resource]));
    report.is_refused()
}

#[test]
fn a_policy_may_be_for_a_rule_or_a_place() {
    let bad = || resource(&CLUSTER, "web", "connect_timeout {} lb_policy: 4");
    let schema = |validator: Validator| {
        checks()
            .with_schema(validator)
            .with_policy(FindingKind::Schema, Policy::Refuse)
    };
    let place = |place: &str, policy| Validator::new().with_place(place, policy).unwrap();
    assert!(refused(&schema(Validator::new()), bad()));
    let one = place("envoy.config.cluster.v3.Cluster.lb_policy", Policy::Warn);
    assert!(refused(&schema(one.clone()), bad()));
    let both = one.with_rule(Rule::Range, Policy::Ignore);
    let report = schema(both).check(&snapshot([bad()]));
    assert_eq!((report.is_refused(), report.total()), (false, 1));
    let all = place("envoy.config.cluster.v3.Cluster", Policy::Ignore);
    assert!(schema(all).check(&snapshot([bad()])).is_clean());
    let only = checks().with_schema(Validator::new().with_rule(Rule::Range, Policy::Refuse));
    assert!(refused(&only, bad()));
    let error = Validator::new().with_place("envoy.config.cluster.v3.Cluster.nam", Policy::Warn);
    assert!(error.unwrap_err().to_string().contains("Cluster.nam"));
}

#[test]
fn a_changed_resource_is_looked_at_again() {
    let checks = std::sync::Arc::new(checks().with_schema(Validator::new()));
    let mut checker = portolan_consistency::Checker::new(checks);
    let bad = snapshot([resource(&CLUSTER, "web", "connect_timeout {} lb_policy: 4")]);
    let good = snapshot([resource(&CLUSTER, "web", "")]);
    assert_eq!(checker.check(&bad).total(), 2);
    assert_eq!(checker.check(&bad).total(), 2);
    assert!(checker.check(&good).is_clean());
    assert_eq!(checker.check(&bad).total(), 2);
}

#[test]
fn so_many_violations_are_told() {
    let removals = "request_headers_to_remove: \"\" ".repeat(50);
    let text = format!("virtual_hosts {{ name: \"v\" domains: \"*\" {removals} }}");
    let table = resource(&ROUTE, "r", &text);
    let found = Validator::new().validate(ROUTE.as_str(), &table.body());
    assert_eq!(found.len(), 20);
    let found = Validator::new()
        .with_most(3)
        .validate(ROUTE.as_str(), &table.body());
    assert_eq!(found.len(), 3);
}

#[test]
fn nothing_of_a_secret_is_told() {
    let text = r#"tls_certificate { private_key { inline_string: "s3cr3t" } certificate_chain { environment_variable: "" } }"#;
    let secret = resource(&SECRET, "s", text);
    let found = Validator::new().validate(SECRET.as_str(), &secret.body());
    let expected = "tls_certificate.certificate_chain.environment_variable: must have at least 1 character, and has 0";
    assert_eq!(found[0].to_string(), expected);
    assert_eq!(found.len(), 1);
}

mod bytes {
    use super::*;

    fn cluster(bytes: &[u8]) -> Vec<String> {
        let found = Validator::new().validate(CLUSTER.as_str(), bytes);
        found.iter().map(ToString::to_string).collect()
    }

    const NAME: &[u8] = b"\x0a\x01n";

    #[test]
    fn what_is_no_message_is_told() {
        let broken: [(&[u8], &str); 6] = [
            (b"\x0a\x05n", "it ends too early"),
            (
                b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7fn",
                "it ends too early",
            ),
            (
                b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
                "it has a number of more than 64 bits",
            ),
            (b"\x0b\x0c", "it has a group, which no xDS message has"),
            (b"\x0f", "it has a field of an unknown wire type"),
            (b"\x02\x00", "it has a field of an impossible number"),
        ];
        for (bytes, why) in broken {
            assert_eq!(
                cluster(bytes),
                [format!("is not a protobuf message: {why}")]
            );
        }
        let inner = [NAME, b"\x22\x02\x08\x80"].concat();
        let expected = "connect_timeout: is not a protobuf message: it ends too early";
        assert_eq!(cluster(&inner), [expected]);
        assert_eq!(cluster(b"\x0a\x01\xff"), ["name: must be UTF-8"]);
    }

    #[test]
    fn depth_has_a_bound() {
        let url = "type.googleapis.com/google.protobuf.ListValue";
        let mut list = Vec::new();
        for depth in 0..200 {
            let in_value = |tag, inner: &[u8]| {
                let mut out = vec![tag];
                let mut len = inner.len();
                while len >= 0x80 {
                    out.push(len as u8 | 0x80);
                    len >>= 7;
                }
                out.push(len as u8);
                out.extend(inner);
                out
            };
            list = in_value(0x0a, &in_value(0x32, &list));
            let found = Validator::new().validate(url, &list);
            let too_deep: Vec<_> = found.iter().map(Violation::rule).collect();
            let is_too_deep = 2 * (depth + 1) > 100;
            // The innermost of a shallower one has a value without a kind.
            assert_eq!(too_deep.contains(&Rule::Depth), is_too_deep, "{depth}");
        }
    }

    #[test]
    fn of_what_is_there_twice_the_last_counts() {
        assert_eq!(cluster(b"\x0a\x00\x0a\x01n"), NOTHING);
        let empty = ["name: must have at least 1 character, and has 0"];
        assert_eq!(cluster(b"\x0a\x01n\x0a\x00"), empty);
    }

    #[test]
    fn messages_that_are_there_twice_are_one() {
        // Twice connect_timeout: the seconds of the one, the nanoseconds of the other.
        let merged = [NAME, b"\x22\x02\x08\x01", b"\x22\x02\x10\x01"].concat();
        assert_eq!(cluster(&merged), NOTHING);
        let apart = [NAME, b"\x22\x02\x08\x00", b"\x22\x02\x10\x01"].concat();
        assert_eq!(cluster(&apart), NOTHING);
        let neither = [NAME, b"\x22\x00", b"\x22\x02\x10\x00"].concat();
        let expected = "connect_timeout: must be more than 0s, and is 0s";
        assert_eq!(cluster(&neither), [expected]);
    }

    #[test]
    fn of_the_members_of_a_oneof_the_last_is_there() {
        // A cluster_type without a name, and a type.
        let custom = [NAME, b"\xb2\x02\x00"].concat();
        let expected = "cluster_type.name: must have at least 1 character, and has 0";
        assert_eq!(cluster(&custom), [expected]);
        assert_eq!(cluster(&[&custom, &b"\x10\x01"[..]].concat()), NOTHING);
        let other_way = [NAME, b"\x10\x01", b"\xb2\x02\x00"].concat();
        assert_eq!(cluster(&other_way), [expected]);
    }

    #[test]
    fn elements_may_lie_apart() {
        let url = "type.googleapis.com/envoy.config.route.v3.InternalRedirectPolicy";
        let codes = |codes: &[&[u8]]| {
            let found = Validator::new().validate(url, &codes.concat());
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let redirects: &[u8] = b"\x0a\x00";
        assert_eq!(
            codes(&[b"\x12\x03\x01\x02\x03", redirects, b"\x10\x04\x10\x05"]),
            NOTHING
        );
        let expected = "redirect_response_codes: must have at most 5, and has 6";
        assert_eq!(
            codes(&[
                b"\x12\x03\x01\x02\x03",
                redirects,
                b"\x10\x04\x12\x02\x05\x06"
            ]),
            [expected]
        );
    }

    #[test]
    fn of_entries_with_one_key_the_last_counts() {
        let url = "type.googleapis.com/envoy.service.rate_limit_quota.v3.BucketId";
        let bucket = |entries: &[&[u8]]| {
            let found = Validator::new().validate(url, &entries.concat());
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let (good, bad): (&[u8], &[u8]) = (b"\x0a\x06\x0a\x01k\x12\x01v", b"\x0a\x03\x0a\x01k");
        let other: &[u8] = b"\x0a\x06\x0a\x01a\x12\x01v";
        assert_eq!(bucket(&[bad, good]), NOTHING);
        assert_eq!(bucket(&[bad, other, good]), NOTHING);
        let expected = "bucket[\"k\"]: must have at least 1 character, and has 0";
        assert_eq!(bucket(&[good, bad]), [expected]);
        assert_eq!(bucket(&[good, other, bad]), [expected]);
    }

    #[test]
    fn a_field_of_another_wire_type_is_none() {
        let empty = ["name: must have at least 1 character, and has 0"];
        assert_eq!(cluster(b"\x08\x01"), empty);
    }

    #[test]
    fn unknown_types_are_told_if_asked() {
        let url = "type.googleapis.com/mine.Filter";
        assert_eq!(Validator::new().validate(url, b"\xff"), []);
        let found = Validator::new()
            .with_rule(Rule::KnownType, Policy::Warn)
            .validate(url, b"");
        assert_eq!(
            found[0].to_string(),
            "the schema has no type \"type.googleapis.com/mine.Filter\""
        );
    }

    #[test]
    fn endpoints_are_looked_at() {
        let text = r#"endpoints { lb_endpoints { endpoint {} load_balancing_weight { value: 0 } } priority: 129 }"#;
        let endpoints = resource(&ENDPOINT, "e", text);
        let found = Validator::new().validate(ENDPOINT.as_str(), &endpoints.body());
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        let expected = [
            "endpoints[0].lb_endpoints[0].load_balancing_weight: must be at least 1, and is 0",
            "endpoints[0].priority: must be at most 128, and is 129",
        ];
        assert_eq!(found, expected);
    }
}
