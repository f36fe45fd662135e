//! The versions of one kernel on one device, and which of them a launch gets.
//!
//! A version relies on assumptions and values ([`crate::code::assumptions`]), and serves the
//! launches for which they hold. A launch never waits for a better version than it needs:
//!
//! - The first version is compiled with the assumptions that hold for its launch.
//! - A launch that no version serves requests one with fewer assumptions: those that hold for this
//!   launch and for those that requested one before. So there are few such versions, and the last
//!   one serves all launches. Only the size of a launch's groups stays known, and
//!   [`Specialized`](crate::Specialized) values, up to some number of sizes and values.
//! - Of code that was made ahead of time there are a few versions with assumptions
//!   ([`crate::code::aot`]), and a launch gets the best that its container has.
//! - Better versions for launches as they have been for a while are compiled in the background: see
//!   [`crate::code::profile`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockWriteGuard};
use std::time::Instant;

use crate::code::assumptions::{Assumptions, ConstantArgument, FlattenedParameters, copy};
use crate::code::profile::Profiler;
use crate::code::requirements::{SpecializationKey, VersionRequest};
use crate::code::variant::Variant;
use crate::error::ImageError;
use crate::launch::adaptivity::Adaptivity;
use crate::util::retry::Failures;

pub(crate) type Compiled<K> = Result<Arc<K>, ImageError>;

/// The maximum number of versions for one size of groups only.
const MOST_GROUPS: usize = 8;

/// The maximum number of sets of `Specialized` values.
const MOST_SPECIALIZED: usize = 32;

/// A version that is compiled, or being compiled by the first thread that requested it.
#[derive(Debug)]
struct Version<K> {
    key: SpecializationKey,
    /// Whether it assumes all `Specialized` values.
    specialized: bool,
    code: VersionState<K>,
}

#[derive(Debug)]
enum VersionState<K> {
    Ready(Arc<K>),
    /// By the first thread that requested it.
    Making(Arc<Making<K>>),
    /// Transient errors are retried by the rule of [`crate::util::retry`].
    Failed(ImageError, Failures),
}

#[derive(Debug)]
struct Making<K> {
    made: OnceLock<Compiled<K>>,
    /// Those before.
    failures: Failures,
}

