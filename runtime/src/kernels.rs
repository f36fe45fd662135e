//! The kernels that were compiled in this process.
//!
//! Two levels: a map by content, in which each kernel has its versions however many threads and shared objects ask for it, and
//! for each launch site's descriptor an entry that answers without looking anything up.

use std::alloc::Layout;
use std::collections::HashMap;
use std::str;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Instant;

use schism_hcf::{ImageRef, KernelRef, ObjectId, RecordRef};

use crate::__private::{DESCRIPTOR_ABI, Descriptor};
use crate::adaptivity::Adaptivity;
use crate::ahead::{self, Ahead, On};
use crate::background;
use crate::cpu_kernel::{CpuKernel, CpuObject};
use crate::cpu_math;
use crate::cuda::{Context, CudaKernel};
use crate::error::ImageError;
use crate::facts::{Facts, Leaves};
use crate::kernel_cache;
use crate::launch::RawKernel;
use crate::options::{Math, Options};
use crate::registry;
use crate::spec_const::Place;
use crate::variant::{ConstantValue, Variant};
use crate::versions::{Compiled, Family, Launch, Wish};
use crate::watch::Watch;

/// The format of the images that stage 2 compiles from.
const FORMAT: &str = "llvm-ir";

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
    pub(crate) adaptivity: Adaptivity,
}

/// What a launch on a GPU asks for beside that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedOfGpu {
    /// The launch is larger than a grid can be, and comes in pieces.
    pub(crate) pieces: bool,
    /// What holds for it, but for its addresses.
    pub(crate) facts: Facts,
    /// Its blocks are groups.
    pub(crate) groups: bool,
    /// Only code for these blocks will do.
    pub(crate) demands_block: bool,
}

/// All versions of a kernel.
#[derive(Debug)]
struct Slot<K> {
    family: Arc<Family<K>>,
    /// When it was last asked for, by [`Kernels::clock`].
    used: u64,
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
    fn slot(
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

/// What a descriptor's slot points to. Entries are never freed, so a launch may look at one at any time; the code that they lead to
/// is.
#[derive(Debug)]
struct Entry {
    container: usize,
    /// Without options: for launches that begin at zero, and for others.
    cpu: [OnceLock<Arc<Family<CpuKernel>>>; 2],
    /// The same for GPUs.
    cuda: RwLock<Vec<OnGpu>>,
}

/// A kernel without options, in a context.
#[derive(Debug)]
struct OnGpu {
    context: u64,
    offset: bool,
    pieces: bool,
    family: Arc<Family<CudaKernel>>,
}

/// The kernels of one kind of device, for all of the process.
pub(crate) struct Table<K>(OnceLock<Mutex<Kernels<K>>>);

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

    fn forget(&self, which: impl Fn(&Key) -> bool) {
        for (_, slot) in self.take_out(which) {
            // Entries may have it, too.
            slot.family.clear();
        }
    }
}

static ON_CPU: Table<CpuKernel> = Table::new();
static ON_CUDA: Table<CudaKernel> = Table::new();
static ENTRIES: Mutex<Vec<&'static Entry>> = Mutex::new(Vec::new());

fn entries() -> MutexGuard<'static, Vec<&'static Entry>> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What code is made for.
trait Target: Clone + Send + 'static {
    type Kernel: Send + Sync + 'static;

    fn table() -> &'static Table<Self::Kernel>;

    /// Tells devices apart.
    fn id(&self) -> u64;

    fn name(&self) -> &str;

    /// Takes note of launches of a kernel.
    fn watch(leaves: &Leaves) -> Watch;

    /// For which device code that was made ahead of time is looked for.
    fn on(&self) -> On;

    /// Loads code that was made ahead of time.
    fn load(
        &self,
        ahead: &Ahead<'_, '_>,
        kernel: &KernelRef<'_>,
        variant: &Variant,
    ) -> Result<Self::Kernel, ImageError>;

