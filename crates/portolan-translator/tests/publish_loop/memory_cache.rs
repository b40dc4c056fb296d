use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use portolan_core::{Generation, Published, Snapshot, SnapshotWriter};
use tokio::sync::Notify;

/// The writing side of a cache, without the rest.
#[derive(Debug, Default)]
pub(crate) struct MemoryCache {
    publications: Mutex<BTreeMap<String, (Snapshot, Generation)>>,
    pub(crate) panics: AtomicBool,
    pub(crate) written: Notify,
}

impl SnapshotWriter<String> for MemoryCache {
    fn set(&self, group: &String, snapshot: Snapshot) -> Published {
        assert!(!self.panics.load(Ordering::Relaxed), "the cache is broken");
        let mut publications = self.publications.lock().unwrap();
        let last = publications.get(group);
        if let Some((_, generation)) = last.filter(|(held, _)| held.same_content(&snapshot)) {
            let generation = *generation;
            publications.insert(group.clone(), (snapshot, generation));
            return Published::Unchanged(generation);
        }
        let generation = last.map_or_else(Generation::default, |last| last.1).next();
        publications.insert(group.clone(), (snapshot, generation));
        self.written.notify_one();
        Published::Changed(generation)
    }

    fn get(&self, group: &String) -> Option<Snapshot> {
        Some(self.publications.lock().unwrap().get(group)?.0.clone())
    }

    fn clear(&self, group: &String) {
        self.publications.lock().unwrap().remove(group);
    }

    fn groups(&self) -> Vec<String> {
        self.publications.lock().unwrap().keys().cloned().collect()
    }
}
