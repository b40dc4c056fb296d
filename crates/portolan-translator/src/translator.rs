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
///             out.insert(Resource::builder(CLUSTER, name, encode(name)))?;
///         }
///         Ok(())
///     }
/// }
/// # fn encode(name: &str) -> Vec<u8> { [&[0x0a, name.len() as u8], name.as_bytes()].concat() }
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

/// A [`Translator`] that can also apply what changed to what a group has, so that a change costs what it changes and
/// not what there is.
///
/// It is asked for everything when a group has nothing yet, when a change was handed in [without a
/// detail](crate::Change::with_detail), after a failure, and when somebody else published for the group. Otherwise it
/// is told the details of all changes that the group has not been given. What it makes passes the same gates, and is
/// reported the same way.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use portolan_core::{Resource, ResourceError, SnapshotBuilder, well_known::CLUSTER};
/// use portolan_translator::{IncrementalTranslator, Translator};
///
/// /// The services, by name, and the time to connect to each in seconds.
/// type Services = BTreeMap<String, u8>;
///
/// #[derive(Debug)]
/// struct Clusters;
///
/// impl Translator<Services, String> for Clusters {
///     type Error = ResourceError;
///
///     fn translate(&self, model: &Services, _: &String, out: &mut SnapshotBuilder) -> Result<(), ResourceError> {
///         for (name, timeout) in model {
///             out.insert(Resource::builder(CLUSTER, name, encode(name, *timeout)))?;
///         }
///         Ok(())
///     }
/// }
///
/// impl IncrementalTranslator<Services, String> for Clusters {
///     /// The name of a service that was added, changed or removed.
///     type Detail = String;
///
///     fn translate_details(
///         &self,
///         model: &Services,
///         _: &String,
///         details: &[&String],
///         out: &mut SnapshotBuilder,
///     ) -> Result<(), ResourceError> {
///         for name in details {
///             match model.get(*name) {
///                 Some(timeout) => out.upsert(Resource::builder(CLUSTER, *name, encode(name, *timeout)))?,
///                 None => out.remove(&CLUSTER, name),
///             };
///         }
///         Ok(())
///     }
/// }
/// # fn encode(name: &str, timeout: u8) -> Vec<u8> {
/// #     [&[0x0a, name.len() as u8], name.as_bytes(), &[0x22, 2, 0x08, timeout]].concat()
/// # }
/// ```
pub trait IncrementalTranslator<M, G: GroupKey>: Translator<M, G> {
    /// What is said of a change. It names what to look up in the model rather than what it is now: when the group's
    /// turn comes, the model may be newer.
    type Detail: Send + Sync + 'static;

    /// Applies what `details` speak of to `out`, which starts with all that `group` has. They are in the order in which
    /// they were handed in; several may speak of the same, and one may be told again.
    ///
    /// # Errors
    /// After an error everything is [translated](Translator::translate) instead, within the same deadline. So an error
    /// is also the way to say that a detail is beyond what can be applied.
    fn translate_details(
        &self,
        model: &M,
        group: &G,
        details: &[&Self::Detail],
        out: &mut SnapshotBuilder,
    ) -> Result<(), Self::Error>;
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

/// Either form of a translator.
pub(crate) trait Form<M, G, D>: Debug + Send + Sync {
    fn everything(&self, model: &M, group: &G, out: &mut SnapshotBuilder) -> Result<(), BoxError>;

    /// `None` where details mean nothing to it.
    fn details(
        &self,
        model: &M,
        group: &G,
        details: &[&D],
        out: &mut SnapshotBuilder,
    ) -> Option<Result<(), BoxError>>;
}

/// Translates everything each time.
#[derive(Debug)]
pub(crate) struct Full<T>(pub(crate) T);

impl<M, G: GroupKey, D, T: Translator<M, G>> Form<M, G, D> for Full<T> {
    fn everything(&self, model: &M, group: &G, out: &mut SnapshotBuilder) -> Result<(), BoxError> {
        self.0.translate_boxed(model, group, out)
    }

    fn details(
        &self,
        _: &M,
        _: &G,
        _: &[&D],
        _: &mut SnapshotBuilder,
    ) -> Option<Result<(), BoxError>> {
        None
    }
}

/// Translates details where there are some.
#[derive(Debug)]
pub(crate) struct Incremental<T>(pub(crate) T);

impl<M, G: GroupKey, T: IncrementalTranslator<M, G>> Form<M, G, T::Detail> for Incremental<T> {
    fn everything(&self, model: &M, group: &G, out: &mut SnapshotBuilder) -> Result<(), BoxError> {
        self.0.translate_boxed(model, group, out)
    }

    fn details(
        &self,
        model: &M,
        group: &G,
        details: &[&T::Detail],
        out: &mut SnapshotBuilder,
    ) -> Option<Result<(), BoxError>> {
        let applied = self.0.translate_details(model, group, details, out);
        Some(applied.map_err(Into::into))
    }
}
