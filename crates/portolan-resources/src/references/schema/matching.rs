//! What holds messages of other families: match trees and extensions within extensions.

use super::listener::EXTENSION_SOURCE;
use super::{At, Discovers, Field, Holds, Message, any, field, many, one, repeated};

pub(super) static TYPED_EXTENSION_CONFIG: Message = Message {
    name: "envoy.config.core.v3.TypedExtensionConfig",
    fields: TYPED_CONFIG,
    discovers: None,
};

pub(super) const IN_ANY: &[&Message] = &[
    &EXTENSION_WITH_MATCHER,
    &EXTENSION_WITH_MATCHER_PER_ROUTE,
    &COMPOSITE,
    &COMPOSITE_PER_ROUTE,
    &EXECUTE_FILTER_ACTION,
];

static ACTION: Message = Message {
    name: "xds.core.v3.TypedExtensionConfig",
    fields: TYPED_CONFIG,
    discovers: None,
};

const TYPED_CONFIG: &[Field] = &[any("typed_config", 2)];

pub(super) static MATCHER: Message = Message {
    name: "xds.type.matcher.v3.Matcher",
    fields: &[
        one("matcher_list", 1, &MATCHER_LIST),
        one("matcher_tree", 2, &MATCHER_TREE),
        one("on_no_match", 3, &ON_MATCH),
    ],
    discovers: None,
};

static MATCHER_LIST: Message = Message {
    name: "xds.type.matcher.v3.Matcher.MatcherList",
    fields: &[many("matchers", 1, &FIELD_MATCHER)],
    discovers: None,
};

static FIELD_MATCHER: Message = Message {
    name: "xds.type.matcher.v3.Matcher.MatcherList.FieldMatcher",
    fields: &[one("on_match", 2, &ON_MATCH)],
    discovers: None,
};

static MATCHER_TREE: Message = Message {
    name: "xds.type.matcher.v3.Matcher.MatcherTree",
    fields: &[
        one("exact_match_map", 2, &MATCH_MAP),
        one("prefix_match_map", 3, &MATCH_MAP),
    ],
    discovers: None,
};

static MATCH_MAP: Message = Message {
    name: "xds.type.matcher.v3.Matcher.MatcherTree.MatchMap",
    fields: &[repeated(field(
        "map",
        1,
        Holds::Entry(&Holds::Message(&ON_MATCH)),
    ))],
    discovers: None,
};

static ON_MATCH: Message = Message {
    name: "xds.type.matcher.v3.Matcher.OnMatch",
    fields: &[one("matcher", 1, &MATCHER), one("action", 2, &ACTION)],
    discovers: None,
};

static EXTENSION_WITH_MATCHER: Message = Message {
    name: "envoy.extensions.common.matching.v3.ExtensionWithMatcher",
    fields: &[
        one("xds_matcher", 3, &MATCHER),
        one("extension_config", 2, &TYPED_EXTENSION_CONFIG),
    ],
    discovers: None,
};

static EXTENSION_WITH_MATCHER_PER_ROUTE: Message = Message {
    name: "envoy.extensions.common.matching.v3.ExtensionWithMatcherPerRoute",
    fields: &[one("xds_matcher", 1, &MATCHER)],
    discovers: None,
};

static COMPOSITE: Message = Message {
    name: "envoy.extensions.filters.http.composite.v3.Composite",
    fields: &[
        repeated(field(
            "named_filter_chains",
            1,
            Holds::Entry(&Holds::Message(&COMPOSITE_CHAIN)),
        )),
        one("matcher", 2, &MATCHER),
    ],
    discovers: None,
};

static COMPOSITE_PER_ROUTE: Message = Message {
    name: "envoy.extensions.filters.http.composite.v3.CompositePerRoute",
    fields: &[one("matcher", 1, &MATCHER)],
    discovers: None,
};

static EXECUTE_FILTER_ACTION: Message = Message {
    name: "envoy.extensions.filters.http.composite.v3.ExecuteFilterAction",
    fields: &[
        one("typed_config", 1, &TYPED_EXTENSION_CONFIG),
        one("dynamic_config", 2, &DYNAMIC_CONFIG),
        one("filter_chain", 4, &COMPOSITE_CHAIN),
    ],
    discovers: None,
};

static DYNAMIC_CONFIG: Message = Message {
    name: "envoy.extensions.filters.http.composite.v3.DynamicConfig",
    fields: &[one("config_discovery", 2, &EXTENSION_SOURCE)],
    discovers: Some(Discovers::extension(
        &[At("config_discovery", 2), At("config_source", 1)],
        &[At("config_discovery", 2), At("default_config", 2)],
    )),
};

static COMPOSITE_CHAIN: Message = Message {
    name: "envoy.extensions.filters.http.composite.v3.FilterChainConfiguration",
    fields: &[many("typed_config", 1, &TYPED_EXTENSION_CONFIG)],
    discovers: None,
};
