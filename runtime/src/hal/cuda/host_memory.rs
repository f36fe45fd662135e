//! The process's own memory on a GPU: a kernel uses the host's addresses as they are.
//!
//! A GPU that sees pageable memory (heterogeneous memory management, address translation services)
//! needs nothing. For others there are two ways:
//!
//! - *managed memory*, which the driver moves to where it is used ([`reserve`]);
//! - *registration*: the driver pins a mapping and enters it in the device's page tables
//!   ([`with_all`]).
//!
//! Memory that is unmapped while it is registered, and mapped again at the same address, would keep
//! its old registration: the device would see the old pages, and nobody would be told. So a mapping
//! stays registered after a launch only
//!
//! - if it stays as long as the process: it is of an object that the process was started with, or
//!   that this crate has opened for good;
//! - if it is [watched](super::watch): before the next launch what has gone is unregistered, when
//!   no launch is running any more.
//!
//! All else is registered for one launch, and there is one such launch at a time. What a kernel
//! refers to is borrowed for the launch, so it is not unmapped before the launch has ended.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::time::Instant;

use crate::error::DriverError;
use crate::hal::address_window::is_in_window;
use crate::hal::cuda::api::{DevicePtr, number, symbol};
use crate::hal::cuda::context::Context;
use crate::hal::cuda::mappings::{self, Mapping};
use crate::hal::cuda::watch::Watch;

/// A launch registers no more than this: pinning takes time, and keeps memory from others.
const MOST_BYTES: usize = 1 << 30;

/// Files of the driver's and of this crate's, whose memory a program has no addresses of.
const INTERNAL: [&str; 4] = ["libcuda.so", "libnvidia-", "libschism_jit.so", "libLLVM"];

/// Folders of files that are no memory.
const DEVICES: [&str; 2] = ["/dev/nvidia", "/dev/dri"];

/// What is known of a context's view of the process.
#[derive(Debug, Default)]
pub(super) struct HostMemory {
    state: Mutex<State>,
    /// Launches that rely on what is registered, as readers.
    launches: RwLock<()>,
    /// The mappings that the driver has made for itself.
    drivers: OnceLock<HashSet<Mapping>>,
}

#[derive(Debug, Default)]
struct State {
    /// What stays registered after launches, by address.
    registered: BTreeMap<usize, Registration>,
    /// Watches what may go; `None` inside where the system does not allow that.
    watch: OnceCell<Option<Watch>>,
}

#[derive(Clone, Copy, Debug)]
struct Registration {
    end: usize,
    writable: bool,
    /// Whether it is watched. Otherwise it stays as long as the process.
    watched: bool,
}

/// Runs launches while the device sees all of the process's memory.
///
/// # Errors
/// Which memory the device cannot see, and why. Then nothing ran.
pub(super) fn with_all(context: &Context, run: &mut dyn FnMut()) -> Result<(), String> {
    if context.gpu.sees_pageable_memory {
        run();
        return Ok(());
    }
    if !context.gpu.takes_host_addresses {
        return Err("it cannot use the host's addresses".to_owned());
    }
    let memory = &context.host_memory;
    let mut state = memory.state.lock().unwrap_or_else(PoisonError::into_inner);
    let for_launch = state.register_all(context)?;
    if for_launch.0.is_empty() {
        // Others may run at the same time. They wait before they unregister anything.
        let running = memory.launches.read().unwrap_or_else(PoisonError::into_inner);
        drop(state);
        run();
        drop(running);
        return Ok(());
    }
    run();
    for_launch.unregister(context);
    Ok(())
}

/// Reserves managed memory: the host and the device see it at the same address. It is never freed,
/// and takes no physical memory before it is used.
pub(super) fn reserve(context: &Context, bytes: usize) -> Option<usize> {
    if !context.gpu.takes_host_addresses || context.gpu.sees_pageable_memory {
        return None;
    }
    context.enter().ok()?;
    let mut address: DevicePtr = 0;
    // SAFETY: the address can be written.
    let code = unsafe {
        (context.api().managed_allocate)(&raw mut address, bytes, number::MANAGED_GLOBAL)
    };
    context.check(code, symbol::managed_allocate).ok()?;
    usize::try_from(address).ok()
}

/// Has managed memory moved to the device, in the order of the stream of copies. It is a hint.
pub(super) fn prefetch(context: &Context, address: usize, bytes: usize) {
    if context.enter().is_ok() {
        // SAFETY: moving memory changes nothing that can be seen; the driver refuses addresses
        // that it does not know.
        unsafe {
            (context.api().prefetch)(
                address as DevicePtr,
                bytes,
                context.gpu.number,
                context.transfers(),
            )
        };
    }
}

