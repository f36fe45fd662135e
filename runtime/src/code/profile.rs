//! Profiles launches of a kernel: what they have in common.
//!
//! A *window* is a hundred launches. What held in all of them (assumptions, and values of numbers)
//! makes a key for a version that relies on it, which is compiled in the background. The first
//! window begins with the first launch, so kernels that are launched rarely cost nothing; the next
//! ones come after a thousand launches, ten thousand, and so on. Between windows a launch
//! decrements a counter, and after the last one it does nothing.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::code::assumptions::{
    Assumptions, ConstantArgument, FlattenedParameters, Scalar, copy, is_there,
};
use crate::code::requirements::{SpecializationKey, VersionRequest};
use crate::launch::adaptivity::Adaptivity;

/// The launches of a window.
const WINDOW: u32 = 100;

/// The number of windows, and so the maximum number of keys.
const WINDOWS: u32 = 5;

/// The maximum number of numbers that become constants: each is compared at each launch.
const MOST_VALUES: usize = 16;

/// Profiling has ended.
const FOREVER: u32 = u32::MAX;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Profiler {
    /// Whether basic adaptivity makes keys.
    basic: bool,
    /// Launches until the next window.
    asleep: AtomicU32,
    /// Windows that have ended.
    ended: AtomicU32,
    /// Launches of this window that were the same as one that it has seen, and that it has not counted.
    repeated: AtomicU32,
    window: Mutex<Window>,
}

/// What a profiler has to see of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attention {
    /// Nothing.
    Asleep,
    /// Whether it is the same in all values as one that was seen in the window of this number.
    Window(u32),
    /// All of it.
    Full,
}

#[derive(Debug, Default)]
struct Window {
    /// Launches of this window.
    seen: u32,
    /// What held for all of them.
    assumptions: Assumptions,
    /// The values in all of them, first the scalars and then the `Specialized` ones; `None` where
    /// they differed.
    values: Vec<Option<Box<[u8]>>>,
}

impl Profiler {
    /// Without `basic`, only full adaptivity makes keys.
    pub(crate) fn new(basic: bool) -> Self {
        Self::with(basic, 0)
    }

    /// The profiler of a kernel with nothing to specialize.
    pub(crate) fn blind() -> Self {
        Self::with(false, FOREVER)
    }

    fn with(basic: bool, asleep: u32) -> Self {
        let (ended, repeated) = (AtomicU32::new(0), AtomicU32::new(0));
        Self { basic, asleep: AtomicU32::new(asleep), ended, repeated, window: Mutex::default() }
    }

    /// The least adaptivity of launches that it examines.
    const fn least(&self) -> Adaptivity {
        if self.basic { Adaptivity::Basic } else { Adaptivity::Full }
    }

    /// What it has to see of a launch.
    #[inline]
    pub(crate) fn attention(&self, adaptivity: Adaptivity) -> Attention {
        if self.asleep.load(Ordering::Relaxed) != 0 || adaptivity < self.least() {
            Attention::Asleep
        } else if self.repeated.load(Ordering::Relaxed) < WINDOW - 1 {
            Attention::Window(self.ended.load(Ordering::Acquire))
        } else {
            Attention::Full
        }
    }

