//! The kernels that were compiled in this process.
//!
//! Two levels: a map by content, in which each kernel has its versions however many threads and shared objects ask for it, and
//! for each launch site's descriptor an entry that answers without looking anything up.

use std::alloc::Layout;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use schism_hcf::ObjectId;

use crate::code::aot::{self, Ahead};
use crate::code::assumptions::{Facts, Leaves};
use crate::code::background;
use crate::code::images;
use crate::code::imports::Linked;
use crate::code::loader::{Cpu, Target};
use crate::code::lookup::{find, name_of, values};
use crate::code::table::{Key, ON_CPU, ON_CUDA};
use crate::code::variant::Variant;
use crate::code::versions::{Compiled, Family, Launch, Wish};
use crate::error::ImageError;
use crate::hal::cuda::{Context, CudaKernel};
use crate::hal::host::kernel::CpuKernel;
use crate::hal::host::math;
use crate::hal::host::stack;
use crate::kernel::abi::{DESCRIPTOR_ABI, Descriptor};
use crate::launch::adaptivity::Adaptivity;
use crate::launch::erased::RawKernel;
use crate::launch::options::{Math, Options};
use crate::util::fork::{self, Section};

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

/// What a descriptor's slot points to. Entries are never freed, so a launch may look at one at any time; the code that they lead to
/// is.
#[derive(Debug)]
struct Entry {
    container: usize,
    /// The process that it is for: a forked one makes others.
    generation: u32,
    /// Without options: for launches that begin at zero, and for others.
    cpu: [OnceLock<Arc<Family<CpuKernel>>>; 2],
    /// The same for GPUs.
    cuda: RwLock<Vec<OnGpu>>,
    /// Whether the host half's body is known to use no thread-local variables.
    no_thread_locals: OnceLock<bool>,
}

/// A kernel without options, in a context.
#[derive(Debug)]
struct OnGpu {
    context: u64,
    offset: bool,
    pieces: bool,
    family: Arc<Family<CudaKernel>>,
}

static ENTRIES: Mutex<Vec<&'static Entry>> = Mutex::new(Vec::new());

fn entries() -> MutexGuard<'static, Vec<&'static Entry>> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
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
    let look_up = || stack::spacious(|| unsafe { look_up(&Cpu, site, asked, false) });
    if asked.options.is_some() {
        let family = look_up()?;
        // SAFETY: the caller's promises.
        return unsafe { version(&family, &Cpu, site, &launch) };
    }
    let known = known(descriptor);
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

/// Whether the container says that nothing that the kernel reaches in the host half uses thread-local variables.
///
/// # Safety
/// As for [`for_cpu`].
pub(crate) unsafe fn no_thread_locals(descriptor: &Descriptor, layout: Layout) -> bool {
    if descriptor.abi != DESCRIPTOR_ABI {
        return false;
    }
    let look = || {
        let container = images::container_of(descriptor);
        // SAFETY: the caller keeps the shared object loaded.
        let record = unsafe { container.record() };
        let kernel = record
            .map_err(ImageError::from)
            .and_then(|record| find(record, name_of(descriptor)?, descriptor.dimensions, layout));
        // Where the container is damaged, nothing is known. Who needs it to launch the kernel says so.
        kernel.is_ok_and(|(kernel, _)| kernel.no_thread_locals)
    };
    let entry = known(descriptor).unwrap_or_else(|| entry(descriptor));
    *entry.no_thread_locals.get_or_init(|| stack::spacious(look))
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
    let look_up = || stack::spacious(|| unsafe { look_up(context, site, asked, pieces) });
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
    let known = known(descriptor);
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
    let _section = Section::enter();
    let launch = &launch.where_ahead(family.is_ahead);
    // SAFETY: the caller's promises.
    let compile = |wish: &Wish| unsafe { make(target, site, &family.variant, wish) };
    // SAFETY: as above.
    stack::spacious(|| unsafe { family.make(launch, compile) })
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
    let container = images::container_of(descriptor);
    // SAFETY: as above.
    let record = unsafe { container.record()? };
    let (kernel, image) = find(record, name_of(descriptor)?, descriptor.dimensions, site.layout)?;
    let variant = Variant { facts: wish.facts, values: wish.values.clone(), ..base.clone() };
    let load = |ahead: &Ahead<'_, '_>| target.load(ahead, kernel, &variant);
    let compile = || {
        let linked = Linked::of(kernel)?;
        target.compile(record, kernel, image.data(kernel)?, &linked, &variant)
    };
    aot::choose(record, kernel, &variant, target.on(), load, compile).map(Arc::new)
}

