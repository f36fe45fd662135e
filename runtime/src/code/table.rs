//! The map by content: for each kernel on each device, with each set of values of its constants, its versions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schism_hcf::ObjectId;

use crate::code::variant::Variant;
use crate::code::versions::Family;
use crate::hal::cuda::CudaKernel;
use crate::hal::host::kernel::CpuKernel;
use crate::util::fork::PerProcess;

/// A kernel on a device, by content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) object: ObjectId,
    pub(super) kernel: String,
    /// The id of a GPU's context, or [`CPU`].
    pub(super) device: u64,
    pub(super) variant: Variant,
}

/// The device `cpu`. Contexts have other numbers.
pub(super) const CPU: u64 = 0;

/// All versions of a kernel.
#[derive(Debug)]
pub(super) struct Slot<K> {
    pub(super) family: Arc<Family<K>>,
    /// When it was last asked for, by [`Kernels::clock`].
    used: u64,
}

/// All kernels of one kind of device.
#[derive(Debug)]
pub(super) struct Kernels<K> {
    pub(super) slots: HashMap<Key, Slot<K>>,
    /// Counts what is asked for.
    clock: u64,
}

impl<K> Default for Kernels<K> {
    fn default() -> Self {
        Self { slots: HashMap::new(), clock: 0 }
    }
}

/// With more values of specialization constants than this, the kernel that was not used for the longest time is forgotten.
pub(super) const MOST_SPECIALISED: usize = 256;

impl<K> Kernels<K> {
    /// The kernel's place, and what had to go for it: that is to be dropped without the lock, since that takes calls of the system.
    pub(super) fn slot(
        &mut self,
        key: Key,
        make: impl FnOnce(Variant) -> Family<K>,
    ) -> (Arc<Family<K>>, Option<Slot<K>>) {
        self.clock += 1;
        let mut gone = None;
        if !key.variant.constants.is_empty() && !self.slots.contains_key(&key) {
            let specialised =
                || self.slots.iter().filter(|(key, _)| !key.variant.constants.is_empty());
            if specialised().count() >= MOST_SPECIALISED {
                let oldest = specialised().min_by_key(|(_, slot)| slot.used);
                let oldest = oldest.map(|(key, _)| key.clone());
                gone = oldest.and_then(|key| self.slots.remove(&key));
            }
        }
        let variant = key.variant.clone();
        let slot = self
            .slots
            .entry(key)
            .or_insert_with(|| Slot { family: Arc::new(make(variant)), used: 0 });
        slot.used = self.clock;
        (Arc::clone(&slot.family), gone)
    }
}

/// The kernels of one kind of device, for all of the process. A forked process looks for its own: launches take locks of kernels, which other
/// threads of the parent may have held.
pub(super) struct Table<K>(PerProcess<Mutex<Kernels<K>>>);

impl<K> Table<K> {
    const fn new() -> Self {
        Self(PerProcess::new())
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Kernels<K>> {
        self.0.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out kernels. They are freed by whoever drops what this returns, without the lock: that runs code of stage 2, or of a
    /// driver.
    fn take_out(&self, which: impl Fn(&Key) -> bool) -> Vec<(Key, Slot<K>)> {
        self.lock().slots.extract_if(|key, _| which(key)).collect()
    }

    pub(super) fn forget(&self, which: impl Fn(&Key) -> bool) {
        for (_, slot) in self.take_out(which) {
            // Entries may have it, too.
            slot.family.clear();
        }
    }
}

pub(super) static ON_CPU: Table<CpuKernel> = Table::new();
pub(super) static ON_CUDA: Table<CudaKernel> = Table::new();

#[cfg(test)]
mod tests {
    use schism_hcf::Container;

    use super::*;
    use crate::code::assumptions::Leaves;
    use crate::code::profile::Watch;

    #[test]
    fn the_oldest_values_are_forgotten() {
        let mut kernels = Kernels::<CpuKernel>::default();
        let key = |seed: Option<usize>| Key {
            object: Container::default().object_id(),
            kernel: "kernel".to_owned(),
            device: CPU,
            variant: Variant {
                constants: seed
                    .map(|seed| ("SEED".to_owned(), Box::from(seed.to_le_bytes())))
                    .into_iter()
                    .collect(),
                ..Variant::default()
            },
        };
        let make = |variant| Family::new(variant, Leaves::default(), Watch::blind());
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
        assert!(Arc::ptr_eq(&first, &kernels.slot(key(Some(0)), make).0));
        assert!(!kernels.slots.contains_key(&key(Some(1))));
        assert!(kernels.slots.contains_key(&key(None)));
    }
}
