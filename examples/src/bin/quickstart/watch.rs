//! Tells when a file was changed, by whatever means an editor has for that.

use std::path::Path;
use std::sync::Arc;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

/// Watches one file until dropped.
pub(crate) struct FileWatch {
    changed: Arc<Notify>,
    _watcher: RecommendedWatcher,
}

impl FileWatch {
    pub(crate) fn new(path: &Path) -> notify::Result<Self> {
        let path = path.canonicalize()?;
        let changed = Arc::new(Notify::new());
        let notify = Arc::clone(&changed);
        let file = path.file_name().map(ToOwned::to_owned);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // Reading the file is an event too, and this program reads it.
            let ours = |event: Event| {
                !event.kind.is_access()
                    && event.paths.iter().any(|p| p.file_name() == file.as_deref())
            };
            // An error may hide a change; looking once too often is harmless.
            if event.map_or(true, ours) {
                notify.notify_one();
            }
        })?;
        // The directory and not the file: many editors replace a file rather than write to it.
        let directory = path.parent().unwrap_or_else(|| Path::new("."));
        watcher.watch(directory, RecursiveMode::NonRecursive)?;
        Ok(Self {
            changed,
            _watcher: watcher,
        })
    }

    /// Waits for the next change.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}
