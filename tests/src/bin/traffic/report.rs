//! The results of all runs, as a table.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use portolan_tests::TestError;

use crate::PROTOCOLS;
use crate::mode::Mode;
use crate::tally::{Pace, Tally};

/// What came of each scenario in each mode, by protocol.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    scenario: &'static str,
    mode: Mode,
    cells: BTreeMap<&'static str, Cell>,
}

#[derive(Debug, Default)]
struct Cell {
    tally: Tally,
    /// Runs in the tally.
    runs: usize,
    /// Runs that lost nothing, because there was not the load to lose it of. They are not in the tally.
    silent: usize,
    /// Runs that did not end as published.
    broken: usize,
}

impl Report {
    /// Adds a run, and prints it.
    pub(crate) fn add(
        &mut self,
        scenario: &'static str,
        mode: Mode,
        protocol: &'static str,
        result: Result<Tally, TestError>,
    ) {
        let line = format!("{scenario:<22} {:<16} {protocol:<14}", mode.name());
        let cell = self.row(scenario, mode).cells.entry(protocol).or_default();
        match result {
            Ok(tally) => {
                println!("{line} {tally}{}", Pace(&tally));
                match tally.says_nothing() {
                    true => cell.silent += 1,
                    false => cell.count(tally),
                }
            }
            Err(error) => {
                println!("{line} FAIL {error}");
                cell.broken += 1;
            }
        }
    }

    fn row(&mut self, scenario: &'static str, mode: Mode) -> &mut Row {
        let is_it = |row: &Row| row.scenario == scenario && row.mode == mode;
        let at = self.rows.iter().position(is_it).unwrap_or_else(|| {
            let cells = BTreeMap::new();
            self.rows.push(Row {
                scenario,
                mode,
                cells,
            });
            self.rows.len() - 1
        });
        &mut self.rows[at]
    }

    /// Whether there were runs, and all came to their end.
    pub(crate) fn is_complete(&self) -> bool {
        let mut cells = self.rows.iter().flat_map(|row| row.cells.values());
        !self.rows.is_empty() && cells.all(|cell| cell.broken == 0)
    }
}

impl Cell {
    fn count(&mut self, tally: Tally) {
        self.tally.add(tally);
        self.runs += 1;
    }
}

impl Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.runs {
            0 => write!(f, "-")?,
            runs => write!(f, "{} ({runs})", self.tally)?,
        }
        if self.silent > 0 {
            write!(f, ", {} behind", self.silent)?;
        }
        if self.broken > 0 {
            write!(f, ", {} did not settle", self.broken)?;
        }
        Ok(())
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = PROTOCOLS.map(|(name, _)| name);
        writeln!(f, "\n| scenario | mode | {} |", names.join(" | "))?;
        writeln!(f, "|---|---|{}", "---|".repeat(names.len()))?;
        for Row {
            scenario,
            mode,
            cells,
        } in &self.rows
        {
            let cell = |name| cells.get(name).map_or_else(String::new, Cell::to_string);
            let row = names.map(cell).join(" | ");
            writeln!(f, "| `{scenario}` | `{}` | {row} |", mode.name())?;
        }
        Ok(())
    }
}
