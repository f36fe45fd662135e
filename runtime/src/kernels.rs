//! The kernels that were compiled in this process.
//!
//! Two levels: a map by content, in which each kernel is compiled once however many threads and shared objects ask for it, and
//! for each launch site's descriptor an entry that answers without looking anything up.

use std::collections::HashMap;
use std::str;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use schism_hcf::{ImageRef, KernelRef, ObjectId, RecordRef};

use crate::__private::{DESCRIPTOR_ABI, Descriptor};
use crate::cpu_kernel::{CpuKernel, CpuObject};
use crate::cpu_math;
use crate::cuda::{Context, CudaKernel};
use crate::error::ImageError;
use crate::kernel_cache;
use crate::launch::RawKernel;
use crate::options::{Math, Options};
use crate::registry;
use crate::spec_const::Place;

/// The format of the images that stage 2 compiles from.
const FORMAT: &str = "llvm-ir";

type Compiled<K> = Result<Arc<K>, ImageError>;

/// A kernel on a device, by content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    object: ObjectId,
    kernel: String,
    /// The id of a GPU's context, or [`CPU`].
    device: u64,
    variant: Variant,
}

/// The device `cpu`. Contexts have other numbers.
const CPU: u64 = 0;

/// What a launch asks for beside its kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// It begins elsewhere than at zero.
    pub(crate) offset: bool,
    pub(crate) options: Option<&'a Options>,
}

/// A specialization constant's symbol, and its value's bytes.
type ConstantValue = (String, Box<[u8]>);

/// What of that makes a difference to the code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Variant {
    pub(crate) offset: bool,
    pub(crate) math: Math,
    /// Whether mathematics comes from schism's own library.
    pub(crate) portable: bool,
    /// The values of specialization constants that are not the defaults, in the container's order.
    pub(crate) constants: Vec<ConstantValue>,
    /// What code for a GPU is prepared for.
    pub(crate) gpu: GpuVariant,
}

/// What code for a GPU is prepared for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct GpuVariant {
    /// Ids need more than 31 bits.
    pub(crate) wide: bool,
    /// The launch is larger than a grid can be, and comes in pieces.
    pub(crate) pieces: bool,
    /// The threads of a block, if the code is for no other number; else zeros.
    pub(crate) block: [u32; 3],
}

/// A kernel that is compiled, or being compiled.
#[derive(Debug)]
struct Slot<K> {
    compiled: Arc<OnceLock<Compiled<K>>>,
    /// When it was last asked for, by [`Kernels::clock`].
    used: u64,
}

impl<K> Default for Slot<K> {
    fn default() -> Self {
        Self { compiled: Arc::default(), used: 0 }
    }
}

/// All kernels of one kind of device.
#[derive(Debug)]
struct Kernels<K> {
    slots: HashMap<Key, Slot<K>>,
    /// Counts what is asked for.
    clock: u64,
}

impl<K> Default for Kernels<K> {
    fn default() -> Self {
        Self { slots: HashMap::new(), clock: 0 }
    }
}

/// With more values of specialization constants than this, the kernel that was not used for the longest time is forgotten.
const MOST_SPECIALISED: usize = 256;

impl<K> Kernels<K> {
    /// The kernel's place, and what had to go for it: that is to be dropped without the lock, since that takes calls of the system.
    fn slot(&mut self, key: Key) -> (Arc<OnceLock<Compiled<K>>>, Option<Slot<K>>) {
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
        let slot = self.slots.entry(key).or_default();
        slot.used = self.clock;
        (Arc::clone(&slot.compiled), gone)
    }
}

/// What a descriptor's slot points to. Entries are never freed, so a launch may look at one at any time; what they hold is.
#[derive(Debug)]
struct Entry {
    container: usize,
    /// Without options: for launches that begin at zero, and for others.
    compiled: [RwLock<Option<Compiled<CpuKernel>>>; 2],
    /// The same for GPUs.
    cuda: RwLock<Vec<OnGpu>>,
}

/// A kernel without options, in a context.
#[derive(Debug)]
struct OnGpu {
    context: u64,
    offset: bool,
    variant: GpuVariant,
    compiled: Compiled<CudaKernel>,
}

