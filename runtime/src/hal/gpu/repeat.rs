//! Launches that are made again and again: of some of a queue's last launches their grid, their code and
//! their parameters are kept as the driver takes them.
//!
//! A launch is the same as one before it if the versions of its kernel are what they were, and its range,
//! its addresses and its integers are the same: what is decided for a launch depends on nothing else.
//! Other values, such as floats, are written into the parameters, unless versions differ by them.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::code::assumptions::read_words;
use crate::code::profile::Attention;
use crate::code::recent::KnownVersions;
use crate::hal::address_window;
use crate::hal::gpu::kernel::{FlattenedKind, LoadedKernel, MOST_WORDS};
use crate::launch::adaptivity::Adaptivity;
use crate::launch::desc::{HostAddresses, LaunchDesc};

/// Kernels whose launches are kept. More than that replace each other, where they share a place.
const PLACES: usize = 16;

/// Launches of a kernel that are kept, such as those of two buffers that are swapped.
const WAYS: usize = 2;

/// So many launches are kept without any being made again; after that, one in [`PAUSE`] is.
const PATIENCE: u32 = 8;

/// See [`PATIENCE`].
const PAUSE: u32 = 32;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    places: [Option<Box<Place>>; PLACES],
}

/// The launches of one kernel.
#[derive(Debug)]
pub(super) struct Place {
    /// Of the versions.
    number: u64,
    kept: [Option<KeptLaunch>; WAYS],
    /// The one to replace.
    next: usize,
    patience: u32,
    /// Launches that were not kept for lack of patience.
    passed: u32,
}

impl Repeats {
    const fn index(number: u64) -> usize {
        number as usize % PLACES
    }

    /// Takes the launches of some versions.
    #[inline]
    pub(super) fn take(&mut self, number: u64) -> Option<Box<Place>> {
        let place = &mut self.places[Self::index(number)];
        if place.as_ref()?.number == number { place.take() } else { None }
    }

    /// Forgets those of versions that are not `known`.
    pub(super) fn retain(&mut self, known: impl Fn(u64) -> bool) {
        for place in &mut self.places {
            *place = place.take().filter(|place| known(place.number));
        }
    }

    /// Gives back what was [taken](Self::take).
    #[inline]
    pub(super) fn give(&mut self, place: Box<Place>) {
        let index = Self::index(place.number);
        self.places[index] = Some(place);
    }

    /// Keeps a launch that is not among the kept ones, if its kernel is launched repeatedly; `kept` makes
    /// of it what is kept.
    pub(super) fn keep(&mut self, number: u64, kept: impl FnOnce() -> Option<KeptLaunch>) {
        let place = &mut self.places[Self::index(number)];
        let Some(place) = place.as_mut().filter(|place| place.number == number) else {
            let (kept, next, patience, passed) = (Default::default(), 0, PATIENCE, 0);
            *place = Some(Box::new(Place { number, kept, next, patience, passed }));
            return;
        };
        if place.patience == 0 {
            place.passed += 1;
            if place.passed < PAUSE {
                return;
            }
            place.passed = 0;
            place.patience = 1;
        }
        place.patience -= 1;
        place.kept[place.next] = kept();
        place.next = (place.next + 1) % WAYS;
    }
}

impl Place {
    /// The launch that is the same as this one, which gets this one's values.
    ///
    /// # Safety
    /// The closure is of the kernel's type.
    #[inline]
    pub(super) unsafe fn same(
        &mut self,
        launch: &LaunchDesc<'_>,
        versions: KnownVersions,
    ) -> Option<&KeptLaunch> {
        let mut room = [const { MaybeUninit::uninit() }; MOST_WORDS];
        // SAFETY: the caller's promise; larger closures are not kept, and nothing is read of them.
        let closure = unsafe {
            read_words(launch.kernel.closure.cast(), launch.kernel.layout.size(), &mut room)
        }?;
        let found = self.kept.iter().position(|kept| {
            kept.as_ref().is_some_and(|kept| kept.is_same(launch, closure, versions))
        })?;
        self.patience = PATIENCE;
        // The other one was used longer ago.
        self.next = (found + 1) % WAYS;
        let kept = self.kept[found].as_ref()?;
        // SAFETY: there is room for as many words, which nothing refers to but the driver, when it is
        // called.
        unsafe { kept.values.as_ptr().copy_from_nonoverlapping(closure.as_ptr(), closure.len()) };
        Some(kept)
    }
}

/// A launch that was submitted.
#[derive(Debug)]
pub(super) struct KeptLaunch {
    pub(super) kernel: Arc<LoadedKernel>,
    xyz: [usize; 3],
    offset: [usize; 3],
    /// Work-items of a group, and bytes of local memory that the launch adds.
    groups: Option<([usize; 3], usize)>,
    block_size: Option<usize>,
    adaptivity: Adaptivity,
    /// See [`KnownVersions`].
    attention: Attention,
    /// How often windows had changed.
    windows: u64,
    /// The host's addresses of what the kernel may change.
    pub(super) changed: Box<[usize]>,
    pub(super) blocks: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared: u32,
    /// The closure with addresses of the host's; then the addresses of the device's; then what the kernel
    /// takes beside its closure. Lines are freed in the drop.
    values: NonNull<u64>,
    lines: usize,
    /// Words of the closure.
    words: usize,
    /// Where the address of the message buffer is.
    buffer: Option<NonNull<u64>>,
    /// Where the values of all parameters are.
    parameters: Box<[*mut c_void]>,
}

/// As much as closures are aligned to, or more.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "it is used by its address")] [u64; 8]);