/// Where the ranges begin that are registered for one launch.
#[derive(Debug, Default)]
struct ForLaunch(Vec<usize>);

impl ForLaunch {
    fn unregister(&self, context: &Context) {
        self.0.iter().for_each(|begin| unregister(context, *begin));
    }
}

impl State {
    /// Registers what is not registered yet; returns what is for one launch.
    fn register_all(&mut self, context: &Context) -> Result<ForLaunch, String> {
        let started = Instant::now();
        context.enter().map_err(|error| error.to_string())?;
        self.forget_gone(context);
        let unreadable = |error| format!("the list of its mappings cannot be read: {error}");
        let all = mappings::all().map_err(unreadable)?;
        let mut for_launch = ForLaunch::default();
        let (mut bytes, mut new) = (0, 0);
        let mut before: Option<&Mapping> = None;
        for mapping in &all {
            let follows = before.replace(mapping).filter(|before| before.end == mapping.begin);
            if !is_programs(mapping) || context.host_memory.is_drivers(mapping) {
                continue;
            }
            let is_stack = follows.is_some_and(|guard| !guard.readable && guard.size() <= GUARD);
            let gaps = self.gaps(context, mapping);
            for (begin, end) in gaps {
                let registered = if stays(mapping) {
                    self.keep(context, mapping, (begin, end), false)
                } else if self.watch(begin, end) {
                    self.keep(context, mapping, (begin, end), true)
                } else {
                    let begin = if is_stack { first_touched(begin, end) } else { begin };
                    bytes += end - begin;
                    if bytes > MOST_BYTES {
                        let reason = "together with the rest it is more than 1 GiB";
                        for_launch.unregister(context);
                        return Err(describe(mapping, reason));
                    }
                    register(context, mapping, begin, end).map(|outcome| {
                        if matches!(outcome, Outcome::Registered) {
                            for_launch.0.push(begin);
                        }
                    })
                };
                new += 1;
                registered.map_err(|error| {
                    for_launch.unregister(context);
                    describe(mapping, &error.to_string())
                })?;
            }
        }
        let (micros, mappings) = (started.elapsed().as_micros() as u64, all.len());
        let once = for_launch.0.len();
        tracing::debug!(mappings, new, once, micros, "made memory visible");
        Ok(for_launch)
    }

    /// The parts of a mapping that are not registered.
    fn gaps(&mut self, context: &Context, mapping: &Mapping) -> Vec<(usize, usize)> {
        let overlapping: Vec<(usize, Registration)> = self
            .registered
            .range(..mapping.end)
            .rev()
            .take_while(|(_, registration)| registration.end > mapping.begin)
            .map(|(begin, registration)| (*begin, *registration))
            .collect();
        let (mut gaps, mut from) = (Vec::new(), mapping.begin);
        for (begin, registration) in overlapping.into_iter().rev() {
            if mapping.writable && !registration.writable {
                // It has become writable.
                self.forget(context, &[begin]);
                continue;
            }
            if from < begin {
                gaps.push((from, begin));
            }
            from = registration.end;
        }
        if from < mapping.end {
            gaps.push((from, mapping.end));
        }
        gaps
    }

    /// Registers a part of a mapping until it goes, or the process ends.
    fn keep(
        &mut self,
        context: &Context,
        mapping: &Mapping,
        (begin, end): (usize, usize),
        watched: bool,
    ) -> Result<(), DriverError> {
        if let Outcome::Registered = register(context, mapping, begin, end)? {
            let registration = Registration { end, writable: mapping.writable, watched };
            self.registered.insert(begin, registration);
        }
        Ok(())
    }

    /// Has a range watched from now on; `false` if that cannot be.
    fn watch(&self, begin: usize, end: usize) -> bool {
        let watch = self.watch.get_or_init(|| {
            let watch = Watch::new();
            watch.inspect_err(|error| tracing::debug!(%error, "memory cannot be watched")).ok()
        });
        watch.as_ref().is_some_and(|watch| watch.add(begin, end).is_ok())
    }