/// The kernels of one kind of device, for all of the process.
struct Table<K>(OnceLock<Mutex<Kernels<K>>>);

impl<K> Table<K> {
    const fn new() -> Self {
        Self(OnceLock::new())
    }

    fn lock(&self) -> MutexGuard<'_, Kernels<K>> {
        self.0.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out kernels. They are freed by whoever drops what this returns, without the lock: that runs code of stage 2, or of a
    /// driver.
    fn take_out(&self, which: impl Fn(&Key) -> bool) -> Vec<(Key, Slot<K>)> {
        self.lock().slots.extract_if(|key, _| which(key)).collect()
    }
}

static ON_CPU: Table<CpuKernel> = Table::new();
static ON_CUDA: Table<CudaKernel> = Table::new();
static ENTRIES: Mutex<Vec<&'static Entry>> = Mutex::new(Vec::new());

fn entries() -> MutexGuard<'static, Vec<&'static Entry>> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The compiled kernel for the device `cpu`, as the launch asks for it: where there is one, and it begins elsewhere than at zero,
/// the variant that takes where it begins.
///
/// # Safety
/// `descriptor` is the kernel's own, and its shared object is loaded.
pub(crate) unsafe fn for_cpu(
    descriptor: &Descriptor,
    kernel: &RawKernel,
    asked: Asked<'_>,
) -> Compiled<CpuKernel> {
    if descriptor.abi != DESCRIPTOR_ABI {
        // Nothing after this field can be trusted.
        return Err(ImageError::Version { found: descriptor.abi, expected: DESCRIPTOR_ABI });
    }
    if asked.options.is_some() {
        // SAFETY: the caller's promises.
        return unsafe { look_up_for_cpu(descriptor, kernel, asked) };
    }
    // SAFETY: only `entry` stores here, and entries live forever.
    if let Some(entry) = unsafe { descriptor.slot.load(Ordering::Acquire).cast::<Entry>().as_ref() }
        && let Some(compiled) = &*entry.compiled[usize::from(asked.offset)]
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    {
        tracing::debug!(kernel = kernel.name(), "cached");
        return compiled.clone();
    }
    // SAFETY: the caller's promises.
    let compiled = unsafe { look_up_for_cpu(descriptor, kernel, asked) };
    let entry = entry(descriptor);
    *entry.compiled[usize::from(asked.offset)].write().unwrap_or_else(PoisonError::into_inner) =
        Some(compiled.clone());
    compiled
}

/// # Safety
/// As for [`for_cpu`].
unsafe fn look_up_for_cpu(
    descriptor: &Descriptor,
    kernel: &RawKernel,
    asked: Asked<'_>,
) -> Compiled<CpuKernel> {
    let compile = |record: &RecordRef<'_>,
                   kernel: &KernelRef<'_>,
                   image: &ImageRef<'_>,
                   variant: &Variant| {
        let found = CpuObject::get_or_compile(record, kernel, variant, image.data)?;
        let compiled = CpuKernel::load(&found.value, kernel)?;
        kernel_cache::trace(kernel, &found, compiled.code_size());
        Ok(compiled)
    };
    // SAFETY: the caller's promises.
    unsafe { look_up(&ON_CPU, descriptor, kernel, asked, CPU, GpuVariant::default(), compile) }
}

