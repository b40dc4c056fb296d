//! A translator that applies what changed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use portolan_core::well_known::CLUSTER;
use portolan_core::{Resource, Snapshot, SnapshotBuilder, SnapshotWriter};
use portolan_translator::{
    BoxError, Change, Extent, IncrementalTranslator, MassDeletion, Outcome, PublishConfig,
    PublishLoop, PublishReport, Publisher, Stage, Translator, WatchedGroups,
};
use tokio::time::{advance, sleep};

use crate::bed::{message, ms};
use crate::memory_cache::MemoryCache;

/// The text of each cluster.
type Model = BTreeMap<&'static str, &'static str>;

/// Remembers what it was asked for: `*`, or the details.
#[derive(Clone, Debug, Default)]
struct Recorded(Arc<Mutex<Vec<String>>>);

impl Recorded {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }
}

fn cluster(name: &str, text: &str) -> portolan_core::ResourceBuilder {
    Resource::builder(CLUSTER, name, message(text))
}

impl Translator<Model, String> for Recorded {
    type Error = BoxError;

    fn translate(
        &self,
        model: &Model,
        _: &String,
        out: &mut SnapshotBuilder,
    ) -> Result<(), BoxError> {
        self.note("*");
        for (name, text) in model {
            out.insert(cluster(name, text))?;
        }
        Ok(())
    }
}

impl IncrementalTranslator<Model, String> for Recorded {
    type Detail = &'static str;

    fn translate_details(
        &self,
        model: &Model,
        _: &String,
        details: &[&&'static str],
        out: &mut SnapshotBuilder,
    ) -> Result<(), BoxError> {
        let names: Vec<_> = details.iter().map(|name| **name).collect();
        self.note(names.join(" "));
        for name in names {
            match (name, model.get(name)) {
                ("beyond me", _) => return Err("it is beyond me".into()),
                ("fatal", _) => panic!("a translator's own fault"),
                (_, Some(text)) => drop(out.upsert(cluster(name, text))?),
                (_, None) => drop(out.remove(&CLUSTER, name)),
            }
        }
        Ok(())
    }
}

struct Bed {
    publisher: Publisher<Model, String, &'static str>,
    cache: Arc<MemoryCache>,
    translator: Recorded,
    model: Model,
}

impl Bed {
    /// A loop that has published clusters `a` and `b`.
    async fn new(config: PublishConfig) -> Self {
        let (cache, translator) = (Arc::new(MemoryCache::default()), Recorded::default());
        let groups = WatchedGroups::none();
        let builder = PublishLoop::incremental(translator.clone(), cache.clone(), groups);
        let (publisher, publish_loop) = builder.with_config(config).build();
        publish_loop.spawn();
        publisher.serve_group(&"edge".to_owned());
        let model = Model::from([("a", "1"), ("b", "1")]);
        let bed = Self {
            publisher,
            cache,
            translator,
            model,
        };
        bed.publisher.update(bed.model.clone()).unwrap();
        bed.publisher.flush().await.unwrap();
        assert_eq!(
            bed.asked(),
            ["*"],
            "a group that has nothing is given everything"
        );
        bed
    }

    fn hand_in(&self, details: &[&'static str]) {
        for detail in details {
            let change = Change::config().with_detail(*detail);
            self.publisher
                .update_with(self.model.clone(), change)
                .unwrap();
        }
    }

    async fn change(
        &mut self,
        name: &'static str,
        text: Option<&'static str>,
    ) -> Arc<PublishReport> {
        match text {
            Some(text) => self.model.insert(name, text),
            None => self.model.remove(name),
        };
        self.hand_in(&[name]);
        self.flush().await
    }

    async fn flush(&self) -> Arc<PublishReport> {
        let reports = self.publisher.flush().await.unwrap();
        Arc::clone(reports.get(&"edge".to_owned()).unwrap())
    }

    /// What the translator was asked for since the last call.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.translator.0.lock().unwrap())
    }

    fn snapshot(&self) -> Snapshot {
        self.cache.get(&"edge".to_owned()).unwrap()
    }

