//! Metrics through the `metrics` facade. `docs/metrics.md` is for users.
//!
//! Series are registered when the first stream needs them, and their handles kept: what happens for each request and
//! each response looks up nothing in the recorder and allocates nothing.

mod series;
mod stream;
mod table;

pub(super) use self::series::Series;
pub(super) use self::stream::StreamMetrics;