/// The compiled kernel in a context of a GPU, for launches that it is prepared for.
///
/// # Safety
/// As for [`for_cpu`].
pub(crate) unsafe fn for_cuda(
    descriptor: &Descriptor,
    kernel: &RawKernel,
    asked: Asked<'_>,
    context: &Arc<Context>,
    variant: GpuVariant,
) -> Compiled<CudaKernel> {
    if descriptor.abi != DESCRIPTOR_ABI {
        return Err(ImageError::Version { found: descriptor.abi, expected: DESCRIPTOR_ABI });
    }
    let compile = |record: &RecordRef<'_>,
                   kernel: &KernelRef<'_>,
                   image: &ImageRef<'_>,
                   variant: &Variant| {
        CudaKernel::get_or_compile(context, record, image.data, kernel, variant)
    };
    // SAFETY: the caller's promises.
    let look_up =
        || unsafe { look_up(&ON_CUDA, descriptor, kernel, asked, context.id(), variant, compile) };
    if asked.options.is_some() {
        return look_up();
    }
    let here = |known: &&OnGpu| {
        (known.context, known.offset, known.variant) == (context.id(), asked.offset, variant)
    };
    // SAFETY: only `entry` stores here, and entries live forever.
    let entry_here = unsafe { descriptor.slot.load(Ordering::Acquire).cast::<Entry>().as_ref() };
    if let Some(entry) = entry_here
        && let Some(known) =
            entry.cuda.read().unwrap_or_else(PoisonError::into_inner).iter().find(here)
    {
        return known.compiled.clone();
    }
    let compiled = look_up();
    let mut known = entry(descriptor).cuda.write().unwrap_or_else(PoisonError::into_inner);
    if !known.iter().any(|known| here(&known)) {
        let (context, offset, compiled) = (context.id(), asked.offset, compiled.clone());
        known.push(OnGpu { context, offset, variant, compiled });
    }
    compiled
}

/// The descriptor's entry, made by whoever comes first.
fn entry(descriptor: &Descriptor) -> &'static Entry {
    let mut entries = entries();
    // SAFETY: only this function stores here, and entries live forever.
    if let Some(entry) = unsafe { descriptor.slot.load(Ordering::Acquire).cast::<Entry>().as_ref() }
    {
        return entry;
    }
    let container = descriptor.container_begin as usize;
    let entry: &'static Entry = Box::leak(Box::new(Entry {
        container,
        compiled: Default::default(),
        cuda: RwLock::default(),
    }));
    entries.push(entry);
    descriptor.slot.store(std::ptr::from_ref(entry).cast_mut().cast(), Ordering::Release);
    entry
}

/// # Safety
/// As for [`for_cpu`].
unsafe fn look_up<K>(
    table: &'static Table<K>,
    descriptor: &Descriptor,
    kernel: &RawKernel,
    asked: Asked<'_>,
    device: u64,
    gpu: GpuVariant,
    compile: impl FnOnce(
        &RecordRef<'_>,
        &KernelRef<'_>,
        &ImageRef<'_>,
        &Variant,
    ) -> Result<K, ImageError>,
) -> Compiled<K> {
    let container = registry::container_of(descriptor);
    // SAFETY: the caller keeps the shared object loaded.
    let record = unsafe { container.record()? };
    // SAFETY: stage 1 wrote pointer and length of a constant.
    let name = unsafe { std::slice::from_raw_parts(descriptor.name, descriptor.name_len) };
    let name = str::from_utf8(name)
        .map_err(|_| ImageError::Mismatch { reason: "a kernel's name is not UTF-8".to_owned() })?;
    let variant = Variant {
        offset: asked.offset,
        math: asked.options.map_or(Math::Exact, |options| options.math),
        // There is no queue for the device if this is an error.
        portable: cpu_math::portable().unwrap_or_default(),
        constants: asked.options.map_or(Ok(Vec::new()), |options| values(record, name, options))?,
        gpu,
    };
    let key = Key {
        object: record.object_id(),
        kernel: name.to_owned(),
        device,
        variant: variant.clone(),
    };
    let (slot, gone) = table.lock().slot(key);
    drop(gone);
    if let Some(compiled) = slot.get() {
        tracing::debug!(kernel = name, object = %record.object_id(), "cached");
        return compiled.clone();
    }
    // Only those who want the same kernel wait for its compilation.
    let compile = || {
        let (kernel, image) = find(record, name, descriptor.dimensions, kernel)?;
        compile(record, kernel, image, &variant).map(Arc::new)
    };
    slot.get_or_init(compile).clone()
}

