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
//! its old registration: the device would see the old pages, without an error. So a mapping
//! stays registered after a launch only
//!
//! - if it stays as long as the process: it is of an object that the process was started with, or
//!   that this crate has opened for good;
//! - if it is [watched](super::watch): before the next launch what has gone is unregistered, when
//!   no launch is running any more.
//!
//! A launch looks at all mappings, unless the system [says](super::mapping_log) that there is none
//! since the last look, and nothing has gone.
//!
//! All else is registered for one launch, and there is one such launch at a time. What a kernel
//! refers to is borrowed for the launch, so it is not unmapped before the launch has ended.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Instant;

use crate::error::DriverError;
use crate::hal::SharedRange;
use crate::hal::address_window::is_in_window;
use crate::hal::gpu::api::{DevicePtr, RawStream, number, symbol};
use crate::hal::gpu::handle::Handle;
use crate::hal::gpu::in_system_call::InSystemCall;
use crate::hal::gpu::mapping_log::{self, Moment};
use crate::hal::gpu::mappings::{self, Mapping, Questions};
use crate::hal::gpu::page_table::{self, Away};
use crate::hal::gpu::process;
use crate::hal::gpu::watch::Watch;

/// A launch registers no more than this: pinning takes time, and keeps memory from others.
const MOST_BYTES: usize = 1 << 30;

/// Files of the driver's and of this crate's, whose memory a program has no addresses of.
const INTERNAL: [&str; 4] = ["libcuda.so", "libnvidia-", "libschism_jit.so", "libLLVM"];

/// Folders of files that are no memory.
const DEVICES: [&str; 2] = ["/dev/nvidia", "/dev/dri"];

/// What the system calls shared memory without a file.
const SHARED: &str = "/dev/zero";

/// A look at all mappings takes no longer than one at so many ends.
const MOST_ENDS: usize = 64;

/// What is known of a context's view of the process.
#[derive(Debug, Default)]
pub(super) struct HostMemory {
    state: Mutex<State>,
    /// Launches that may rely on what is registered, or run while something is, as readers.
    launches: RwLock<()>,
    /// Managed memory that is not on the host.
    away: Mutex<Away>,
}

#[derive(Debug, Default)]
struct State {
    /// What stays registered after launches, by address.
    registered: BTreeMap<usize, Registration>,
    /// The mappings that the driver has made for itself. Each is watched: what comes in its place
    /// may be the program's.
    drivers: HashSet<Mapping>,
    /// Watches what may go; `None` inside where the system does not allow that.
    watch: OnceCell<Option<Watch>>,
    /// Threads that may be giving back memory, and the last event that is theirs.
    in_system_call: Option<(InSystemCall, u64)>,
    /// When all mappings were registered or without an owner. While it is that moment, and no mapping has
    /// grown, they are.
    complete: Option<Moment>,
    /// Where mappings end that may grow unseen, with nothing behind them, or with a mapping of the driver's.
    ends: Vec<usize>,
    borders: Vec<usize>,
    questions: OnceCell<Option<Questions>>,
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
pub(super) fn with_all(
    context: &Handle,
    memory: &HostMemory,
    run: &mut dyn FnMut(),
) -> Result<(), String> {
    if context.gpu.sees_pageable_memory {
        run();
        return Ok(());
    }
    if !context.gpu.takes_host_addresses {
        return Err("it cannot use the host's addresses".to_owned());
    }
    let mut state = memory.state.lock().unwrap_or_else(PoisonError::into_inner);
    let for_launch = state.register_all(context, memory).or_else(|reason| {
        // Another thread may have unmapped something since the look at the mappings.
        tracing::debug!(reason, "looks at the mappings again");
        state.register_all(context, memory)
    })?;
    if for_launch.begins.is_empty() {
        // Others may run at the same time. They wait before they unregister anything.
        let running = memory.launches.read().unwrap_or_else(PoisonError::into_inner);
        drop(state);
        run();
        drop(running);
        return Ok(());
    }
    run();
    drop(for_launch);
    Ok(())
}

/// Runs a launch whose kernel uses memory that is shared with the device anyway. Nothing is
/// unregistered meanwhile.
pub(super) fn with_shared(memory: &HostMemory, run: &mut dyn FnMut()) {
    let running = memory.launches.read().unwrap_or_else(PoisonError::into_inner);
    run();
    drop(running);
}

/// Reserves managed memory: the host and the device see it at the same address. It is never freed,
/// and takes no physical memory before it is used.
pub(super) fn reserve(context: &Handle, bytes: usize) -> Option<usize> {
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

/// Has managed memory moved to the device, in the order of a stream. It is a hint.
pub(super) fn prefetch(context: &Handle, stream: RawStream, address: usize, bytes: usize) {
    if context.enter().is_ok() {
        // SAFETY: moving memory changes nothing that can be seen; the driver refuses addresses
        // that it does not know.
        unsafe {
            (context.api().prefetch)(address as DevicePtr, bytes, context.gpu.number, stream)
        };
    }
}

/// What is registered until this is dropped.
struct ForLaunch<'a> {
    context: &'a Handle,
    memory: &'a HostMemory,
    /// Where the ranges begin.
    begins: Vec<usize>,
}

impl HostMemory {
    /// Marks the ranges of managed memory that are to be moved to the device: new ones, and those of
    /// which the host has pages.
    pub(super) fn find_returned(&self, ranges: &mut [SharedRange]) {
        let mut away = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        away.look();
        for range in ranges {
            let (begin, size) = (range.begin, range.size);
            // What stays is not away.
            if range.stays || away.may_be_back((begin, size)) {
                range.on_host = page_table::samples_there(begin, size);
            }
            range.is_moved = !range.stays && (range.is_new || range.on_host != 0);
        }
    }

