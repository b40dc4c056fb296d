use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;
use portolan_core::{
    DynamicParameters, Interest, Name, Publication, ResourceSet, ResourceType, Selection, Version,
};

use crate::session::resolve;
use crate::subscription::{InvalidName, Subscription};
use crate::{
    ClientFeatures, Locator, Nonce, ProtocolError, Reason, Response, Scope, SessionConfig,
    SotwRequest, TtlPolicy, Variant,
};

/// A request that is answered once and not subscribed: the unary form of the protocol (C-049).
///
/// What a stream would remember of its client stands in the request alone: its names, and the version that the client
/// has. An answer always holds everything that is named and exists (C-411), and its version is made from just that, so
/// that a client which names more is not taken for one that has it (C-408). A label of the caller's is not shown.
/// Nonce and error mean nothing (C-409, C-410). Times to live are told as on a stream, and each answer refreshes them.
///
/// ```
/// use portolan_core::{Publication, Resource, ResourceTypes, Snapshot, well_known::CLUSTER};
/// use portolan_engine::{Fetch, Scope, SessionConfig, SotwRequest};
///
/// let mut builder = Snapshot::builder();
/// builder.insert(Resource::builder(CLUSTER, "a", &b"\x0a\x01a"[..]))?;
/// let publication = Publication::first(builder.build());
///
/// let scope = Scope::Single(ResourceTypes::well_known().get(CLUSTER));
/// let config = SessionConfig::default();
/// let fetch = Fetch::new(&SotwRequest::default(), &scope, &config)?;
/// let response = fetch.answer(&publication).expect("the snapshot speaks for clusters");
/// assert_eq!(response.resources.len(), 1);
///
/// let mut again = SotwRequest::default();
/// again.version = response.version.to_string();
/// assert!(Fetch::new(&again, &scope, &config)?.has(&response));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Fetch {
    resource_type: ResourceType,
    subscription: Subscription,
    wanted: Vec<Name>,
    version: String,
    ttl: TtlPolicy,
    features: ClientFeatures,
    /// Whether the client can read what has constraints (C-327).
    wrapped: bool,
}

impl Fetch {
    /// Reads a request. No names mean everything for the types for which they do on a stream, and nothing for others.
    ///
    /// # Errors
    /// The client broke the protocol, or exceeds a limit on a stream.
    pub fn new(
        request: &SotwRequest,
        scope: &Scope,
        config: &SessionConfig,
    ) -> Result<Self, ProtocolError> {
        let resource_type = resolve(scope, config.types(), &request.type_url)?;
        check(request, &resource_type, config)?;
        let legacy_wildcard = config.has_legacy_wildcard(&resource_type);
        let mut subscription = Subscription::default();
        let change = subscription
            .apply_sotw(&request.names, &request.locators, legacy_wildcard)
            .map_err(|InvalidName(field)| ProtocolError::InvalidText {
                type_url: resource_type.url().clone(),
                field,
            })?;
        let (wanted, _) = subscription.interest(change);
        Ok(Self {
            resource_type,
            subscription,
            wanted,
            version: request.version.clone(),
            ttl: config.ttl(),
            features: ClientFeatures::default(),
            wrapped: !request.locators.is_empty(),
        })
    }

    /// What the client can do. Default: nothing that not every client can.
    #[must_use]
    pub fn with_features(mut self, features: ClientFeatures) -> Self {
        self.features = features;
        self
    }

