//! Validates messages that another program writes here: `cargo xtask validate-diff` compares what it says.
//!
//! On standard input each message is a type URL and its bytes, both behind their length, four bytes, the lowest first. For
//! each a line tells the number of its violations, and a line each of them: the path, the field, the rule, and what would be right.

use std::io::{self, ErrorKind, Read, Write};

use portolan_consistency::schema::Validator;

fn main() -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let validator = Validator::new();
    while let Some(type_url) = part(&mut input)? {
        let type_url = String::from_utf8(type_url).map_err(io::Error::other)?;
        let bytes = part(&mut input)?.ok_or(ErrorKind::UnexpectedEof)?;
        let violations = validator.validate(&type_url, &bytes);
        writeln!(output, "{}", violations.len())?;
        for violation in violations {
            let (path, says) = (violation.path(), violation.says());
            let (field, rule) = (violation.field(), violation.rule());
            writeln!(output, "{path}\t{field}\t{rule}\t{says}")?;
        }
        output.flush()?;
    }
    Ok(())
}

/// The next part, if there is one.
fn part(input: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut len = [0; 4];
    match input.read_exact(&mut len) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut part = vec![0; u32::from_le_bytes(len) as usize];
    input.read_exact(&mut part)?;
    Ok(Some(part))
}
