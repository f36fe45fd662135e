//! The map by content: for each kernel on each device, with each set of values of its constants,
//! its versions.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schism_hcf::ObjectId;

use crate::code::variant::Variant;
use crate::code::versions::VersionSet;
use crate::util::fork::PerProcess;

/// A kernel on a device, by content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) object: ObjectId,
    pub(super) kernel: String,
    /// The id of the loader.
    pub(super) device: u64,
    pub(super) variant: Variant,
}

/// All versions of a kernel on some device: a [`VersionSet`] of the device's own type of kernels.
#[derive(Clone)]
pub(super) struct AnyVersionSet {
    /// The type of the set's kernels.
    kernel: TypeId,
    set: Arc<dyn Clear>,
}

/// The operations on a set of versions that do not depend on the type of its kernels.
trait Clear: Send + Sync {
    /// Forgets all versions: their kernel is gone.
    fn clear(&self);
}

impl<K: Send + Sync> Clear for VersionSet<K> {
    fn clear(&self) {
        Self::clear(self);
    }
}

impl AnyVersionSet {
    pub(super) fn new<K: Send + Sync + 'static>(set: Arc<VersionSet<K>>) -> Self {
        Self { kernel: TypeId::of::<K>(), set }
    }

    /// The versions, if they are of this type of kernels: those under a loader's id are.
    pub(super) fn of_type<K: 'static>(self) -> Option<Arc<VersionSet<K>>> {
        (self.kernel == TypeId::of::<K>()).then(|| {
            let set: *const dyn Clear = Arc::into_raw(self.set);
            // SAFETY: the pointer comes from an `Arc` of this type.
            unsafe { Arc::from_raw(set.cast()) }
        })
    }

    /// Forgets all versions: their kernel is gone.
    pub(super) fn clear(&self) {
        self.set.clear();
    }
}

/// All versions of a kernel.
pub(super) struct Slot {
    pub(super) set: AnyVersionSet,
    /// When it was last asked for, by [`KernelTable::clock`].
    used: u64,
}

/// All kernels.
#[derive(Default)]
pub(super) struct KernelTable {
    pub(super) slots: HashMap<Key, Slot>,
    /// Counts what is asked for.
    clock: u64,
}

/// With more values of specialization constants than this on a device, the kernel that was not used
/// for the longest time is forgotten.
pub(super) const MOST_SPECIALISED: usize = 256;

impl KernelTable {
    /// The kernel's place, and what had to go for it: that is to be dropped without the lock, since
    /// that takes calls of the system.
    pub(super) fn slot<K: Send + Sync + 'static>(
        &mut self,
        key: Key,
        make: impl FnOnce(Variant) -> VersionSet<K>,
    ) -> (AnyVersionSet, Option<Slot>) {
        self.clock += 1;
        let mut gone = None;
        if !key.variant.constants.is_empty() && !self.slots.contains_key(&key) {
            let is_like =
                |other: &Key| other.device == key.device && !other.variant.constants.is_empty();
            let specialised = || self.slots.iter().filter(|(other, _)| is_like(other));
            if specialised().count() >= MOST_SPECIALISED {
                let oldest = specialised().min_by_key(|(_, slot)| slot.used);
                let oldest = oldest.map(|(key, _)| key.clone());
                gone = oldest.and_then(|key| self.slots.remove(&key));
            }
        }
        let variant = key.variant.clone();
        let make = || AnyVersionSet::new(Arc::new(make(variant)));
        let slot = self.slots.entry(key).or_insert_with(|| Slot { set: make(), used: 0 });
        slot.used = self.clock;
        (slot.set.clone(), gone)
    }
}

/// The kernels of all devices, for all of the process. A forked process looks for its own: launches
/// take locks of kernels, which other threads of the parent may have held.
static TABLE: PerProcess<Mutex<KernelTable>> = PerProcess::new();

pub(super) fn lock() -> MutexGuard<'static, KernelTable> {
    TABLE.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets kernels. They are freed without the lock: that runs code of stage 2, or of a driver.
pub(super) fn forget(which: impl Fn(&Key) -> bool) {
    let gone: Vec<(Key, Slot)> = lock().slots.extract_if(|key, _| which(key)).collect();
    for (_, slot) in gone {
        // Entries may have it, too.
        slot.set.clear();
    }
}

#[cfg(test)]
mod tests {
    use schism_hcf::Container;

    use super::*;
    use crate::code::assumptions::FlattenedParameters;
    use crate::code::profile::Profiler;

    #[test]
    fn the_oldest_values_are_forgotten() {
        let mut kernels = KernelTable::default();
        let key = |seed: Option<usize>| Key {
            object: Container::default().object_id(),
            kernel: "kernel".to_owned(),
            device: 0,
            variant: Variant {
                constants: seed
                    .map(|seed| ("SEED".to_owned(), Box::from(seed.to_le_bytes())))
                    .into_iter()
                    .collect(),
                ..Variant::default()
            },
        };
        let make = |variant| {
            VersionSet::<()>::new(variant, FlattenedParameters::default(), Profiler::blind())
        };
        assert!(kernels.slot(key(None), make).1.is_none());
        for seed in 0..MOST_SPECIALISED {
            assert!(kernels.slot(key(Some(seed)), make).1.is_none());
        }
        // The first is used again, so the second is the oldest; the one without values stays.
        let (first, gone) = kernels.slot(key(Some(0)), make);
        assert!(gone.is_none());
        for seed in MOST_SPECIALISED..2 * MOST_SPECIALISED - 1 {
            assert!(kernels.slot(key(Some(seed)), make).1.is_some());
            assert_eq!(kernels.slots.len(), MOST_SPECIALISED + 1);
        }
        let again = kernels.slot(key(Some(0)), make).0;
        let of_type = |set: AnyVersionSet| set.of_type::<()>().expect("its type");
        assert!(Arc::ptr_eq(&of_type(first), &of_type(again)));
        assert!(!kernels.slots.contains_key(&key(Some(1))));
        assert!(kernels.slots.contains_key(&key(None)));
    }

    #[test]
    fn versions_are_had_by_the_type_of_their_kernels_only() {
        let (flattened, profiler) = (FlattenedParameters::default(), Profiler::blind());
        let set = Arc::new(VersionSet::<u8>::new(Variant::default(), flattened, profiler));
        let any = AnyVersionSet::new(Arc::clone(&set));
        assert!(any.clone().of_type::<i8>().is_none());
        assert!(any.clone().of_type::<u8>().is_some_and(|found| Arc::ptr_eq(&found, &set)));
        assert!(any.clone().of_type::<i8>().is_none());
        any.clear();
        drop(any);
        assert_eq!(Arc::strong_count(&set), 1, "each copy has given up its own");
    }
}
