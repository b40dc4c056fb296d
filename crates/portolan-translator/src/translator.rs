use std::error::Error;
use std::fmt::Debug;

use portolan_core::{GroupKey, SnapshotBuilder};

/// An error of any kind.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Turns a model into the resources of one group: the one thing that a user of the publish loop writes.
///
/// Synchronous and pure: the same model and group give the same resources. Whatever needs I/O belongs where the model
/// is made. It runs on the blocking pool, for several groups at once, and never for a group whose translation is
/// still going on within its deadline.
///
/// ```
/// use portolan_core::{Resource, ResourceError, SnapshotBuilder, well_known::CLUSTER};
/// use portolan_translator::Translator;
///
/// #[derive(Debug)]
/// struct Clusters;
///
/// impl Translator<Vec<String>, String> for Clusters {
///     type Error = ResourceError;
///
///     fn translate(
///         &self,
///         model: &Vec<String>,
///         _group: &String,
///         out: &mut SnapshotBuilder,
///     ) -> Result<(), ResourceError> {
///         for name in model {
///             out.insert(Resource::builder(CLUSTER, name, &b"an encoded Cluster"[..]))?;
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait Translator<M, G: GroupKey>: Debug + Send + Sync + 'static {
    /// Why a model cannot be translated: any error type, `anyhow::Error` and `String` among them.
    type Error: Into<BoxError>;

    /// Adds all that `group` is to be served to `out`, which starts without resources and shares with the group's
    /// last publication whatever turns out equal.
    ///
    /// # Errors
    /// After an error nothing is published for the group, and it keeps what it has.
    fn translate(&self, model: &M, group: &G, out: &mut SnapshotBuilder)
    -> Result<(), Self::Error>;
}

/// A [`Translator`] whose error type is erased.
pub(crate) trait BoxedTranslator<M, G>: Debug + Send + Sync {
    fn translate_boxed(
        &self,
        model: &M,
        group: &G,
        out: &mut SnapshotBuilder,
    ) -> Result<(), BoxError>;
}

impl<M, G: GroupKey, T: Translator<M, G>> BoxedTranslator<M, G> for T {
    fn translate_boxed(
        &self,
        model: &M,
        group: &G,
        out: &mut SnapshotBuilder,
    ) -> Result<(), BoxError> {
        self.translate(model, group, out).map_err(Into::into)
    }
}
