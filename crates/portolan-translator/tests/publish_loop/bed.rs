use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use portolan_core::well_known::CLUSTER;
use portolan_core::{GroupObserver, Node, Resource, SnapshotBuilder, SnapshotWriter};
use portolan_translator::{
    BoxError, DeliveryTracker, GroupWatch, PublishConfig, PublishLoop, PublishLoopBuilder,
    PublishReport, Publisher, Translator,
};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::memory_cache::MemoryCache;

/// A model: the names of its clusters, and what translating it does.
#[derive(Debug)]
pub(crate) struct Model {
    clusters: Vec<String>,
    act: Act,
}

#[derive(Debug)]
enum Act {
    Work,
    Fail,
    Panic,
    /// Makes resources whose bodies are cut off.
    Tear,
    Hang {
        group: Option<String>,
        latch: Arc<Latch>,
    },
}

impl Model {
    pub(crate) fn of(clusters: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let clusters = clusters.into_iter().map(Into::into).collect();
        Self {
            clusters,
            act: Act::Work,
        }
    }

    pub(crate) fn clusters(&self) -> &[String] {
        &self.clusters
    }

    pub(crate) fn numbered(clusters: std::ops::Range<u32>) -> Self {
        Self::of(clusters.map(|number| format!("c{number}")))
    }

    pub(crate) fn failing() -> Self {
        Self {
            act: Act::Fail,
            ..Self::of(["failing"])
        }
    }

    pub(crate) fn panicking() -> Self {
        Self {
            act: Act::Panic,
            ..Self::of(["panicking"])
        }
    }

    pub(crate) fn torn() -> Self {
        Self {
            act: Act::Tear,
            ..Self::of(["torn"])
        }
    }

    /// Hangs until the latch is opened.
    pub(crate) fn hanging(latch: &Opener) -> Self {
        let act = Act::Hang {
            group: None,
            latch: latch.latch(),
        };
        Self {
            act,
            ..Self::of(["hanging"])
        }
    }

    /// Hangs for one group only.
    pub(crate) fn hanging_for(group: &str, latch: &Opener) -> Self {
        let act = Act::Hang {
            group: Some(group.to_owned()),
            latch: latch.latch(),
        };
        Self {
            act,
            ..Self::of(["hanging"])
        }
    }
}

/// Holds threads until it is opened.
#[derive(Debug)]
pub(crate) struct Latch {
    open: Mutex<bool>,
    opened: Condvar,
    held: Semaphore,
}

impl Latch {
    pub(crate) fn hold(&self) {
        let open = self.open.lock().unwrap();
        self.held.add_permits(1);
        drop(self.opened.wait_while(open, |open| !*open).unwrap());
    }

    /// Waits until one more thread is held.
    pub(crate) async fn holds_one(&self) {
        self.held.acquire().await.unwrap().forget();
    }
}

/// Opens a latch, at the latest when it is dropped: a test's runtime waits for its threads.
#[derive(Debug)]
pub(crate) struct Opener(Arc<Latch>);

impl Opener {
    pub(crate) fn latch(&self) -> Arc<Latch> {
        Arc::clone(&self.0)
    }

    pub(crate) fn open(&self) {
        *self.0.open.lock().unwrap() = true;
        self.0.opened.notify_all();
    }
}

impl Default for Opener {
    fn default() -> Self {
        Self(Arc::new(Latch {
            open: Mutex::new(false),
            opened: Condvar::new(),
            held: Semaphore::new(0),
        }))
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        self.open();
    }
}

/// Does what the model says, and remembers for which groups.
#[derive(Debug, Clone)]
pub(crate) struct Scripted {
    translated: Arc<Mutex<Vec<String>>>,
    begun: Arc<Semaphore>,
}

impl Translator<Model, String> for Scripted {
    type Error = BoxError;