    /// Unregisters what has gone since the last launch.
    fn forget_gone(&mut self, context: &Context) {
        let mut gone = Vec::new();
        if let Some(Some(watch)) = self.watch.get() {
            watch.take(|range| gone.push(range.unwrap_or((0, usize::MAX))));
        }
        if gone.is_empty() {
            return;
        }
        let is_gone =
            |begin: usize, end: usize| gone.iter().any(|(from, to)| *from < end && begin < *to);
        let watched = self.registered.iter().filter(|(_, registration)| registration.watched);
        let begins: Vec<usize> = watched
            .filter(|(begin, registration)| is_gone(**begin, registration.end))
            .map(|(begin, _)| *begin)
            .collect();
        self.forget(context, &begins);
    }

    /// Unregisters what begins at some addresses, when no launch is running any more.
    fn forget(&mut self, context: &Context, begins: &[usize]) {
        if begins.is_empty() {
            return;
        }
        let launches = &context.host_memory.launches;
        let _none_runs = launches.write().unwrap_or_else(PoisonError::into_inner);
        for begin in begins {
            unregister(context, *begin);
            self.registered.remove(begin);
        }
    }
}

#[cold]
fn describe(mapping: &Mapping, reason: &str) -> String {
    let name = if mapping.name.is_empty() { "anonymous" } else { &mapping.name };
    let Mapping { begin, end, .. } = mapping;
    format!("its memory at {begin:#x}..{end:#x} ({name}) cannot be made visible: {reason}")
}

fn unregister(context: &Context, begin: usize) {
    let address = std::ptr::with_exposed_provenance_mut::<c_void>(begin);
    // SAFETY: it was registered, and no launch uses it.
    let code = unsafe { (context.api().host_unregister)(address) };
    if let Err(error) = context.check(code, symbol::host_unregister) {
        tracing::warn!(%error, "memory stays registered");
    }
}

/// What became of an attempt to register a mapping.
enum Outcome {
    Registered,
    /// The device sees it already, or nobody has addresses of it.
    NotNeeded,
}

/// Registers a part of a mapping.
fn register(
    context: &Context,
    mapping: &Mapping,
    begin: usize,
    end: usize,
) -> Result<Outcome, DriverError> {
    /// What the system calls shared memory without a file.
    const SHARED: &str = "/dev/zero";
    let flags = if mapping.writable { 0 } else { number::REGISTER_READ_ONLY };
    let address = std::ptr::with_exposed_provenance_mut::<c_void>(begin);
    let (size, flags) = (end - begin, number::HOST_PORTABLE_MAPPED | flags);
    // SAFETY: the driver refuses what is not mapped. Pinning memory changes nothing that the
    // program can see.
    match unsafe { (context.api().host_register)(address, size, flags) } {
        number::ALREADY_REGISTERED => Ok(Outcome::NotNeeded),
        // The driver refuses only such memory of this kind that it keeps for itself.
        number::INVALID_VALUE if mapping.shared && mapping.name.starts_with(SHARED) => {
            Ok(Outcome::NotNeeded)
        }
        code => {
            context.check(code, symbol::host_register)?;
            Ok(Outcome::Registered)
        }
    }
}

/// Whether a kernel may refer to a mapping by an address of the program's.
fn is_programs(mapping: &Mapping) -> bool {
    let internal = mapping.is_of_file()
        && (DEVICES.iter().any(|folder| mapping.name.starts_with(folder))
            || INTERNAL.iter().any(|prefix| mapping.file_name().starts_with(prefix)));
    // Code of the system's, and its clocks.
    let systems =
        ["[vdso]", "[vsyscall]", "[vvar"].iter().any(|name| mapping.name.starts_with(name));
    mapping.readable && !internal && !systems && !is_in_window(mapping.begin)
}

/// The largest guard below a thread's stack.
const GUARD: usize = 64 << 10;

/// Where the first touched page of a thread's stack begins. Below it nothing was ever called, so
/// nothing there belongs to a frame.
fn first_touched(begin: usize, end: usize) -> usize {
    touched(begin, end).unwrap_or(begin)
}

/// Searches the page table. `None` if that cannot be read.
fn touched(begin: usize, end: usize) -> Option<usize> {
    use std::os::unix::fs::FileExt;

    /// Bits of an entry: the page is in memory, or was swapped out.
    const THERE: u64 = 1 << 63 | 1 << 62;
    let page = page_size()?;
    let table = std::fs::File::open("/proc/self/pagemap").ok()?;
    let mut bytes = vec![0_u8; (end - begin) / page * 8];
    table.read_exact_at(&mut bytes, (begin / page * 8) as u64).ok()?;
    let entries =
        bytes.chunks_exact(8).map(|entry| u64::from_ne_bytes(entry.try_into().unwrap_or_default()));
    let untouched = entries.take_while(|entry| entry & THERE == 0).count();
    Some((begin + untouched * page).min(end - page))
}