// SAFETY: it owns what its pointers refer to.
unsafe impl Send for KeptLaunch {}

impl Drop for KeptLaunch {
    fn drop(&mut self) {
        let lines =
            std::ptr::slice_from_raw_parts_mut(self.values.as_ptr().cast::<Line>(), self.lines);
        // SAFETY: it came from a box of as many.
        drop(unsafe { Box::from_raw(lines) });
    }
}

impl KeptLaunch {
    /// A launch that was submitted with this code; `None` if each such launch differs, or is rare.
    ///
    /// # Safety
    /// The code is the kernel's, and the closure is of its type.
    pub(super) unsafe fn new(
        kernel: &Arc<LoadedKernel>,
        launch: &LaunchDesc<'_>,
        (blocks, block, shared): ([u32; 3], [u32; 3], u32),
        attention: Attention,
        translate: impl Fn(usize) -> Option<u64>,
    ) -> Option<Self> {
        let is_kept = kernel.masks.is_some()
            && !kernel.base
            && !kernel.allocates()
            && !kernel.is_undone
            && !launch.timed
            && launch.host_addresses == HostAddresses::None;
        if !is_kept {
            return None;
        }
        let range = launch.range;
        let windows = address_window::changes();
        let mut room = [const { MaybeUninit::uninit() }; MOST_WORDS];
        let size = launch.kernel.layout.size();
        // SAFETY: the caller's promise.
        let closure = unsafe { read_words(launch.kernel.closure.cast(), size, &mut room) }?;
        let words = closure.len();
        let mut values = closure.to_vec();
        // Where each parameter's value is, in bytes.
        let (mut places, mut changed) = (Vec::new(), Vec::new());
        let next = |values: &mut Vec<u64>, value: u64| {
            values.push(value);
            8 * (values.len() - 1)
        };
        for parameter in &kernel.flattened {
            places.push(match parameter.kind {
                FlattenedKind::Value => parameter.offset,
                FlattenedKind::Pointer { readonly } => {
                    let bytes = closure.as_ptr().cast::<u8>();
                    // SAFETY: parameters lie in the closure.
                    let address =
                        unsafe { bytes.add(parameter.offset).cast::<usize>().read_unaligned() };
                    changed.extend((!readonly).then_some(address));
                    next(&mut values, translate(address)?)
                }
                FlattenedKind::Bytes { .. } => return None,
            });
        }
        let offset = kernel.offset.then_some(range.offset).into_iter().flatten();
        let xyz = &range.xyz[..range.dimensions as usize];
        let xyz = kernel.takes_range().then_some(xyz).into_iter().flatten().copied();
        places.extend(offset.chain(xyz).map(|word| next(&mut values, word as u64)));
        let buffer = kernel.takes_message_buffer().then(|| next(&mut values, 0));
        places.extend(buffer);
        let lines = vec![Line([0; 8]); values.len().div_ceil(8)].into_boxed_slice();
        let (count, lines) = (lines.len(), NonNull::from(Box::leak(lines)).cast::<u64>());
        // SAFETY: the lines have room for as many words.
        unsafe { lines.as_ptr().copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        // SAFETY: places are in the lines.
        let at = |place: usize| unsafe { lines.byte_add(place) };
        Some(Self {
            kernel: Arc::clone(kernel),
            xyz: range.xyz,
            offset: range.offset,
            groups: launch.groups.as_ref().map(|groups| (groups.local.xyz, groups.dynamic)),
            block_size: launch.block_size,
            adaptivity: launch.adaptivity,
            attention,
            windows,
            changed: changed.into(),
            blocks,
            block,
            shared,
            values: lines,
            lines: count,
            words,
            buffer: buffer.map(at),
            parameters: places.into_iter().map(|place| at(place).as_ptr().cast()).collect(),
        })
    }

    /// Whether a launch of the same kernel is the same, but for values by which nothing is decided.
    #[inline]
    fn is_same(&self, launch: &LaunchDesc<'_>, closure: &[u64], versions: KnownVersions) -> bool {
        let has_seen = match versions.attention {
            Attention::Asleep => true,
            Attention::Window(_) => self.attention == versions.attention,
            Attention::Full => false,
        };
        let exactly = versions.by_all_values || versions.attention != Attention::Asleep;
        let groups = launch.groups.as_ref().map(|groups| (groups.local.xyz, groups.dynamic));
        let Some(masks) = &self.kernel.masks else { return false };
        // SAFETY: there are as many words, which have values.
        let own = unsafe { std::slice::from_raw_parts(self.values.as_ptr(), self.words) };
        let words = own.iter().zip(closure).zip(&**masks);
        let differ = words.fold(0, |all, ((own, other), mask)| {
            all | (own ^ other) & if exactly { mask[0] | mask[1] } else { mask[0] }
        });
        has_seen
            && differ == 0
            && self.windows == address_window::changes()
            && (self.xyz, self.offset) == (launch.range.xyz, launch.range.offset)
            && self.groups == groups
            && self.block_size == launch.block_size
            && self.adaptivity == launch.adaptivity
            && !launch.timed
            && launch.host_addresses == HostAddresses::None
    }

    /// The parameters, with the address of a message buffer.
    #[inline]
    pub(super) fn parameters(&self, buffer: u64) -> *mut *mut c_void {
        if let Some(place) = self.buffer {
            // SAFETY: it is a word of the values, which nothing refers to but the driver, when it is
            // called.
            unsafe { place.write(buffer) };
        }
        // The driver only reads.
        self.parameters.as_ptr().cast_mut()
    }
}
