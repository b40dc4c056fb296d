use alloc::string::String;

/// A peer's text made fit for a log: control characters escaped, cut to at most `max` bytes.
pub(crate) fn escape(text: &str, max: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let before = out.len();
        match c.is_control() {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
        if out.len() > max {
            out.truncate(before);
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_cannot_forge_log_lines() {
        assert_eq!(escape("a\nb\u{1b}[1m", 100), "a\\nb\\u{1b}[1m");
    }

    #[test]
    fn the_cut_is_between_characters() {
        assert_eq!(escape("ab\u{e9}", 3), "ab");
        assert_eq!(escape("ab\n", 3), "ab");
        assert_eq!(escape("ab\u{e9}", 4), "ab\u{e9}");
    }
}
