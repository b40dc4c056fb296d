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

/// To leave the layer out would mean nothing in state of the world.
fn fill(out: &mut SnapshotBuilder, value: Option<&str>) -> Result<(), TestError> {
    out.add(&layer(value))?;
    Ok(())
}

/// A layer with the value, or an empty one.
pub(super) fn layer(value: Option<&str>) -> Runtime {
    let fields = value.map(|text| {
        let kind = Some(Kind::StringValue(text.to_owned()));
        (KEY.to_owned(), Value { kind })
    });
    Runtime {
        name: LAYER.to_owned(),
        layer: Some(Struct {
            fields: fields.into_iter().collect(),
        }),
    }
}

/// Checks the value that the Envoy uses; an empty one is none.
pub(super) async fn is(envoy: &Envoy, expected: &str) -> Result<(), TestError> {
    let runtime = envoy.json("/runtime").await?;
    let value = runtime["entries"][KEY]["final_value"]
        .as_str()
        .unwrap_or_default();
    match value == expected {
        true => Ok(()),
        false => Err(format!("{value:?}").into()),
    }
}
