use portolan_core::{Delivery, DeliveryOutcome, Interest, Node, Settlement, View};
use portolan_engine::{Event, Release};

use super::OpenStream;

/// Tells an event to all that it concerns: the log, the source, the observers.
pub(super) fn tell(stream: &OpenStream, node: &Node, view: &mut dyn View, event: &Event) {
    log(event);
    tell_source(stream, node, view, event);
    stream.observe(|callbacks, stream| callbacks.event(stream, event));
}

fn tell_source(stream: &OpenStream, node: &Node, view: &mut dyn View, event: &Event) {
    match event {
        Event::Interest {
            type_url,
            added,
            removed,
            wildcard,
        } => view.interest(&Interest::new(type_url, added, removed, *wildcard)),
        Event::Acked {
            type_url,
            version,
            generation,
            ..
        } => view.delivered(&Delivery::new(
            stream.info.id(),
            node,
            type_url,
            version,
            *generation,
            DeliveryOutcome::Acked,
        )),
        Event::Nacked {
            type_url,
            version,
            generation,
            message,
            ..
        } => view.delivered(&Delivery::new(
            stream.info.id(),
            node,
            type_url,
            version,
            *generation,
            DeliveryOutcome::Nacked(message),
        )),
        Event::Settled {
            generation,
            rejecting,
        } => view.settled(Settlement::new(*generation, *rejecting)),
        _ => {}
    }
}

/// What an operator should see is a warning. What the client wrote is logged as
/// a text, which subscribers escape.
fn log(event: &Event) {
    match event {
        Event::Nacked {
            type_url,
            nonce,
            version,
            code,
            message,
            stale,
            ..
        } => {
            tracing::warn!(type_url = type_url.as_str(), %nonce, %version, code, message, stale, "rejected")
        }
        Event::WildcardDropped { type_url } => {
            tracing::warn!(
                type_url = type_url.as_str(),
                "the client named a resource, which ends its wildcard"
            );
        }
        Event::UnsupportedVariant { type_url, variant } => {
            tracing::warn!(
                type_url = type_url.as_str(),
                ?variant,
                "the type does not exist in this variant"
            );
        }
        Event::Oversized {
            type_url,
            nonce,
            len,
        } => {
            tracing::warn!(
                type_url = type_url.as_str(),
                %nonce,
                len,
                "a response that cannot be split exceeds the limit"
            );
        }
        other => log_transition(other),
    }
}

/// What waits for clusters, and what stays until it is used no longer.
fn log_transition(event: &Event) {
    match event {
        Event::Permitted {
            type_url,
            name,
            waited,
            ready: false,
        } => {
            tracing::warn!(type_url = type_url.as_str(), %name, ?waited, "goes although its cluster is not ready");
        }
        Event::Released {
            type_url,
            names,
            because: Release::Silence,
        } => {
            tracing::warn!(
                type_url = type_url.as_str(),
                ?names,
                "removed although the client has not left it"
            );
        }
        Event::Empty {
            type_url,
            names,
            because,
        } => {
            tracing::info!(
                type_url = type_url.as_str(),
                ?names,
                ?because,
                "without endpoints"
            );
        }
        Event::Withheld {
            type_url,
            name,
            awaits,
        } => {
            tracing::debug!(type_url = type_url.as_str(), %name, %awaits, "waits for a cluster");
        }
        Event::Permitted {
            type_url,
            name,
            waited,
            ..
        } => {
            tracing::debug!(type_url = type_url.as_str(), %name, ?waited, "waits no longer");
        }
        Event::Retained {
            type_url,
            names,
            because,
        } => {
            tracing::debug!(
                type_url = type_url.as_str(),
                ?names,
                ?because,
                "is gone and stays"
            );
        }
        Event::Released {
            type_url,
            names,
            because,
        } => {
            tracing::debug!(
                type_url = type_url.as_str(),
                ?names,
                ?because,
                "stays no longer"
            );
        }
        other => log_progress(other),
    }
}

/// What only who follows a stream wants to see.
fn log_progress(event: &Event) {
    match event {
        Event::UnregisteredType { type_url } => {
            tracing::info!(
                type_url = type_url.as_str(),
                "request for a type that is not registered"
            );
        }
        Event::Acked {
            type_url,
            nonce,
            version,
            ..
        } => tracing::debug!(type_url = type_url.as_str(), %nonce, %version, "accepted"),
        Event::StaleNonce { type_url, nonce } => {
            tracing::debug!(type_url = type_url.as_str(), nonce, "stale nonce");
        }
        Event::AssumedAccepted { type_url, nonce } => {
            tracing::debug!(type_url = type_url.as_str(), %nonce, "not acknowledged; taken for accepted");
        }
        Event::Held { type_url } => {
            tracing::debug!(
                type_url = type_url.as_str(),
                "a change waits for the previous one to be read"
            );
        }
        Event::Settled {
            generation,
            rejecting,
        } => tracing::debug!(generation = generation.get(), rejecting, "settled"),
        Event::UnreadTooLong { type_url, nonce } => {
            tracing::debug!(type_url = type_url.as_str(), %nonce, "not acknowledged in time; going on");
        }
        Event::Interest {
            type_url,
            added,
            removed,
            wildcard,
        } => {
            let (added, removed) = (added.len(), removed.len());
            tracing::debug!(
                type_url = type_url.as_str(),
                added,
                removed,
                wildcard,
                "interest"
            );
        }
        other => tracing::debug!(event = ?other),
    }
}
