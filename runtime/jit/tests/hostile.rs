//! Images with bits and words changed. Most do not get past LLVM's reader; those that do must end
//! in a typed error or in code, and never in a bug of ours.
//!
//! LLVM's reader itself is not hardened: about one changed image in a thousand makes it read where
//! it should not, or loop. That is what containers have a checksum for. So the images are tried in
//! child processes, and a few may die.

mod support;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use schism_jit_abi::*;
use support::{Source, param, words};

const FIRST: &str = "SCHISM_TEST_FIRST";
const COUNT: u64 = 600;

/// Its own generator, so that a number names an image for good.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn changed(number: u64, sources: &[Source]) -> Source {
    let mut random = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xdead_beef);
    let mut source = sources[random.below(sources.len())].clone();
    for _ in 0..=random.below(4) {
        let image = &mut source.image;
        let len = image.len();
        match random.below(5) {
            0 | 1 => {
                let bit = random.below(len * 8);
                image[bit / 8] ^= 1 << (bit % 8);
            }
            2 => {
                let at = random.below(len);
                image[at] = random.below(256) as u8;
            }
            3 => {
                let (from, to) = (random.below(len / 4) * 4, random.below(len / 4) * 4);
                image.copy_within(from..from + 4, to);
            }
            _ => image.truncate(len - random.below(len / 16)),
        }
    }
    source
}

#[test]
#[ignore = "the child of `changed_images_are_compiled_or_refused`"]
fn child() {
    let Ok(first) = std::env::var(FIRST) else { return };
    let first: u64 = first.parse().expect("a number");
    let pointer = PARAM_POINTER;
    let sources = [
        Source::new(
            include_str!("kernels/saxpy.ll"),
            "saxpy",
            vec![param(0, 8, pointer), param(8, 8, pointer), param(16, 4, PARAM_FLOAT)],
        ),
        Source::new(
            include_str!("kernels/panics.ll"),
            "recursive",
            words(&[pointer, PARAM_INTEGER]),
        ),
        Source::new(include_str!("kernels/kinds.ll"), "tables", words(&[pointer])),
        Source::new(include_str!("kernels/maths.ll"), "maths", words(&[pointer; 2])),
    ];
    for number in first..COUNT {
        println!("image {number}");
        if let Err((code, text)) = changed(number, &sources).compile() {
            assert_ne!(code, INTERNAL, "image {number}: {text}");
            println!("code {code}");
        } else {
            println!("code {OK}");
        }
    }
    println!("finished");
}

#[test]
fn changed_images_are_compiled_or_refused() {
    let mut first = 0;
    let mut died = Vec::new();
    let mut codes = std::collections::BTreeMap::new();
    while first < COUNT {
        let mut process = Command::new(std::env::current_exe().expect("the test's own path"))
            .args(["--ignored", "--exact", "child", "--nocapture", "--test-threads=1"])
            .env(FIRST, first.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the test runs itself");
        let stdout = process.stdout.take().expect("it is piped");
        let reader = std::thread::spawn(move || std::io::read_to_string(stdout));
        let start = Instant::now();
        while process.try_wait().expect("it is our child").is_none() {
            if start.elapsed() > Duration::from_secs(60) {
                process.kill().expect("it is our child");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let output = reader.join().expect("no panic").expect("text");
        for code in output.lines().filter_map(|line| line.strip_prefix("code ")) {
            *codes.entry(code.parse::<u32>().expect("a code")).or_insert(0) += 1;
        }
        if output.lines().any(|line| line == "finished") {
            break;
        }
        let last = output.lines().rev().find_map(|line| line.split("image ").nth(1));
        let last: u64 = last.expect("it began").parse().expect("a number");
        // A test that fails ends by itself; only LLVM ends a process by a signal.
        let status = process.wait().expect("it is our child");
        assert_eq!(status.code(), None, "image {last} shows a bug");
        died.push(last);
        first = last + 1;
    }
    println!("codes {codes:?}, in LLVM's reader died {died:?}");
    assert!(codes.get(&OK).is_some_and(|&count| count > 10), "some changes do no harm: {codes:?}");
    assert!(codes.get(&INVALID_IMAGE).is_some_and(|&count| count > 100), "{codes:?}");
    assert!(died.len() as u64 * 100 <= COUNT, "more than 1 in 100 died: {died:?}");
}