impl<K> Making<K> {
    fn begin(failures: Failures) -> Arc<Self> {
        Arc::new(Self { made: OnceLock::new(), failures })
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct VersionSet<K> {
    /// What all versions have in common.
    pub(crate) variant: Variant,
    pub(crate) flattened: FlattenedParameters,
    /// Shared with queues that have launched the kernel: a change makes other ones.
    versions: RwLock<Arc<Versions<K>>>,
    /// How often they have changed.
    changes: AtomicU64,
    pub(crate) profiler: Profiler,
    /// The assumptions of the AOT code that there is, the best first; empty if launches need stage 2.
    pub(crate) aot: Box<[Assumptions]>,
}

/// The versions at some time.
#[derive(Debug)]
pub(super) struct Versions<K> {
    /// Those with more assumptions come first.
    list: Vec<Version<K>>,
    /// What held for all launches that had to wait for a version.
    common: Option<Assumptions>,
    /// The number of sets of `Specialized` values.
    specialized: usize,
}

impl<K> Default for Versions<K> {
    fn default() -> Self {
        Self { list: Vec::new(), common: None, specialized: 0 }
    }
}

impl<K> Clone for Versions<K> {
    fn clone(&self) -> Self {
        Self { list: self.list.clone(), ..*self }
    }
}

impl<K> Clone for Version<K> {
    fn clone(&self) -> Self {
        let Self { key, specialized, code } = self;
        let code = match code {
            VersionState::Ready(code) => VersionState::Ready(Arc::clone(code)),
            VersionState::Making(slot) => VersionState::Making(Arc::clone(slot)),
            VersionState::Failed(error, failures) => VersionState::Failed(error.clone(), *failures),
        };
        Self { key: key.clone(), specialized: *specialized, code }
    }
}

impl<K> Versions<K> {
    /// Whether launches that differ by other values than addresses and integers may get different ones.
    pub(super) fn differ_by_all_values(&self, flattened: &FlattenedParameters) -> bool {
        let is_integer = |value: &ConstantArgument| {
            flattened.scalars.iter().any(|own| own.param == value.param && !own.is_float)
        };
        let mut values = self.list.iter().flat_map(|version| &version.key.values);
        !flattened.specialized.is_empty() || !values.all(is_integer)
    }

    /// The code for a launch, if it is ready; and the key of a better version to compile for later
    /// launches.
    ///
    /// # Safety
    /// The closure is of the type of the kernel, which is that of `set`.
    #[inline]
    pub(super) unsafe fn ready(
        &self,
        set: &VersionSet<K>,
        launch: &VersionRequest,
    ) -> Option<(&Arc<K>, Option<Box<SpecializationKey>>)> {
        // SAFETY: the caller's promise.
        let version = unsafe { self.find(launch) }?;
        let VersionState::Ready(code) = &version.code else { return None };
        // SAFETY: as above.
        let key = unsafe { set.profiler.note(launch, &version.key, &set.flattened) };
        let is_new = |key: &SpecializationKey| self.list.iter().all(|known| known.key != *key);
        Some((code, key.filter(|key| is_new(key))))
    }

    /// The best version for a launch.
    ///
    /// # Safety
    /// The closure is of the kernel's type.
    #[inline]
    unsafe fn find(&self, launch: &VersionRequest) -> Option<&Version<K>> {
        let adapts = launch.adaptivity != Adaptivity::Off;
        // Few kernels have `Specialized` values; for the others every version assumes all of them.
        let any = !adapts || self.specialized >= MOST_SPECIALIZED;
        self.list.iter().find(|version| {
            let SpecializationKey { assumptions, values } = &version.key;
            assumptions.hold_for(launch.assumptions)
                && (!launch.demands_block || assumptions.block == launch.assumptions.block)
                && (!launch.demands_assumptions
                    || !values.is_empty()
                    || *assumptions == launch.assumptions)
                && (any || version.specialized)
                && (adapts || values.is_empty())
                // SAFETY: the caller's promise.
                && values.iter().all(|known| unsafe { known.holds_for(launch.closure) })
        })
    }

    /// Inserts a version after all with more assumptions.
    fn insert(&mut self, version: Version<K>) {
        let weight =
            |version: &Version<K>| (version.key.values.len(), version.key.assumptions.count());
        let at = self.list.partition_point(|other| weight(other) >= weight(&version));
        self.list.insert(at, version);
    }
}

impl<K> VersionSet<K> {
    pub(crate) fn new(
        variant: Variant,
        flattened: FlattenedParameters,
        profiler: Profiler,
    ) -> Self {
        let (versions, changes) = (RwLock::default(), AtomicU64::new(0));
        Self { variant, flattened, versions, changes, profiler, aot: Box::default() }
    }

    /// The same, with AOT code.
    pub(crate) fn with_aot(self, aot: Box<[Assumptions]>) -> Self {
        Self { aot, ..self }
    }

    /// How often the versions have changed. Where it is as it was, so are they, but for changes
    /// that are being made.
    #[inline]
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The versions now, and how often they have changed.
    pub(super) fn now(&self) -> (Arc<Versions<K>>, u64) {
        let versions = self.versions.read().unwrap_or_else(PoisonError::into_inner);
        (Arc::clone(&versions), self.changes())
    }

    /// For changing them.
    fn write(&self) -> RwLockWriteGuard<'_, Arc<Versions<K>>> {
        let versions = self.versions.write().unwrap_or_else(PoisonError::into_inner);
        self.changes.fetch_add(1, Ordering::Release);
        versions
    }

    /// The code for a launch, if it is ready; and the key of a better version to compile for later
    /// launches.
    ///
    /// # Safety
    /// The closure is of the kernel's type.
    pub(crate) unsafe fn ready(
        &self,
        launch: &VersionRequest,
    ) -> Option<(Arc<K>, Option<Box<SpecializationKey>>)> {
        let (versions, _) = self.now();
        // SAFETY: the caller's promise.
        let (code, key) = unsafe { versions.ready(self, launch) }?;
        Some((Arc::clone(code), key))
    }

    /// The code for a launch, which `compile` makes if it is not there, or if a retry is due.
    ///
    /// # Safety
    /// As for [`ready`](Self::ready).
    #[cold]
    pub(crate) unsafe fn make(
        &self,
        launch: &VersionRequest,
        compile: impl FnOnce(&SpecializationKey) -> Compiled<K>,
    ) -> Compiled<K> {
        let mut locked = self.write();
        let versions = Arc::make_mut(&mut locked);
        // SAFETY: the caller's promise.
        unsafe {
            if versions.find(launch).is_none() {
                let version = self.begin(versions, launch);
                versions.insert(version);
            }
        }
        // SAFETY: as above.
        let version = unsafe { versions.find(launch) }.ok_or_else(|| ImageError::Compile {
            code: schism_jit_abi::INTERNAL,
            reason: "no version of a kernel is good for its launch".to_owned(),
        })?;
        let key = version.key.clone();
        // The one that is being made, or what is known.
        let slot = match &version.code {
            VersionState::Ready(code) => Err(Ok(Arc::clone(code))),
            VersionState::Making(slot) => Ok(Arc::clone(slot)),
            VersionState::Failed(error, failures)
                if error.is_transient() && failures.may_try(Instant::now()) =>
            {
                let slot = Making::begin(*failures);
                let same = versions.list.iter_mut().filter(|known| known.key == key);
                same.for_each(|version| version.code = VersionState::Making(Arc::clone(&slot)));
                Ok(slot)
            }
            VersionState::Failed(error, _) => Err(Err(error.clone())),
        };
        drop(locked);
        slot.map_or_else(|known| known, |slot| self.finish(key, slot, compile))
    }

    /// Waits for a version, or compiles it.
    fn finish(
        &self,
        key: SpecializationKey,
        slot: Arc<Making<K>>,
        compile: impl FnOnce(&SpecializationKey) -> Compiled<K>,
    ) -> Compiled<K> {
        // Only those who request the same version wait for it.
        let compiled = slot.made.get_or_init(|| compile(&key)).clone();
        let mut locked = self.write();
        // The first of the waiting threads records the result. Another thread may have replaced the
        // version since.
        let ours = |code: &VersionState<K>| matches!(code, VersionState::Making(other) if Arc::ptr_eq(other, &slot));
        let mut known = Arc::make_mut(&mut locked).list.iter_mut();
        if let Some(version) = known.find(|known| known.key == key && ours(&known.code)) {
            version.code = match &compiled {
                Ok(code) => VersionState::Ready(Arc::clone(code)),
                Err(error) => {
                    VersionState::Failed(error.clone(), slot.failures.and_another(Instant::now()))
                }
            };
        }
        compiled
    }

    /// Adds a version for a launch that none serves.
    ///
    /// # Safety
    /// As for [`ready`](Self::ready).
    unsafe fn begin(&self, versions: &mut Versions<K>, launch: &VersionRequest) -> Version<K> {
        let adapts = launch.adaptivity != Adaptivity::Off;
        let mut assumptions = launch.assumptions;
        if adapts && !launch.demands_assumptions {
            assumptions = versions.common.map_or(assumptions, |common| common.and(assumptions));
            versions.common = Some(assumptions);
        }
        let knows_groups = adapts && launch.groups && versions.list.len() < MOST_GROUPS;
        if knows_groups || launch.demands_block {
            assumptions.block = launch.assumptions.block;
        }
        let wanted = &*self.flattened.specialized;
        let mut values = Vec::new();
        if adapts && !wanted.is_empty() && versions.specialized < MOST_SPECIALIZED {
            versions.specialized += 1;
            values.extend(wanted.iter().map(|parameter| ConstantArgument {
                param: parameter.param,
                offset: parameter.offset,
                // SAFETY: the caller's promise; flattened parameters lie in the closure.
                bytes: unsafe { copy(launch.closure.add(parameter.offset), parameter.size) },
            }));
        }
        let specialized = values.len() == wanted.len();
        let code = VersionState::Making(Making::begin(Failures::default()));
        Version { key: SpecializationKey { assumptions, values }, specialized, code }
    }

    /// Adds a version that was compiled in the background.
    pub(crate) fn add(&self, key: SpecializationKey, code: Arc<K>) {
        let mut locked = self.write();
        let versions = Arc::make_mut(&mut locked);
        if versions.list.iter().all(|known| known.key != key) {
            let knows = |param: u32| key.values.iter().any(|known| known.param == param);
            let wanted = &self.flattened.specialized;
            let specialized = wanted.iter().all(|parameter| knows(parameter.param));
            versions.insert(Version { key, specialized, code: VersionState::Ready(code) });
        }
    }

    /// Forgets all versions: their kernel is gone.
    pub(crate) fn clear(&self) {
        let gone = std::mem::take(&mut *self.write());
        // Without the lock: that may call a driver.
        drop(gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::assumptions::Scalar;

    /// A kernel with a closure of eight bytes: a `Specialized` value in the first half, a number in
    /// the second.
    fn set(specialized: bool) -> VersionSet<SpecializationKey> {
        let parameter = |param, offset| Scalar { param, offset, size: 4, is_float: false };
        let flattened = FlattenedParameters::of(
            vec![parameter(1, 4)],
            if specialized { vec![parameter(0, 0)] } else { Vec::new() },
        );
        VersionSet::new(Variant::default(), flattened, Profiler::new(true))
    }

    fn assumptions(divisible: bool, block: u32) -> Assumptions {
        Assumptions { small: true, divisible, block: [block, 1, 1], aligned: 0, narrow: 0 }
    }

    /// What a launch gets, and whether it waited for it.
    fn ask(
        set: &VersionSet<SpecializationKey>,
        launch: VersionRequest,
    ) -> (SpecializationKey, bool) {
        // SAFETY: the closure has eight bytes.
        if let Some((compiled, _)) = unsafe { set.ready(&launch) } {
            return ((*compiled).clone(), false);
        }
        // SAFETY: as above.
        let compiled = unsafe { set.make(&launch, |key| Ok(Arc::new(key.clone()))) };
        ((*compiled.expect("it is made")).clone(), true)
    }

    fn launch(assumptions: Assumptions, closure: &[u32; 2]) -> VersionRequest {
        VersionRequest {
            assumptions,
            closure: closure.as_ptr().cast(),
            groups: false,
            demands_block: false,
            demands_assumptions: false,
            adaptivity: Adaptivity::Basic,
        }
    }

    #[test]
    fn few_versions_for_launches_of_all_shapes() {
        let set = set(false);
        let closure = [1, 2];
        let ask = |assumptions| ask(&set, launch(assumptions, &closure));
        let (first, waited) = ask(assumptions(true, 32));
        assert!(waited && first.assumptions == assumptions(true, 32));
        assert!(!ask(assumptions(true, 32)).1);
        // The same blocks, not all of them full.
        let (second, waited) = ask(assumptions(false, 32));
        assert!(waited && second.assumptions == assumptions(false, 32));
        // Other blocks: neither is assumed any more, and this one serves all.
        let (third, waited) = ask(assumptions(true, 256));
        assert!(
            waited && third.assumptions == Assumptions { small: true, ..Assumptions::default() }
        );
        for block in [64, 128, 256] {
            for divisible in [false, true] {
                assert_eq!(ask(assumptions(divisible, block)), (third.clone(), false));
            }
        }
        // Those with more assumptions are used where they hold.
        assert_eq!(ask(assumptions(true, 32)), (first, false));
        assert_eq!(ask(assumptions(false, 32)), (second, false));
        let (last, waited) = ask(Assumptions { small: false, ..assumptions(true, 256) });
        assert!(waited && last.assumptions == Assumptions::default());
    }

    #[test]
    fn groups_have_versions_of_their_own_up_to_some_number() {
        let set = set(false);
        let closure = [1, 2];
        let of =
            |block| VersionRequest { groups: true, ..launch(assumptions(true, block), &closure) };
        for block in 1..=MOST_GROUPS as u32 {
            let (key, waited) = ask(&set, of(block));
            assert!(waited && key.assumptions.block == [block, 1, 1]);
        }
        let (rest, waited) = ask(&set, of(100));
        assert!(waited && rest.assumptions.block == [0; 3] && rest.assumptions.divisible);
        assert_eq!(ask(&set, of(101)), (rest, false));
        assert_eq!(ask(&set, of(3)).0.assumptions.block, [3, 1, 1]);
        // If that is enough.
        let demanding = VersionRequest { demands_block: true, ..of(101) };
        assert_eq!(ask(&set, demanding).0.assumptions.block, [101, 1, 1]);
    }

    #[test]
    fn specialized_values_have_versions_of_their_own_up_to_some_number() {
        let set = set(true);
        let value = |key: &SpecializationKey| key.values.first().map(|known| known.bytes[0]);
        for number in 0..MOST_SPECIALIZED as u32 {
            let (key, waited) = ask(&set, launch(assumptions(true, 32), &[number, 7]));
            assert!(waited && value(&key) == Some(number as u8));
            let (again, waited) = ask(&set, launch(assumptions(true, 32), &[number, 8]));
            assert!(!waited && again == key);
        }
        let (rest, waited) = ask(&set, launch(assumptions(true, 32), &[100, 7]));
        assert!(waited && value(&rest).is_none());
        assert_eq!(ask(&set, launch(assumptions(true, 32), &[101, 7])), (rest, false));
        assert_eq!(value(&ask(&set, launch(assumptions(true, 32), &[3, 7])).0), Some(3));
    }

    #[test]
    fn without_adaptivity_nothing_is_counted_on() {
        let set = set(true);
        let closure = [5, 2];
        let small = Assumptions { small: true, ..Assumptions::default() };
        let off = VersionRequest { adaptivity: Adaptivity::Off, ..launch(small, &closure) };
        ask(&set, launch(assumptions(true, 32), &closure));
        let (key, waited) = ask(&set, off);
        assert!(waited && key == SpecializationKey { assumptions: small, values: Vec::new() });
        assert!(!ask(&set, off).1);
        // Its assumptions say nothing about others.
        let (key, _) = ask(&set, launch(assumptions(true, 32), &[6, 2]));
        assert_eq!((key.assumptions, key.values.len()), (assumptions(true, 32), 1));
    }

    #[test]
    fn each_launch_gets_the_best_code_that_was_made_ahead_of_time() {
        let small = Assumptions { small: true, ..Assumptions::default() };
        let whole = Assumptions { aligned: 1, ..assumptions(true, 256) };
        let fit = Assumptions { divisible: false, ..whole };
        let aot = [whole, fit, small, Assumptions::default()];
        let set = set(false).with_aot(aot.into());
        let closure = [1, 2];
        let one = |assumptions: Assumptions| {
            let mut launch = launch(assumptions, &closure);
            launch.ask_for_aot(&set.aot);
            let (key, waited) = ask(&set, launch);
            (key.assumptions, waited)
        };
        // What assumes the least comes first, and the others come nevertheless.
        let wide = Assumptions { small: false, aligned: 3, narrow: 1, ..assumptions(true, 256) };
        assert_eq!(one(wide), (Assumptions::default(), true));
        let others = Assumptions { aligned: 1, ..assumptions(true, 64) };
        assert_eq!(one(others), (small, true));
        let rest = Assumptions { aligned: 3, ..assumptions(false, 256) };
        assert_eq!(one(rest), (fit, true));
        let all = Assumptions { aligned: 3, narrow: 1, ..assumptions(true, 256) };
        assert_eq!(one(all), (whole, true));
        // Each was made once.
        for (launch, version) in
            [(wide, Assumptions::default()), (others, small), (rest, fit), (all, whole)]
        {
            assert_eq!(one(launch), (version, false));
        }
        assert_eq!(one(assumptions(true, 256)), (small, false), "an address that is not aligned");
    }

    /// The result of `make` with a compiler that fails like this; and whether it was called.
    fn fail(
        set: &VersionSet<SpecializationKey>,
        launch: &VersionRequest,
        error: &ImageError,
    ) -> bool {
        let mut asked = false;
        let compile = |_: &SpecializationKey| {
            asked = true;
            Err(error.clone())
        };
        // SAFETY: the closure has eight bytes.
        let compiled = unsafe { set.make(launch, compile) };
        assert_eq!(compiled.expect_err("it fails").to_string(), error.to_string());
        asked
    }

    #[test]
    fn a_transient_failure_is_tried_again_and_a_permanent_one_is_kept() {
        let closure = [1, 2];
        let launch = launch(assumptions(true, 32), &closure);
        let driver = |code| ImageError::Driver {
            source: Box::new(crate::error::DriverError {
                call: "cuModuleLoadDataEx",
                code,
                name: String::new(),
                text: String::new(),
            }),
            log: String::new(),
        };
        // Out of memory, once.
        let (no_memory, refused) = (driver(2), driver(218));
        let once = set(false);
        assert!(fail(&once, &launch, &no_memory));
        let (_, waited) = ask(&once, launch);
        assert!(waited);
        assert!(!ask(&once, launch).1);
        // Again and again: after the second time there is a pause.
        let always = set(false);
        let tries = (0..100_000).filter(|_| fail(&always, &launch, &no_memory)).count();
        assert!((2..20).contains(&tries), "{tries}");
        std::thread::sleep(std::time::Duration::from_millis(50));
        // Code that is refused is refused for ever.
        let never = set(false);
        assert!(fail(&never, &launch, &refused));
        assert!((0..100).all(|_| !fail(&never, &launch, &refused)));
    }

    #[test]
    fn a_version_of_the_background_is_taken_while_its_values_hold() {
        let set = set(false);
        let (plain, _) = ask(&set, launch(assumptions(true, 32), &[1, 2]));
        let known = ConstantArgument { param: 1, offset: 4, bytes: Box::from(2_u32.to_le_bytes()) };
        let better = SpecializationKey { assumptions: assumptions(true, 32), values: vec![known] };
        set.add(better.clone(), Arc::new(better.clone()));
        set.add(better.clone(), Arc::new(better.clone()));
        assert_eq!(ask(&set, launch(assumptions(true, 32), &[9, 2])), (better, false));
        assert_eq!(ask(&set, launch(assumptions(true, 32), &[9, 3])), (plain, false));
        set.clear();
        assert!(ask(&set, launch(assumptions(true, 32), &[9, 2])).1);
    }
}