/// The values that a launch gives to the constants that a kernel reads, where those are not the defaults.
fn values(
    record: &RecordRef<'_>,
    kernel: &str,
    options: &Options,
) -> Result<Vec<ConstantValue>, ImageError> {
    let read = record.kernel(kernel).map_or(&[][..], |kernel| &kernel.spec_constants);
    let mut values = Vec::new();
    for constant in read.iter().filter_map(|symbol| record.spec_constant(symbol)) {
        let here = |place: &Place| {
            (place.name, place.line, place.column)
                == (&*constant.place, constant.line, constant.column)
        };
        let Some(value) = options
            .values()
            .iter()
            .find(|value| here(&value.place) && value.bytes.len() == constant.default.len())
        else {
            continue;
        };
        let other = record.spec_constants().iter().find(|other| {
            other.symbol != constant.symbol
                && (&other.place, other.line, other.column)
                    == (&constant.place, constant.line, constant.column)
        });
        if let Some(other) = other {
            let (first, second) = (constant.path.to_string(), other.path.to_string());
            return Err(ImageError::AmbiguousConstant { first, second });
        }
        if *value.bytes != *constant.default {
            values.push((constant.symbol.to_string(), value.bytes.clone()));
        }
    }
    Ok(values)
}

/// A kernel in its container, and the image that it is compiled from.
fn find<'r, 'a>(
    record: &'r RecordRef<'a>,
    name: &str,
    dimensions: u32,
    raw: &RawKernel,
) -> Result<(&'r KernelRef<'a>, &'r ImageRef<'a>), ImageError> {
    let mismatch = |reason: String| Err(ImageError::Mismatch { reason });
    let Some(kernel) = record.kernel(name) else {
        return mismatch(format!("it has no kernel {name}"));
    };
    if kernel.dimensions != dimensions {
        return mismatch(format!(
            "{} dimensions where the launch has {dimensions}",
            kernel.dimensions
        ));
    }
    let (size, align) = (raw.layout.size() as u64, raw.layout.align() as u64);
    if (kernel.closure_size, kernel.closure_align) != (size, align) {
        return mismatch(format!(
            "captures of {} bytes aligned to {}, where the program has {size} aligned to {align}",
            kernel.closure_size, kernel.closure_align
        ));
    }
    // A crate's kernels may be divided among several images.
    let mut images = kernel.images.iter().filter_map(|image| record.image(image));
    let Some(image) = images.find(|image| image.format == FORMAT) else {
        return Err(ImageError::NoImage { available: kernel.images.join(", ") });
    };
    Ok((kernel, image))
}

/// The container at `container` is going; `remaining` are the ids of those that stay. Launches that are still running keep their
/// code until they end.
pub(crate) fn forget(container: usize, remaining: &[ObjectId]) {
    entries().retain(|entry| {
        let stays = entry.container != container;
        if !stays {
            for compiled in &entry.compiled {
                compiled.write().unwrap_or_else(PoisonError::into_inner).take();
            }
            entry.cuda.write().unwrap_or_else(PoisonError::into_inner).clear();
        }
        stays
    });
    drop(ON_CPU.take_out(|key| !remaining.contains(&key.object)));
    drop(ON_CUDA.take_out(|key| !remaining.contains(&key.object)));
}

/// A context was lost, and the kernels in it with it.
pub(crate) fn forget_context(context: u64) {
    for entry in entries().iter() {
        let mut known = entry.cuda.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| known.context != context);
    }
    drop(ON_CUDA.take_out(|key| key.device == context));
}

#[cfg(test)]
mod tests {
    use std::any::type_name;
    use std::sync::atomic::AtomicPtr;

    use schism_hcf::{Container, Image, Kernel};

    use super::*;
    use crate::item::Item;

    /// What `for_cpu` says of a kernel without captures, in a container of these bytes.
    fn ask(name: &str, container: &[u8], abi: u32, dimensions: u32) -> ImageError {
        // Aligned like a section, and there for good: the registry keeps what it has read.
        let container: &'static mut [u128] =
            vec![0; container.len().div_ceil(16)].leak().tap(container);
        let begin = container.as_ptr().cast::<u8>();
        let descriptor = Descriptor {
            abi,
            dimensions,
            name: name.as_ptr(),
            name_len: name.len(),
            container_begin: begin,
            container_end: begin.wrapping_add(size_of_val(container)),
            slot: AtomicPtr::default(),
        };
        let kernel = |_: Item<1>| ();
        let raw = RawKernel::new::<_, 1>(&raw const kernel, type_name::<()>);
        // SAFETY: the descriptor is made for this kernel, as far as this test wants it.
        let first = unsafe { for_cpu(&descriptor, &raw, Asked { offset: false, options: None }) }
            .expect_err("no such kernel");
        // SAFETY: as above.
        let again = unsafe { for_cpu(&descriptor, &raw, Asked { offset: false, options: None }) }
            .expect_err("no such kernel");
        assert_eq!(first.to_string(), again.to_string());
        forget(begin as usize, &[]);
        first
    }

