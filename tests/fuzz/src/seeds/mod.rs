//! Inputs that mean something, made out of recorded traces of real clients and of resources as one would write them.

mod trace;
mod written;

use std::sync::OnceLock;

use portolan_engine::Variant;

use self::trace::{Said, Trace};
use self::written::{alternatives, identifiers, located};
pub(crate) use self::written::{names, nodes, references, resources};
use crate::session::{flag, op};
use crate::wire::op as wire_op;

/// All traces, read once.
fn traces() -> &'static [Trace] {
    static TRACES: OnceLock<Vec<Trace>> = OnceLock::new();
    TRACES.get_or_init(Trace::read_all)
}

pub(crate) fn sotw_requests() -> Vec<Vec<u8>> {
    requests(Variant::Sotw)
}

pub(crate) fn delta_requests() -> Vec<Vec<u8>> {
    requests(Variant::Delta)
}

/// Each request that any client sent, once.
fn requests(variant: Variant) -> Vec<Vec<u8>> {
    let traces = traces().iter().filter(|trace| trace.variant == variant);
    let said = traces.flat_map(|trace| &trace.said);
    let messages = said.filter_map(Said::message);
    let messages = messages.filter(|message| !message.is_empty());
    let mut messages: Vec<_> = messages.chain([located(variant)]).collect();
    messages.sort();
    messages.dedup();
    messages
}

/// The requests of each stream, with publications between them.
pub(crate) fn streams() -> Vec<Vec<u8>> {
    traces().iter().map(stream).collect()
}

fn stream(trace: &Trace) -> Vec<u8> {
    let mut out = vec![u8::from(trace.variant == Variant::Delta)];
    for (at, said) in trace.said.iter().enumerate() {
        match (said.message(), said) {
            (Some(message), _) => {
                let len = u16::try_from(message.len()).expect("requests in traces are short");
                out.push(0);
                out.extend(len.to_be_bytes());
                out.extend(message);
            }
            (None, Said::Published { .. }) => out.extend([wire_op::PUBLISH, 3, at as u8]),
            _ => {}
        }
        out.push(wire_op::LISTEN);
    }
    out
}

/// What happened on each stream, to the session and at the source; and what no trace has.
pub(crate) fn sessions() -> Vec<Vec<u8>> {
    let traces = (0..).zip(traces());
    let traces = traces.map(|(at, trace)| session(trace, at));
    traces.chain(identifiers()).chain(alternatives()).collect()
}

fn session(trace: &Trace, source: u8) -> Vec<u8> {
    let delta = match trace.variant {
        Variant::Sotw => 0,
        _ => flag::DELTA,
    };
    let mut out = vec![delta | flag::SILENT, source];
    for said in &trace.said {
        said.session_op(trace, &mut out);
        out.push(op::DRIVE);
    }
    out
}