    /// Finds or makes code.
    fn compile(
        &self,
        record: &RecordRef<'_>,
        kernel: &KernelRef<'_>,
        image: &[u8],
        variant: &Variant,
    ) -> Result<Self::Kernel, ImageError>;
}

/// The processor of this process.
#[derive(Clone, Copy, Debug)]
struct Cpu;

impl Target for Cpu {
    type Kernel = CpuKernel;

    fn table() -> &'static Table<CpuKernel> {
        &ON_CPU
    }

    fn id(&self) -> u64 {
        CPU
    }

    fn name(&self) -> &str {
        "cpu"
    }

    fn watch(leaves: &Leaves) -> Watch {
        // What a GPU gains by a simple number, this one's vectors and predictions mostly have anyway.
        if leaves.scalars.is_empty() { Watch::blind() } else { Watch::new(false) }
    }

    fn on(&self) -> On {
        On::Cpu
    }

    fn load(
        &self,
        ahead: &Ahead<'_, '_>,
        kernel: &KernelRef<'_>,
        variant: &Variant,
    ) -> Result<CpuKernel, ImageError> {
        CpuKernel::ahead(ahead, kernel, variant)
    }

    fn compile(
        &self,
        record: &RecordRef<'_>,
        kernel: &KernelRef<'_>,
        image: &[u8],
        variant: &Variant,
    ) -> Result<CpuKernel, ImageError> {
        let started = Instant::now();
        let found = CpuObject::get_or_compile(record, kernel, variant, image)?;
        let compiled = CpuKernel::load(&found.value, kernel, variant)?;
        let code_bytes = compiled.code_size();
        kernel_cache::trace(kernel, self.name(), variant, &found, code_bytes, started);
        Ok(compiled)
    }
}

impl Target for Arc<Context> {
    type Kernel = CudaKernel;

    fn table() -> &'static Table<CudaKernel> {
        &ON_CUDA
    }

    fn id(&self) -> u64 {
        Context::id(self)
    }

    fn name(&self) -> &str {
        Context::name(self)
    }

    fn watch(_: &Leaves) -> Watch {
        Watch::new(true)
    }

    fn on(&self) -> On {
        self.ahead()
    }

    fn load(
        &self,
        ahead: &Ahead<'_, '_>,
        kernel: &KernelRef<'_>,
        variant: &Variant,
    ) -> Result<CudaKernel, ImageError> {
        CudaKernel::ahead(self, ahead, kernel, variant)
    }

    fn compile(
        &self,
        record: &RecordRef<'_>,
        kernel: &KernelRef<'_>,
        image: &[u8],
        variant: &Variant,
    ) -> Result<CudaKernel, ImageError> {
        CudaKernel::get_or_compile(self, record, image, kernel, variant)
    }
}

/// Where a kernel is launched.
#[derive(Clone, Copy)]
struct Site {
    descriptor: *const Descriptor,
    /// That of the closure.
    layout: Layout,
}

// SAFETY: a descriptor is a constant, but for its slot, which is atomic.
unsafe impl Send for Site {}

/// The compiled kernel for the device `cpu`, as the launch asks for it: where there is one, and it begins elsewhere than at zero,
/// the variant that takes where it begins.
///
/// # Safety
/// `descriptor` is the kernel's own, and its shared object is loaded. The closure is there.
pub(crate) unsafe fn for_cpu(
    descriptor: &Descriptor,
    kernel: &RawKernel,
    asked: Asked<'_>,
) -> Compiled<CpuKernel> {
    if descriptor.abi != DESCRIPTOR_ABI {
        // Nothing after this field can be trusted.
        return Err(ImageError::Version { found: descriptor.abi, expected: DESCRIPTOR_ABI });
    }
    let launch = Launch {
        facts: Facts::default(),
        closure: kernel.closure.cast(),
        groups: false,
        demands_block: false,
        adaptivity: asked.adaptivity,
    };
    let site = Site { descriptor, layout: kernel.layout };
    // SAFETY: the caller's promises.
    let look_up = || unsafe { look_up(&Cpu, site, asked, false) };
    if asked.options.is_some() {
        let family = look_up()?;
        // SAFETY: the caller's promises.
        return unsafe { version(&family, &Cpu, site, &launch) };
    }
    // SAFETY: only `entry` stores here, and entries live forever.
    let known = unsafe { descriptor.slot.load(Ordering::Acquire).cast::<Entry>().as_ref() };
    let index = usize::from(asked.offset);
    let family = match known.and_then(|entry| entry.cpu[index].get()) {
        Some(family) => family,
        None => {
            let family = look_up()?;
            entry(descriptor).cpu[index].get_or_init(|| family)
        }
    };
    // SAFETY: the caller's promises.
    unsafe { version(family, &Cpu, site, &launch) }
}

