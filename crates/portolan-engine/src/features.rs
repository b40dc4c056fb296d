use portolan_core::Node;

use crate::Variant;

/// What a client can do that not every client can.
///
/// ```
/// use portolan_core::Node;
/// use portolan_engine::ClientFeatures;
///
/// let node = Node::new("a").with_client_feature("xds.config.supports-resource-ttl");
/// assert!(ClientFeatures::of(&node).ttl());
/// assert!(!ClientFeatures::of(&node).wrapper());
/// let envoy = Node::new("b").with_user_agent("envoy", "1.36.0");
/// assert!(ClientFeatures::of(&envoy).wrapper());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientFeatures {
    ttl: bool,
    wrapper: bool,
    sotw_heartbeats: bool,
}

impl ClientFeatures {
    /// What a node announces. Envoy announces none of it; it can do all but keep what it hears of by heartbeats in state
    /// of the world.
    #[must_use]
    pub fn of(node: &Node) -> Self {
        let is_envoy = node.user_agent_name() == "envoy";
        let announces = |feature: &str| node.client_features().iter().any(|f| f == feature);
        let ttl = announces("xds.config.supports-resource-ttl");
        // The specification spells it in two ways (C-289).
        let wrapper = announces("xds.config.resource-in-sotw")
            || announces("xds.config.supports-resource-in-sotw");
        Self {
            ttl: is_envoy || ttl,
            wrapper: is_envoy || wrapper,
            // Envoy, unless it runs its unified mux, passes over such a heartbeat, and nobody can tell which mux it is.
            sotw_heartbeats: ttl && wrapper && !is_envoy,
        }
    }

    /// Whether it knows times to live (C-285). Default: no.
    #[must_use]
    pub const fn with_ttl(mut self, on: bool) -> Self {
        self.ttl = on;
        self
    }

    /// Whether it reads state-of-the-world resources that are wrapped into one that has a name, a version and a time to
    /// live (C-288). Default: no. Without it, it can be told of times to live in delta only.
    #[must_use]
    pub const fn with_wrapper(mut self, on: bool) -> Self {
        self.wrapper = on;
        self
    }

    /// Whether in state of the world a heartbeat, which has no body, makes it keep what it has (C-294). Default: no. Without
    /// it, it is sent the whole resource instead.
    #[must_use]
    pub const fn with_sotw_heartbeats(mut self, on: bool) -> Self {
        self.sotw_heartbeats = on;
        self
    }

    /// See [`with_ttl`](Self::with_ttl).
    #[must_use]
    pub const fn ttl(self) -> bool {
        self.ttl
    }

    /// See [`with_wrapper`](Self::with_wrapper).
    #[must_use]
    pub const fn wrapper(self) -> bool {
        self.wrapper
    }

    /// See [`with_sotw_heartbeats`](Self::with_sotw_heartbeats).
    #[must_use]
    pub const fn sotw_heartbeats(self) -> bool {
        self.sotw_heartbeats
    }

    /// Whether times to live are told to the client.
    pub(crate) const fn is_told_ttls(self, policy: TtlPolicy, variant: Variant) -> bool {
        let knows = match policy {
            TtlPolicy::Never => false,
            TtlPolicy::Announced => self.ttl,
            TtlPolicy::Always => true,
        };
        knows && (self.wrapper || matches!(variant, Variant::Delta))
    }
}

/// Which clients are told of [times to live](portolan_core::Resource::ttl).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TtlPolicy {
    /// None: to all clients resources are what they are without.
    Never,
    /// Those of which it is known that they understand them, see [`ClientFeatures`].
    #[default]
    Announced,
    /// All. In state of the world still only those that read wrapped resources.
    Always,
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: &str = "xds.config.supports-resource-ttl";
    const WRAPPER: &str = "xds.config.resource-in-sotw";

    #[test]
    fn c290_a_client_can_what_it_announces_and_envoy_all_but_one_thing() {
        for (agent, announced, can) in [
            ("gRPC", &[][..], (false, false, false)),
            ("gRPC", &[TTL][..], (true, false, false)),
            ("gRPC", &[WRAPPER][..], (false, true, false)),
            ("gRPC", &[TTL, WRAPPER][..], (true, true, true)),
            ("envoy", &[][..], (true, true, false)),
            ("envoy", &[TTL, WRAPPER][..], (true, true, false)),
        ] {
            let node = Node::new("n").with_user_agent(agent, "1");
            let with = |node: Node, feature: &&str| node.with_client_feature(*feature);
            let features = ClientFeatures::of(&announced.iter().fold(node, with));
            let (ttl, wrapper, heartbeats) = can;
            let told = ClientFeatures::default()
                .with_ttl(ttl)
                .with_wrapper(wrapper)
                .with_sotw_heartbeats(heartbeats);
            assert_eq!(features, told, "{agent} {announced:?}");
            assert_eq!((told.ttl(), told.wrapper(), told.sotw_heartbeats()), can);
        }
    }
}
