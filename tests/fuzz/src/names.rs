use portolan_core::well_known::ROUTE;
use portolan_core::{Name, Resource, ResourceError, ResourceSet};

/// Any text as a name: its canonical text is its own, and its glob has it for a member. What names no resource is one of
/// those in URL form.
pub fn names(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let name = Name::from(&*text);
    assert_eq!(*Name::canonical(&text), *name);
    assert_eq!(*Name::canonical(&name), *name);
    if let Some(glob) = name.glob() {
        assert!(name.is_url() && glob.is_glob());
        assert_eq!(glob.glob().as_ref(), Some(&glob));
    }
    match Resource::builder(ROUTE, name.clone(), &b""[..]).build() {
        Ok(resource) => check_found(resource, &text),
        Err(ResourceError::InvalidName { .. }) => assert!(name.is_url()),
        Err(ResourceError::InvalidConstraints { .. }) => assert!(!name.is_stem()),
        Err(error) => assert!(name.stem().is_empty(), "{error}"),
    }
}

fn check_found(resource: Resource, written: &str) {
    assert_eq!(resource.glob(), resource.name().glob().as_ref());
    // Some that come before and behind it.
    let others = [
        "",
        "xdstp://",
        "xdstp://a/envoy.config.route.v3.RouteConfiguration/a",
        "~",
    ];
    let others = others.map(|name| Resource::builder(ROUTE, name, &b""[..]).build());
    let others = others.into_iter().flatten();
    let others = others.filter(|other| other.name().stem() != resource.name().stem());
    let set = ResourceSet::new(others.chain([resource.clone()])).expect("names differ");
    let found = |identifier: &str| {
        let mut found = set.identified_by(identifier);
        found.any(|found| found.name() == resource.name())
    };
    assert!(found(&Name::canonical(written)));
    assert!(resource.glob().is_none_or(|glob| found(glob)));
}
