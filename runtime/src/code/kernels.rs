//! The kernels that were compiled in this process.
//!
//! Two levels: a map by content, in which each kernel has its versions however many threads and
//! shared objects ask for it, and for each launch site's descriptor an entry that answers without
//! looking anything up.

use std::alloc::Layout;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use schism_hcf::ObjectId;

use crate::code::aot;
use crate::code::assumptions::FlattenedParameters;
use crate::code::display_name::KernelName;
use crate::code::lookup::{self, LaunchSite, name_of, values};
use crate::code::make::make;
use crate::code::recent::{self, KnownVersions, RecentCode, RecentKernel};
use crate::code::requirements::{LaunchRequirements, SpecializationKey, VersionRequest};
use crate::code::table::{self, AnyVersionSet, Key};
use crate::code::variant::Variant;
use crate::code::versions::{Compiled, VersionSet};
use crate::code::{background, images};
use crate::error::ImageError;
use crate::hal::host::stack;
use crate::hal::{CodeLoader, PERMANENT};
use crate::kernel::abi::{DESCRIPTOR_ABI, Descriptor};
use crate::launch::adaptivity::Adaptivity;
use crate::launch::desc::LaunchDesc;
use crate::launch::erased::RawKernel;
use crate::launch::options::Math;
use crate::util::fork::{self, NoForkGuard};

/// What a descriptor's slot points to. Entries are never freed, so a launch may look at one at any
/// time; the code that they lead to is.
struct Entry {
    container: usize,
    /// The process that it is for: a forked one makes others.
    generation: u32,
    /// Without values of constants, of loaders that are there as long as the process: for launches
    /// that begin at zero, and for others; for each precision of mathematics.
    permanent: [[[OnceLock<AnyVersionSet>; 2]; Math::COUNT]; PERMANENT],
    /// The same of other loaders.
    others: RwLock<Vec<Other>>,
    /// Whether the host half's body is known to use no thread-local variables.
    no_thread_locals: OnceLock<bool>,
}

/// A kernel without values of constants, by a loader that may go.
struct Other {
    loader: u64,
    math: Math,
    offset: bool,
    sub_grids: bool,
    set: AnyVersionSet,
}

static ENTRIES: Mutex<Vec<&'static Entry>> = Mutex::new(Vec::new());

fn entries() -> MutexGuard<'static, Vec<&'static Entry>> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The compiled kernel of a loader, as the launch asks for it: where there is one, and it begins
/// elsewhere than at zero, the variant that takes where it begins.
///
/// # Safety
/// `descriptor` is the kernel's own, and its shared object is loaded. The closure is there.
pub(crate) unsafe fn find<L: CodeLoader>(
    loader: &L,
    descriptor: &Descriptor,
    kernel: &RawKernel,
    requirements: &LaunchRequirements<'_>,
) -> Compiled<L::Kernel> {
    check_abi(descriptor)?;
    let site = LaunchSite { descriptor, layout: kernel.layout };
    // SAFETY: the caller's promises.
    unsafe {
        let set = version_set(loader, descriptor, site, requirements)?;
        let launch = request::<L>(&set, kernel.closure.cast(), requirements);
        version(&set, loader, site, &launch)
    }
}

/// Nothing after the first field of another version's descriptor can be trusted.
fn check_abi(descriptor: &Descriptor) -> Result<(), ImageError> {
    match descriptor.abi {
        DESCRIPTOR_ABI => Ok(()),
        found => Err(ImageError::Version { found, expected: DESCRIPTOR_ABI }),
    }
}

/// The kernel that a launch without sub-grids is of, if the queue has launched it lately, and its versions
/// have not changed since.
///
/// # Safety
/// The descriptor is null, or the kernel's own, and its shared object is loaded.
#[inline]
pub(super) unsafe fn known_kernel<'a, K>(
    recent: &'a RecentCode<K>,
    launch: &LaunchDesc<'_>,
) -> Option<&'a RecentKernel<K>> {
    // SAFETY: the caller's promise.
    let descriptor = unsafe { launch.kernel.descriptor.as_ref() }?;
    let (options, offset, sub_grids) = (launch.options(), launch.has_offset(), false);
    let has_values = options.is_some_and(|options| !options.values().is_empty());
    let has_entry = descriptor.abi == DESCRIPTOR_ABI && !has_values;
    let math = options.map_or(Math::Precise, |options| options.math);
    let entry = std::ptr::from_ref(has_entry.then(|| known(descriptor))??).addr();
    recent.unchanged(recent::Site { entry, math, offset, sub_grids })
}

