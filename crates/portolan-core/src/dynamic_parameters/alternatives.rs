//! Whether each client is meant by at most one of the resources that have one name.

use std::collections::{BTreeMap, BTreeSet};

use super::constraints::Assigned;
use crate::{Name, Resource, ResourceError};

/// Most resources of one name.
const MAX_ALTERNATIVES: usize = 128;

/// Most assignments of values to keys that are tried: for each key all values that are mentioned, another one, and none.
const MAX_ASSIGNMENTS: usize = 4_096;

/// Refuses resources of one name that a client cannot be told to have one of: all must mention the same keys, and no two
/// may match the same parameters (C-321). One without constraints mentions none and matches all.
pub(crate) fn check(alternatives: &[&Resource]) -> Result<(), ResourceError> {
    let Some((first, others)) = alternatives.split_first().filter(|(_, o)| !o.is_empty()) else {
        return Ok(());
    };
    let keys = keys_of(first);
    if let Some(other) = others.iter().find(|other| keys_of(other) != keys) {
        return Err(ResourceError::AlternativesDiffer {
            type_url: first.type_url().clone(),
            first: first.name().clone(),
            second: other.name().clone(),
        });
    }
    let mut values: BTreeMap<&str, Vec<Option<Assigned<'_>>>> = keys
        .iter()
        .map(|key| (*key, vec![None, Some(Assigned::Other)]))
        .collect();
    for (key, value) in values_of(alternatives) {
        let of_key = values.entry(key).or_default();
        of_key.push(Some(Assigned::Value(value)));
    }
    let counts = values.values().map(Vec::len);
    let assignments = counts.fold(1_usize, usize::saturating_mul);
    if alternatives.len() > MAX_ALTERNATIVES || assignments > MAX_ASSIGNMENTS {
        return Err(ResourceError::TooManyAlternatives {
            type_url: first.type_url().clone(),
            name: first.name().to_stem(),
        });
    }
    for number in 0..assignments {
        let assignment = assignment(&values, number);
        let assigned = |key: &str| assignment.get(key).copied().flatten();
        let is_meant = |resource: &&&Resource| {
            let constraints = resource.constraints();
            constraints.is_none_or(|constraints| constraints.holds(&assigned))
        };
        let mut meant = alternatives.iter().filter(is_meant);
        if let (Some(one), Some(other)) = (meant.next(), meant.next()) {
            return Err(overlap(one, other, &assignment));
        }
    }
    Ok(())
}

fn keys_of(resource: &Resource) -> BTreeSet<&str> {
    let mut keys = BTreeSet::new();
    if let Some(constraints) = resource.constraints() {
        constraints.mention(&mut keys, &mut BTreeSet::new());
    }
    keys
}

fn values_of<'a>(alternatives: &[&'a Resource]) -> BTreeSet<(&'a str, &'a str)> {
    let mut values = BTreeSet::new();
    let constraints = alternatives.iter().filter_map(|r| r.constraints());
    constraints.for_each(|c| c.mention(&mut BTreeSet::new(), &mut values));
    values
}

/// What each key is assigned in the assignment of this number.
fn assignment<'a>(
    values: &BTreeMap<&'a str, Vec<Option<Assigned<'a>>>>,
    mut number: usize,
) -> BTreeMap<&'a str, Option<Assigned<'a>>> {
    let assign = |(key, values): (&&'a str, &Vec<Option<Assigned<'a>>>)| {
        let value = values[number % values.len()];
        number /= values.len();
        (*key, value)
    };
    values.iter().map(assign).collect()
}

fn overlap(
    one: &Resource,
    other: &Resource,
    assignment: &BTreeMap<&str, Option<Assigned<'_>>>,
) -> ResourceError {
    let word = |(key, value): (&&str, &Option<Assigned<'_>>)| match value {
        None => format!("no {key:?}"),
        Some(Assigned::Other) => format!("any other {key:?}"),
        Some(Assigned::Value(value)) => format!("{key:?}={value:?}"),
    };
    let words: Vec<_> = assignment.iter().map(word).collect();
    ResourceError::AlternativesOverlap {
        type_url: one.type_url().clone(),
        first: Name::clone(one.name()),
        second: Name::clone(other.name()),
        parameters: words.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Constraints;
    use crate::well_known::CLUSTER;

    fn cluster(constraints: Constraints) -> Resource {
        let builder = Resource::builder(CLUSTER, "a", &b""[..]);
        builder.constraints(constraints).build().unwrap()
    }

    fn check(all: impl IntoIterator<Item = Constraints>) -> Result<(), ResourceError> {
        let all: Vec<_> = all.into_iter().map(cluster).collect();
        super::check(&all.iter().collect::<Vec<_>>())
    }

    fn value(value: &str) -> Constraints {
        Constraints::value("env", value)
    }

    #[test]
    fn c321_each_client_is_meant_by_one_at_most() {
        assert_eq!(check([value("prod"), value("test")]), Ok(()));
        let others = !Constraints::any_of([value("prod"), value("test")]);
        assert_eq!(check([value("prod"), value("test"), others]), Ok(()));
        let overlap = check([
            Constraints::any_of([value("prod"), value("test")]),
            Constraints::any_of([value("qa"), value("test")]),
        ]);
        assert_eq!(
            overlap.unwrap_err().to_string(),
            "resources a{|(env=prod,env=test)} and a{|(env=qa,env=test)} of type \
             type.googleapis.com/envoy.config.cluster.v3.Cluster are both meant for clients with \"env\"=\"test\""
        );
    }

    #[test]
    fn c321_a_value_that_is_not_mentioned_counts_as_one() {
        let two = check([!value("prod"), !value("test")]).unwrap_err();
        assert!(matches!(two, ResourceError::AlternativesOverlap { .. }));
        let two = check([Constraints::exists("env"), value("test")]).unwrap_err();
        assert!(two.to_string().ends_with("\"env\"=\"test\""), "{two}");
        assert_eq!(
            check([Constraints::exists("env"), !Constraints::exists("env")]),
            Ok(())
        );
    }

    #[test]
    fn c321_all_mention_the_same_keys() {
        let version = |v: &str| Constraints::value("version", v);
        let both = Constraints::all_of([value("prod"), version("v1")]);
        let differ = check([value("prod"), both.clone()]).unwrap_err();
        assert!(matches!(differ, ResourceError::AlternativesDiffer { .. }));
        let waits = Constraints::all_of([value("prod"), !Constraints::exists("version")]);
        assert_eq!(check([waits, both]), Ok(()));
        let plain = Resource::builder(CLUSTER, "a", &b""[..]).build().unwrap();
        let differ = super::check(&[&plain, &cluster(value("prod"))]).unwrap_err();
        assert!(matches!(differ, ResourceError::AlternativesDiffer { .. }));
    }

    #[test]
    fn c321_what_cannot_be_compared_within_bounds_is_refused() {
        let all = |count: usize| (0..count).map(|i| value(&i.to_string()));
        assert_eq!(check(all(MAX_ALTERNATIVES)), Ok(()));
        let many = check(all(MAX_ALTERNATIVES + 1)).unwrap_err();
        assert!(matches!(many, ResourceError::TooManyAlternatives { .. }));
        let keys = |value: &str| {
            let all = (0..8).map(|key| Constraints::value(key.to_string(), value));
            Constraints::all_of(all)
        };
        let many = check([keys("a"), keys("b")]).unwrap_err();
        assert!(matches!(many, ResourceError::TooManyAlternatives { .. }));
    }
}
