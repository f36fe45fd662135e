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
//! its old registration: the device would see the old pages, and nobody would be told. So mappings
//! that may go are registered for one launch only, and there is one such launch at a time. What a
//! kernel refers to is borrowed for the launch, so it is not unmapped before the launch has ended.
//! The executable, and the libraries that the process was started with, stay as long as the process,
//! and so do their registrations.

use std::collections::HashSet;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::error::LaunchError;
use crate::hal::address_window::is_in_window;
use crate::hal::cuda::api::{DevicePtr, number, symbol};
use crate::hal::cuda::context::Context;
use crate::hal::cuda::mappings::{self, Mapping};

/// A launch registers no more than this: pinning takes time, and keeps memory from others.
const MOST_BYTES: usize = 1 << 30;

/// Files of the driver's and of this crate's, whose memory a program has no addresses of.
const INTERNAL: [&str; 3] = ["libcuda.so", "libnvidia-", "libschism_jit.so"];

/// Folders of files that are no memory.
const DEVICES: [&str; 2] = ["/dev/nvidia", "/dev/dri"];

/// What is known of a context's view of the process.
#[derive(Debug, Default)]
pub(super) struct HostMemory {
    /// Held by a launch that registers memory.
    state: Mutex<State>,
    /// The mappings that the driver has made for itself.
    drivers: OnceLock<HashSet<Mapping>>,
}

#[derive(Debug, Default)]
struct State {
    /// Addresses of the mappings that are registered until the process ends.
    permanent: HashSet<(usize, usize)>,
}

/// Runs a launch while the device sees all of the process's memory.
///
/// # Errors
/// [`LaunchError::HostMemory`] if the device cannot see all of it: then nothing ran. Otherwise what
/// `run` returns.
pub(super) fn with_all<R>(
    context: &Context,
    kernel: &dyn Fn() -> String,
    run: impl FnOnce() -> Result<R, LaunchError>,
) -> Result<R, LaunchError> {
    if context.gpu.sees_pageable_memory {
        return run();
    }
    let refused = |reason| LaunchError::HostMemory {
        kernel: kernel(),
        device: context.gpu.name.clone(),
        reason,
    };
    if !context.gpu.takes_host_addresses {
        let reason = "it cannot use the host's addresses".to_owned();
        return Err(refused(reason));
    }
    let mut state = context.host_memory.state.lock().unwrap_or_else(PoisonError::into_inner);
    let registered = Registered::all(context, &mut state).map_err(refused)?;
    let result = run();
    drop(registered);
    result
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

/// The mappings that are registered for a launch.
struct Registered<'a> {
    context: &'a Context,
    begins: Vec<usize>,
}

impl<'a> Registered<'a> {
    fn all(context: &'a Context, state: &mut State) -> Result<Self, String> {
        let unreadable = |error| format!("the list of its mappings cannot be read: {error}");
        let all = mappings::all().map_err(unreadable)?;
        context.enter().map_err(|error| error.to_string())?;
        let mut this = Self { context, begins: Vec::new() };
        let mut bytes = 0;
        let mut before: Option<&Mapping> = None;
        for mapping in &all {
            let follows = before.replace(mapping).filter(|before| before.end == mapping.begin);
            let stays = stays(mapping);
            if !is_programs(mapping)
                || context.host_memory.is_drivers(mapping)
                || stays && state.permanent.contains(&(mapping.begin, mapping.end))
            {
                continue;
            }
            let guarded = follows.is_some_and(|guard| !guard.readable && guard.size() <= GUARD);
            let begin = if guarded { first_touched(mapping) } else { mapping.begin };
            if begin == mapping.end {
                continue;
            }
            let describe = |reason: &str| {
                let name = if mapping.name.is_empty() { "anonymous" } else { &mapping.name };
                format!(
                    "its memory at {:#x}..{:#x} ({name}) cannot be made visible: {reason}",
                    mapping.begin, mapping.end
                )
            };
            if !stays {
                bytes += mapping.end - begin;
                if bytes > MOST_BYTES {
                    return Err(describe("together with the rest it is more than 1 GiB"));
                }
            }
            match register(context, begin, mapping.end, mapping.writable) {
                Ok(true) if stays => {
                    state.permanent.insert((mapping.begin, mapping.end));
                }
                Ok(true) => this.begins.push(begin),
                // The program has registered it itself.
                Ok(false) => {}
                Err(reason) => return Err(describe(&reason)),
            }
        }
        tracing::trace!(mappings = this.begins.len(), bytes, "registered memory for a launch");
        Ok(this)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        for begin in &self.begins {
            let address = std::ptr::with_exposed_provenance_mut::<c_void>(*begin);
            // SAFETY: registered by this launch, which has ended.
            let code = unsafe { (self.context.api().host_unregister)(address) };
            if let Err(error) = self.context.check(code, symbol::host_unregister) {
                tracing::warn!(%error, "memory stays registered");
            }
        }
    }
}