/// The descriptor's entry for this process, if there is one.
#[inline]
fn known(descriptor: &Descriptor) -> Option<&'static Entry> {
    // SAFETY: only `entry` stores here, and entries live forever.
    let entry = unsafe { descriptor.slot.load(Ordering::Acquire).cast::<Entry>().as_ref() };
    entry.filter(|entry| entry.generation == fork::generation())
}

/// The descriptor's entry, made by whoever comes first in a process.
fn entry(descriptor: &Descriptor) -> &'static Entry {
    let _section = Section::enter();
    let mut entries = entries();
    if let Some(entry) = known(descriptor) {
        return entry;
    }
    let container = descriptor.container_begin as usize;
    let (cpu, cuda) = (Default::default(), RwLock::default());
    let generation = fork::generation();
    let entry = Entry { container, generation, cpu, cuda, no_thread_locals: OnceLock::new() };
    let entry: &'static Entry = Box::leak(Box::new(entry));
    entries.push(entry);
    descriptor.slot.store(std::ptr::from_ref(entry).cast_mut().cast(), Ordering::Release);
    entry
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
    let _section = Section::enter();
    // SAFETY: the caller's promise.
    let descriptor = unsafe { &*site.descriptor };
    let container = images::container_of(descriptor);
    // SAFETY: the caller keeps the shared object loaded.
    let record = unsafe { container.record()? };
    let name = name_of(descriptor)?;
    let (kernel, _) = find(record, name, descriptor.dimensions, site.layout)?;
    let variant = Variant {
        offset: asked.offset,
        math: asked.options.map_or(Math::Exact, |options| options.math),
        // There is no queue for the device if this is an error.
        portable: math::portable().unwrap_or_default(),
        constants: asked.options.map_or(Ok(Vec::new()), |options| values(record, name, options))?,
        pieces,
        ..Variant::default()
    };
    let (object, device) = (record.object_id(), target.id());
    let key = Key { object, kernel: name.to_owned(), device, variant };
    let (family, gone) = T::table().lock().slot(key, |variant| {
        let leaves = Leaves::new(kernel);
        let watch = T::watch(&leaves);
        let is_ahead = aot::is_exact(record, kernel, &variant, target.on());
        Family::new(variant, leaves, watch).made_ahead(is_ahead)
    });
    drop(gone);
    Ok(family)
}

/// The container at `container` is going; `remaining` are the ids of those that stay. Launches that are still running keep their
/// code until they end.
pub(crate) fn forget(container: usize, remaining: &[ObjectId]) {
    background::forget(container);
    let _section = Section::enter();
    entries().retain(|entry| {
        let stays = entry.container != container;
        // Of those of the parent, locks may be held by threads that are not there.
        if !stays && entry.generation == fork::generation() {
            entry.cuda.write().unwrap_or_else(PoisonError::into_inner).clear();
        }
        stays
    });
    ON_CPU.forget(|key| !remaining.contains(&key.object));
    ON_CUDA.forget(|key| !remaining.contains(&key.object));
}

/// A context was lost, and the kernels in it with it.
pub(crate) fn forget_context(context: u64) {
    let here = fork::generation();
    for entry in entries().iter().filter(|entry| entry.generation == here) {
        let mut known = entry.cuda.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| known.context != context);
    }
    ON_CUDA.forget(|key| key.device == context);
}

#[cfg(test)]
#[path = "kernels_tests.rs"]
mod tests;
