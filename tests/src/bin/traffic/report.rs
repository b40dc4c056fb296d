//! The results of all runs, as a table.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use portolan_tests::TestError;

use crate::PROTOCOLS;
use crate::mode::Mode;
use crate::tally::Tally;

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
    broken: bool,
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
        let line = format!("{scenario:<22} {:<8} {protocol:<14}", mode.name());
        let cell = self.row(scenario, mode).cells.entry(protocol).or_default();
        match result {
            Ok(tally) => {
                println!("{line} {tally}");
                cell.tally.add(tally);
            }
            Err(error) => {
                println!("{line} FAIL {error}");
                cell.broken = true;
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
        !self.rows.is_empty() && cells.all(|cell| !cell.broken)
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
            let cell = |name| match cells.get(name) {
                None => String::new(),
                Some(cell) if cell.broken => "does not settle".to_owned(),
                Some(cell) => cell.tally.to_string(),
            };
            let row = names.map(cell).join(" | ");
            writeln!(f, "| {scenario} | `{}` | {row} |", mode.name())?;
        }
        Ok(())
    }
}