/// The compiled kernel in a context of a GPU, for a launch that holds what `of_gpu` says.
///
/// # Safety
/// As for [`for_cpu`].
pub(crate) unsafe fn for_cuda(
    descriptor: &Descriptor,
    kernel: &RawKernel,
    asked: Asked<'_>,
    context: &Arc<Context>,
    of_gpu: AskedOfGpu,
) -> Compiled<CudaKernel> {
    if descriptor.abi != DESCRIPTOR_ABI {
        return Err(ImageError::Version { found: descriptor.abi, expected: DESCRIPTOR_ABI });
    }
    let AskedOfGpu { pieces, facts, groups, demands_block } = of_gpu;
    let site = Site { descriptor, layout: kernel.layout };
    // SAFETY: the caller's promises.
    let look_up = || unsafe { look_up(context, site, asked, pieces) };
    let here = |known: &&OnGpu| {
        known.context == context.id() && known.offset == asked.offset && known.pieces == pieces
    };
    let closure = kernel.closure.cast::<u8>();
    let launch_of = |family: &Family<CudaKernel>| {
        let adaptivity = asked.adaptivity;
        let mut facts = facts;
        if adaptivity != Adaptivity::Off {
            // SAFETY: the closure is of the kernel's type, and there.
            (facts.aligned, facts.narrow) = unsafe { family.leaves.facts(closure) };
        }
        Launch { facts, closure, groups, demands_block, adaptivity }
    };
    // SAFETY: only `entry` stores here, and entries live forever.
    let known = unsafe { descriptor.slot.load(Ordering::Acquire).cast::<Entry>().as_ref() };
    let mut family = None;
    if let Some(entry) = known.filter(|_| asked.options.is_none()) {
        let known = entry.cuda.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(OnGpu { family: known, .. }) = known.iter().find(here) {
            // SAFETY: the caller's promises.
            if let Some(ready) = unsafe { ready(known, context, site, &launch_of(known)) } {
                // As almost always.
                return Ok(ready);
            }
            family = Some(Arc::clone(known));
        }
    }
    let family = match family {
        Some(family) => family,
        None => {
            let family = look_up()?;
            if asked.options.is_none() {
                let entry = entry(descriptor);
                let mut known = entry.cuda.write().unwrap_or_else(PoisonError::into_inner);
                if !known.iter().any(|known| here(&known)) {
                    let (context, offset) = (context.id(), asked.offset);
                    known.push(OnGpu { context, offset, pieces, family: Arc::clone(&family) });
                }
            }
            family
        }
    };
    // SAFETY: the caller's promises.
    unsafe { version(&family, context, site, &launch_of(&family)) }
}

/// The version of a kernel for a launch, if there is one. What would be better for launches to come is left to the background.
///
/// # Safety
/// As for [`for_cpu`]; the family is the site's.
#[inline]
unsafe fn ready<T: Target>(
    family: &Arc<Family<T::Kernel>>,
    target: &T,
    site: Site,
    launch: &Launch,
) -> Option<Arc<T::Kernel>> {
    let launch = &launch.where_ahead(family.is_ahead);
    // SAFETY: a closure of the site's type, which was compared with the container's when the family was made.
    let (compiled, wish) = unsafe { family.ready(launch) }?;
    if let Some(wish) = wish {
        // SAFETY: the caller's promises.
        unsafe { leave_to_background(family, target.clone(), site, *wish) };
    }
    Some(compiled)
}