    trait Tap {
        fn tap(self, bytes: &[u8]) -> Self;
    }

    impl Tap for &'static mut [u128] {
        fn tap(self, bytes: &[u8]) -> Self {
            // SAFETY: room for as many bytes was made, and any bytes are numbers.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.as_mut_ptr().cast(), bytes.len())
            };
            self
        }
    }

    fn container(format: &str, closure_size: u64) -> Vec<u8> {
        let image = Image {
            name: format!("{format}.image"),
            format: format.to_owned(),
            variant: "global-module".to_owned(),
            code: None,
            exported_symbols: vec!["kernel".to_owned()],
            imported_symbols: Vec::new(),
            data: b"BC".to_vec(),
        };
        let kernel = Kernel {
            name: "kernel".to_owned(),
            display_name: "kernel".to_owned(),
            dimensions: 1,
            closure_size,
            closure_align: 1,
            parameters: Vec::new(),
            images: vec![format!("{format}.image")],
            can_panic: false,
            groups: None,
            offset_variant: None,
            spec_constants: Vec::new(),
            aspects: Vec::new(),
            content: None,
        };
        let container = Container {
            spec_constants: Vec::new(),
            generator: "test".to_owned(),
            llvm_version: "22".to_owned(),
            crate_name: "test".to_owned(),
            images: vec![image],
            kernels: vec![kernel],
        };
        container.to_record().expect("a good container")
    }

    #[test]
    fn damaged_containers() {
        assert!(matches!(ask("kernel", &[], DESCRIPTOR_ABI, 1), ImageError::Container(_)));
        assert!(matches!(ask("kernel", &[0; 64], DESCRIPTOR_ABI, 1), ImageError::Container(_)));
        let mut flipped = container(FORMAT, 0);
        let middle = flipped.len() / 2;
        flipped[middle] ^= 1;
        assert!(matches!(ask("kernel", &flipped, DESCRIPTOR_ABI, 1), ImageError::Container(_)));
    }

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
        assert!(kernels.slot(key(None)).1.is_none());
        for seed in 0..MOST_SPECIALISED {
            assert!(kernels.slot(key(Some(seed))).1.is_none());
        }
        // The first is used again, so the second is the oldest; the one without values stays.
        let (first, gone) = kernels.slot(key(Some(0)));
        assert!(gone.is_none());
        for seed in MOST_SPECIALISED..2 * MOST_SPECIALISED - 1 {
            assert!(kernels.slot(key(Some(seed))).1.is_some());
            assert_eq!(kernels.slots.len(), MOST_SPECIALISED + 1);
        }
        assert!(Arc::ptr_eq(&first, &kernels.slot(key(Some(0))).0));
        assert!(!kernels.slots.contains_key(&key(Some(1))));
        assert!(kernels.slots.contains_key(&key(None)));
    }

    #[test]
    fn containers_of_something_else() {
        let good = container(FORMAT, 0);
        let mismatch = |error| match error {
            ImageError::Mismatch { reason } => reason,
            other => panic!("{other}"),
        };
        assert!(mismatch(ask("other", &good, DESCRIPTOR_ABI, 1)).contains("no kernel other"));
        assert!(mismatch(ask("kernel", &good, DESCRIPTOR_ABI, 2)).contains("1 dimensions"));
        assert!(
            mismatch(ask("kernel", &container(FORMAT, 8), DESCRIPTOR_ABI, 1)).contains("8 bytes")
        );
        let foreign = ask("kernel", &container("ptx", 0), DESCRIPTOR_ABI, 1);
        assert!(matches!(foreign, ImageError::NoImage { available } if available == "ptx.image"));
        assert!(matches!(ask("kernel", &good, 99, 1), ImageError::Version { found: 99, .. }));
    }
}
