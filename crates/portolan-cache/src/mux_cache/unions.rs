use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use portolan_core::TypeUrl;

use super::merged::Union;
use super::routes::Parts;
use crate::lock::lock;

/// The unions of a cache, by type and parts. There are as many as were declared, and one for each type more that parts
/// have which serve all other types together.
#[derive(Debug, Default)]
pub(super) struct Unions(Mutex<HashMap<(TypeUrl, Parts), Arc<Union>>>);

impl Unions {
    pub(super) fn get(&self, type_url: &TypeUrl, parts: &[usize]) -> Arc<Union> {
        let key = (type_url.clone(), Parts::from(parts));
        let mut unions = lock(&self.0);
        let union = unions
            .entry(key)
            .or_insert_with(|| Arc::new(Union::of(parts)));
        Arc::clone(union)
    }
}