/// The version of a kernel for a launch, which is made if there is none.
///
/// # Safety
/// As for [`ready`].
unsafe fn version<T: Target>(
    family: &Arc<Family<T::Kernel>>,
    target: &T,
    site: Site,
    launch: &Launch,
) -> Compiled<T::Kernel> {
    // SAFETY: the caller's promises.
    if let Some(compiled) = unsafe { ready(family, target, site, launch) } {
        return Ok(compiled);
    }
    let launch = &launch.where_ahead(family.is_ahead);
    // SAFETY: the caller's promises.
    let compile = |wish: &Wish| unsafe { make(target, site, &family.variant, wish) };
    // SAFETY: as above.
    unsafe { family.make(launch, compile) }
}

/// # Safety
/// As for [`version`].
#[cold]
unsafe fn leave_to_background<T: Target>(
    family: &Arc<Family<T::Kernel>>,
    target: T,
    site: Site,
    wish: Wish,
) {
    // SAFETY: the caller keeps the shared object loaded.
    let container = unsafe { &*site.descriptor }.container_begin as usize;
    let family = Arc::clone(family);
    let run = move || {
        let site = site;
        // SAFETY: the shared object is there: its end waits for this work, or drops it. It is `forget` that sees to that.
        let (made, name) = unsafe {
            let made = make(&target, site, &family.variant, &wish);
            (made, name_of(&*site.descriptor).unwrap_or_default())
        };
        match made {
            Ok(made) => family.add(wish, made),
            Err(error) => tracing::debug!(
                kernel = name, device = target.name(), %error,
                "no better version; launches go on with what there is"
            ),
        }
    };
    if !background::submit(container, Box::new(run)) {
        tracing::debug!("the background has enough to do");
    }
}

/// Makes a version.
///
/// # Safety
/// The site's shared object is loaded.
unsafe fn make<T: Target>(
    target: &T,
    site: Site,
    base: &Variant,
    wish: &Wish,
) -> Compiled<T::Kernel> {
    // SAFETY: the caller's promise.
    let descriptor = unsafe { &*site.descriptor };
    let container = registry::container_of(descriptor);
    // SAFETY: as above.
    let record = unsafe { container.record()? };
    let (kernel, image) = find(record, name_of(descriptor)?, descriptor.dimensions, site.layout)?;
    let variant = Variant { facts: wish.facts, values: wish.values.clone(), ..base.clone() };
    let load = |ahead: &Ahead<'_, '_>| target.load(ahead, kernel, &variant);
    let compile = || target.compile(record, kernel, image.data(kernel)?, &variant);
    ahead::choose(record, kernel, &variant, target.on(), load, compile).map(Arc::new)
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
    let (cpu, cuda) = (Default::default(), RwLock::default());
    let entry: &'static Entry = Box::leak(Box::new(Entry { container, cpu, cuda }));
    entries.push(entry);
    descriptor.slot.store(std::ptr::from_ref(entry).cast_mut().cast(), Ordering::Release);
    entry
}

/// The kernel's name in the container.
fn name_of(descriptor: &Descriptor) -> Result<&str, ImageError> {
    // SAFETY: stage 1 wrote pointer and length of a constant.
    let name = unsafe { std::slice::from_raw_parts(descriptor.name, descriptor.name_len) };
    str::from_utf8(name)
        .map_err(|_| ImageError::Mismatch { reason: "a kernel's name is not UTF-8".to_owned() })
}

