//! Hashes: SHA-256 of blocks (FIPS 180-4), FNV-1a of texts.

use schism::prelude::*;

use crate::Outcome;
use crate::data::mix;
use crate::measure::{Bench, Case, submit};

/// A block of a message.
type Block = [u32; 16];

const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

#[rustfmt::skip]
const CONSTANTS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// The words of the hash of a block, combined to one.
fn sha256(block: &Block) -> u32 {
    let mut words = [0_u32; 64];
    words[..16].copy_from_slice(block);
    for i in 16..64 {
        let (early, late) = (words[i - 15], words[i - 2]);
        let first = early.rotate_right(7) ^ early.rotate_right(18) ^ early >> 3;
        let second = late.rotate_right(17) ^ late.rotate_right(19) ^ late >> 10;
        words[i] =
            words[i - 16].wrapping_add(first).wrapping_add(words[i - 7]).wrapping_add(second);
    }
    let mut state = INITIAL;
    for (constant, word) in CONSTANTS.iter().zip(&words) {
        let [a, b, c, d, e, f, g, h] = state;
        let choice = e & f ^ !e & g;
        let majority = a & b ^ a & c ^ b & c;
        let first = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let second = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let one =
            h.wrapping_add(first).wrapping_add(choice).wrapping_add(*constant).wrapping_add(*word);
        let two = second.wrapping_add(majority);
        state = [one.wrapping_add(two), a, b, c, d.wrapping_add(one), e, f, g];
    }
    let sums = state.iter().zip(INITIAL).map(|(word, initial)| word.wrapping_add(initial));
    sums.fold(0, |all, word| all ^ word)
}

/// FNV-1a of a text.
fn fnv(text: &[u8]) -> u32 {
    text.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Measures `sha256` and `fnv`.
pub fn run(bench: &Bench) -> Outcome {
    hash_blocks(bench)?;
    hash_texts(bench)
}

fn hash_blocks(bench: &Bench) -> Outcome {
    if !bench.wants(&["sha256"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 21, 1 << 11);
    let block = |i: usize| std::array::from_fn(|word| mix((16 * i + word) as u32));
    let blocks: Vec<Block> = (0..n).map(block).collect();
    let from = Buffer::from_slice(bench.queue(), &blocks)?;
    let mut to = Buffer::<u32>::with_len(bench.queue(), n)?;
    for run in bench.runs(Case { kernel: "sha256", element: "u32", size: n, bytes: 0 }) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                scope.for_each((&mut to, &from), |(to, block)| *to = sha256(block))
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 0.0, || blocks.iter().map(sha256).collect());
    }
    Ok(())
}

fn hash_texts(bench: &Bench) -> Outcome {
    if !bench.wants(&["fnv"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 20, 1 << 10);
    let mut ends = vec![0_u32];
    for text in 0..n as u32 {
        ends.push(ends[text as usize] + 8 + mix(text) % 25);
    }
    let bytes: Vec<u8> = (0..ends[n]).map(|place| mix(place) as u8).collect();
    let (all, texts) =
        (Buffer::from_slice(bench.queue(), &bytes)?, Buffer::from_slice(bench.queue(), &ends)?);
    let mut to = Buffer::<u32>::with_len(bench.queue(), n)?;
    for run in bench.runs(Case { kernel: "fnv", element: "u32", size: n, bytes: 0 }) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                scope.for_each(
                    (0.., &mut to, whole(&texts), whole(&all)),
                    |(text, to, ends, bytes)| {
                        *to = fnv(&bytes[ends[text] as usize..ends[text + 1] as usize]);
                    },
                )
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 0.0, || {
            let texts = ends.windows(2).map(|ends| &bytes[ends[0] as usize..ends[1] as usize]);
            texts.map(fnv).collect()
        });
    }
    Ok(())
}