    /// Counts a launch that was made as one before it, with this attention.
    #[inline]
    pub(crate) fn note_again(&self, attention: Attention) {
        // If two threads store the same value, one launch is not counted.
        if attention != Attention::Asleep {
            self.repeated.store(self.repeated.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        } else {
            let left = self.asleep.load(Ordering::Relaxed);
            if ![0, FOREVER].contains(&left) {
                self.asleep.store(left - 1, Ordering::Relaxed);
            }
        }
    }

    /// Records a launch that the version `now` runs.
    ///
    /// # Safety
    /// The closure is of the kernel's type.
    #[inline]
    pub(crate) unsafe fn note(
        &self,
        launch: &VersionRequest,
        now: &SpecializationKey,
        flattened: &FlattenedParameters,
    ) -> Option<Box<SpecializationKey>> {
        match self.asleep.load(Ordering::Relaxed) {
            FOREVER => None,
            0 => {
                // SAFETY: the caller's promise.
                let look = || unsafe { self.look(launch, now, flattened) };
                (launch.adaptivity >= self.least()).then(look)?
            }
            left => {
                // If two threads store the same value, one launch is not counted.
                self.asleep.store(left - 1, Ordering::Relaxed);
                None
            }
        }
    }

    /// # Safety
    /// As for [`note`](Self::note).
    #[cold]
    unsafe fn look(
        &self,
        launch: &VersionRequest,
        now: &SpecializationKey,
        flattened: &FlattenedParameters,
    ) -> Option<Box<SpecializationKey>> {
        // Not all of several concurrent launches need to be examined.
        let mut window = self.window.try_lock().ok()?;
        let Window { seen, assumptions, values, .. } = &mut *window;
        let all = flattened.scalars.iter().chain(&flattened.specialized);
        if *seen == 0 {
            *assumptions = launch.assumptions;
            // SAFETY: the caller's promise; flattened parameters lie in the closure.
            let copy = |parameter: &Scalar| unsafe {
                copy(launch.closure.add(parameter.offset), parameter.size)
            };
            values.clear();
            values.extend(all.map(|parameter| Some(copy(parameter))));
        } else {
            *assumptions = assumptions.and(launch.assumptions);
            for (parameter, value) in all.zip(values) {
                // SAFETY: as above.
                let same =
                    |bytes: &[u8]| unsafe { is_there(launch.closure.add(parameter.offset), bytes) };
                if value.as_ref().is_some_and(|bytes| !same(bytes)) {
                    *value = None;
                }
            }
        }
        *seen += 1 + self.repeated.swap(0, Ordering::Relaxed);
        if *seen < WINDOW {
            return None;
        }
        window.seen = 0;
        let ended = self.ended.fetch_add(1, Ordering::AcqRel) + 1;
        let sleep = if ended < WINDOWS { 9 * WINDOW * 10_u32.pow(ended - 1) } else { FOREVER };
        self.asleep.store(sleep, Ordering::Relaxed);
        let key = window.key(flattened, launch.adaptivity)?;
        let more = (key.values.len(), key.assumptions.count());
        let is_more = more.0 > now.values.len() || more.1 > now.assumptions.count();
        is_more.then(|| Box::new(key))
    }
}

impl Window {
    /// The key of a better version; `None` if a `Specialized` value changed.
    fn key(
        &self,
        flattened: &FlattenedParameters,
        adaptivity: Adaptivity,
    ) -> Option<SpecializationKey> {
        let known = |parameter: &Scalar, bytes: &[u8]| ConstantArgument {
            param: parameter.param,
            offset: parameter.offset,
            bytes: bytes.into(),
        };
        let (scalars, specialized) = self.values.split_at(flattened.scalars.len());
        let mut values: Vec<ConstantArgument> = flattened
            .scalars
            .iter()
            .zip(scalars)
            .filter_map(|(parameter, bytes)| Some((parameter, &**bytes.as_ref()?)))
            .filter(|(parameter, bytes)| {
                adaptivity == Adaptivity::Full || is_simple(parameter, bytes)
            })
            .take(MOST_VALUES)
            .map(|(parameter, bytes)| known(parameter, bytes))
            .collect();
        for (parameter, bytes) in flattened.specialized.iter().zip(specialized) {
            values.push(known(parameter, bytes.as_ref()?));
        }
        values.sort_by_key(|known| known.param);
        Some(SpecializationKey { assumptions: self.assumptions, values })
    }
}

/// Whether knowing a number simplifies code. A multiplication or division by such a number
/// disappears; such numbers are also switches that are on or off, and strides of rows.
fn is_simple(parameter: &Scalar, bytes: &[u8]) -> bool {
    let mut wide = [0; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    let number = u128::from_le_bytes(wide);
    if !parameter.is_float {
        return number == 0 || number.is_power_of_two() || bytes.iter().all(|byte| *byte == 0xff);
    }
    // Zero and one, with either sign.
    let (sign, one) = match parameter.size {
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

    fn flattened() -> FlattenedParameters {
        FlattenedParameters::of(vec![INTEGER, FLOAT], Vec::new())
    }

    fn launch(closure: &[u32; 2], adaptivity: Adaptivity) -> VersionRequest {
        VersionRequest {
            assumptions: Assumptions::default(),
            closure: closure.as_ptr().cast(),
            groups: false,
            demands_block: false,
            demands_assumptions: false,
            adaptivity,
        }
    }

    const NOTHING: SpecializationKey = SpecializationKey {
        assumptions: Assumptions {
            small: false,
            divisible: false,
            block: [0; 3],
            aligned: 0,
            narrow: 0,
        },
        values: Vec::new(),
    };

    /// The launches after which there was a key, and the parameters that it contains.
    fn wishes(
        profiler: &Profiler,
        adaptivity: Adaptivity,
        closures: impl Iterator<Item = [u32; 2]>,
    ) -> Vec<(usize, Vec<u32>)> {
        let flattened = flattened();
        let note = |closure: [u32; 2]| {
            // SAFETY: the closure has both flattened parameters.
            unsafe { profiler.note(&launch(&closure, adaptivity), &NOTHING, &flattened) }
        };
        let wishes =
            closures.zip(1..).filter_map(|(closure, number)| Some((number, note(closure)?)));
        wishes.map(|(at, key)| (at, key.values.iter().map(|known| known.param).collect())).collect()
    }

    #[test]
    fn what_stays_the_same_is_wished_for() {
        use Adaptivity::{Basic, Full};
        let half = 0.5_f32.to_bits();
        let (first, second) = (WINDOW as usize, 11 * WINDOW as usize);
        let same = |closure: [u32; 2]| std::iter::repeat_n(closure, 2000);
        assert_eq!(
            wishes(&Profiler::new(true), Full, same([7, half])),
            [(first, vec![3, 4]), (second, vec![3, 4])]
        );
        assert_eq!(wishes(&Profiler::new(true), Basic, same([8, half]))[0], (first, vec![3]));
        assert_eq!(wishes(&Profiler::new(true), Basic, same([7, half])), []);
        assert_eq!(wishes(&Profiler::new(false), Basic, same([8, half])), []);
        assert_eq!(wishes(&Profiler::blind(), Full, same([8, half])), []);
        let changing = (0..2000).map(|number| [number, half]);
        assert_eq!(wishes(&Profiler::new(true), Full, changing)[0], (first, vec![4]));
        // One different launch, the last of the first window.
        let once = (0..2000).map(|number| [if number == 99 { 3 } else { 4 }, number]);
        assert_eq!(wishes(&Profiler::new(true), Full, once), [(second, vec![3])]);
    }

    #[test]
    fn launches_that_are_made_again_count() {
        use Adaptivity::{Full, Off};
        let (profiler, flattened) = (Profiler::new(true), flattened());
        let note = || {
            // SAFETY: the closure has both flattened parameters.
            unsafe { profiler.note(&launch(&[8, 8], Full), &NOTHING, &flattened) }
        };
        assert!(note().is_none());
        for _ in 1..WINDOW {
            assert_eq!(profiler.attention(Off), Attention::Asleep);
            assert_eq!(profiler.attention(Full), Attention::Window(0));
            profiler.note_again(Attention::Window(0));
        }
        // A launch ends the window, which knows of all of them.
        assert_eq!(profiler.attention(Full), Attention::Full);
        assert!(note().is_some());
        let asleep = profiler.asleep.load(Ordering::Relaxed);
        assert_eq!(profiler.attention(Full), Attention::Asleep);
        profiler.note_again(Attention::Asleep);
        assert_eq!(profiler.asleep.load(Ordering::Relaxed), asleep - 1);
        profiler.asleep.store(0, Ordering::Relaxed);
        assert_eq!(profiler.attention(Full), Attention::Window(1));
        profiler.note_again(Attention::Asleep);
        assert_eq!(profiler.attention(Full), Attention::Window(1), "another launch's adaptivity");
    }

    #[test]
    fn windows_come_to_an_end() {
        let profiler = Profiler::new(true);
        let all = std::iter::repeat_n([8, 8], 3_000_000);
        let wishes = wishes(&profiler, Adaptivity::Full, all);
        assert_eq!(wishes.len(), WINDOWS as usize);
        assert_eq!(profiler.asleep.load(Ordering::Relaxed), FOREVER);
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