/// Registers memory; returns whether it was not registered before.
fn register(context: &Context, begin: usize, end: usize, writable: bool) -> Result<bool, String> {
    let flags = if writable { 0 } else { number::REGISTER_READ_ONLY };
    let address = std::ptr::with_exposed_provenance_mut::<c_void>(begin);
    // SAFETY: the driver refuses what is not mapped. Pinning memory changes nothing that the
    // program can see.
    let code = unsafe {
        (context.api().host_register)(address, end - begin, number::HOST_PORTABLE_MAPPED | flags)
    };
    if code == number::ALREADY_REGISTERED {
        return Ok(false);
    }
    context.check(code, symbol::host_register).map_err(|error| error.to_string())?;
    Ok(true)
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
fn first_touched(stack: &Mapping) -> usize {
    touched(stack).unwrap_or(stack.begin)
}

/// Searches the page table. `None` if that cannot be read.
fn touched(stack: &Mapping) -> Option<usize> {
    use std::os::unix::fs::FileExt;

    /// Bits of an entry: the page is in memory, or was swapped out.
    const THERE: u64 = 1 << 63 | 1 << 62;
    let page = page_size()?;
    let table = std::fs::File::open("/proc/self/pagemap").ok()?;
    let mut bytes = vec![0_u8; stack.size() / page * 8];
    table.read_exact_at(&mut bytes, (stack.begin / page * 8) as u64).ok()?;
    let entries =
        bytes.chunks_exact(8).map(|entry| u64::from_ne_bytes(entry.try_into().unwrap_or_default()));
    let untouched = entries.take_while(|entry| entry & THERE == 0).count();
    Some(stack.begin + untouched * page)
}

fn page_size() -> Option<usize> {
    // SAFETY: a query without side effects.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok().filter(|size| *size != 0)
}

/// Whether a mapping stays as long as the process: it is of an object that the process was started
/// with.
fn stays(mapping: &Mapping) -> bool {
    let objects = OBJECTS.get().map(Vec::as_slice).unwrap_or_default();
    objects.iter().any(|(begin, end)| *begin <= mapping.begin && mapping.end <= *end)
}

/// The address ranges of the objects that the process was started with: the executable, and the
/// libraries that it needs. Those that are opened later may be closed.
static OBJECTS: OnceLock<Vec<(usize, usize)>> = OnceLock::new();

/// The mappings before the driver was opened.
static BEFORE_DRIVER: OnceLock<HashSet<Mapping>> = OnceLock::new();

/// Takes note of the objects that the process was started with. Call it before others are opened.
pub(super) fn at_start() {
    OBJECTS.get_or_init(objects);
}

/// Takes note of the mappings before the driver is opened, in programs that may need to know.
pub(super) fn before_driver() {
    if OBJECTS.get().is_some()
        && let Ok(all) = mappings::all()
    {
        let _ = BEFORE_DRIVER.set(all.into_iter().collect());
    }
}

impl HostMemory {
    /// Finds the mappings that the driver has made for itself, when it has just made a context.
    pub(super) fn after_driver(&self) {
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

/// The address ranges of all objects, each from its first segment to its last.
fn objects() -> Vec<(usize, usize)> {
    unsafe extern "C" fn note(
        object: *mut libc::dl_phdr_info,
        _: libc::size_t,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the description of an object, and the list that `objects` passes.
        let (object, found) = unsafe { (&*object, &mut *found.cast::<Vec<(usize, usize)>>()) };
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
            found.push((begin / page * page, end.next_multiple_of(page)));
        }
        0
    }
    let mut found: Vec<(usize, usize)> = Vec::new();
    // SAFETY: the function takes what it is given, and the list lives until the end of the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found
}
