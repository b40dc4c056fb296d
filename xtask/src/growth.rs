//! Gate: what a stream costs does not grow with what is served. Instructions are counted by callgrind, so that the
//! machine and its load do not matter.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, ensure};

use crate::ci::Outcome;
use crate::program::Program;
use crate::workspace::{Workspace, capture, succeed};

/// Numbers of resources, smallest first.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// The function of `benches/src/bin/growth` that encloses what is counted.
const COUNTED: &str = "growth::counted";

/// How much more a flat cost may be at the largest size than at the smallest: a search takes more steps there.
const MAX_RATIO: f64 = 1.5;

/// How much more a step may be than the one that it is held beside.
const MAX_BESIDE: f64 = 1.05;

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let Some(valgrind) = valgrind()? else {
        return Ok(Outcome::Skipped(
            "there is no valgrind, and no apt-get to install it".to_owned(),
        ));
    };
    let program = build(workspace)?;
    let profiles = workspace.path("target/growth");
    std::fs::create_dir_all(&profiles)?;
    let runs = thread::scope(|scope| {
        let count = |size: usize| {
            let profile = profiles.join(format!("callgrind.out.{size}"));
            let mut command = workspace.command("valgrind");
            command
                .args(["--tool=callgrind", "--combine-dumps=yes"])
                .arg(format!("--toggle-collect={COUNTED}"))
                .arg(format!("--dump-after={COUNTED}"))
                .arg(format!("--callgrind-out-file={}", profile.display()))
                .arg(&program)
                .arg(size.to_string());
            scope.spawn(move || -> Result<Vec<Step>> {
                let _ = std::fs::remove_file(&profile);
                let steps = capture(&mut command)?;
                let profile = std::fs::read_to_string(&profile)?;
                steps_of(&steps, &profile)
            })
        };
        SIZES
            .map(count)
            .map(|run| run.join().expect("nothing in it panics"))
            .into_iter()
            .collect::<Result<Vec<_>>>()
    })?;
    let costs = side_by_side(runs)?;
    print!("{}", table(&costs));
    let grown: Vec<_> = costs.iter().filter_map(Cost::finding).collect();
    ensure!(grown.is_empty(), "{}", grown.join("\n"));
    Ok(Outcome::Passed(format!(
        "{} costs, {valgrind}",
        costs.len()
    )))
}

/// The version of valgrind, which is installed where it is not there yet and the system has packages.
fn valgrind() -> Result<Option<String>> {
    let version = || capture(Command::new("valgrind").arg("--version"));
    if let Ok(version) = version() {
        return Ok(Some(version.trim().to_owned()));
    }
    let probe = Command::new("apt-get")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if probe.is_err() {
        return Ok(None);
    }
    let install = ["install", "--yes", "--no-install-recommends", "valgrind"];
    for arguments in [&["update"][..], &install[..]] {
        let mut apt = Command::new("apt-get");
        apt.arg("--quiet=2").args(arguments);
        succeed(apt.env("DEBIAN_FRONTEND", "noninteractive"))
            .context("callgrind needs valgrind: install it")?;
    }
    Ok(Some(version()?.trim().to_owned()))
}

/// Builds the program that is counted, and gives its path.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let programs = Program::build(&mut workspace.cargo([
        "build",
        "--quiet",
        "--release",
        "--package=portolan-benches",
        "--bin=growth",
    ]))?;
    let program = programs.into_iter().next();
    Ok(program.context("cargo has built no program")?.path)
}

/// How a cost may grow, as the program says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    Flat,
    Chunks,
    Names,
    Resources,
    Validation,
}

impl Growth {
    fn parse(text: &str) -> Option<Self> {
        let all = [
            Self::Flat,
            Self::Chunks,
            Self::Names,
            Self::Resources,
            Self::Validation,
        ];
        all.into_iter().find(|growth| format!("{growth:?}") == text)
    }

    /// Most instructions that one resource more may add.
    fn max_slope(self) -> Option<f64> {
        match self {
            Self::Flat | Self::Validation => None,
            // Chunks hold about a hundred resources. To touch each resource costs ten times as much.
            Self::Chunks => Some(3.0),
            // To read, sort and compare a name; to do it twice costs more.
            Self::Names => Some(1_600.0),
            // To read what a cluster and its endpoints refer to, to validate both, and to remember who refers to what.
            Self::Resources => Some(110_000.0),
        }
    }

