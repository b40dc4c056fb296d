use std::collections::BTreeSet;

use bytes::{Buf, Bytes};
use portolan_engine::Variant;
use portolan_server::Event;
use portolan_types::envoy::service::discovery::v3::{DeltaDiscoveryResponse, DiscoveryResponse};
use prost::Message;

use super::recorder::Recorded;
use super::talk::{MAX_NACK_TEXT, Talk, run};
use crate::input::Input;

/// What a byte of a [`stream`]'s input begins, where it is none of these: a message.
pub(crate) mod op {
    pub(crate) const PUBLISH: u8 = 0xf0;
    pub(crate) const LISTEN: u8 = 0xf1;
    pub(crate) const CUT: u8 = 0xf2;
}

/// A whole stream, from the bytes of its requests to those of its responses. The input's first byte says which variant
/// it is, and whether framed messages follow or a body whose framing is part of the input.
pub fn stream(data: &[u8]) {
    let mut input = Input::new(data);
    let kind = input.byte();
    let variant = match kind & 1 {
        0 => Variant::Sotw,
        _ => Variant::Delta,
    };
    run(async {
        let mut talk = Talk::open(variant).await;
        match kind & 2 {
            0 => messages(&mut talk, &mut input).await,
            _ => pieces(&mut talk, &mut input).await,
        }
        talk.end().await;
        check_responses(variant, talk.received.clone().freeze());
        check_events(&talk.recorder.recorded());
    });
}

async fn messages(talk: &mut Talk, input: &mut Input<'_>) {
    while !input.is_empty() {
        match input.byte() {
            op::PUBLISH => talk.publish(input.below(40), input.byte()),
            op::LISTEN => talk.listen().await,
            op::CUT => talk.send_raw(input.short()),
            _ => talk.send(input.bytes()),
        }
    }
}

async fn pieces(talk: &mut Talk, input: &mut Input<'_>) {
    talk.publish(3, 0);
    while !input.is_empty() {
        talk.send_raw(input.short());
        talk.listen().await;
    }
}

fn check_responses(variant: Variant, mut received: Bytes) {
    let mut newest = 0;
    while !received.is_empty() {
        assert_eq!(received.get_u8(), 0, "responses are not compressed");
        let len = received.get_u32() as usize;
        let message = received.split_to(len);
        let nonce = match variant {
            Variant::Sotw => check_sotw(message),
            _ => check_delta(message),
        };
        assert!(nonce > newest, "nonces grow: {nonce} after {newest}");
        newest = nonce;
    }
}

fn check_sotw(message: Bytes) -> u64 {
    let response = DiscoveryResponse::decode(message).expect("a response is readable");
    let bodies = response.resources.iter().map(|any| {
        assert_eq!(any.type_url, response.type_url);
        // A body is of one resource alone: it begins with the name.
        any.value.split(|byte| *byte == b' ').next()
    });
    assert_distinct(bodies);
    response.nonce.parse().expect("nonces are numbers")
}

fn check_delta(message: Bytes) -> u64 {
    let response = DeltaDiscoveryResponse::decode(message).expect("a response is readable");
    let names = response.resources.iter().map(|resource| {
        if let Some(any) = &resource.resource {
            assert_eq!(any.type_url, response.type_url);
        }
        assert!(resource.resource_name.is_none(), "nothing has constraints");
        // One without a body is known by the name that was asked for.
        resource.aliases.first().unwrap_or(&resource.name)
    });
    assert_distinct(names.chain(&response.removed_resources));
    assert_eq!(response.removed_resource_names, []);
    response.nonce.parse().expect("nonces are numbers")
}

fn assert_distinct<T: Ord + std::fmt::Debug>(names: impl Iterator<Item = T>) {
    let mut seen = BTreeSet::new();
    for name in names {
        assert!(!seen.contains(&name), "{name:?} is twice in a response");
        seen.insert(name);
    }
}

fn check_events(recorded: &Recorded) {
    for event in &recorded.events {
        if let Event::Nacked { message, .. } = event {
            assert!(message.len() <= MAX_NACK_TEXT, "{message}");
            assert!(!message.contains(char::is_control), "{message:?}");
        }
        if let Event::StaleNonce { nonce, .. } = event {
            assert!(nonce.len() <= 64, "{nonce}");
        }
    }
}
