use portolan_core::{Delivery, DeliveryOutcome, Generation, Interest, Settlement, Version};

use super::*;

/// Tells a view what became of a response.
fn deliver(
    view: &mut dyn View,
    url: &TypeUrl,
    generation: Generation,
    outcome: DeliveryOutcome<'_>,
) {
    let (node, version) = (Node::new("n"), Version::from("v"));
    let delivery = Delivery::new(1, &node, url, &version, generation, outcome);
    view.delivered(&delivery);
}

#[test]
fn interest_and_deliveries_are_told_to_the_parts_of_the_type() {
    let ([a, b], mux) = union();
    a.publish(endpoints(&[]));
    for _ in 0..3 {
        b.publish(endpoints(&[]));
    }
    let mut view = open(&mux, "n");
    let first = load(&*view).generation();
    a.publish(endpoints(&[("a", "1")]));
    let second = load(&*view).generation();
    for url in [CLUSTER, ENDPOINT] {
        let wanted = ["a".into()];
        view.interest(&Interest::new(&url, &wanted, &[], false));
        deliver(&mut *view, &url, first, DeliveryOutcome::Sent);
    }
    deliver(&mut *view, &ENDPOINT, second, DeliveryOutcome::Acked);
    let both = [r#"wants ["a"]"#, "Sent of 1"];
    assert_eq!(a.heard()[..4], [both, both].concat());
    assert_eq!(b.heard(), [r#"wants ["a"]"#, "Sent of 3", "Acked of 3"]);
}

#[test]
fn a_settlement_is_told_to_each_part_in_its_numbers_and_once() {
    let (ends, others, mux) = by_type();
    ends.publish(endpoints(&[]));
    others.publish(clusters(&[]));
    others.publish(clusters(&["a"]));
    let mut view = open(&mux, "n");
    let first = load(&*view).generation();
    view.settled(Settlement::new(first, false));
    assert_eq!(ends.heard(), ["settled on 1"]);
    assert_eq!(others.heard(), ["settled on 2"]);
    others.publish(clusters(&["b"]));
    let second = load(&*view).generation();
    view.settled(Settlement::new(second, false));
    assert_eq!(ends.heard(), [""; 0], "it has settled on that already");
    assert_eq!(others.heard(), ["settled on 3"]);
}

#[test]
fn a_rejection_is_told_to_the_parts_of_the_type_alone() {
    let (ends, others, mux) = by_type();
    ends.publish(endpoints(&[]));
    others.publish(clusters(&["a"]));
    let mut view = open(&mux, "n");
    let first = load(&*view).generation();
    deliver(&mut *view, &CLUSTER, first, DeliveryOutcome::Nacked("no"));
    view.settled(Settlement::new(first, true));
    assert_eq!(ends.heard(), ["settled on 1"]);
    assert_eq!(
        others.heard(),
        [r#"Nacked("no") of 1"#, "settled on 1, rejecting"]
    );
    others.publish(clusters(&["b"]));
    let second = load(&*view).generation();
    view.settled(Settlement::new(second, false));
    assert_eq!(others.heard(), ["settled on 2"]);
}

#[test]
fn a_part_without_a_publication_hears_of_none() {
    let (ends, others, mux) = by_type();
    others.publish(clusters(&["a"]));
    let mut view = open(&mux, "n");
    let first = load(&*view).generation();
    ends.publish(endpoints(&[]));
    let _ = view.load();
    view.settled(Settlement::new(first, false));
    assert_eq!(ends.heard(), [""; 0]);
    assert_eq!(others.heard(), ["settled on 1"]);
}
