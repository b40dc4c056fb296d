use std::time::Duration;

use portolan_core::Snapshot;
use portolan_core::well_known::ROUTE;
use portolan_engine::{Event, Request};

use super::memory::Versions;
use super::step::Expected;
use super::text::Line;
use super::{Answer, AnswerResource, Bed, Case, Run, cases, runs};
use crate::{Shelf, fixture};

/// Plays the script of one case that has this text; `Ok` or the reason.
fn played(script: &str) -> Result<(), String> {
    let text = format!("case C-001: it\n{script}");
    let case = Case::parse(&text).map_err(|error| error.to_string())?;
    for run in runs(case) {
        let simulated = run.simulate(&Shelf::new);
        simulated.map_err(|failure| failure.reason)?;
    }
    Ok(())
}

fn fails(script: &str) -> String {
    played(script).expect_err("it came out")
}

#[test]
fn all_cases_can_be_read_and_have_names_of_their_own() {
    let mut names: Vec<_> = runs(cases()).iter().map(ToString::to_string).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn what_does_not_come_out_fails() {
    let asked = "sotw\nput EDS a\n> EDS [a]\n";
    let with = |rest: &str| fails(&format!("{asked}{rest}"));
    assert_eq!(played(&format!("{asked}< EDS v1 n1 [a]")), Ok(()));
    assert!(with("").contains("at the end: on stream 1 came EDS {\"a\"}"));
    assert!(with("quiet").starts_with("line 5: "));
    assert!(with("wait 1s").starts_with("line 5: "));
    assert!(with("< EDS v1 n1 [b]").contains("what came is EDS {\"a\"}"));
    assert!(with("< EDS v1 n1 [a]\n< EDS v1 n2 [a]").contains("nothing came"));
    assert!(with("< EDS \"v9\" n1 [a]").contains("the version is"));
    assert!(with("< EDS v1 n1 [a]\n! invalid_argument").contains("it has not ended"));
    assert!(with("< EDS v1 n1 [a]\n* acked EDS n1").contains("nothing was acked"));
    let told = with("< EDS v1 n1 [a]\n> ACK EDS n1\n* no acked");
    assert!(told.contains("what was told is"), "{told}");
    let nacked = "< EDS v1 n1 [a]\n> NACK EDS n1 err=3:\"no\"\n* nacked EDS n1";
    assert_eq!(played(&format!("{asked}{nacked} err=3:\"no\"")), Ok(()));
    assert!(with(&format!("{nacked} err=13:\"no\"")).contains("what was told is"));
    assert!(with(&format!("{nacked} err=3:\"yes\"")).contains("what was told is"));
}

#[test]
fn names_of_versions_and_nonces_mean_one_thing() {
    let changed = "sotw\nput EDS a\n> EDS [a]\n< EDS v1 n1 [a]\n> ACK EDS n1\nput EDS a@2\n";
    let with = |rest: &str| fails(&format!("{changed}{rest}"));
    assert!(with("< EDS v1 n2 [a@2]").contains("v1 is another version"));
    assert!(with("< EDS v2 n1 [a@2]").contains("n1 is another response"));
    assert!(with("< EDS v2 n2 [a@2]\n> ACK EDS n3").contains("no nonce n3"));
    assert!(with("< EDS v2 n2 [a@2]\n> EDS [a] v=v3").contains("no version v3"));
    let same = "sotw\nput EDS a b\n> EDS [a]\n< EDS v1 n1 [a]\n> EDS [a b]\n< EDS v2 n2 [b]";
    assert!(fails(same).contains("the version is still v1"));
}

#[test]
fn resources_in_delta_have_the_versions_that_were_published() {
    let mut versions = Versions::default();
    let published = fixture::route("a", ["c"]).revision(2).build();
    versions.learn(&published);
    let mut line = Line::new("RDS n1 [a@2]");
    let expected = Expected::parse(&mut line).unwrap();
    let mut check = |version: &str| {
        let body = published.body().to_vec();
        let mut answer = Answer::new(ROUTE, "v", "n");
        let resource = AnswerResource::new("a", Some(version.to_owned()), body);
        answer.resources.push(resource);
        versions.check(&expected, &answer)
    };
    assert_eq!(check(published.version().as_str()), Ok(()));
    assert!(check("another").unwrap_err().contains("has version"));
    assert!(check("").unwrap_err().contains("has version"));
}

#[test]
fn what_is_on_demand_comes_by_name_only() {
    let put = "delta\nput CDS a{} od{on-demand}\n> CDS\n";
    assert_eq!(played(&format!("{put}< CDS n1 [a]")), Ok(()));
    assert!(fails(&format!("{put}< CDS n1 [a od]")).contains("what came is"));
}

#[test]
fn a_text_that_is_no_case_is_refused_where_it_is_wrong() {
    let refused = |text: &str| Case::parse(text).map(drop).unwrap_err().to_string();
    for (text, reason) in [
        ("put CDS a", "line 1: no case has begun"),
        ("case 7: it", "\"7\" is no rule"),
        ("case C-001: it\nput CDS a", "no script has begun"),
        ("case C-001: it\nsotw\nfly", "no step begins with \"fly\""),
        ("case C-001: it\nsotw\nwait soon", "\"soon\" is no number"),
        ("case C-001: it\nsotw\n> EDS [a", "']' is missing"),
        ("case C-001: it\nsotw\n> EDS ?[a]", "a request has no \"?\""),
        (
            "case C-001: it\nsotw\n< EDS v1 n1 [a] b",
            "\"b\" is too much",
        ),
        (
            "case C-001: it\nsotw\n* seen EDS n1",
            "nobody is told \"seen\"",
        ),
        ("case C-001: it\nsotw\nput CDS", "nothing is put"),
    ] {
        let error = refused(text);
        assert!(error.contains(reason), "{error}");
    }
    assert!(fails("sotw\nremove EDS a\nquiet").contains("there is no \"a\""));
    assert!(fails("delta\n> EDS [a]").contains("in delta"));
}

#[test]
fn a_case_for_several_types_is_a_case_of_each() {
    let text = "case C-001: it\nfor CDS RDS\nonly ads\nsotw\nput T a\n> T [*]\n< T v1 n1 [a]";
    let cases = Case::parse(text).unwrap();
    let shown = |case| runs([case]).iter().map(ToString::to_string).collect();
    let names: Vec<String> = cases.into_iter().flat_map::<Vec<_>, _>(shown).collect();
    assert_eq!(names, ["c001/sotw/ads it (CDS)", "c001/sotw/ads it (RDS)"]);
    let empty_for_one = "for CDS RDS\nsotw\nput CDS a\n> T []\n< T v1 n1 [a]";
    assert!(fails(empty_for_one).contains("nothing came"));
}

#[test]
fn what_is_on_demand_is_kept_out_of_wildcards_and_bodies_are_compared() {
    let with = |put: &str| played(&format!("sotw\n{put}\n> CDS []\n< CDS v1 n1 [a]"));
    assert_eq!(with("put CDS a b{on-demand}"), Ok(()));
    assert!(with("put CDS a b{}").unwrap_err().contains("what came is"));
    // What was published last under a name is another body than the one that came.
    let asked =
        "sotw\nput CDS a\n> CDS []\n< CDS v1 n1 [a]\n> ACK CDS n1\nhold\nput CDS a@2\nquiet\n";
    let changed = fails(&format!(
        "{asked}put CDS a@2{{}}\nrelease\n< CDS v2 n2 [a@2]"
    ));
    assert!(changed.contains("is not whole"), "{changed}");
}

#[test]
fn transitions_are_safe_unless_a_case_says_otherwise() {
    let play = |options: &str| {
        let first =
            "put CDS a{}\nput RDS r{to=a}\n> CDS []\n< CDS v1 n1 [a]\n> RDS [r]\n< RDS v1 n2 [r]\n";
        let acked = "> ACK CDS n1\n> ACK RDS n2\n";
        let moved = "put CDS b{}\nput RDS r@2{to=b}\n< CDS v2 n3 [a b]\n< RDS v2 n4 [r@2]";
        played(&format!("only ads\n{options}sotw\n{first}{acked}{moved}"))
    };
    assert_eq!(play("with transitions=ordered\n"), Ok(()));
    assert!(play("").unwrap_err().contains("nothing came"));
}

/// Nothing ever comes of it, and its clients always read.
struct Nobody;

impl Bed for Nobody {
    fn publish(&mut self, _: Snapshot) {}
    fn unpublish(&mut self) {}
    fn open(&mut self, _: usize) {}
    fn restart(&mut self, _: Option<Snapshot>) {}
    fn send(&mut self, _: usize, _: Request) {}
    fn settle(&mut self, _: Duration) {}

    fn received(&mut self, _: usize) -> Vec<Answer> {
        Vec::new()
    }

    fn ended(&mut self, _: usize) -> Option<String> {
        None
    }

    fn told(&mut self, _: usize) -> Option<Vec<Event>> {
        None
    }
}

#[test]
fn what_a_bed_cannot_do_fails_the_runs_that_need_it() {
    let text = "case C-001: it\nsotw\nhold\nrelease\ndelta\n> EDS +[a]\nquiet";
    let runs = runs(Case::parse(text).unwrap());
    assert!(runs.iter().any(Run::has_slow_reader) && !runs.iter().all(Run::has_slow_reader));
    for run in runs {
        let played = run.play(&mut Nobody);
        assert_eq!(played.is_err(), run.has_slow_reader(), "{run}: {played:?}");
    }
}
