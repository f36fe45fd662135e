//! What launches of a kernel have in common, for as long as somebody looks.
//!
//! A hundred launches are a *window*. What held in all of them (facts, and values of numbers) makes a wish for a version that
//! counts on it, which is compiled in the background. The first window begins with the first launches, so kernels that are launched
//! seldom cost nothing; the next ones come after a thousand launches, ten thousand, and so on. Between windows a launch counts down
//! a number, and after the last one it does nothing.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::code::assumptions::{Facts, Known, Leaves, Scalar, copy, is_there};
use crate::code::requirements::{Launch, Wish};
use crate::launch::adaptivity::Adaptivity;

/// The launches of a window.
const WINDOW: u32 = 100;

/// How many windows there are, and so at most as many wishes.
const WINDOWS: u32 = 5;

/// At most so many numbers become constants: each is compared at each launch.
const MOST_VALUES: usize = 16;

/// Nobody looks any more.
const FOREVER: u32 = u32::MAX;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Whether there is a wish in basic adaptivity.
    basic: bool,
    /// Launches until the next window.
    asleep: AtomicU32,
    window: Mutex<Window>,
}

#[derive(Debug, Default)]
struct Window {
    /// Windows that are over.
    number: u32,
    /// Launches of this window.
    seen: u32,
    /// What held for all of them.
    facts: Facts,
    /// The values in all of them, by the scalars and then by what is specialized; `None` where they differed.
    values: Vec<Option<Box<[u8]>>>,
}

impl Watch {
    /// Without `basic`, only full adaptivity has wishes.
    pub(crate) fn new(basic: bool) -> Self {
        Self { basic, asleep: AtomicU32::new(0), window: Mutex::default() }
    }

    /// One for a kernel about which there is nothing to know.
    pub(crate) fn blind() -> Self {
        Self { basic: false, asleep: AtomicU32::new(FOREVER), window: Mutex::default() }
    }

    /// Takes note of a launch that the version `now` runs.
    ///
    /// # Safety
    /// The closure is of the kernel's type.
    #[inline]
    pub(crate) unsafe fn note(
        &self,
        launch: &Launch,
        now: &Wish,
        leaves: &Leaves,
    ) -> Option<Box<Wish>> {
        match self.asleep.load(Ordering::Relaxed) {
            FOREVER => None,
            0 => {
                let least = if self.basic { Adaptivity::Basic } else { Adaptivity::Full };
                // SAFETY: the caller's promise.
                (launch.adaptivity >= least).then(|| unsafe { self.look(launch, now, leaves) })?
            }
            left => {
                // If two threads write the same, a launch is not counted.
                self.asleep.store(left - 1, Ordering::Relaxed);
                None
            }
        }
    }

    /// # Safety
    /// As for [`note`](Self::note).
    #[cold]
    unsafe fn look(&self, launch: &Launch, now: &Wish, leaves: &Leaves) -> Option<Box<Wish>> {
        // Launches that come at the same time need not all be looked at.
        let mut window = self.window.try_lock().ok()?;
        let Window { seen, facts, values, .. } = &mut *window;
        let all = leaves.scalars.iter().chain(&leaves.specialized);
        if *seen == 0 {
            *facts = launch.facts;
            // SAFETY: the caller's promise; leaves lie in the closure.
            let copy = |leaf: &Scalar| unsafe { copy(launch.closure.add(leaf.offset), leaf.size) };
            values.clear();
            values.extend(all.map(|leaf| Some(copy(leaf))));
        } else {
            *facts = facts.and(launch.facts);
            for (leaf, value) in all.zip(values) {
                // SAFETY: as above.
                let same =
                    |bytes: &[u8]| unsafe { is_there(launch.closure.add(leaf.offset), bytes) };
                if value.as_ref().is_some_and(|bytes| !same(bytes)) {
                    *value = None;
                }
            }
        }
        *seen += 1;
        if *seen < WINDOW {
            return None;
        }
        window.seen = 0;
        window.number += 1;
        let sleep = if window.number < WINDOWS {
            9 * WINDOW * 10_u32.pow(window.number - 1)
        } else {
            FOREVER
        };
        self.asleep.store(sleep, Ordering::Relaxed);
        let wish = window.wish(leaves, launch.adaptivity)?;
        let more = (wish.values.len(), wish.facts.count());
        let is_more = more.0 > now.values.len() || more.1 > now.facts.count();
        is_more.then(|| Box::new(wish))
    }
}

impl Window {
    /// What a version could count on; `None` if what is specialized did not stay the same.
    fn wish(&self, leaves: &Leaves, adaptivity: Adaptivity) -> Option<Wish> {
        let known = |leaf: &Scalar, bytes: &[u8]| Known {
            param: leaf.param,
            offset: leaf.offset,
            bytes: bytes.into(),
        };
        let (scalars, specialized) = self.values.split_at(leaves.scalars.len());
        let mut values: Vec<Known> = leaves
            .scalars
            .iter()
            .zip(scalars)
            .filter_map(|(leaf, bytes)| Some((leaf, &**bytes.as_ref()?)))
            .filter(|(leaf, bytes)| adaptivity == Adaptivity::Full || is_simple(leaf, bytes))
            .take(MOST_VALUES)
            .map(|(leaf, bytes)| known(leaf, bytes))
            .collect();
        for (leaf, bytes) in leaves.specialized.iter().zip(specialized) {
            values.push(known(leaf, bytes.as_ref()?));
        }
        values.sort_by_key(|known| known.param);
        Some(Wish { facts: self.facts, values })
    }
}

