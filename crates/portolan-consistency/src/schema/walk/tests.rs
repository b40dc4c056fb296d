use portolan_core::TypeUrl;
use portolan_resources::{TypedResource, build};
use proptest::prelude::*;

use super::*;

/// Messages that break no rule.
fn right() -> Vec<(TypeUrl, Vec<u8>)> {
    fn encoded<R: TypedResource>(message: &R) -> (TypeUrl, Vec<u8>) {
        (R::TYPE_URL, message.encode_to_vec())
    }
    let address = ([10, 0, 0, 1], 80).into();
    let routes = [build::prefix_route("/", "web")];
    let hosts = [build::virtual_host("all", ["*"], routes)];
    // Three codes of at most five, and how many redirects: written twice, there are six that lie apart.
    let redirects =
        TypeUrl::from("type.googleapis.com/envoy.config.route.v3.InternalRedirectPolicy");
    vec![
        (redirects, b"\x12\x03\x01\x02\x03\x0a\x00".to_vec()),
        encoded(&build::http2(build::eds_cluster("web"))),
        encoded(&build::static_cluster("web", [address, address])),
        encoded(&build::http_listener("ingress", address, "routes")),
        encoded(&build::route_configuration("routes", hosts)),
    ]
}

proptest! {
    /// Whole, written twice in a row, or damaged.
    #[test]
    fn a_quick_walk_overlooks_nothing(
        which in 0..5_usize,
        times in 1..3_usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..64_u8), 0..3),
    ) {
        let (url, bytes) = &right()[which];
        let mut bytes = bytes.repeat(times);
        for (at, byte) in damage {
            *at.get_mut(&mut bytes) = byte;
        }
        let validator = Validator::new();
        let mut thorough = Walk {
            validator: &validator,
            pace: Pace::Thorough,
            found: Vec::new(),
        };
        let plan = message_of(url.as_str()).expect("the schema has it");
        thorough.message(plan, &bytes, &Way::START);
        prop_assert_eq!(walk(&validator, url.as_str(), &bytes), thorough.found);
    }
}
