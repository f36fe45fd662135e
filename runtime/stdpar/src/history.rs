//! What earlier runs of the program have shown of its pipelines on a device with its own memory: where
//! they were best, so that they begin there, and whether the device was worth its start.
//!
//! It is an entry in the folder of compiled kernels, under the program's device code, the devices that are asked for
//! and the number of processors. A file that cannot be read, or is another version's, is as none.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::OnceLock;

use schism::__private::history::{kernel_hash, recall, remember};
use schism::__private::variables::{DEVICE, STDPAR_HISTORY, by_name};
use schism::__private::{note, warn};

use crate::joint::{Assignment, Known};
use crate::policy::Nanos;
use crate::setting::{Setting, setting};

/// A start of the device, with the making of kernels, takes about half a second. It is worth that if
/// this much was saved, or if pipelines that were never kernels have taken twice as much.
const START: Nanos = 500_000_000;

/// Each run that has started the device for nothing doubles that, up to so many times.
const MOST_DOUBLED: u8 = 8;

/// Classes of calls that a file has at most.
const MOST: usize = 4096;

/// Bytes of a header and of a class.
const HEADER: usize = 16;
const CLASS: usize = 72;
const MAGIC: [u8; 8] = *b"schismP3";

/// A class of calls: a pipeline by the hash of its kernel's name, and its lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) pipeline: u64,
    pub(crate) is_within: bool,
    pub(crate) bits: u8,
}

/// What is known of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    /// The assignment that was best; `None` if no other than rayon's was tried.
    pub(crate) assignment: Option<Assignment>,
    /// Runs in a row that have started the device for nothing.
    pub(crate) vain: u8,
    pub(crate) classes: BTreeMap<Key, Known>,
}

impl History {
    /// Whether a run like the last one gains more than the device's start.
    fn is_worth_a_start(&self) -> bool {
        let [mut saved, mut untried] = [0_u64; 2];
        for (key, known) in &self.classes {
            // Those in other pipelines run beside each other.
            let beside = if key.is_within { processors() as u64 } else { 1 };
            let in_all = |time: Nanos| time.saturating_mul(known.calls) / beside;
            let [rayon, kernel, mixed] = known.times;
            let now = match self.assignment {
                Some(Assignment::Kernels) => kernel,
                Some(Assignment::Mixed) => mixed,
                Some(Assignment::Rayon) | None => rayon,
            };
            if now != 0 {
                saved = saved.saturating_add(in_all(rayon.saturating_sub(now)));
            }
            if !known.is_refused && (self.assignment.is_none() || kernel.max(mixed) == 0) {
                untried = untried.saturating_add(in_all(rayon));
            }
        }
        saved.saturating_add(untried / 2) >> self.vain.min(MOST_DOUBLED) >= START
    }