/// Whether code becomes simpler by knowing a number. With such a factor or divisor there is nothing to multiply or divide; such
/// numbers are also switches that are on or off, and strides of rows.
fn is_simple(leaf: &Scalar, bytes: &[u8]) -> bool {
    let mut wide = [0; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    let number = u128::from_le_bytes(wide);
    if !leaf.is_float {
        return number == 0 || number.is_power_of_two() || bytes.iter().all(|byte| *byte == 0xff);
    }
    // Zero and one, with either sign.
    let (sign, one) = match leaf.size {
        2 => (1 << 15, 0x3c00),
        4 => (1 << 31, u128::from(1.0_f32.to_bits())),
        _ => (1 << 63, u128::from(1.0_f64.to_bits())),
    };
    [0, one].contains(&(number & !sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTEGER: Scalar = Scalar { param: 3, offset: 0, size: 4, is_float: false };
    const FLOAT: Scalar = Scalar { param: 4, offset: 4, size: 4, is_float: true };

    fn leaves() -> Leaves {
        Leaves::of(vec![INTEGER, FLOAT], Vec::new())
    }

    fn launch(closure: &[u32; 2], adaptivity: Adaptivity) -> Launch {
        Launch {
            facts: Facts::default(),
            closure: closure.as_ptr().cast(),
            groups: false,
            demands_block: false,
            adaptivity,
        }
    }

    const NOTHING: Wish = Wish {
        facts: Facts { small: false, exact: false, block: [0; 3], aligned: 0, narrow: 0 },
        values: Vec::new(),
    };

    /// The launches after which there was a wish, and the parameters that it is about.
    fn wishes(
        watch: &Watch,
        adaptivity: Adaptivity,
        closures: impl Iterator<Item = [u32; 2]>,
    ) -> Vec<(usize, Vec<u32>)> {
        let leaves = leaves();
        let note = |closure: [u32; 2]| {
            // SAFETY: the closure has both leaves.
            unsafe { watch.note(&launch(&closure, adaptivity), &NOTHING, &leaves) }
        };
        let wishes =
            closures.zip(1..).filter_map(|(closure, number)| Some((number, note(closure)?)));
        wishes
            .map(|(at, wish)| (at, wish.values.iter().map(|known| known.param).collect()))
            .collect()
    }

    #[test]
    fn what_stays_the_same_is_wished_for() {
        use Adaptivity::{Basic, Full};
        let half = 0.5_f32.to_bits();
        let (first, second) = (WINDOW as usize, 11 * WINDOW as usize);
        let same = |closure: [u32; 2]| std::iter::repeat_n(closure, 2000);
        assert_eq!(
            wishes(&Watch::new(true), Full, same([7, half])),
            [(first, vec![3, 4]), (second, vec![3, 4])]
        );
        assert_eq!(wishes(&Watch::new(true), Basic, same([8, half]))[0], (first, vec![3]));
        assert_eq!(wishes(&Watch::new(true), Basic, same([7, half])), []);
        assert_eq!(wishes(&Watch::new(false), Basic, same([8, half])), []);
        assert_eq!(wishes(&Watch::blind(), Full, same([8, half])), []);
        let changing = (0..2000).map(|number| [number, half]);
        assert_eq!(wishes(&Watch::new(true), Full, changing)[0], (first, vec![4]));
        // One launch that was different, the last of the first window.
        let once = (0..2000).map(|number| [if number == 99 { 3 } else { 4 }, number]);
        assert_eq!(wishes(&Watch::new(true), Full, once), [(second, vec![3])]);
    }

    #[test]
    fn windows_come_to_an_end() {
        let watch = Watch::new(true);
        let all = std::iter::repeat_n([8, 8], 3_000_000);
        let wishes = wishes(&watch, Adaptivity::Full, all);
        assert_eq!(wishes.len(), WINDOWS as usize);
        assert_eq!(watch.asleep.load(Ordering::Relaxed), FOREVER);
    }

    #[test]
    fn simple_numbers() {
        let integer = |number: u32| is_simple(&INTEGER, &number.to_le_bytes());
        assert!([0, 1, 2, 64, 1 << 31, u32::MAX].into_iter().all(integer));
        assert!(![3, 6, 1000, u32::MAX - 1].into_iter().any(integer));
        let float = |number: f32| is_simple(&FLOAT, &number.to_le_bytes());
        assert!([0.0, -0.0, 1.0, -1.0].into_iter().all(float));
        assert!(![0.5, 2.0, f32::NAN, f32::MIN_POSITIVE].into_iter().any(float));
        let double = Scalar { size: 8, ..FLOAT };
        assert!(is_simple(&double, &1.0_f64.to_le_bytes()));
        assert!(!is_simple(&double, &1.5_f64.to_le_bytes()));
    }
}