    /// What is wanted, for the view to be told before it is loaded.
    #[must_use]
    pub fn interest(&self) -> Interest<'_> {
        let wildcard = self.subscription.is_wildcard();
        Interest::new(self.resource_type.url(), &self.wanted, &[], wildcard)
    }

    /// Whether it is not known yet of a name that is wanted what it is, so that an answer would leave it out (C-235).
    #[must_use]
    pub fn waits(&self, publication: &Publication) -> bool {
        let set = publication.snapshot().set(self.resource_type.url());
        set.is_some_and(|set| self.wanted.iter().any(|name| set.is_pending(name)))
    }

    /// What names stand for that come without parameters, as in [`Session::set_parameters`](crate::Session::set_parameters).
    #[must_use]
    pub fn with_parameters(mut self, parameters: DynamicParameters) -> Self {
        self.subscription.set_parameters(Arc::new(parameters));
        self
    }

    /// The answer from a publication; `None` where its snapshot does not speak for the type.
    #[must_use]
    pub fn answer(&self, publication: &Publication) -> Option<Response> {
        let set = publication.snapshot().set(self.resource_type.url())?;
        let mut resources = self.subscription.select(set);
        let version = version_of(&resources, set);
        let errors = resources.take_failed();
        Some(Response {
            variant: Variant::Sotw,
            type_url: self.resource_type.url().clone(),
            version,
            nonce: Nonce::new(1),
            resources,
            errors,
            bodyless: Default::default(),
            removed: Default::default(),
            generation: publication.generation(),
            heartbeats: Vec::new(),
            timed: self.features.is_told_ttls(self.ttl, Variant::Sotw),
            wrapped: self.wrapped,
            reason: Reason::Owed,
        })
    }

    /// Whether the client says that it has what this response holds (C-406).
    #[must_use]
    pub fn has(&self, response: &Response) -> bool {
        response.version == *self.version
    }
}

fn check(
    request: &SotwRequest,
    resource_type: &ResourceType,
    config: &SessionConfig,
) -> Result<(), ProtocolError> {
    let (limits, names, locators) = (config.limits(), &request.names, &request.locators);
    let (type_url, field) = (resource_type.url(), "resource_names");
    if names.len() + locators.len() > limits.names() {
        return Err(ProtocolError::TooManyNames {
            type_url: type_url.clone(),
            field,
            max: limits.names(),
        });
    }
    let lens = names.iter().map(Bytes::len);
    if lens.chain(locators.iter().map(Locator::len)).sum::<usize>() > limits.name_bytes() {
        return Err(ProtocolError::NamesTooLong {
            type_url: type_url.clone(),
            field,
            max: limits.name_bytes(),
        });
    }
    Ok(())
}