/// As [`find`], if the descriptor's entry knows the kernel's versions, and one of them is good; and the
/// versions. `recent` is that of a queue that has this loader and no other.
///
/// # Safety
/// As for [`find`].
#[inline]
pub(crate) unsafe fn find_ready<'a, L: CodeLoader>(
    recent: &'a mut RecentCode<L::Kernel>,
    loader: &L,
    descriptor: &Descriptor,
    kernel: &RawKernel,
    requirements: &LaunchRequirements<'_>,
) -> Option<(&'a Arc<L::Kernel>, KnownVersions)> {
    if descriptor.abi != DESCRIPTOR_ABI || requirements.has_values() {
        return None;
    }
    let entry = known(descriptor)?;
    let LaunchRequirements { offset, sub_grids, .. } = *requirements;
    let math = requirements.math();
    let site = recent::Site { entry: std::ptr::from_ref(entry).addr(), math, offset, sub_grids };
    let look_up = || entry.set(loader.id(), requirements)?.of_type();
    let known = recent.kernel(site, look_up)?;
    // SAFETY: the caller's promise.
    let launch = unsafe { request::<L>(&known.set, kernel.closure.cast(), requirements) };
    // SAFETY: a closure of the site's type, which was compared with the container's when the
    // version set was made.
    let (code, key) = unsafe { known.ready(&launch) }?;
    if let Some(key) = key {
        let site = LaunchSite { descriptor, layout: kernel.layout };
        // SAFETY: the caller's promises.
        unsafe { leave_to_background(Arc::clone(&known.set), loader.clone(), site, *key) };
    }
    Some((code, known.known(requirements.adaptivity)))
}

/// The versions of the kernel, which are looked up in its container if they are not known.
///
/// # Safety
/// As for [`find`].
#[inline(never)]
unsafe fn version_set<L: CodeLoader>(
    loader: &L,
    descriptor: &Descriptor,
    site: LaunchSite,
    requirements: &LaunchRequirements<'_>,
) -> Result<Arc<VersionSet<L::Kernel>>, ImageError> {
    // SAFETY: the caller's promises.
    let look_up = || stack::spacious(|| unsafe { look_up(loader, site, requirements) });
    let known = || known(descriptor)?.set(loader.id(), requirements);
    let all = if requirements.has_values() {
        look_up()?
    } else if let Some(set) = known() {
        set
    } else {
        let set = look_up()?;
        entry(descriptor).remember(loader.id(), requirements, set)
    };
    all.of_type()
        .ok_or_else(|| ImageError::Mismatch { reason: "a kernel of another device".to_owned() })
}

/// What the launch says to choose a version by.
///
/// # Safety
/// The closure is of the kernel's type, and there.
#[inline]
unsafe fn request<L: CodeLoader>(
    set: &VersionSet<L::Kernel>,
    closure: *const u8,
    requirements: &LaunchRequirements<'_>,
) -> VersionRequest {
    let LaunchRequirements { mut assumptions, groups, demands_block, adaptivity, .. } =
        *requirements;
    if L::COUNTS_ON_CAPTURES && adaptivity != Adaptivity::Off {
        // SAFETY: the caller's promise.
        let (aligned, narrow) = unsafe { set.flattened.assumptions(closure) };
        assumptions.aligned = if L::COUNTS_ON_ALIGNMENT { aligned } else { 0 };
        assumptions.narrow = narrow;
    }
    let demands_assumptions = false;
    let mut launch = VersionRequest {
        assumptions,
        closure,
        groups,
        demands_block,
        demands_assumptions,
        adaptivity,
    };
    if !set.aot.is_empty() {
        launch.ask_for_aot(&set.aot);
    }
    launch
}

impl Entry {
    /// The place of the versions of a loader that is there as long as the process.
    #[inline]
    fn permanent(
        &self,
        loader: u64,
        requirements: &LaunchRequirements<'_>,
    ) -> Option<&OnceLock<AnyVersionSet>> {
        let of_loader = self.permanent.get(usize::try_from(loader).ok()?)?;
        let of_math = &of_loader[requirements.math() as usize];
        (!requirements.sub_grids).then(|| &of_math[usize::from(requirements.offset)])
    }

