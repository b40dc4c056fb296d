//! One entry for every chore of the project: `cargo xtask <command>`.

fn main() {}