    fn translate(
        &self,
        model: &Model,
        group: &String,
        out: &mut SnapshotBuilder,
    ) -> Result<(), BoxError> {
        self.translated.lock().unwrap().push(group.clone());
        self.begun.add_permits(1);
        match &model.act {
            Act::Work | Act::Tear => {}
            Act::Fail => return Err("no such backend".into()),
            Act::Panic => panic!("index out of bounds"),
            Act::Hang { group: only, latch } => {
                if only.as_ref().is_none_or(|only| only == group) {
                    latch.hold();
                }
            }
        }
        for name in &model.clusters {
            let mut body = message(name);
            if matches!(model.act, Act::Tear) {
                body.pop();
            }
            out.insert(Resource::builder(CLUSTER, name, body))?;
        }
        Ok(())
    }
}

/// A running loop, its cache, and time since it began.
#[derive(Debug)]
pub(crate) struct Bed {
    pub(crate) publisher: Publisher<Model, String>,
    pub(crate) cache: Arc<MemoryCache>,
    pub(crate) tracker: Arc<DeliveryTracker<String>>,
    pub(crate) task: JoinHandle<()>,
    watch: GroupWatch<String>,
    translator: Scripted,
    began: Instant,
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(crate) fn configured(config: PublishConfig) -> Self {
        Self::with(|builder| builder.with_config(config))
    }

    pub(crate) fn with(
        with: impl FnOnce(PublishLoopBuilder<Model, String>) -> PublishLoopBuilder<Model, String>,
    ) -> Self {
        let (watch, groups) = GroupWatch::channel();
        let cache = Arc::new(MemoryCache::default());
        let translator = Scripted {
            translated: Arc::default(),
            begun: Arc::new(Semaphore::new(0)),
        };
        let tracker = Arc::new(DeliveryTracker::new());
        let builder = PublishLoop::builder(translator.clone(), cache.clone(), groups)
            .with_tracker(Arc::clone(&tracker));
        let (publisher, publish_loop) = with(builder).build();
        Self {
            publisher,
            cache,
            tracker,
            task: publish_loop.spawn(),
            watch,
            translator,
            began: Instant::now(),
        }
    }

    pub(crate) fn translator(&self) -> Scripted {
        self.translator.clone()
    }

    pub(crate) fn node_connects(&self, group: &str) {
        self.watch.first_node(&group.to_owned(), &Node::new("node"));
    }

    pub(crate) fn last_node_leaves(&self, group: &str) {
        self.watch.last_node_left(&group.to_owned());
    }

    /// Hands a model in and waits until it was translated.
    pub(crate) async fn settle(&self, model: Model) {
        self.publisher.update(model).unwrap();
        self.publisher.flush().await.unwrap();
    }

    /// Waits until so many more translations have begun.
    pub(crate) async fn translations_begin(&self, count: u32) {
        let begun = self.translator.begun.acquire_many(count).await;
        begun.unwrap().forget();
    }

    /// The groups that were translated since the last call.
    pub(crate) fn translated(&self) -> Vec<String> {
        std::mem::take(&mut self.translator.translated.lock().unwrap())
    }

    /// The clusters that a group is served; `None` where nothing was published.
    pub(crate) fn served(&self, group: &str) -> Option<Vec<String>> {
        let snapshot = self.cache.get(&group.to_owned())?;
        let clusters = snapshot.set(&CLUSTER).unwrap();
        Some(clusters.iter().map(|c| c.name().to_string()).collect())
    }

    /// Waits until a group is served these clusters.
    pub(crate) async fn until_served(&self, group: &str, clusters: &[&str]) {
        while self.served(group).is_none_or(|served| served != clusters) {
            self.cache.written.notified().await;
        }
    }

    pub(crate) fn report(&self, group: &str) -> Arc<PublishReport> {
        self.publisher.last_report(&group.to_owned()).unwrap()
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// An encoded message with one text in it.
pub(crate) fn message(text: &str) -> Vec<u8> {
    let len = u8::try_from(text.len()).expect("names in tests are short");
    [&[0x0a, len], text.as_bytes()].concat()
}