    fn served(&self) -> Vec<String> {
        let snapshot = self.snapshot();
        let text = |r: &Resource| {
            let body = r.body();
            format!("{}={}", r.name(), String::from_utf8_lossy(&body[2..]))
        };
        snapshot.set(&CLUSTER).unwrap().iter().map(text).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn what_changed_is_applied_to_what_is_published() {
    let mut bed = Bed::new(PublishConfig::default()).await;
    let first = bed.snapshot();
    let report = bed.change("c", Some("1")).await;
    assert_eq!(bed.asked(), ["c"]);
    assert_eq!(report.extent, Extent::Details);
    assert_eq!(report.diff[0].added().to_string(), "1 (c)");
    assert_eq!(bed.served(), ["a=1", "b=1", "c=1"]);

    bed.change("a", None).await;
    bed.change("b", Some("2")).await;
    assert_eq!(bed.served(), ["b=2", "c=1"]);
    let held = |snapshot: &Snapshot, name| {
        snapshot
            .lookup(&CLUSTER, name)
            .present()
            .map(Resource::version)
            .cloned()
    };
    assert_ne!(held(&first, "b"), held(&bed.snapshot(), "b"));
}

#[tokio::test(start_paused = true)]
async fn details_of_changes_that_come_together_are_told_together() {
    let bed = Bed::new(PublishConfig::default()).await;
    bed.hand_in(&["a", "b", "a"]);
    bed.flush().await;
    assert_eq!(bed.asked(), ["a b a"]);
}

#[tokio::test(start_paused = true)]
async fn a_change_without_a_detail_is_translated_in_full() {
    let bed = Bed::new(PublishConfig::default()).await;
    bed.hand_in(&["a"]);
    bed.publisher.update(bed.model.clone()).unwrap();
    bed.flush().await;
    assert_eq!(bed.asked(), ["*"]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_applied_is_translated_in_full() {
    let mut bed = Bed::new(PublishConfig::default()).await;
    bed.model.insert("c", "1");
    bed.hand_in(&["a", "beyond me"]);
    let report = bed.flush().await;
    assert_eq!(bed.asked(), ["a beyond me", "*"]);
    assert_eq!(report.extent, Extent::Everything);
    assert_eq!(bed.served(), ["a=1", "b=1", "c=1"]);
    bed.change("d", Some("1")).await;
    assert_eq!(bed.asked(), ["d"]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_keeps_the_last_good_and_the_next_change_is_translated_in_full() {
    let mut bed = Bed::new(PublishConfig::default()).await;
    bed.model.insert("c", "1");
    bed.hand_in(&["c", "fatal"]);
    let report = bed.flush().await;
    assert!(matches!(
        report.outcome,
        Outcome::Panicked {
            stage: Stage::Translate,
            ..
        }
    ));
    assert_eq!(report.extent, Extent::Details);
    assert_eq!(bed.served(), ["a=1", "b=1"]);
    bed.asked();
    bed.change("d", Some("1")).await;
    assert_eq!(bed.asked(), ["*"]);
    assert_eq!(bed.served(), ["a=1", "b=1", "c=1", "d=1"]);
}

#[tokio::test(start_paused = true)]
async fn details_pass_the_same_gates() {
    let mut bed = Bed::new(PublishConfig::default()).await;
    bed.model.clear();
    bed.hand_in(&["a", "b"]);
    let report = bed.flush().await;
    let Outcome::Refused(refusal) = &report.outcome else {
        panic!("{:?}", report.outcome);
    };
    assert!(refusal.reason().is::<MassDeletion>());
    assert_eq!(
        report.diff[0].removed().total(),
        2,
        "it says what would have gone"
    );
    assert_eq!(bed.served(), ["a=1", "b=1"]);
}

#[tokio::test(start_paused = true)]
async fn what_somebody_else_published_is_replaced_and_not_built_upon() {
    let mut bed = Bed::new(PublishConfig::default()).await;
    let mut foreign = bed.snapshot().edit();
    foreign.upsert(cluster("foreign", "1")).unwrap();
    let _ = bed.cache.set(&"edge".to_owned(), foreign.build());
    bed.change("c", Some("1")).await;
    assert_eq!(bed.asked(), ["*"]);
    assert_eq!(bed.served(), ["a=1", "b=1", "c=1"]);
    bed.change("d", Some("1")).await;
    assert_eq!(bed.asked(), ["d"]);
}

#[tokio::test(start_paused = true)]
async fn an_old_publication_that_somebody_put_back_is_not_built_upon() {
    let mut bed = Bed::new(PublishConfig::default()).await;
    let old = bed.snapshot();
    bed.change("c", Some("1")).await;
    let _ = bed.cache.set(&"edge".to_owned(), old);
    bed.asked();
    bed.change("d", Some("1")).await;
    assert_eq!(bed.asked(), ["*"]);
    assert_eq!(bed.served(), ["a=1", "b=1", "c=1", "d=1"]);
}

#[tokio::test(start_paused = true)]
async fn a_detail_that_changes_nothing_publishes_nothing() {
    let bed = Bed::new(PublishConfig::default()).await;
    let first = bed.snapshot();
    bed.hand_in(&["a"]);
    let report = bed.flush().await;
    assert!(
        matches!(report.outcome, Outcome::Unchanged { generation, .. } if generation.get() == 1)
    );
    assert!(report.diff.is_empty());
    assert_eq!(bed.snapshot().id(), first.id());
    bed.hand_in(&["b"]);
    bed.flush().await;
    assert_eq!(bed.asked(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn with_too_many_details_everything_is_translated() {
    let bed = Bed::new(PublishConfig::default().with_max_details(2)).await;
    bed.hand_in(&["a", "b", "a"]);
    bed.flush().await;
    assert_eq!(bed.asked(), ["*"]);
    bed.hand_in(&["a", "b"]);
    bed.flush().await;
    assert_eq!(bed.asked(), ["a b"]);
}

#[tokio::test(start_paused = true)]
async fn details_told_over_time_add_up_for_a_slow_debounce() {
    let bed = Bed::new(PublishConfig::default()).await;
    sleep(ms(1)).await;
    for detail in ["a", "b"] {
        bed.hand_in(&[detail]);
        advance(ms(30)).await;
    }
    bed.flush().await;
    assert_eq!(bed.asked(), ["a b"]);
}
