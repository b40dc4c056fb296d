//! Prints who connected, what was sent, and what proxies think of it.

use portolan::core::{ResourceTypes, TypeUrl};
use portolan::server::{Callbacks, CloseReason, Event, ResponseInfo, StreamInfo};
use portolan::translator::{Outcome, PublishObserver, PublishReport};

/// Prints what happens.
#[derive(Debug, Default)]
pub(crate) struct Report {
    types: ResourceTypes,
}

impl Report {
    fn short(&self, type_url: &TypeUrl) -> String {
        self.types.get(type_url).short_name().to_owned()
    }
}

fn name(stream: &StreamInfo) -> &str {
    stream.node().map_or("?", |node| node.id())
}

impl Callbacks for Report {
    fn stream_admitted(&self, stream: &StreamInfo) {
        let peer = stream
            .peer()
            .address()
            .map_or_else(|| "?".to_owned(), |a| a.to_string());
        let agent = match stream.node().map(|node| node.user_agent_name()) {
            None | Some("") => String::new(),
            Some(agent) => format!(" ({agent})"),
        };
        println!("{}{agent} connected from {peer}", name(stream));
    }

    fn stream_closed(&self, stream: &StreamInfo, reason: &CloseReason) {
        println!("{} left: {reason}", name(stream));
    }

    fn response(&self, stream: &StreamInfo, response: &ResponseInfo<'_>) {
        println!(
            "-> {} {} #{}: {} resources, {} removed",
            name(stream),
            self.short(response.type_url()),
            response.nonce(),
            response.resources(),
            response.removed(),
        );
    }

    fn event(&self, stream: &StreamInfo, event: &Event) {
        match event {
            Event::Acked {
                type_url, nonce, ..
            } => println!("<- {} {} #{nonce}: ACK", name(stream), self.short(type_url)),
            Event::Nacked {
                type_url,
                nonce,
                message,
                ..
            } => println!(
                "<- {} {} #{nonce}: NACK {message}",
                name(stream),
                self.short(type_url)
            ),
            _ => {}
        }
    }
}

impl PublishObserver<String> for Report {
    fn reported(&self, group: &String, report: &PublishReport) {
        match &report.outcome {
            Outcome::Unchanged { .. } => {}
            outcome => println!("{group}: {outcome}"),
        }
    }
}
