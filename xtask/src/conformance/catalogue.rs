use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::check_id;

/// How strongly a rule binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Must,
    Should,
    May,
}

impl Level {
    pub(super) const ALL: [Self; 3] = [Self::Must, Self::Should, Self::May];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::May => "MAY",
        }
    }
}

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) group: String,
    pub(super) level: Level,
    pub(super) summary: String,
}

/// The rules, and those that are deliberately not followed, with the reason.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    pub(super) groups: Vec<String>,
    pub(super) rules: Vec<Rule>,
    pub(super) deviations: BTreeMap<String, String>,
}

impl Catalogue {
    /// Reads the tables below the headings of groups, and below `## Deviations`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut catalogue = Self::default();
        let mut section = String::new();
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                section = heading.split(':').next().unwrap_or_default().to_owned();
            }
            let Some(cells) = row(line, 'C') else {
                continue;
            };
            catalogue
                .row(&section, &cells)
                .with_context(|| line.to_owned())?;
        }
        ensure!(!catalogue.rules.is_empty(), "no rule is listed");
        Ok(catalogue)
    }

    fn row(&mut self, section: &str, cells: &[&str]) -> Result<()> {
        if section == "Deviations" {
            let [id, reason] = cells else {
                bail!("a deviation has an id and a reason");
            };
            let before = self.deviations.insert(check_id(id)?, (*reason).to_owned());
            ensure!(before.is_none(), "{id} is there twice");
            return Ok(());
        }
        let [id, level, summary] = cells else {
            bail!("a rule has an id, a level and a summary");
        };
        let level = Level::ALL.into_iter().find(|known| known.name() == *level);
        ensure!(
            self.rules.iter().all(|rule| rule.id != *id),
            "{id} is there twice"
        );
        if self.groups.last().is_none_or(|last| last != section) {
            self.groups.push(section.to_owned());
        }
        self.rules.push(Rule {
            id: check_id(id)?,
            group: section.to_owned(),
            level: level.context("a level is MUST, SHOULD or MAY")?,
            summary: (*summary).to_owned(),
        });
        Ok(())
    }
}

/// The known faults: those that tests here are to show, and the number of the others.
#[derive(Debug, Default)]
pub(super) struct Faults {
    pub(super) here: Vec<String>,
    pub(super) later: usize,
}

impl Faults {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut faults = Self::default();
        for cells in text.lines().filter_map(|line| row(line, 'B')) {
            let [id, _, owner] = cells[..] else {
                bail!("a fault has an id, a summary and an owner: {cells:?}");
            };
            match owner {
                "test" => faults.here.push(check_id(id)?),
                owner if owner.starts_with("later: ") => faults.later += 1,
                other => bail!("{id} is owned by {other:?}"),
            }
        }
        ensure!(!faults.here.is_empty(), "no fault is listed");
        Ok(faults)
    }
}

/// The cells of a table's row that begins with an id.
fn row(line: &str, letter: char) -> Option<Vec<&str>> {
    let inside = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let cells: Vec<&str> = inside.split('|').map(str::trim).collect();
    let rest = cells.first()?.strip_prefix(letter)?;
    let digits = rest.strip_prefix('-').unwrap_or(rest);
    digits
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_cannot_be_read_is_an_error() {
        let refused = |row: &str| format!("{:#}", Catalogue::parse(row).unwrap_err());
        assert!(refused("| C-1 | MUST | x |").contains("\"C-1\" is no id"));
        assert!(refused("| C-001 | WILL | x |").contains("a level is"));
        assert!(refused("| C-001 | MUST |").contains("a summary"));
        assert!(refused("| C-001 | MUST | x |\n| C-001 | MAY | y |").contains("twice"));
        assert!(refused("").contains("no rule"));
        assert!(Faults::parse("| B01 | x | somebody |").is_err());
        assert!(Faults::parse("| B01 | x |").is_err());
    }
}
