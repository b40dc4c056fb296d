//! A runtime layer: set, changed, and emptied.

use portolan::core::SnapshotBuilder;
use portolan::resources::AddTyped;
use portolan::types::envoy::service::runtime::v3::Runtime;
use portolan::types::prost_types::value::Kind;
use portolan::types::prost_types::{Struct, Value};
use portolan_tests::{Envoy, TestError};

use super::{Stage, soon};

pub(super) const LAYER: &str = "discovered";

const KEY: &str = "portolan.test";

pub(super) async fn check(stage: &Stage) -> Result<(), TestError> {
    stage.publish(|out| fill(out, Some("one")))?;
    let envoy = stage.envoy().await?;
    soon("the first value", || is(&envoy, "one")).await?;
    stage.publish(|out| fill(out, Some("two")))?;
    soon("the second value", || is(&envoy, "two")).await?;
    stage.publish(|out| fill(out, None))?;
    soon("no value", || is(&envoy, "")).await?;
    stage.accepted().await
}

/// A layer with the value, or an empty one: to leave it out would mean nothing in state of the world.
fn fill(out: &mut SnapshotBuilder, value: Option<&str>) -> Result<(), TestError> {
    let fields = value.map(|text| {
        let kind = Some(Kind::StringValue(text.to_owned()));
        (KEY.to_owned(), Value { kind })
    });
    out.add(&Runtime {
        name: LAYER.to_owned(),
        layer: Some(Struct {
            fields: fields.into_iter().collect(),
        }),
    })?;
    Ok(())
}

async fn is(envoy: &Envoy, expected: &str) -> Result<(), TestError> {
    let runtime = envoy.json("/runtime").await?;
    let value = runtime["entries"][KEY]["final_value"]
        .as_str()
        .unwrap_or_default();
    match value == expected {
        true => Ok(()),
        false => Err(format!("{value:?}").into()),
    }
}