    fn to_bytes(&self) -> Vec<u8> {
        let assignment = self.assignment.map_or(0, |assignment| 1 + assignment as u64);
        let assignment = u64::from(self.vain) << 8 | assignment;
        let mut bytes = Vec::with_capacity(HEADER + CLASS * self.classes.len().min(MOST));
        bytes.extend(MAGIC);
        bytes.extend(assignment.to_le_bytes());
        for (key, known) in self.classes.iter().take(MOST) {
            let bits = u64::from(key.bits) << 8;
            let flags = [key.is_within, known.is_kernel, known.is_refused];
            let flags = flags.iter().rev().fold(0, |all, &flag| all << 1 | u64::from(flag));
            let words = [key.pipeline, bits | flags, known.calls];
            for word in words.into_iter().chain(known.times).chain(known.after) {
                bytes.extend(word.to_le_bytes());
            }
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let word = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
        let (magic, rest) = bytes.split_at_checked(MAGIC.len())?;
        let (assignment, classes) = rest.split_at_checked(HEADER - MAGIC.len())?;
        if magic != MAGIC || classes.len() % CLASS != 0 || classes.len() / CLASS > MOST {
            return None;
        }
        let assignment = word(assignment)?;
        let vain = u8::try_from(assignment >> 8).ok()?;
        let assignment = match assignment & 0xff {
            0 => None,
            1 => Some(Assignment::Rayon),
            2 => Some(Assignment::Kernels),
            3 => Some(Assignment::Mixed),
            _ => return None,
        };
        let mut history = Self { assignment, vain, classes: BTreeMap::new() };
        for class in classes.chunks_exact(CLASS) {
            let mut words = [0; CLASS / 8];
            for (to, from) in words.iter_mut().zip(class.chunks_exact(8)) {
                *to = word(from)?;
            }
            let [pipeline, flags, calls, a, b, c, d, e, f] = words;
            let flag = |number: u32| flags >> number & 1 != 0;
            let bits = u8::try_from(flags >> 8).ok()?;
            let key = Key { pipeline, is_within: flag(0), bits };
            let (times, after) = ([a, b, c], [d, e, f]);
            let known = Known { times, after, is_kernel: flag(1), is_refused: flag(2), calls };
            history.classes.insert(key, known);
        }
        Some(history)
    }
}

/// Whether earlier runs count: not where the user wants no such thing, or all pipelines as kernels.
fn counts() -> bool {
    static COUNTS: OnceLock<bool> = OnceLock::new();
    *COUNTS.get_or_init(|| {
        let is_on = match STDPAR_HISTORY.get() {
            None => true,
            Some(word) => match word.to_str().map(str::trim) {
                Some("" | "1") => true,
                Some("0") => false,
                _ => {
                    warn(format_args!("{STDPAR_HISTORY} is `{}`; use 0 or 1", word.display()));
                    true
                }
            },
        };
        is_on && setting() == Setting::Auto
    })
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// What the entry is for.
fn parts() -> [(&'static str, Vec<u8>); 3] {
    let variable =
        |value: Option<&std::ffi::OsStr>| value.unwrap_or_default().as_encoded_bytes().to_vec();
    let threads = by_name("RAYON_NUM_THREADS");
    [
        ("devices", variable(DEVICE.set())),
        ("processors", processors().to_le_bytes().to_vec()),
        ("threads", variable(threads.as_deref())),
    ]
}

/// What stands for a pipeline in a file: a hash of its kernel's name. The address is that of its descriptor.
pub(crate) fn pipeline_of(descriptor: usize) -> u64 {
    let descriptor = std::ptr::with_exposed_provenance(descriptor);
    // SAFETY: pipelines are known by the addresses of their descriptors, which are never written but for
    // their slots, and never go.
    unsafe { kernel_hash(descriptor) }
}

/// What earlier runs have shown, and whether the device is worth its start; `None` if there was none.
fn read() -> Option<&'static (History, bool)> {
    static HISTORY: OnceLock<Option<(History, bool)>> = OnceLock::new();
    let read = || {
        let bytes = counts().then(|| recall("pipelines", &parts()))??;
        let history = History::from_bytes(&bytes)?;
        note(format_args!(
            "earlier runs of this program have left what they measured of {} pipelines",
            history.classes.len()
        ));
        let is_worth_a_start = history.is_worth_a_start();
        Some((history, is_worth_a_start))
    };
    HISTORY.get_or_init(read).as_ref()
}

/// What earlier runs have shown; `None` if there was none.
pub(crate) fn of_program() -> Option<&'static History> {
    read().map(|(history, _)| history)
}

/// Whether the device need not be started, by earlier runs.
pub(crate) fn says_no() -> bool {
    read().is_some_and(|(_, is_worth_a_start)| !is_worth_a_start)
}

/// Keeps what this run has shown.
pub(crate) fn keep(history: &History) {
    if counts() && !history.classes.is_empty() {
        remember("pipelines", &parts(), history.to_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    fn history(assignment: Option<Assignment>, known: Known) -> History {
        let key = Key { pipeline: 7, is_within: false, bits: 64 };
        History { assignment, vain: 0, classes: [(key, known)].into() }
    }

    #[test]
    fn what_was_written_is_read() {
        let known = Known {
            times: [1, 2, u64::MAX],
            after: [4, 0, 5],
            is_kernel: true,
            is_refused: false,
            calls: 3,
        };
        for assignment in [None, Some(Assignment::Rayon), Some(Assignment::Mixed)] {
            let history = history(assignment, known);
            assert_eq!(History::from_bytes(&history.to_bytes()), Some(history));
        }
        let bytes = history(Some(Assignment::Kernels), known).to_bytes();
        for len in 0..bytes.len() {
            let is_header = len == HEADER;
            assert_eq!(History::from_bytes(&bytes[..len]).is_some(), is_header, "{len}");
        }
        let mut other = bytes;
        other[8] = 9;
        assert_eq!(History::from_bytes(&other), None);
    }

    #[test]
    fn a_start_is_worth_what_it_saves() {
        let of = |times, calls| Known { times, calls, ..Known::default() };
        let is_worth = |assignment, known| history(assignment, known).is_worth_a_start();
        let kernels = Some(Assignment::Kernels);
        assert!(is_worth(kernels, of([SECOND, SECOND / 10, 0], 1)));
        assert!(!is_worth(kernels, of([SECOND, SECOND / 10 * 9, 0], 1)));
        // What was tried in vain is not tried again; what was not, is.
        assert!(!is_worth(Some(Assignment::Rayon), of([SECOND, 2 * SECOND, 0], 10)));
        assert!(is_worth(Some(Assignment::Rayon), of([SECOND, 0, 0], 10)));
        assert!(
            is_worth(None, of([SECOND, 0, 0], 1)) && !is_worth(None, of([SECOND / 2, 0, 0], 1))
        );
        // Starts in vain become rare.
        let long = history(None, of([SECOND, 0, 0], 3));
        assert!(History { vain: 1, ..long.clone() }.is_worth_a_start());
        assert!(!History { vain: 2, ..long }.is_worth_a_start());
        let refused = Known { is_refused: true, ..of([SECOND, 0, 0], 10) };
        assert!(!is_worth(None, refused));
    }
}
