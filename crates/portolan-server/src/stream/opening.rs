//! What a stream goes through before it is served: its first request, admission, and a view of the source.

use std::sync::Arc;
use std::task::Waker;

use bytes::Bytes;
use portolan_core::{Node, View};

use super::{Call, MAX_LOGGED, OpenStream};
use crate::text::cut;
use crate::wire::{Inbound, NodeWatch, Requests, parse_node};
use crate::{AdmissionRequest, CloseReason, RequestInfo};

/// A stream that may be served.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) call: Box<Call>,
    pub(super) view: Box<dyn View>,
    pub(super) node: Arc<Node>,
    pub(super) nodes: NodeWatch,
    /// The request that opened it, not handled yet.
    pub(super) first: Inbound,
}

/// Takes a stream as far as its view. No further request is read meanwhile, and nothing is sent.
pub(super) async fn open(
    stream: &mut OpenStream,
    call: Box<Call>,
    requests: &mut Requests,
) -> Result<Opened, CloseReason> {
    let first = tokio::select! {
        biased;
        reason = stream.interrupted() => return Err(reason),
        first = requests.next() => first?.ok_or(CloseReason::HalfClosed)?,
    };
    let mut nodes = NodeWatch::default();
    let node = first_node(stream, &mut nodes, first.node.clone())?;
    // Observers and the log know the node from here on, also of a stream that is not admitted.
    let known = Arc::new(node.clone().without_raw());
    tracing::Span::current().record("node", cut(known.id(), MAX_LOGGED));
    stream.info.set_node(Arc::clone(&known));
    admit(stream, &call, &node, RequestInfo::of(&call.scope, &first)).await?;
    let node = Arc::new(node);
    let waker = Waker::from(Arc::clone(&stream.signal));
    let view = stream
        .server
        .source
        .open(&node, stream.info.peer(), waker)
        .map_err(CloseReason::NoSource)?;
    stream.observe(|callbacks, stream| callbacks.stream_admitted(stream));
    Ok(Opened {
        call,
        view,
        node: known,
        nodes,
        first,
    })
}

/// The node that the stream is for from now on (C-002).
fn first_node(
    stream: &OpenStream,
    nodes: &mut NodeWatch,
    raw: Option<Bytes>,
) -> Result<Node, CloseReason> {
    let config = &stream.server.config;
    match raw {
        Some(raw) => {
            nodes.differs(&raw);
            Ok(parse_node(raw, config.max_node_size)?)
        }
        None if config.node_required => Err(CloseReason::NoNode),
        None => Ok(Node::default()),
    }
}

/// Waits for a request to be admitted, where somebody is to be asked.
pub(super) async fn admit(
    stream: &mut OpenStream,
    call: &Call,
    node: &Node,
    request: RequestInfo<'_>,
) -> Result<(), CloseReason> {
    let Some(admission) = stream.server.config.admission.clone() else {
        return Ok(());
    };
    let decision = admission.admit(AdmissionRequest {
        service: call.service,
        method: call.method,
        peer: &call.peer,
        headers: &call.head.headers,
        extensions: &call.head.extensions,
        node,
        request,
    });
    tokio::select! {
        biased;
        reason = stream.interrupted() => Err(reason),
        decision = decision => decision.map_err(CloseReason::NotAdmitted),
    }
}