/// The version of what is selected, which is the set's where that is all of it.
fn version_of(selection: &Selection, set: &ResourceSet) -> Version {
    if selection.len() == set.entries_len() {
        return set.version().clone();
    }
    let selected = ResourceSet::new(selection.iter().cloned());
    let selected = selected.expect("resources of one set have one type and differ in name");
    selected.version().clone()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER};
    use portolan_core::{Constraints, Resource, ResourceFailure, ResourceTypes, Snapshot, TypeUrl};

    use super::*;
    use crate::Limits;

    fn publication(resources: &[(&TypeUrl, &str, &'static [u8])]) -> Publication {
        let mut builder = Snapshot::builder();
        for (type_url, name, body) in resources {
            builder
                .insert(Resource::builder(*type_url, *name, *body))
                .unwrap();
        }
        Publication::first(builder.build())
    }

    fn fetch(type_url: &TypeUrl, names: &[&str], version: &str) -> Fetch {
        let scope = Scope::Single(ResourceTypes::well_known().get(type_url));
        Fetch::new(
            &request("", names, version),
            &scope,
            &SessionConfig::default(),
        )
        .unwrap()
    }

    fn request(type_url: &str, names: &[&str], version: &str) -> SotwRequest {
        let names = names.iter().map(|n| Bytes::copy_from_slice(n.as_bytes()));
        SotwRequest {
            type_url: type_url.into(),
            names: names.collect(),
            version: version.into(),
            ..SotwRequest::default()
        }
    }

    fn names(response: &Response) -> Vec<&str> {
        response
            .resources
            .iter()
            .map(|r| r.name().as_str())
            .collect()
    }

    #[test]
    fn a_partial_type_is_answered_with_all_that_is_named_and_exists() {
        let publication = publication(&[(&ENDPOINT, "a", b"1"), (&ENDPOINT, "b", b"1")]);
        let response = fetch(&ENDPOINT, &["b", "missing"], "").answer(&publication);
        assert_eq!(names(&response.unwrap()), ["b"]);
        let all = fetch(&ENDPOINT, &["*"], "").answer(&publication).unwrap();
        assert_eq!(names(&all), ["a", "b"]);
        let none = fetch(&ENDPOINT, &[], "").answer(&publication).unwrap();
        assert_eq!(names(&none), [""; 0]);
    }

    #[test]
    fn c312_c328_of_alternatives_that_comes_which_is_meant_for_the_client() {
        let mut builder = Snapshot::builder();
        for env in ["prod", "test"] {
            let resource = Resource::builder(ENDPOINT, "a", env);
            let resource = resource.constraints(Constraints::value("env", env));
            builder.insert(resource).unwrap();
        }
        builder
            .insert(Resource::builder(ENDPOINT, "b", "all"))
            .unwrap();
        let publication = Publication::first(builder.build());
        let bodies = |fetch: Fetch| {
            let response = fetch.answer(&publication).unwrap();
            let bodies = response.resources.iter().map(Resource::body);
            bodies.collect::<Vec<_>>()
        };
        let test = || DynamicParameters::from_iter([("env", "test")]);
        assert_eq!(bodies(fetch(&ENDPOINT, &["a", "b"], "")), ["all"]);
        let of_node = fetch(&ENDPOINT, &["a", "b"], "").with_parameters(test());
        assert_eq!(bodies(of_node), ["test", "all"]);
        let mut located = request("", &[], "");
        let prod = || [("env".into(), "prod".into())];
        located.locators = ["a", "b"].map(|name| Locator::new(name, prod())).into();
        let scope = Scope::Single(ResourceTypes::well_known().get(ENDPOINT));
        let located = Fetch::new(&located, &scope, &SessionConfig::default()).unwrap();
        assert_eq!(bodies(located.with_parameters(test())), ["prod", "all"]);
    }

    #[test]
    fn no_names_are_a_wildcard_where_they_are_one_on_a_stream() {
        let publication = publication(&[(&CLUSTER, "a", b"1"), (&ENDPOINT, "a", b"1")]);
        let all = fetch(&CLUSTER, &[], "").answer(&publication).unwrap();
        assert_eq!(names(&all), ["a"]);
        let config = SessionConfig::default().with_legacy_wildcard(false);
        let scope = Scope::Single(ResourceTypes::well_known().get(CLUSTER));
        let strict = Fetch::new(&SotwRequest::default(), &scope, &config).unwrap();
        assert_eq!(names(&strict.answer(&publication).unwrap()), [""; 0]);
    }

    #[test]
    fn a_client_that_names_more_is_not_taken_for_one_that_has_it() {
        let publication = publication(&[
            (&ENDPOINT, "a", b"1"),
            (&ENDPOINT, "b", b"1"),
            (&ENDPOINT, "c", b"1"),
        ]);
        let one = fetch(&ENDPOINT, &["a"], "").answer(&publication).unwrap();
        let version = one.version.as_str();
        assert!(fetch(&ENDPOINT, &["a"], version).has(&one));
        let more = fetch(&ENDPOINT, &["a", "b"], version);
        assert!(!more.has(&more.answer(&publication).unwrap()));
        let all = fetch(&ENDPOINT, &["*"], version);
        assert!(!all.has(&all.answer(&publication).unwrap()));
    }

    #[test]
    fn the_version_changes_with_what_is_named_and_with_nothing_else() {
        let before = publication(&[(&ENDPOINT, "a", b"1"), (&ENDPOINT, "b", b"1")]);
        let after = publication(&[(&ENDPOINT, "a", b"1"), (&ENDPOINT, "b", b"2")]);
        let version = |names: &[&str], publication| {
            let response = fetch(&ENDPOINT, names, "").answer(publication);
            response.unwrap().version
        };
        assert_eq!(version(&["a"], &before), version(&["a"], &after));
        assert_ne!(version(&["a", "b"], &before), version(&["a", "b"], &after));
    }

    #[test]
    fn c357_what_cannot_be_had_is_said_and_counts() {
        let healthy = publication(&[(&ENDPOINT, "a", b"1")]);
        let mut failing = healthy.snapshot().edit();
        let failure = ResourceFailure::unavailable("no");
        failing.fail(ENDPOINT, "b", failure).unwrap();
        let failing = Publication::first(failing.build());
        let ask = |names: &[&str], publication| fetch(&ENDPOINT, names, "").answer(publication);
        let before = ask(&["a", "b"], &healthy).unwrap();
        let after = ask(&["a", "b"], &failing).unwrap();
        assert_eq!(names(&after), ["a"]);
        assert_eq!(after.errors.len(), 1);
        assert!(!fetch(&ENDPOINT, &["a", "b"], before.version.as_str()).has(&after));
        let of_one = |publication| ask(&["a"], publication).unwrap().version;
        assert_eq!(of_one(&healthy), of_one(&failing));
    }

    #[test]
    fn c235_it_is_known_of_an_answer_that_it_comes_too_early() {
        let mut early = publication(&[(&ENDPOINT, "a", b"1")]).snapshot().edit();
        early.pending(ENDPOINT, "b").unwrap();
        let early = Publication::first(early.build());
        let both = fetch(&ENDPOINT, &["a", "b"], "");
        assert!(both.waits(&early));
        assert_eq!(names(&both.answer(&early).unwrap()), ["a"]);
        assert_eq!(both.interest().added, ["a".into(), "b".into()]);
        assert!(!both.interest().wildcard);
        let everything = fetch(&ENDPOINT, &["*"], "");
        assert!(!everything.waits(&early) && everything.interest().wildcard);
    }

    #[test]
    fn a_label_is_no_version() {
        let mut labelled = publication(&[(&CLUSTER, "a", b"1")]).snapshot().edit();
        labelled.label(CLUSTER, "v1");
        let publication = Publication::first(labelled.build());
        let response = fetch(&CLUSTER, &[], "v1").answer(&publication).unwrap();
        assert_ne!(response.version, "v1");
        assert!(!fetch(&CLUSTER, &[], "v1").has(&response));
    }

    #[test]
    fn a_type_of_which_nothing_was_said_has_no_answer() {
        let mut only = Snapshot::builder();
        only.only([CLUSTER]);
        let publication = Publication::first(only.build());
        assert!(fetch(&LISTENER, &[], "").answer(&publication).is_none());
        assert!(fetch(&CLUSTER, &[], "").answer(&publication).is_some());
    }

    #[test]
    fn what_a_stream_refuses_is_refused() {
        let scope = Scope::Single(ResourceTypes::well_known().get(CLUSTER));
        let limits = Limits::default().with_names(1).with_name_bytes(3);
        let config = SessionConfig::default().with_limits(limits);
        let error = |request: &SotwRequest| Fetch::new(request, &scope, &config).unwrap_err();
        let wrong = error(&request(LISTENER.as_str(), &[], ""));
        assert!(matches!(wrong, ProtocolError::WrongType { .. }));
        let many = error(&request("", &["a", "b"], ""));
        assert!(matches!(many, ProtocolError::TooManyNames { max: 1, .. }));
        let mut both = request("", &["a"], "");
        both.locators.push(Locator::new("b", []));
        let many = error(&both);
        assert!(matches!(many, ProtocolError::TooManyNames { max: 1, .. }));
        assert!(Fetch::new(&request("", &["abc"], ""), &scope, &config).is_ok());
        let long = error(&request("", &["long"], ""));
        assert!(matches!(long, ProtocolError::NamesTooLong { max: 3, .. }));
        let mut garbled = request("", &[], "");
        garbled.names.push(Bytes::from_static(b"\xff"));
        assert!(matches!(error(&garbled), ProtocolError::InvalidText { .. }));
    }
}