fn page_size() -> Option<usize> {
    // SAFETY: a query without side effects.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok().filter(|size| *size != 0)
}

/// Whether a mapping stays as long as the process: it is of an object that the process was started
/// with.
fn stays(mapping: &Mapping) -> bool {
    let of_start = OBJECTS.get().map(Vec::as_slice).unwrap_or_default();
    let of_driver = HELD.get().map(Vec::as_slice).unwrap_or_default();
    of_start
        .iter()
        .chain(of_driver)
        .any(|(begin, end)| *begin <= mapping.begin && mapping.end <= *end)
}

/// The address ranges of the objects that the process was started with: the executable, and the
/// libraries that it needs. Those that are opened later may be closed.
static OBJECTS: OnceLock<Vec<(usize, usize)>> = OnceLock::new();

/// The address ranges of those that are opened when the driver is, and stay open from then on.
static HELD: OnceLock<Vec<(usize, usize)>> = OnceLock::new();

/// The mappings before the driver was opened.
static BEFORE_DRIVER: OnceLock<HashSet<Mapping>> = OnceLock::new();

/// Takes note of the objects that the process was started with. Call it before others are opened.
pub(super) fn at_start() {
    OBJECTS.get_or_init(|| objects().into_iter().map(|(_, range)| range).collect());
}

/// Takes note of the mappings before the driver is opened, in programs that may need to know. What
/// is new afterwards is the driver's only if no other thread could make mappings meanwhile.
pub(super) fn before_driver() {
    let threads = || std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count);
    if OBJECTS.get().is_some()
        && threads() == 1
        && let Ok(all) = mappings::all()
    {
        let _ = BEFORE_DRIVER.set(all.into_iter().collect());
    }
}

/// Holds the objects that are open now, in such programs: the driver's stay open anyway, with all
/// that they need.
fn hold_objects() -> Vec<(usize, usize)> {
    let Some(of_start) = OBJECTS.get() else { return Vec::new() };
    let new = objects().into_iter().filter(|(_, range)| !of_start.contains(range));
    let held = new.filter(|(name, _)| {
        // SAFETY: it opens no other object than one that is open. The handle is kept.
        !unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) }.is_null()
    });
    held.map(|(_, range)| range).collect()
}

impl HostMemory {
    /// Finds the mappings that the driver has made for itself, when it has just made a context.
    pub(super) fn after_driver(&self) {
        HELD.get_or_init(hold_objects);
        if let Some(before) = BEFORE_DRIVER.get()
            && let Ok(all) = mappings::all()
        {
            let _ = self.drivers.set(all.into_iter().filter(|new| !before.contains(new)).collect());
        }
    }

    fn is_drivers(&self, mapping: &Mapping) -> bool {
        // What has grown may be the program's, too.
        let may_grow = ["[heap]", "[stack]"].contains(&mapping.name.as_str());
        !may_grow && self.drivers.get().is_some_and(|drivers| drivers.contains(mapping))
    }
}

/// An object's name, and its address range from the first segment to the last.
type Object = (CString, (usize, usize));

/// All objects that are open.
fn objects() -> Vec<Object> {
    unsafe extern "C" fn note(
        object: *mut libc::dl_phdr_info,
        _: libc::size_t,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the description of an object, and the list that `objects` passes.
        let (object, found) = unsafe { (&*object, &mut *found.cast::<Vec<Object>>()) };
        if object.dlpi_phdr.is_null() {
            return 0;
        }
        // SAFETY: as many headers as it says.
        let headers =
            unsafe { std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)) };
        let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let base = object.dlpi_addr as usize;
        let ends = loaded.clone().map(|header| base + (header.p_vaddr + header.p_memsz) as usize);
        let begins = loaded.map(|header| base + header.p_vaddr as usize);
        if let (Some(begin), Some(end), Some(page)) = (begins.min(), ends.max(), page_size()) {
            // SAFETY: a text that ends with a NUL.
            let name =
                (!object.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(object.dlpi_name) });
            let name = name.unwrap_or_default().to_owned();
            found.push((name, (begin / page * page, end.next_multiple_of(page))));
        }
        0
    }
    let mut found: Vec<Object> = Vec::new();
    // SAFETY: the function takes what it is given, and the list lives until the end of the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found
}
