use alloc::vec;
use alloc::vec::Vec;

/// Cuts a list into lists whose items are at most `max` long together. An item that is longer is a list by itself.
pub(crate) fn cut<T>(
    items: impl IntoIterator<Item = T>,
    max: usize,
    len_of: impl Fn(&T) -> usize,
) -> Vec<Vec<T>> {
    let (mut out, mut run, mut len) = (vec![], vec![], 0);
    for item in items {
        let more = len_of(&item);
        if len + more > max && !run.is_empty() {
            out.push(core::mem::take(&mut run));
            len = 0;
        }
        len += more;
        run.push(item);
    }
    if !run.is_empty() {
        out.push(run);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_as_long_as_may_be_and_none_is_empty() {
        let cut = |lens: &[usize]| cut(lens.iter().copied(), 10, |len| *len);
        assert_eq!(cut(&[]), [[0; 0]; 0]);
        assert_eq!(cut(&[4, 6, 1]), [vec![4, 6], vec![1]]);
        assert_eq!(cut(&[11, 10, 12, 12]), [[11], [10], [12], [12]]);
    }
}
