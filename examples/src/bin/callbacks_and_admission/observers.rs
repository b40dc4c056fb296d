//! Who watches what happens on streams. A server may have several observers, and none of them can change anything.

use std::sync::atomic::{AtomicU64, Ordering};

use portolan::server::{Callbacks, CloseReason, Event, ResponseInfo, StreamInfo};

/// Prints what happens. Every method may be left out.
#[derive(Debug)]
pub(crate) struct Print;

impl Callbacks for Print {
    fn stream_admitted(&self, stream: &StreamInfo) {
        println!("{}: admitted to {}", id(stream), stream.service());
    }

    fn response(&self, stream: &StreamInfo, response: &ResponseInfo<'_>) {
        let (added, removed) = (response.resources(), response.removed());
        println!("{}: sent +{added} -{removed}", id(stream));
    }

    fn event(&self, stream: &StreamInfo, event: &Event) {
        match event {
            Event::Acked { nonce, .. } => println!("{}: accepted {nonce}", id(stream)),
            Event::Nacked { nonce, message, .. } => {
                println!("{}: rejected {nonce}: {message}", id(stream));
            }
            _ => {}
        }
    }

    fn stream_closed(&self, stream: &StreamInfo, reason: &CloseReason) {
        println!("{}: closed: {reason}", id(stream));
    }
}

fn id(stream: &StreamInfo) -> &str {
    stream.node().map_or("unknown", |node| node.id())
}

/// Counts rejections.
#[derive(Debug, Default)]
pub(crate) struct Rejections(AtomicU64);

impl Rejections {
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Callbacks for Rejections {
    fn event(&self, _: &StreamInfo, event: &Event) {
        let rejected = matches!(event, Event::Nacked { .. });
        self.0.fetch_add(rejected.into(), Ordering::Relaxed);
    }
}