    /// Takes note of the mappings that the driver has made for itself.
    pub(super) fn leave_out(&self, drivers: HashSet<Mapping>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_watched = |mapping: &Mapping| state.watch(mapping.begin, mapping.end);
        state.drivers = drivers.into_iter().filter(is_watched).collect();
    }
}

impl Drop for ForLaunch<'_> {
    fn drop(&mut self) {
        if self.begins.is_empty() {
            return;
        }
        let _none_runs = self.memory.launches.write().unwrap_or_else(PoisonError::into_inner);
        self.begins.iter().for_each(|begin| unregister(self.context, *begin));
    }
}

impl State {
    /// Registers what is not registered yet; returns what is for one launch.
    fn register_all<'a>(
        &mut self,
        context: &'a Handle,
        memory: &'a HostMemory,
    ) -> Result<ForLaunch<'a>, String> {
        let unusable = |error: DriverError| error.to_string();
        context.check_usable().map_err(unusable)?;
        // Before the look: what comes meanwhile may not be in it.
        let now = mapping_log::now();
        let gone = self.forget_gone(context, memory);
        self.settle();
        let mut for_launch = ForLaunch { context, memory, begins: Vec::new() };
        let has_grown = || {
            self.ends.iter().any(|end| !page_table::is_free(*end))
                || self.borders.iter().any(|border| !self.begins_at(*border))
        };
        if now.is_some() && now == self.complete && !gone && !has_grown() {
            return Ok(for_launch);
        }
        let started = Instant::now();
        context.enter().map_err(unusable)?;
        self.complete = None;
        let unreadable = |error| format!("the list of its mappings cannot be read: {error}");
        let all = mappings::all().map_err(unreadable)?;
        // The first mapping that may change unseen, or is not registered for longer: all are looked
        // at again before the next launch.
        let mut unseen: Option<&Mapping> = None;
        let (mut bytes, mut new) = (0, 0);
        let mut before: Option<&Mapping> = None;
        // What is watched and may become larger in its place.
        let mut may_grow: Vec<&Mapping> = Vec::new();
        for mapping in &all {
            let follows = before.replace(mapping).filter(|before| before.end == mapping.begin);
            let mut seen = goes_seen(mapping);
            if !is_programs(mapping) || self.is_drivers(context, mapping) {
                if !seen {
                    unseen.get_or_insert(mapping);
                }
                continue;
            }
            if !process::stays(mapping) && (mapping.shared || !mapping.writable) {
                may_grow.push(mapping);
            }
            let is_stack = follows.is_some_and(|guard| !guard.readable && guard.size() <= GUARD);
            let gaps = self.gaps(context, memory, mapping);
            for (begin, end) in gaps {
                let registered = if process::stays(mapping) {
                    self.keep(context, mapping, (begin, end), false)
                } else if !self.is_leaving(begin, end) && self.watch(begin, end) {
                    self.keep(context, mapping, (begin, end), true)
                } else {
                    seen = false;
                    // Below its first page nothing was ever called, so nothing there belongs to a
                    // frame.
                    let first = is_stack.then(|| page_table::first_there(begin, end)).flatten();
                    let begin = first.unwrap_or(begin);
                    bytes += end - begin;
                    if bytes > MOST_BYTES {
                        let reason = "together with the rest it is more than 1 GiB";
                        return Err(describe(mapping, reason));
                    }
                    register(context, mapping, begin, end).map(|outcome| {
                        if matches!(outcome, Outcome::Registered) {
                            for_launch.begins.push(begin);
                        }
                        outcome
                    })
                };
                new += 1;
                match registered.map_err(|error| describe(mapping, &error.to_string()))? {
                    Outcome::Registered => {}
                    // Its owner may unregister it.
                    Outcome::Already => seen = false,
                    Outcome::Drivers if self.watch(mapping.begin, mapping.end) => {
                        self.drivers.insert(mapping.clone());
                    }
                    Outcome::Drivers => seen = false,
                }
            }
            if !seen {
                unseen.get_or_insert(mapping);
            }
        }
        let (micros, mappings) = (started.elapsed().as_micros() as u64, all.len());
        let once = for_launch.begins.len();
        // One that grows in place is not seen, so what is behind it must be free, or go seen.
        self.ends.clear();
        self.borders.clear();
        for mapping in &may_grow {
            let next = all.partition_point(|other| other.begin < mapping.end);
            match all.get(next).filter(|next| next.begin == mapping.end) {
                None => self.ends.push(mapping.end),
                Some(next) if self.goes_seen_or_stays(next) => {}
                // Where it goes, and the other one grows over it, no mapping begins here any more.
                Some(next) if !is_programs(next) && self.begins_at(next.begin) => {
                    self.borders.push(next.begin);
                }
                Some(_) => {
                    unseen.get_or_insert(mapping);
                }
            }
        }
        if self.ends.len() + self.borders.len() > MOST_ENDS {
            unseen = unseen.or(may_grow.first().copied());
        }
        let complete = unseen.is_none();
        tracing::debug!(mappings, new, once, complete, micros, ?unseen, "made memory visible");
        self.complete = now.filter(|_| complete);
        Ok(for_launch)
    }

    /// Whether a mapping begins at an address; `false` where the system does not say.
    fn begins_at(&self, address: usize) -> bool {
        let questions = self.questions.get_or_init(Questions::open);
        questions.as_ref().is_some_and(|questions| questions.begins_at(address))
    }

    /// Whether it is seen when a mapping is unmapped, or it never is.
    fn goes_seen_or_stays(&self, mapping: &Mapping) -> bool {
        let covers = |(begin, registration): (&usize, &Registration)| {
            *begin <= mapping.begin && mapping.end <= registration.end && registration.watched
        };
        process::stays(mapping)
            || self.drivers.contains(mapping)
            || self.registered.range(..=mapping.begin).next_back().is_some_and(covers)
    }

    /// Whether a mapping is the driver's own, among them those that it has made for memory that this
    /// crate has asked it for: the device sees that, and the rest of such a mapping has no owner.
    fn is_drivers(&mut self, context: &Handle, mapping: &Mapping) -> bool {
        if self.drivers.contains(mapping) {
            return true;
        }
        let (begin, end) = (mapping.begin, mapping.end);
        let is_for_pinned = mapping.shared
            && mapping.name.starts_with(SHARED)
            && context.has_pinned(begin, end)
            && self.watch(begin, end);
        if is_for_pinned {
            self.drivers.insert(mapping.clone());
        }
        is_for_pinned
    }

    /// The parts of a mapping that are not registered.
    fn gaps(
        &mut self,
        context: &Handle,
        memory: &HostMemory,
        mapping: &Mapping,
    ) -> Vec<(usize, usize)> {
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
                self.forget(context, memory, &[begin]);
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
        context: &Handle,
        mapping: &Mapping,
        (begin, end): (usize, usize),
        watched: bool,
    ) -> Result<Outcome, DriverError> {
        let outcome = register(context, mapping, begin, end)?;
        if let Outcome::Registered = outcome {
            let registration = Registration { end, writable: mapping.writable, watched };
            self.registered.insert(begin, registration);
        }
        Ok(outcome)
    }

    /// Has a range watched from now on; `false` if that cannot be.
    fn watch(&self, begin: usize, end: usize) -> bool {
        let watch = self.watch.get_or_init(|| {
            let watch = Watch::new();
            watch.inspect_err(|error| tracing::debug!(%error, "memory cannot be watched")).ok()
        });
        watch.as_ref().is_some_and(|watch| watch.add(begin, end).is_ok())
    }

    /// Looks whether calls that give back memory have returned, where that is not known otherwise.
    fn settle(&mut self) {
        let Some(watch) = self.watch.get().and_then(Option::as_ref) else { return };
        let Some(last) = watch.last_leaving() else {
            self.in_system_call = None;
            return;
        };
        match &mut self.in_system_call {
            Some((threads, event)) => {
                if threads.is_none_left() {
                    watch.settle(*event);
                    self.in_system_call = None;
                }
            }
            None => self.in_system_call = InSystemCall::now().map(|threads| (threads, last)),
        }
    }

    /// Whether a part of a range may still have pages that a thread is giving back.
    fn is_leaving(&self, begin: usize, end: usize) -> bool {
        self.watch.get().and_then(Option::as_ref).is_some_and(|watch| watch.is_leaving(begin, end))
    }

    /// Unregisters what has gone since the last launch; returns whether anything has.
    fn forget_gone(&mut self, context: &Handle, memory: &HostMemory) -> bool {
        let mut gone = Vec::new();
        if let Some(Some(watch)) = self.watch.get() {
            watch.take(|range| gone.push(range.unwrap_or((0, usize::MAX))));
        }
        if gone.is_empty() {
            return false;
        }
        let is_gone =
            |begin: usize, end: usize| gone.iter().any(|(from, to)| *from < end && begin < *to);
        self.drivers.retain(|mapping| !is_gone(mapping.begin, mapping.end));
        let watched = self.registered.iter().filter(|(_, registration)| registration.watched);
        let begins: Vec<usize> = watched
            .filter(|(begin, registration)| is_gone(**begin, registration.end))
            .map(|(begin, _)| *begin)
            .collect();
        self.forget(context, memory, &begins);
        true
    }

    /// Unregisters what begins at some addresses, when no launch is running any more.
    fn forget(&mut self, context: &Handle, memory: &HostMemory, begins: &[usize]) {
        if begins.is_empty() {
            return;
        }
        let _none_runs = memory.launches.write().unwrap_or_else(PoisonError::into_inner);
        // If that fails, so does the first call, which says so.
        let _ = context.enter();
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

fn unregister(context: &Handle, begin: usize) {
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
    /// It was registered elsewhere.
    Already,
    /// It is the driver's own, and the program has no addresses of it.
    Drivers,
}

/// Registers a part of a mapping.
fn register(
    context: &Handle,
    mapping: &Mapping,
    begin: usize,
    end: usize,
) -> Result<Outcome, DriverError> {
    let flags = if mapping.writable { 0 } else { number::REGISTER_READ_ONLY };
    let address = std::ptr::with_exposed_provenance_mut::<c_void>(begin);
    let (size, flags) = (end - begin, number::HOST_PORTABLE_MAPPED | flags);
    // SAFETY: the driver refuses what is not mapped. Pinning memory changes nothing that the
    // program can see.
    match unsafe { (context.api().host_register)(address, size, flags) } {
        number::ALREADY_REGISTERED => Ok(Outcome::Already),
        // The driver refuses only such memory of this kind that it keeps for itself.
        number::INVALID_VALUE if mapping.shared && mapping.name.starts_with(SHARED) => {
            Ok(Outcome::Drivers)
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
    let own = is_in_window(mapping.begin) || mapping_log::is_own(mapping.begin);
    mapping.readable && !internal && !systems && !own
}

/// Whether a mapping cannot make room unseen for a larger one, so that as much private memory as
/// before is the same memory: it is watched, stays, or is none of such memory.
fn goes_seen(mapping: &Mapping) -> bool {
    let device = DEVICES.iter().any(|folder| mapping.name.starts_with(folder));
    mapping.shared || !mapping.writable || (mapping.readable && !device)
}

/// The largest guard below a thread's stack.
const GUARD: usize = 64 << 10;
