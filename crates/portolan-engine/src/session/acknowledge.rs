//! Reads what a request says of the responses before it. A NACK is the presence of an error, whatever its code and
//! whatever version the request carries (C-099 to C-101).

use super::Session;
use crate::escape::escape;
use crate::touched::Touched;
use crate::window::Sent;
use crate::{ErrorDetail, Event, Nonce};

/// Longest foreign nonce that an event repeats.
const MAX_ECHO: usize = 64;

pub(super) fn sotw(session: &mut Session, at: usize, text: &str, error: Option<ErrorDetail>) {
    let safe = session.config.transitions().safe().is_some();
    let state = &mut session.types[at];
    if text.is_empty() && state.window.newest().is_none() {
        return;
    }
    let nonce = Nonce::parse(text);
    let stale = nonce.is_none() || nonce != state.window.newest();
    let whole = state.is_full_state(session.variant);
    let settled = nonce.and_then(|nonce| match whole && error.is_some() {
        true => state.window.reject_through(nonce),
        false => state.window.settle_through(nonce),
    });
    match settled {
        Some(settled) => {
            // A rejection that another answer has overtaken is told and changes nothing (C-111). Where that one holds
            // everything, it is what decides.
            let overtaken = state.window.is_overtaken(settled.sent.nonce);
            if error.is_some() && settled.is_heartbeat() {
                match whole {
                    // There is nothing else to send of it.
                    true => state.lives.clear(),
                    false => state.lives.distrust(),
                }
            }
            if safe && error.is_some() && !(whole && overtaken) {
                let all = settled.touched.len();
                state.plan.pin(&settled.touched, all, &state.window);
            }
            match error {
                Some(_) if !overtaken => state.suspects.add(settled.touched),
                Some(_) if whole => state.window.inherit(settled.touched),
                _ => {}
            }
            tell(session, at, settled.sent, error);
        }
        None if stale => tell_stale(session, at, text),
        None => {}
    }
}

pub(super) fn delta(session: &mut Session, at: usize, text: &str, error: Option<ErrorDetail>) {
    let safe = session.config.transitions().safe().is_some();
    let state = &mut session.types[at];
    let nonce = Nonce::parse(text);
    let stale = nonce.is_none() || nonce != state.window.newest();
    let sent = match error {
        None => nonce.and_then(|nonce| state.window.settle(nonce)),
        Some(_) => nonce.and_then(|nonce| {
            let all = state.window.touched(nonce).map_or(0, Touched::len);
            let rejected = state.window.reject(nonce)?;
            if rejected.is_heartbeat() {
                state.lives.distrust();
            }
            if safe {
                state.plan.pin(&rejected.touched, all, &state.window);
            }
            state.suspects.add(rejected.touched);
            Some(rejected.sent)
        }),
    };
    match sent {
        Some(sent) => tell(session, at, sent, error),
        None if stale => tell_stale(session, at, text),
        None => {}
    }
}

fn tell(session: &mut Session, at: usize, sent: Sent, error: Option<ErrorDetail>) {
    let stale = session.types[at].window.is_overtaken(sent.nonce);
    let type_url = session.types[at].url().clone();
    let Sent {
        nonce,
        version,
        generation,
    } = sent;
    session.note_read(nonce);
    session.events.push_back(match error {
        None => Event::Acked {
            type_url,
            nonce,
            version,
            generation,
        },
        Some(error) => Event::Nacked {
            type_url,
            nonce,
            version,
            generation,
            code: error.code,
            message: escape(&error.message, session.config.limits().nack_text()),
            stale,
        },
    });
}

fn tell_stale(session: &mut Session, at: usize, nonce: &str) {
    let type_url = session.types[at].url().clone();
    let nonce = escape(nonce, MAX_ECHO);
    session
        .events
        .push_back(Event::StaleNonce { type_url, nonce });
}