/// The versions of a kernel, for a closure of its type.
///
/// # Safety
/// The site's shared object is loaded.
unsafe fn look_up<T: Target>(
    target: &T,
    site: Site,
    asked: Asked<'_>,
    pieces: bool,
) -> Result<Arc<Family<T::Kernel>>, ImageError> {
    // SAFETY: the caller's promise.
    let descriptor = unsafe { &*site.descriptor };
    let container = registry::container_of(descriptor);
    // SAFETY: the caller keeps the shared object loaded.
    let record = unsafe { container.record()? };
    let name = name_of(descriptor)?;
    let (kernel, _) = find(record, name, descriptor.dimensions, site.layout)?;
    let variant = Variant {
        offset: asked.offset,
        math: asked.options.map_or(Math::Exact, |options| options.math),
        // There is no queue for the device if this is an error.
        portable: cpu_math::portable().unwrap_or_default(),
        constants: asked.options.map_or(Ok(Vec::new()), |options| values(record, name, options))?,
        pieces,
        ..Variant::default()
    };
    let (object, device) = (record.object_id(), target.id());
    let key = Key { object, kernel: name.to_owned(), device, variant };
    let (family, gone) = T::table().lock().slot(key, |variant| {
        let leaves = Leaves::new(kernel);
        let watch = T::watch(&leaves);
        let is_ahead = ahead::is_exact(record, kernel, &variant, target.on());
        Family::new(variant, leaves, watch).made_ahead(is_ahead)
    });
    drop(gone);
    Ok(family)
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

/// What stage 2 makes code of, if a kernel has that.
#[derive(Clone, Copy, Debug)]
struct Source<'r, 'a>(Option<&'r ImageRef<'a>>);

impl<'a> Source<'_, 'a> {
    fn data(self, kernel: &KernelRef<'_>) -> Result<&'a [u8], ImageError> {
        let none = || ImageError::NoImage { available: kernel.images.join(", ") };
        self.0.map(|image| image.data).ok_or_else(none)
    }
}

/// A kernel in its container, and the image that it is compiled from.
fn find<'r, 'a>(
    record: &'r RecordRef<'a>,
    name: &str,
    dimensions: u32,
    closure: Layout,
) -> Result<(&'r KernelRef<'a>, Source<'r, 'a>), ImageError> {
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
    let (size, align) = (closure.size() as u64, closure.align() as u64);
    if (kernel.closure_size, kernel.closure_align) != (size, align) {
        return mismatch(format!(
            "captures of {} bytes aligned to {}, where the program has {size} aligned to {align}",
            kernel.closure_size, kernel.closure_align
        ));
    }
    // A crate's kernels may be divided among several images.
    let mut images = kernel.images.iter().filter_map(|image| record.image(image));
    Ok((kernel, Source(images.find(|image| image.format == FORMAT))))
}

/// The container at `container` is going; `remaining` are the ids of those that stay. Launches that are still running keep their
/// code until they end.
pub(crate) fn forget(container: usize, remaining: &[ObjectId]) {
    background::forget(container);
    entries().retain(|entry| {
        let stays = entry.container != container;
        if !stays {
            entry.cuda.write().unwrap_or_else(PoisonError::into_inner).clear();
        }
        stays
    });
    ON_CPU.forget(|key| !remaining.contains(&key.object));
    ON_CUDA.forget(|key| !remaining.contains(&key.object));
}

/// A context was lost, and the kernels in it with it.
pub(crate) fn forget_context(context: u64) {
    for entry in entries().iter() {
        let mut known = entry.cuda.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| known.context != context);
    }
    ON_CUDA.forget(|key| key.device == context);
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
        let first = unsafe { for_cpu(&descriptor, &raw, ASKED) }.expect_err("no such kernel");
        // SAFETY: as above.
        let again = unsafe { for_cpu(&descriptor, &raw, ASKED) }.expect_err("no such kernel");
        assert_eq!(first.to_string(), again.to_string());
        forget(begin as usize, &[]);
        first
    }

    const ASKED: Asked<'_> = Asked { offset: false, options: None, adaptivity: Adaptivity::Basic };

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
