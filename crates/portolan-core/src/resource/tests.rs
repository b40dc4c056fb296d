use super::*;
use crate::ResourceSet;
use crate::well_known::CLUSTER;

fn resource(body: &'static [u8]) -> Resource {
    Resource::builder(CLUSTER, "a", body).build().unwrap()
}

#[test]
fn the_sotw_entry_is_the_tail_of_the_delta_entry_and_the_body_the_tail_of_that() {
    let r = resource(b"body");
    let delta = r.entry(EntryForm::Delta);
    let sotw = r.entry(EntryForm::Sotw);
    assert!(delta.ends_with(&sotw));
    assert!(sotw.ends_with(&r.body()));
    assert_eq!(r.body(), &b"body"[..]);
    assert_eq!(delta.as_ptr_range().end, r.body().as_ptr_range().end);
}

#[test]
fn b51_virtual_hosts_are_on_demand_unless_they_say_otherwise() {
    let host = || Resource::builder(VIRTUAL_HOST, "r/a", &b"1"[..]);
    assert!(host().build().unwrap().on_demand());
    assert!(!host().on_demand(false).build().unwrap().on_demand());
    assert!(!resource(b"1").on_demand());
}

#[test]
fn content_alone_decides_the_version() {
    assert_eq!(resource(b"1").version(), resource(b"1").version());
    assert_ne!(resource(b"1").version(), resource(b"2").version());
    let with_ttl = Resource::builder(CLUSTER, "a", &b"1"[..])
        .ttl(Duration::from_secs(1))
        .build()
        .unwrap();
    assert_eq!(with_ttl.version(), resource(b"1").version());
    let with_alias = Resource::builder(CLUSTER, "a", &b"1"[..])
        .alias("b")
        .build()
        .unwrap();
    assert_ne!(with_alias.version(), resource(b"1").version());
}

#[test]
fn the_content_version_does_not_change_between_releases() {
    assert_eq!(
        resource(b"body").version().as_str(),
        "5c60a5b206132f05bd1f58d0e90030fc"
    );
}

#[test]
fn a_callers_version_is_sent_and_is_part_of_the_identity() {
    let build = |version: &str, body: &'static [u8]| {
        Resource::builder(CLUSTER, "a", body)
            .version(version)
            .build()
            .unwrap()
    };
    let v1 = build("v1", b"x");
    assert_eq!(v1.version(), &"v1");
    assert!(v1.same_content(&build("v1", b"x")));
    assert!(!v1.same_content(&build("v1", b"y")));
    assert!(!v1.same_content(&build("v2", b"x")));
}

#[test]
fn building_onto_an_equal_resource_gives_that_value_back() {
    let first = resource(b"1");
    let again = Resource::builder(CLUSTER, "a", &b"1"[..])
        .build_onto(Some(&first))
        .unwrap();
    assert!(first.is_same_value(&again));
    let ttl = Resource::builder(CLUSTER, "a", &b"1"[..])
        .ttl(Duration::from_secs(1))
        .build_onto(Some(&first))
        .unwrap();
    assert!(!first.is_same_value(&ttl));
}

#[test]
fn c304_a_time_to_live_that_cannot_be_told_is_refused() {
    let build = |ttl| Resource::builder(CLUSTER, "a", &b""[..]).ttl(ttl).build();
    for ttl in [Duration::ZERO, Duration::MAX] {
        let error = build(ttl).unwrap_err();
        assert!(matches!(error, ResourceError::InvalidTtl { .. }), "{error}");
    }
    assert!(build(Duration::from_nanos(1)).is_ok());
}

#[test]
fn names_and_types_are_required() {
    let unnamed = Resource::builder(CLUSTER, "", &b""[..]).build();
    assert!(matches!(unnamed, Err(ResourceError::Unnamed { .. })));
    let untyped = Resource::builder("", "a", &b""[..]).build();
    assert!(matches!(untyped, Err(ResourceError::Untyped { .. })));
}

#[test]
fn c337_nobody_could_ask_for_a_name_of_another_type() {
    for name in [
        "xdstp://a/other.Type/x",
        "xdstp:///",
        "xdstp://a/envoy.config.cluster.v3.Cluster/x#f",
    ] {
        let named = Resource::builder(CLUSTER, name, &b""[..]).build();
        assert!(
            matches!(named, Err(ResourceError::InvalidName { .. })),
            "{name}"
        );
        let aliased = Resource::builder(CLUSTER, "a", &b""[..])
            .alias(name)
            .build();
        assert!(
            matches!(aliased, Err(ResourceError::InvalidName { .. })),
            "{name}"
        );
    }
}

#[test]
fn c332_it_can_be_sent_under_another_spelling() {
    let build = |name: &str, alias: &str| {
        let builder = Resource::builder(CLUSTER, name, &b"body"[..]);
        builder.alias(alias).version("1").build().unwrap()
    };
    let resource = build("a", "b");
    assert!(resource.respelled(|_| None).is_none());
    let respell = |name: &Name| Some(Name::from(format!("long/{name}")));
    let respelled = resource.respelled(respell).unwrap();
    assert_eq!(respelled.name().as_str(), "long/a");
    let expected = build("long/a", "long/b");
    for form in [EntryForm::Delta, EntryForm::Sotw] {
        assert_eq!(respelled.entry(form), expected.entry(form));
    }
    assert_eq!(respelled.body(), resource.body());
    assert!(respelled.same_content(&resource));
}

#[test]
fn c313_c314_constraints_travel_with_the_name() {
    let r = Resource::builder(CLUSTER, "a", &b""[..])
        .version("1")
        .constraints(Constraints::value("k", "v"))
        .build()
        .unwrap();
    let head = b"\x0a\x011\x42\x0d\x0a\x01a\x12\x08\x0a\x06\x0a\x01k\x12\x01v";
    assert_eq!(r.entry(EntryForm::Delta)[2..][..head.len()], head[..]);
    assert_eq!(r.name().stem(), "a");
    assert_eq!(r.name().constraints().as_ref(), r.constraints());
}

#[test]
fn a_name_with_a_nul_has_constraints() {
    let build = |name: &str| Resource::builder(CLUSTER, name, &b""[..]).build();
    assert!(build("a\0k=v").is_ok_and(|r| r.constraints().is_some()));
    for name in ["a\0", "a\0b", "a\0\0k=v"] {
        let error = build(name).unwrap_err();
        assert!(
            matches!(error, ResourceError::InvalidConstraints { .. }),
            "{error}"
        );
    }
    assert!(matches!(build("\0k=v"), Err(ResourceError::Unnamed { .. })));
    let alias = Resource::builder(CLUSTER, "a", &b""[..])
        .alias("a\0k=v")
        .build();
    assert!(matches!(
        alias,
        Err(ResourceError::InvalidConstraints { .. })
    ));
}

#[test]
fn c324_constraints_are_part_of_what_a_resource_is() {
    let of = |value: &str| {
        let builder = Resource::builder(CLUSTER, "a", &b""[..]);
        builder
            .constraints(Constraints::value("env", value))
            .build()
            .unwrap()
    };
    assert_ne!(of("prod").name(), of("test").name());
    assert_ne!(of("prod").version(), of("test").version());
    let set = ResourceSet::new([of("prod"), of("test")]).unwrap();
    let meant = |value: &str| {
        let parameters = DynamicParameters::from([("env", value)]);
        let named = set.named("a").filter(|r| r.is_for(&parameters));
        named.map(|r| r.name().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(meant("prod"), ["a{env=prod}"]);
    assert_eq!(meant("qa"), [""; 0]);
    assert!(set.named("b").next().is_none() && set.get("a").is_none());
}
