use std::mem;
use std::sync::Mutex;

use super::*;
use crate::lock::lock;
use crate::mux_cache::{Clash, ClashObserver};

/// Writes down what it hears, panics where it is asked to, and looks through a view while it is called.
#[derive(Debug, Default)]
struct Listener {
    heard: Mutex<Vec<String>>,
    panics: bool,
    looks: Mutex<Option<Box<dyn View>>>,
}

impl Listener {
    fn take(&self) -> Vec<String> {
        mem::take(&mut lock(&self.heard))
    }

    fn hear(&self, what: &str, clash: &Clash<'_>) {
        let Clash {
            name,
            served,
            hidden,
            ..
        } = clash;
        lock(&self.heard).push(format!("{what} {name}: {served} hides {hidden}"));
        if let Some(view) = &*lock(&self.looks) {
            let _ = view.load();
        }
        assert!(!self.panics, "an observer that panics");
    }
}

impl ClashObserver for Listener {
    fn began(&self, clash: &Clash<'_>) {
        assert_eq!(*clash.type_url, ENDPOINT);
        self.hear("+", clash);
    }

    fn ended(&self, clash: &Clash<'_>) {
        self.hear("-", clash);
    }
}

fn observed(listener: &Arc<Listener>) -> ([Own; 3], MuxCache) {
    let parts = [Own::default(), Own::default(), Own::default()];
    let mut mux = MuxCache::builder();
    let ids = [("a", 0), ("b", 1), ("c", 2)];
    let ids = ids.map(|(name, at): (_, usize)| mux.part(name, Arc::new(parts[at].clone())));
    mux.route(ENDPOINT, ids);
    mux.observe_clashes(Arc::clone(listener) as _);
    for part in &parts {
        part.publish(endpoints(&[]));
    }
    (parts, mux.build())
}

#[test]
fn c378_a_clash_is_told_once_when_it_begins_and_when_it_ends() {
    let listener = Arc::default();
    let ([a, b, c], mux) = observed(&listener);
    let views = ["n", "m"].map(|node| open(&mux, node));
    let look = || views.iter().for_each(|view| drop(view.load()));
    a.publish(endpoints(&[("x", "1"), ("y", "1")]));
    b.publish(endpoints(&[("x", "1")]));
    look();
    assert_eq!(listener.take(), [""; 0], "equal content is no clash");
    c.publish(endpoints(&[("y", "2"), ("x", "2")]));
    look();
    assert_eq!(listener.take(), ["+ x: a hides c", "+ y: a hides c"]);
    c.publish(endpoints(&[("y", "3"), ("x", "3")]));
    look();
    assert_eq!(listener.take(), [""; 0], "it goes on");
    b.publish(endpoints(&[("x", "2")]));
    look();
    let _ = open(&mux, "late").load();
    assert_eq!(listener.take(), ["+ x: a hides b", "- x: a hides c"]);
    a.publish(endpoints(&[]));
    look();
    let told = ["+ x: b hides c", "- x: a hides b", "- y: a hides c"];
    assert_eq!(listener.take(), told);
    drop(views);
    assert_eq!(listener.take(), ["- x: b hides c"]);
}

#[test]
fn a_clash_goes_on_while_any_stream_is_shown_it() {
    let listener = Arc::default();
    let ([a, b, _], mux) = observed(&listener);
    a.publish(endpoints(&[("x", "1")]));
    b.publish(endpoints(&[("x", "2")]));
    let [first, second] = ["n", "m"].map(|node| open(&mux, node));
    let _ = (first.load(), second.load());
    assert_eq!(listener.take(), ["+ x: a hides b"]);
    b.publish(endpoints(&[]));
    let _ = first.load();
    assert_eq!(listener.take(), [""; 0]);
    b.clear();
    let _ = second.load();
    assert_eq!(listener.take(), ["- x: a hides b"]);
}

#[test]
fn an_observer_that_panics_or_looks_itself_harms_nobody() {
    let listener = Arc::new(Listener {
        panics: true,
        ..Listener::default()
    });
    let ([a, b, _], mux) = observed(&listener);
    a.publish(endpoints(&[("x", "1"), ("y", "1")]));
    b.publish(endpoints(&[("x", "2"), ("y", "2")]));
    *lock(&listener.looks) = Some(open(&mux, "within"));
    let view = open(&mux, "n");
    assert_eq!(seen(&*view), pairs(&[("x", "1"), ("y", "1")]));
    b.publish(endpoints(&[]));
    let _ = view.load();
    let told = [
        "+ x: a hides b",
        "+ y: a hides b",
        "- x: a hides b",
        "- y: a hides b",
    ];
    let heard = listener.take();
    assert_eq!(heard[..2], told[..2]);
    let within = lock(&listener.looks).take();
    drop(within);
    assert_eq!([heard, listener.take()].concat(), told);
}
