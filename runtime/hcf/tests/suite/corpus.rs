//! What the fuzz targets have kept, and a short walk from there: fuzzing for those without a
//! fuzzer.

use std::{fs, path::Path};

use fastrand::Rng;

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
    let mut random = Rng::with_seed(0x5EED_0F5C_4154_1357);
    for _ in 0..rounds {
        let mut input = pick(&mut random, &corpus).clone();
        for _ in 0..=random.usize(..4) {
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

fn mutate(input: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Rng) {
    let at = random.usize(..input.len() + 1);
    let len = random.usize(..24).min(input.len() - at);
    match random.usize(..6) {
        0 if at < input.len() => input[at] ^= 1 << random.usize(..8),
        1 => drop(input.drain(at..at + len)),
        2 => drop(input.splice(at..at, pick(random, &PIECES).iter().copied())),
        3 => drop(input.splice(at..at + len, pick(random, &PIECES).iter().copied())),
        4 => {
            let other = pick(random, corpus);
            let from = random.usize(..other.len() + 1);
            let to = from + random.usize(..64).min(other.len() - from);
            input.splice(at..at + len, other[from..to].iter().copied());
        }
        _ => {
            // Digits are where lengths are.
            let digits: Vec<_> =
                (0..input.len()).filter(|&at| input[at].is_ascii_digit()).collect();
            if !digits.is_empty() {
                input[*pick(random, &digits)] = b'0' + random.usize(..10) as u8;
            }
        }
    }
}

fn pick<'a, T>(random: &mut Rng, from: &'a [T]) -> &'a T {
    &from[random.usize(..from.len())]
}