    /// Most instructions at any size.
    fn max_total(self) -> u64 {
        match self {
            // At 13,000 a core of the machine in docs/validation.md does 415,000 in a second; 300,000 are promised.
            Self::Validation => 16_000,
            _ => u64::MAX,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Step {
    growth: Growth,
    what: String,
    /// The step beside which it is held.
    beside: Option<String>,
    instructions: u64,
}

/// The steps that a run printed, with the totals of its profile in the same order.
fn steps_of(printed: &str, profile: &str) -> Result<Vec<Step>> {
    let totals = profile
        .lines()
        .filter_map(|line| line.strip_prefix("totals: "))
        .map(|total| total.trim().parse().context("a total is no number"));
    let mut totals = totals.collect::<Result<Vec<u64>>>()?;
    // What was collected after the last step: nothing.
    let rest = totals.pop().context("the profile is empty")?;
    let lines: Vec<_> = printed.lines().collect();
    ensure!(
        lines.len() == totals.len() && rest == 0,
        "{} steps have {} counts: is `{COUNTED}` still what callgrind sees?",
        lines.len(),
        totals.len()
    );
    let step = |(line, instructions): (&str, u64)| {
        let (growth, what) = line.split_once('\t')?;
        let (what, beside) = what.split_once('\t')?;
        Some(Step {
            growth: Growth::parse(growth)?,
            what: what.to_owned(),
            beside: Some(beside.to_owned()).filter(|beside| !beside.is_empty()),
            instructions,
        })
    };
    let steps: Option<Vec<_>> = lines.into_iter().zip(totals).map(step).collect();
    steps.context("the program does not say how a step may grow")
}

/// One step at all sizes.
#[derive(Debug)]
struct Cost {
    growth: Growth,
    what: String,
    instructions: Vec<u64>,
    /// What the step costs that it is held beside.
    beside: Option<Vec<u64>>,
}

fn side_by_side(runs: Vec<Vec<Step>>) -> Result<Vec<Cost>> {
    let mut costs: Vec<Cost> = Vec::new();
    let mut beside = Vec::new();
    for (run, steps) in runs.into_iter().enumerate() {
        for (at, step) in steps.into_iter().enumerate() {
            if run == 0 {
                costs.push(Cost {
                    growth: step.growth,
                    what: step.what,
                    instructions: vec![step.instructions],
                    beside: None,
                });
                beside.push(step.beside);
                continue;
            }
            let cost = costs.get_mut(at).filter(|cost| cost.what == step.what);
            let cost = cost.context("the steps depend on the size")?;
            cost.instructions.push(step.instructions);
        }
    }
    // What takes too long among the most is counted among fewer alone, but never at one size.
    let once = costs.iter().find(|cost| cost.instructions.len() == 1);
    ensure!(once.is_none(), "a step was counted at one size: {once:?}");
    for (at, what) in beside.into_iter().enumerate() {
        if let Some(what) = what {
            let other = costs.iter().find(|cost| cost.what == what);
            let other = other.with_context(|| format!("nothing is called {what}"))?;
            costs[at].beside = Some(other.instructions.clone());
        }
    }
    Ok(costs)
}

impl Cost {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn ends(&self) -> (f64, f64) {
        let end = |end: Option<&u64>| end.copied().unwrap_or_default() as f64;
        (
            end(self.instructions.first()),
            end(self.instructions.last()),
        )
    }

    fn ratio(&self) -> f64 {
        let (small, large) = self.ends();
        large / small
    }

    /// Instructions that one resource more adds.
    #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]
    fn slope(&self) -> f64 {
        let (small, large) = self.ends();
        let largest = SIZES[self.instructions.len() - 1];
        (large - small) / (largest - SIZES[0]) as f64
    }

    /// The most that it is, at any size, of the step beside it.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn ratio_beside(&self) -> Option<f64> {
        let pairs = self.instructions.iter().zip(self.beside.as_ref()?);
        let ratios = pairs.map(|(own, other)| *own as f64 / *other as f64);
        ratios.reduce(f64::max)
    }

    /// What is wrong with it.
    fn finding(&self) -> Option<String> {
        self.finding_of_growth().or_else(|| {
            let ratio = self.ratio_beside()?;
            // Written so that what is no number is wrong.
            let is_right = ratio <= MAX_BESIDE;
            let what = &self.what;
            let finding = format!("{what}: {ratio:.3} times the step beside, limit {MAX_BESIDE}");
            (!is_right).then_some(finding)
        })
    }

    fn finding_of_growth(&self) -> Option<String> {
        let (what, ratio, slope) = (&self.what, self.ratio(), self.slope());
        let most = self.growth.max_total();
        if self.instructions.iter().any(|count| *count > most) {
            return Some(format!("{what}: more than {most} instructions"));
        }
        match self.growth.max_slope() {
            // Written so that what is no number is wrong.
            None if ratio <= MAX_RATIO => None,
            None => Some(format!(
                "{what}: {ratio:.2} times as much among the most, limit {MAX_RATIO}"
            )),
            Some(max) if slope <= max => None,
            Some(max) => Some(format!("{what}: {slope:.2} more per resource, limit {max}")),
        }
    }
}

fn table(costs: &[Cost]) -> String {
    let mut text = format!("{:<60}", "instructions among");
    for size in SIZES {
        text += &format!("{size:>12}");
    }
    text += &format!(
        "{:>8}{:>14}{:>8}  allowed\n",
        "ratio", "per resource", "beside"
    );
    for cost in costs {
        text += &format!("{:<60}", cost.what);
        for at in 0..SIZES.len() {
            let count = cost.instructions.get(at).map(u64::to_string);
            text += &format!("{:>12}", count.unwrap_or_default());
        }
        let allowed = match cost.growth.max_slope() {
            None if cost.growth.max_total() < u64::MAX => cost.growth.max_total().to_string(),
            None => format!("ratio {MAX_RATIO}"),
            Some(max) => format!("{max} per resource"),
        };
        let beside = cost.ratio_beside().map(|ratio| format!("{ratio:.3}"));
        let beside = beside.unwrap_or_default();
        let (ratio, slope) = (cost.ratio(), cost.slope());
        text += &format!("{ratio:>8.2}{slope:>14.3}{beside:>8}  {allowed}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost<const N: usize>(growth: Growth, instructions: [u64; N]) -> Cost {
        Cost {
            growth,
            what: "push".to_owned(),
            instructions: instructions.to_vec(),
            beside: None,
        }
    }

    #[test]
    fn each_step_has_its_count() {
        let profile = "part: 1\ntotals: 7\npart: 2\ntotals: 8\npart: 3\ntotals: 0\n";
        let steps = steps_of("Flat\ta push\t\nNames\ta request\ta push\n", profile).unwrap();
        let seen: Vec<_> = steps
            .iter()
            .map(|step| (step.growth, &*step.what, step.instructions))
            .collect();
        assert_eq!(
            seen,
            [(Growth::Flat, "a push", 7), (Growth::Names, "a request", 8)]
        );
        let beside: Vec<_> = steps.iter().map(|step| step.beside.as_deref()).collect();
        assert_eq!(beside, [None, Some("a push")]);
    }

    #[test]
    fn counts_that_belong_to_nothing_are_no_counts() {
        let profile = "totals: 7\ntotals: 0\n";
        assert!(steps_of("Flat\ta\t\nFlat\tb\t\n", profile).is_err());
        assert!(steps_of("Flat\ta\t\n", "totals: 7\ntotals: 1\n").is_err());
        assert!(steps_of("Bounded\ta\t\n", profile).is_err());
        assert!(steps_of("Flat\ta\t\n", "").is_err());
        assert!(steps_of("Flat\ta\t\n", profile).is_ok());
    }

    #[test]
    fn flat_is_judged_by_the_ratio() {
        assert_eq!(cost(Growth::Flat, [1000, 1200, 1500]).finding(), None);
        assert_eq!(
            cost(Growth::Flat, [1000, 1200, 1510]).finding().as_deref(),
            Some("push: 1.51 times as much among the most, limit 1.5")
        );
        assert!(cost(Growth::Flat, [0, 0, 0]).finding().is_some());
    }

    #[test]
    fn what_is_promised_is_judged_by_the_total() {
        let validation = |count| cost(Growth::Validation, [count; 3]).finding();
        assert_eq!(validation(16_000), None);
        assert_eq!(
            validation(16_001).as_deref(),
            Some("push: more than 16000 instructions")
        );
    }

    #[test]
    fn what_is_counted_among_fewer_is_judged_by_their_number() {
        let limit = 9_000 * 110_000;
        assert_eq!(cost(Growth::Resources, [1, limit]).finding(), None);
        assert!(
            cost(Growth::Resources, [1, limit + 9_000])
                .finding()
                .is_some()
        );
    }

    #[test]
    fn what_may_grow_is_judged_by_the_slope() {
        assert_eq!(cost(Growth::Chunks, [1000, 9000, 200_000]).finding(), None);
        assert_eq!(
            cost(Growth::Chunks, [1000, 9000, 991_000])
                .finding()
                .as_deref(),
            Some("push: 10.00 more per resource, limit 3")
        );
    }

    #[test]
    fn a_step_is_held_beside_another_at_each_size() {
        let run = |other: u64, own: u64| {
            let step = |what: &str, beside: Option<&str>, instructions| Step {
                growth: Growth::Flat,
                what: what.to_owned(),
                beside: beside.map(str::to_owned),
                instructions,
            };
            vec![step("a", None, other), step("b", Some("a"), own)]
        };
        let costs = |runs| side_by_side(runs).unwrap().pop().unwrap();
        assert_eq!(costs(vec![run(100, 105), run(100, 90)]).finding(), None);
        assert_eq!(
            costs(vec![run(100, 90), run(100, 106)])
                .finding()
                .as_deref(),
            Some("b: 1.060 times the step beside, limit 1.05")
        );
        let mut alone = run(1, 1);
        drop(alone.remove(0));
        assert!(side_by_side(vec![alone]).is_err());
    }

    #[test]
    fn runs_must_agree_on_their_steps() {
        let run = |what: &str| {
            vec![Step {
                growth: Growth::Flat,
                what: what.to_owned(),
                beside: None,
                instructions: 1,
            }]
        };
        assert_eq!(
            side_by_side(vec![run("a"), run("a")]).unwrap()[0].instructions,
            [1, 1]
        );
        assert!(side_by_side(vec![run("a"), run("b")]).is_err());
        assert!(side_by_side(vec![run("a"), run("a"), vec![]]).is_ok());
        assert!(side_by_side(vec![run("a"), vec![]]).is_err());
    }
}