    /// The versions, if they were looked up before.
    fn set(&self, loader: u64, requirements: &LaunchRequirements<'_>) -> Option<AnyVersionSet> {
        if let Some(slot) = self.permanent(loader, requirements) {
            slot.get().cloned()
        } else {
            let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
            let other = others.iter().find(|other| other.is_for(loader, requirements))?;
            Some(other.set.clone())
        }
    }

    /// Takes note of versions that were looked up.
    fn remember(
        &self,
        loader: u64,
        requirements: &LaunchRequirements<'_>,
        set: AnyVersionSet,
    ) -> AnyVersionSet {
        if let Some(slot) = self.permanent(loader, requirements) {
            slot.get_or_init(|| set).clone()
        } else {
            let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
            if !others.iter().any(|other| other.is_for(loader, requirements)) {
                let LaunchRequirements { offset, sub_grids, .. } = *requirements;
                let math = requirements.math();
                others.push(Other { loader, math, offset, sub_grids, set: set.clone() });
            }
            set
        }
    }
}

impl Other {
    #[inline]
    fn is_for(&self, loader: u64, requirements: &LaunchRequirements<'_>) -> bool {
        (self.loader, self.math, self.offset, self.sub_grids)
            == (loader, requirements.math(), requirements.offset, requirements.sub_grids)
    }
}

/// Whether the container says that nothing that the kernel reaches in the host half uses
/// thread-local variables.
///
/// # Safety
/// As for [`find`].
pub(crate) unsafe fn no_thread_locals(descriptor: &Descriptor, layout: Layout) -> bool {
    let look = || {
        let container = images::container_of(descriptor);
        // SAFETY: the caller keeps the shared object loaded.
        let record = unsafe { container.record() };
        let kernel = record.map_err(ImageError::from).and_then(|record| {
            lookup::find(record, name_of(descriptor)?, descriptor.dimensions, layout)
        });
        // Where the container is damaged, nothing is known. Who needs it to launch the kernel says
        // so.
        kernel.is_ok_and(|(kernel, _)| kernel.no_thread_locals)
    };
    let entry = || known(descriptor).unwrap_or_else(|| entry(descriptor));
    check_abi(descriptor).is_ok() && *entry().no_thread_locals.get_or_init(|| stack::spacious(look))
}

/// The version of a kernel for a launch, which is made if there is none.
///
/// # Safety
/// As for [`find`]; the version set is the site's.
#[inline(never)]
unsafe fn version<L: CodeLoader>(
    set: &Arc<VersionSet<L::Kernel>>,
    loader: &L,
    site: LaunchSite,
    launch: &VersionRequest,
) -> Compiled<L::Kernel> {
    // SAFETY: a closure of the site's type, which was compared with the container's when the
    // version set was made.
    if let Some((compiled, key)) = unsafe { set.ready(launch) } {
        if let Some(key) = key {
            // SAFETY: the caller's promises.
            unsafe { leave_to_background(Arc::clone(set), loader.clone(), site, *key) };
        }
        Ok(compiled)
    } else {
        let _no_fork = NoForkGuard::enter();
        // SAFETY: the caller's promises.
        let compile = |key: &SpecializationKey| unsafe {
            make(loader, site, &set.variant, key).map(Arc::new)
        };
        // SAFETY: as above.
        stack::spacious(|| unsafe { set.make(launch, compile) })
    }
}

/// # Safety
/// As for [`version`].
#[cold]
unsafe fn leave_to_background<L: CodeLoader>(
    set: Arc<VersionSet<L::Kernel>>,
    loader: L,
    site: LaunchSite,
    key: SpecializationKey,
) {
    // SAFETY: the caller keeps the shared object loaded.
    let container = unsafe { &*site.descriptor }.container_begin as usize;
    let run = move || {
        let site = site;
        // SAFETY: the shared object is there: its end waits for this work, or drops it. It is
        // `forget` that sees to that.
        let (made, name) = unsafe {
            let made = make(&loader, site, &set.variant, &key).map(Arc::new);
            (made, KernelName::new(site.descriptor, || "a kernel"))
        };
        match made {
            Ok(made) => set.add(key, made),
            Err(error) => tracing::debug!(
                kernel = %name, device = loader.name(), %error,
                "no better version; launches go on with what there is"
            ),
        }
    };
    if !background::submit(container, Box::new(run)) {
        tracing::debug!("the background has enough to do");
    }
}

