//! A call of a `Fetch` method: one request, and one answer from what there is.

use portolan_core::{Settlement, View};
use portolan_engine::{Fetch, Request, Response};
use tokio::time::Instant;

use super::opening::Opened;
use super::signal::Flag;
use super::{OpenStream, reached};
use crate::wire::frame;
use crate::{CloseReason, RequestInfo, ResponseInfo};

/// Answers the request that opened the stream. What else the client sends is not read.
pub(super) async fn fetch(stream: &mut OpenStream, opened: Opened) -> CloseReason {
    match answer(stream, opened).await {
        Ok(()) => CloseReason::Fetched,
        Err(reason) => reason,
    }
}

async fn answer(stream: &mut OpenStream, opened: Opened) -> Result<(), CloseReason> {
    let Opened {
        call,
        mut view,
        node,
        first,
        ..
    } = opened;
    let info = RequestInfo::of(&call.scope, &first);
    stream.observe(|callbacks, stream| callbacks.request(stream, &info));
    let Request::Sotw(request) = &first.request else {
        // The reader reads requests of the method's variant.
        return Err(CloseReason::Panicked);
    };
    let config = &stream.server.config;
    let (features, parameters) = (config.features.of(&node), config.parameters.of(&node));
    let fetch = Fetch::new(request, &call.scope, &stream.server.session)?
        .with_features(features)
        .with_parameters(parameters);
    // Before the view is looked at, so that it wakes the call, and names are resolved.
    view.interest(&fetch.interest());
    let response = newest(stream, view, &fetch).await?;
    let framed = frame(&response, &stream.server.config.control_plane)?;
    let info = ResponseInfo {
        response: &response,
        len: framed.len,
    };
    stream.outlet.send(framed);
    stream.observe(|callbacks, stream| callbacks.response(stream, &info));
    Ok(())
}

/// The newest answer. Where there is none yet, or it would leave out what is being resolved, or the client has it already,
/// a change is waited for, but not long: the client set itself a deadline (C-406, C-407). Then it is sent what there is,
/// and be it what it has; there is no other way to say that nothing changed.
async fn newest(
    stream: &mut OpenStream,
    mut view: Box<dyn View>,
    fetch: &Fetch,
) -> Result<Response, CloseReason> {
    let deadline = Instant::now().checked_add(stream.server.config.fetch_hold);
    loop {
        // Lowered before the view is looked at, so that a change in between is seen.
        stream.signal.take(Flag::Changed);
        let published = view.load();
        let waits = published.as_ref().is_some_and(|p| fetch.waits(p));
        let answer = published.and_then(|published| fetch.answer(&published));
        let due = deadline.is_some_and(|deadline| deadline <= Instant::now());
        if let Some(held) = answer.as_ref().filter(|answer| fetch.has(answer)) {
            // To come back with a version is all that a client does to accept it.
            view.settled(Settlement::new(held.generation, false));
        }
        match answer {
            Some(answer) if due || !(waits || fetch.has(&answer)) => return Ok(answer),
            None if due => return Err(CloseReason::NothingPublished),
            _ => {}
        }
        let OpenStream { signal, drain, .. } = &mut *stream;
        tokio::select! {
            biased;
            () = signal.raised() => {}
            () = drain.due() => return Err(CloseReason::Drained { answered: false }),
            () = reached(deadline) => {}
        }
        if stream.signal.is_up(Flag::Gone) {
            return Err(CloseReason::Gone);
        }
    }
}
