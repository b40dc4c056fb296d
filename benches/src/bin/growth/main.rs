//! Does what `cargo xtask growth` counts, among as many resources as the argument says.
//!
//! Each step runs inside [`counted`], whose name is all that callgrind is told. The lines on standard output say what
//! each step is, in order, how its cost may grow, and beside which other step it is held.

mod consistency;
mod shapes;

use std::hint::black_box;
use std::process::ExitCode;

use portolan_benches::{Collection, Linear, Mux};

fn main() -> ExitCode {
    let size = std::env::args().nth(1).and_then(|size| size.parse().ok());
    let Some(size) = size else {
        eprintln!("usage: growth SIZE");
        return ExitCode::FAILURE;
    };
    let mut collection = Collection::new(size);
    shapes::publication(&mut collection);
    for shape in shapes::SHAPES {
        shape.run(&mut collection);
    }
    shapes::referrers(&mut Collection::new(size));
    shapes::linear(&mut Linear::new(size));
    shapes::union(&mut Mux::new(size));
    consistency::run(size);
    ExitCode::SUCCESS
}

/// How a cost may grow with the number of resources.
#[derive(Clone, Copy, Debug)]
enum Growth {
    /// Not.
    Flat,
    /// By a few instructions per chunk of resources: where a list of chunks is walked or copied.
    Chunks,
    /// By some instructions per name that the request itself holds.
    Names,
    /// By what it takes to look at each resource for the first time.
    Resources,
    /// Not, and not beyond what is promised of validation.
    Validation,
}

/// Runs one step, to be counted.
fn count<T>(what: &str, growth: Growth, step: impl FnOnce() -> T) -> T {
    count_beside(what, None, growth, step)
}

/// The same of a step that is to cost hardly more than one that was counted before.
fn count_beside<T>(
    what: &str,
    beside: Option<&str>,
    growth: Growth,
    step: impl FnOnce() -> T,
) -> T {
    println!("{growth:?}\t{what}\t{}", beside.unwrap_or_default());
    let (mut step, mut result) = (Some(step), None);
    counted(&mut || result = step.take().map(|step| step()));
    result.expect("the step was run")
}

/// The boundary of what is counted. It must stay a function of its own.
#[inline(never)]
fn counted(step: &mut dyn FnMut()) {
    step();
    black_box(());
}
