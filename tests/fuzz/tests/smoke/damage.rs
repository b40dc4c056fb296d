/// Damages inputs, by a generator that gives the same numbers everywhere.
#[derive(Debug)]
pub(crate) struct Damage(u64);

impl Damage {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// One of these, with a few of its bytes changed, lost, doubled or exchanged for those of another.
    pub(crate) fn input(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = self.pick(seeds).clone();
        for _ in 0..=self.below(8) {
            let at = self.below(input.len() + 1);
            let until = at + self.below(input.len() - at + 1).min(self.below(40));
            match self.below(6) {
                0 => input.truncate(at),
                1 => drop(input.drain(at..until)),
                2 => {
                    let doubled = input[at..until].to_vec();
                    input.splice(at..at, doubled);
                }
                3 => {
                    let other = self.pick(seeds);
                    let from = self.below(other.len() + 1);
                    input.splice(until.., other[from..].iter().copied());
                }
                4 => input.insert(at, self.next() as u8),
                _ => {
                    let byte = self.next() as u8;
                    input[at..until].iter_mut().take(2).for_each(|b| *b ^= byte);
                }
            }
        }
        input.truncate(1 << 13);
        input
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
