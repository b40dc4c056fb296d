use std::collections::BTreeSet;

use portolan_core::{MissingName, Name, Resource, ResourceTypes, SotwMode, TypeUrl};
use portolan_engine::{Nonce, Response, Variant};

/// What holds for every response of every stream, whatever the scenario.
#[derive(Debug, Default)]
pub(super) struct Laws {
    newest: Option<Nonce>,
    asked: BTreeSet<TypeUrl>,
}

impl Laws {
    pub(super) fn asked(&mut self, type_url: TypeUrl) {
        self.asked.insert(type_url);
    }

    /// Checks a response; the text says which law it breaks.
    pub(super) fn check(
        &mut self,
        variant: Variant,
        types: &ResourceTypes,
        response: &Response,
    ) -> Result<(), &'static str> {
        let url = &response.type_url;
        let sotw = variant == Variant::Sotw;
        let newest = self.newest.replace(response.nonce);
        if newest.is_some_and(|newest| response.nonce <= newest) {
            return Err("nonces grow (C-090, C-187)");
        }
        if response.variant != variant {
            return Err("a stream keeps its variant");
        }
        if !self.asked.contains(url) {
            return Err("a type is not answered before it was asked for (C-012)");
        }
        if response.version.as_str().is_empty() {
            return Err("a response has a version (C-092)");
        }
        if response.resources.iter().any(|r| r.type_url() != url) {
            return Err("a response holds resources of its type only");
        }
        if sotw && !(response.removed.is_empty() && response.bodyless.is_empty()) {
            return Err("state of the world knows neither removals nor resources without a body");
        }
        let partial = types.get(url).sotw_mode() != SotwMode::FullState;
        let heartbeats = &response.heartbeats;
        if !heartbeats.is_empty() && (sotw && !partial || !response.timed) {
            return Err(
                "heartbeats tell no more than what the client knows to have an end (C-295)",
            );
        }
        let bodyless = types.get(url).missing_name() == MissingName::Bodyless;
        if !heartbeats.is_empty() && bodyless {
            return Err("a virtual host without a body is none");
        }
        if response.resources.iter().any(|r| r.failure().is_some()) {
            return Err("what stands in the place of a resource is no resource");
        }
        let mut errors = response.errors.iter();
        if errors.any(|error| error.type_url() != url || error.failure().is_none()) {
            return Err("an error is one, and of its type");
        }
        let errors = &response.errors;
        let nothing = response.resources.is_empty() && heartbeats.is_empty() && errors.is_empty();
        if sotw && partial && nothing {
            return Err("an empty answer of a partial type says nothing");
        }
        let told = response.removed.iter().chain(&response.bodyless);
        if told
            .chain(response.resources.iter().map(Resource::name))
            .any(|n| n.parameters().is_some())
        {
            return Err("parameters are the client's, and told by nobody (C-313)");
        }
        let resources = response.resources.iter().map(|r| r.name());
        let mut named = BTreeSet::new();
        // With the error, a name that is not found is also said to be removed (C-366).
        let gone = |error: &&Resource| response.removed.binary_search(error.name()).is_err();
        let errors = errors.iter().filter(gone).map(Resource::name);
        let mut names = resources
            .chain(errors)
            .chain(heartbeats.iter().map(|heartbeat| &heartbeat.name))
            .chain(&response.bodyless)
            .chain(&response.removed);
        match names.all(|name: &Name| named.insert(name)) {
            true => Ok(()),
            false => Err("a name is at most once in a response (C-359, C-374, C-375)"),
        }
    }
}
