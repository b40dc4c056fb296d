//! Writes the seeds of each target to `<directory>/<target>`, the corpora that fuzzers start from.

use std::ffi::OsString;
use std::path::PathBuf;
use std::{env, fs, io};

use portolan_fuzz_targets::TARGETS;

fn main() -> io::Result<()> {
    let directory = env::args_os().nth(1);
    let directory = PathBuf::from(directory.unwrap_or_else(|| OsString::from("fuzz/corpus")));
    for target in &TARGETS {
        let corpus = directory.join(target.name);
        fs::create_dir_all(&corpus)?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            fs::write(corpus.join(format!("seed-{number:03}")), seed)?;
        }
    }
    Ok(())
}