/// The descriptor's entry for this process, if there is one.
#[inline]
fn known(descriptor: &Descriptor) -> Option<&'static Entry> {
    // SAFETY: only `entry` stores here, and entries live forever.
    let entry = unsafe { descriptor.slot.load(Ordering::Acquire).cast::<Entry>().as_ref() };
    entry.filter(|entry| entry.generation == fork::generation())
}

/// The descriptor's entry, made by the first thread of a process that needs it.
fn entry(descriptor: &Descriptor) -> &'static Entry {
    let _no_fork = NoForkGuard::enter();
    let mut entries = entries();
    known(descriptor).unwrap_or_else(|| {
        let container = descriptor.container_begin as usize;
        let (permanent, others) = (Default::default(), RwLock::default());
        let (generation, no_thread_locals) = (fork::generation(), OnceLock::new());
        let entry = Entry { container, generation, permanent, others, no_thread_locals };
        let entry: &'static Entry = Box::leak(Box::new(entry));
        entries.push(entry);
        descriptor.slot.store(std::ptr::from_ref(entry).cast_mut().cast(), Ordering::Release);
        entry
    })
}

/// The versions of a kernel, for a closure of its type.
///
/// # Safety
/// The site's shared object is loaded.
unsafe fn look_up<L: CodeLoader>(
    loader: &L,
    site: LaunchSite,
    requirements: &LaunchRequirements<'_>,
) -> Result<AnyVersionSet, ImageError> {
    let _no_fork = NoForkGuard::enter();
    // SAFETY: the caller's promise.
    let descriptor = unsafe { &*site.descriptor };
    let container = images::container_of(descriptor);
    // SAFETY: the caller keeps the shared object loaded.
    let record = unsafe { container.record()? };
    let name = name_of(descriptor)?;
    let (kernel, images) = lookup::find(record, name, descriptor.dimensions, site.layout)?;
    let in_process = L::IN_PROCESS && images.are_in_process();
    let variant = Variant {
        offset: requirements.offset,
        math: requirements.math(),
        portable: loader.portable_math(in_process),
        constants: requirements
            .options
            .map_or(Ok(Vec::new()), |options| values(record, name, options))?,
        sub_grids: requirements.sub_grids,
        in_process,
        ..Variant::default()
    };
    let (object, device) = (record.object_id(), loader.id());
    let key = Key { object, kernel: name.to_owned(), device, variant };
    let (set, gone) = table::lock().slot(key, |variant| {
        let flattened = FlattenedParameters::new(kernel);
        let profiler = L::profiler(&flattened);
        let aot = aot::versions(record, kernel, &variant, &*loader.aot_target());
        VersionSet::<L::Kernel>::new(variant, flattened, profiler).with_aot(aot)
    });
    drop(gone);
    Ok(set)
}

/// The container at `container` is going; `remaining` are the ids of those that stay. Launches that
/// are still running keep their code until they end.
pub(crate) fn forget(container: usize, remaining: &[ObjectId]) {
    background::forget(container);
    let _no_fork = NoForkGuard::enter();
    entries().retain(|entry| {
        let stays = entry.container != container;
        // Of those of the parent, locks may be held by threads that are not there.
        if !stays && entry.generation == fork::generation() {
            entry.others.write().unwrap_or_else(PoisonError::into_inner).clear();
        }
        stays
    });
    table::forget(|key| !remaining.contains(&key.object));
}

/// A loader is gone, such as the context of a GPU, and with it the kernels that it has loaded.
pub(crate) fn forget_loader(loader: u64) {
    let here = fork::generation();
    for entry in entries().iter().filter(|entry| entry.generation == here) {
        let mut others = entry.others.write().unwrap_or_else(PoisonError::into_inner);
        others.retain(|known| known.loader != loader);
    }
    table::forget(|key| key.device == loader);
}

#[cfg(test)]
#[path = "kernels_tests.rs"]
mod tests;
