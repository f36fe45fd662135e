//! What the fuzz targets have kept, and a short walk from there: fuzzing for those without a fuzzer.

use std::{fs, path::Path};

use crate::support;

/// All inputs that were kept for a fuzz target.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut paths: Vec<_> =
        fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", dir.display());
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Runs a target over its corpus, and over `rounds` mutations of it; always the same ones.
fn run(target: &str, exercise: fn(&[u8]), rounds: usize) {
    let corpus = corpus(target);
    corpus.iter().for_each(|input| exercise(input));
    let mut random = Random(0x5EED_0F5C_4154_1357);
    for _ in 0..rounds {
        let mut input = random.pick(&corpus).clone();
        for _ in 0..=random.below(4) {
            mutate(&mut input, &corpus, &mut random);
        }
        exercise(&input);
    }
}

#[test]
fn sections() {
    run("section", support::exercise_section, 2000);
}

#[test]
fn contents() {
    run("contents", support::exercise_contents, 4000);
}

#[cfg(feature = "file")]
#[test]
fn files() {
    run("file", support::exercise_file, 2000);
}

/// What a number or a name may be taken for.
const PIECES: [&[u8]; 12] = [
    b"0",
    b"00",
    b"-1",
    b"18446744073709551615",
    b"18446744073709551616",
    b"4294967296",
    b"\n",
    b"{.a\n",
    b"}.a\n",
    b"=",
    b"%0A",
    b"__acpp_hcf_binary_appendix",
];

fn mutate(input: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let len = random.below(24).min(input.len() - at);
    match random.below(6) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 => drop(input.drain(at..at + len)),
        2 => drop(input.splice(at..at, random.pick(&PIECES).iter().copied())),
        3 => drop(input.splice(at..at + len, random.pick(&PIECES).iter().copied())),
        4 => {
            let other = random.pick(corpus);
            let from = random.below(other.len() + 1);
            let to = from + random.below(64).min(other.len() - from);
            input.splice(at..at + len, other[from..to].iter().copied());
        }
        _ => {
            // Digits are where lengths are.
            let digits: Vec<_> =
                (0..input.len()).filter(|&at| input[at].is_ascii_digit()).collect();
            if !digits.is_empty() {
                input[*random.pick(&digits)] = b'0' + random.below(10) as u8;
            }
        }
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as usize % limit
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
