//! `SCHISM_TIMELINE`: what happens when, in a file of the trace format that Perfetto and Chrome show.
//!
//! | events | track |
//! |---|---|
//! | launches, copies, compilations, waits, parallel iterators | the thread of the host that they are of |
//! | kernels | their queue, in the process that stands for its device |
//! | memory | its device, as a counter |
//!
//! Times are those of the system's monotonic clock, so that files of several processes go together. The
//! file is an array of events. Each write replaces the end of the array, so the file is valid JSON at all
//! times, however the program ends; what is not written yet is of the last tenth of a second, or was
//! after the last event.
//!
//! When it is not asked for, an event costs one look at a static.

use std::collections::HashMap;
use std::ffi::{CStr, OsString};
use std::fmt::{self, Display, Write as _};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use crate::util::fork::{self, PerProcess};
use crate::util::variables::TIMELINE;
use crate::util::warn_once;

/// The timeline is not asked for.
const OFF: u8 = 1;
/// It is.
const ON: u8 = 2;

/// One of these, or 0 before the variable is read.
static STATE: AtomicU8 = AtomicU8::new(0);

/// Nanoseconds of the system's monotonic clock.
pub type Time = u64;

/// Events are written after so long, or when there are so many bytes of them.
const DELAY: Time = 100_000_000;
const MANY: usize = 64 << 10;

/// Whether it is asked for.
#[inline]
pub fn is_on() -> bool {
    match STATE.load(Ordering::Relaxed) {
        OFF => false,
        state => state == ON || begin_if_wanted(),
    }
}

#[cold]
fn begin_if_wanted() -> bool {
    static BEGIN: Once = Once::new();
    BEGIN.call_once(|| {
        let is_wanted = TIMELINE.trusted().is_some();
        if is_wanted {
            // SAFETY: the function does not unwind, and may be called at the end. If it cannot be
            // registered, the last events are not written.
            unsafe { libc::atexit(at_exit) };
        }
        STATE.store(if is_wanted { ON } else { OFF }, Ordering::Relaxed);
    });
    STATE.load(Ordering::Relaxed) == ON
}

/// What time it is, if the timeline is asked for.
#[inline]
pub fn begin() -> Option<Time> {
    is_on().then(now)
}

/// What time it is.
pub(crate) fn now() -> Time {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time can be written. The clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as Time * 1_000_000_000 + time.tv_nsec as Time
}

/// A number, a text or a list among the arguments of an event.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    /// A number.
    Number(u64),
    /// A text.
    Text(&'a dyn Display),
    /// Sizes, the slowest dimension first.
    Sizes(&'a [usize]),
    /// Yes or no.
    Is(bool),
}

/// Adds what the calling thread has done since `begin`.
pub fn on_this_thread(
    category: &'static str,
    name: &dyn Display,
    begin: Time,
    arguments: &[(&str, Value<'_>)],
) {
    let end = now();
    // SAFETY: the call has no conditions.
    let thread = unsafe { libc::gettid() }.cast_unsigned().into();
    add(|sheet| {
        let process = process();
        if sheet.is_new(process, thread) {
            sheet.name("thread_name", process, thread, &this_thread(thread == process));
        }
        sheet.add_interval(category, name, (process, thread), (begin, end), arguments);
    });
}

/// The track of a queue; it has a number as soon as there is something on it.
#[derive(Debug)]
pub(crate) struct Track(AtomicU32);

impl Track {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    fn number(&self) -> u64 {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let known = self.0.load(Ordering::Relaxed);
        if known != 0 {
            return known.into();
        }
        let new = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let made = self.0.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed);
        made.map_or_else(u64::from, |_| new.into())
    }
}

/// A launch that will be on the track of a queue.
#[derive(Debug)]
pub(crate) struct Launched {
    kernel: String,
    /// Work-items.
    items: usize,
    /// Those of a group, the slowest dimension first; empty without groups.
    group: Vec<usize>,
    submitted: Time,
}

/// Which clock has measured a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    Device,
    Host,
}

impl Launched {
    pub(crate) fn new(kernel: String, items: usize, group: Vec<usize>) -> Self {
        Self { kernel, items, group, submitted: now() }
    }

    /// When it was submitted.
    pub(crate) const fn submitted(&self) -> Time {
        self.submitted
    }

    /// Adds it to its queue's track: from when to when it ran, by which clock.
    pub(crate) fn ran(
        self,
        (device, track): (&str, &Track),
        (begin, end): (Time, Time),
        clock: Clock,
    ) {
        let track = track.number();
        add(|sheet| {
            let process = sheet.process_of(device);
            if sheet.is_new(process, track) {
                sheet.name("thread_name", process, track, &format_args!("queue {track}"));
            }
            let last = sheet.tracks.entry((process, track)).or_default();
            // The host sees a launch end later than the next one begins.
            let begin = if clock == Clock::Host { begin.max(*last).min(end) } else { begin };
            *last = end.max(*last);
            let measured: &str = if clock == Clock::Host { "host" } else { "device" };
            let all = [
                ("items", Value::Number(self.items as u64)),
                ("group", Value::Sizes(&self.group)),
                ("submitted_us", Value::Number(self.submitted / 1000)),
                ("clock", Value::Text(&measured)),
            ];
            let on = (process, track);
            sheet.add_interval("kernel", &self.kernel, on, (begin, end.max(begin)), &all);
        });
    }
}

/// A part of the calling thread's work, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    begin: Time,
    category: &'static str,
    name: &'static str,
    /// Bytes that are copied.
    bytes: Option<usize>,
    device: &'a str,
}

impl Drop for Section<'_> {
    fn drop(&mut self) {
        let Self { begin, category, name, bytes, device } = self;
        let bytes = bytes.map(|bytes| ("bytes", Value::Number(bytes as u64)));
        let all: Vec<_> = [("device", Value::Text(device))].into_iter().chain(bytes).collect();
        on_this_thread(category, name, *begin, &all);
    }
}

/// The thread waits for what a device does.
#[inline]
pub(crate) fn wait(device: &str) -> Option<Section<'_>> {
    begin().map(|begin| Section { begin, category: "wait", name: "wait", bytes: None, device })
}

/// The thread copies so many bytes; the name is the direction: `copy to the device` and so on.
#[inline]
pub(crate) fn copy<'a>(name: &'static str, bytes: usize, device: &'a str) -> Option<Section<'a>> {
    begin().map(|begin| Section { begin, category: "copy", name, bytes: Some(bytes), device })
}

pub(crate) const TO_DEVICE: &str = "copy to the device";
pub(crate) const TO_HOST: &str = "copy to the host";
pub(crate) const ON_DEVICE: &str = "copy on the device";
pub(crate) const FILL: &str = "fill";

/// The program has more memory of a device, or less, by so many bytes.
#[inline]
pub(crate) fn memory(device: &str, change: impl FnOnce() -> i64) {
    if is_on() {
        note_memory(device, change());
    }
}

#[cold]
fn note_memory(device: &str, change: i64) {
    let at = now();
    add(|sheet| {
        let process = sheet.process_of(device);
        let number = process as usize % DEVICES;
        sheet.devices[number].1 += change;
        let bytes = sheet.devices[number].1.max(0);
        sheet.event(|text| {
            write!(text, r#"{{"name":"memory","ph":"C","pid":{process},"tid":0,"ts":{},"args":{{"bytes":{bytes}}}}}"#, Micros(at))
        });
    });
}

/// Writes what there is, if no thread is adding to it: before the program may end in another way than by
/// `exit`.
pub(crate) fn try_flush() {
    if STATE.load(Ordering::Relaxed) == ON
        && let Some(sheet) = SHEET.known()
        && let Ok(mut sheet) = sheet.try_lock()
    {
        sheet.flush();
    }
}

extern "C" fn at_exit() {
    if let Some(sheet) = SHEET.known() {
        let mut sheet = sheet.lock().unwrap_or_else(PoisonError::into_inner);
        sheet.is_ending = true;
        sheet.flush();
    }
}

/// That of this process. A forked one has its own.
static SHEET: PerProcess<Mutex<Sheet>> = PerProcess::new();

/// Calls `add` with the sheet, and writes if it is time.
#[cold]
#[inline(never)]
fn add(add: impl FnOnce(&mut Sheet)) {
    // A fork waits, since the child's file must not have what its parent's has.
    let _no_fork = fork::NoForkGuard::enter();
    let sheet = SHEET.get(Mutex::default);
    let mut sheet = sheet.lock().unwrap_or_else(PoisonError::into_inner);
    if !sheet.is_open {
        sheet.open();
    }
    if sheet.file.is_none() {
        return;
    }
    add(&mut sheet);
    if sheet.is_ending || sheet.pending.len() >= MANY || now() - sheet.flushed >= DELAY {
        sheet.flush();
    }
}

/// The events of this process that are not written yet, and what is known of those that are.
#[derive(Debug, Default)]
struct Sheet {
    /// Whether the file was asked for.
    is_open: bool,
    /// `None` if it cannot be written.
    file: Option<File>,
    pending: String,
    /// Where the last event in the file ends.
    written: u64,
    flushed: Time,
    /// The tracks that have a name, and where the last event of each ends.
    tracks: HashMap<(u64, u64), Time>,
    /// Names, and bytes of memory in use.
    devices: Vec<(String, i64)>,
    is_ending: bool,
}

/// Devices have process numbers that no process has: from here on, so many for each process.
const FIRST_DEVICE: u64 = 1 << 30;
const DEVICES: usize = 64;

fn process() -> u64 {
    std::process::id().into()
}

impl Sheet {
    fn open(&mut self) {
        self.is_open = true;
        match create() {
            Ok(file) => self.file = Some(file),
            Err((path, error)) => warn_once::warn(format_args!(
                "{TIMELINE}: the timeline cannot be written to `{}`: {error}",
                Path::new(&path).display()
            )),
        }
        self.name("process_name", process(), 0, &program());
    }

    /// Adds an event that `write` writes.
    fn event(&mut self, write: impl FnOnce(&mut String) -> fmt::Result) {
        let is_first = self.written == 0 && self.pending.is_empty();
        let before = self.pending.len();
        self.pending.push_str(if is_first { "[\n" } else { ",\n" });
        if write(&mut self.pending).is_err() {
            // A name's own `Display` fails.
            self.pending.truncate(before);
        }
    }

    /// Whether a track has no name yet.
    fn is_new(&mut self, process: u64, thread: u64) -> bool {
        let is_new = !self.tracks.contains_key(&(process, thread));
        self.tracks.entry((process, thread)).or_default();
        is_new
    }

    /// Names a process or a thread.
    fn name(&mut self, what: &str, process: u64, thread: u64, name: &dyn Display) {
        let name = Quoted(name);
        self.event(|text| {
            write!(text, r#"{{"name":"{what}","ph":"M","pid":{process},"tid":{thread},"args":{{"name":{name}}}}}"#)
        });
    }

    /// The process that stands for a device.
    fn process_of(&mut self, device: &str) -> u64 {
        let known = self.devices.iter().position(|(name, _)| name == device);
        let number = known.unwrap_or(self.devices.len()).min(DEVICES - 1);
        let process = FIRST_DEVICE + process() * DEVICES as u64 + number as u64;
        if number == self.devices.len() {
            self.devices.push((device.to_owned(), 0));
            self.name("process_name", process, 0, &device);
        }
        process
    }

    fn add_interval(
        &mut self,
        category: &str,
        name: &dyn Display,
        (process, thread): (u64, u64),
        (begin, end): (Time, Time),
        arguments: &[(&str, Value<'_>)],
    ) {
        let (begin, took) = (Micros(begin), Micros(end.saturating_sub(begin)));
        let name = Quoted(name);
        self.event(|text| {
            write!(
                text,
                r#"{{"name":{name},"cat":"{category}","ph":"X","pid":{process},"tid":{thread},"ts":{begin},"dur":{took},"args":{{"#
            )?;
            for (number, (key, value)) in arguments.iter().enumerate() {
                let comma = if number == 0 { "" } else { "," };
                write!(text, "{comma}\"{key}\":")?;
                match value {
                    Value::Number(number) => write!(text, "{number}")?,
                    Value::Text(words) => write!(text, "{}", Quoted(words))?,
                    Value::Sizes(sizes) => write!(text, "{sizes:?}")?,
                    Value::Is(is) => write!(text, "{is}")?,
                }
            }
            text.write_str("}}")
        });
    }

    fn flush(&mut self) {
        self.flushed = now();
        let Some(file) = &self.file else { return };
        if self.pending.is_empty() {
            return;
        }
        let events = self.pending.len() as u64;
        self.pending.push_str("\n]\n");
        if let Err(error) = file.write_all_at(self.pending.as_bytes(), self.written) {
            self.file = None;
            warn_once::warn(format_args!("{TIMELINE}: the timeline cannot be written: {error}"));
        }
        self.written += events;
        self.pending.clear();
    }
}

/// Creates the file, in which `%p` is the number of the process.
fn create() -> Result<File, (OsString, io::Error)> {
    let name = TIMELINE.trusted().unwrap_or_default().as_bytes();
    let mut path = Vec::new();
    let mut rest = name;
    while let Some(at) = rest.windows(2).position(|two| two == b"%p") {
        path.extend_from_slice(&rest[..at]);
        path.extend_from_slice(std::process::id().to_string().as_bytes());
        rest = &rest[at + 2..];
    }
    path.extend_from_slice(rest);
    let (is_same, path) = (path == name, OsString::from_vec(path));
    if is_same && fork::generation() != 0 {
        let reason =
            "it is that of the process that was forked; with `%p` in its name each process has one";
        return Err((path, io::Error::other(reason)));
    }
    File::create(&path).map_err(|error| (path, error))
}

/// The name of the program.
fn program() -> String {
    let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let first = line.split(|byte| *byte == 0).next().unwrap_or_default();
    let name = first.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    if name.is_empty() { "program".to_owned() } else { String::from_utf8_lossy(name).into_owned() }
}

/// The name of this thread.
fn this_thread(is_main: bool) -> String {
    if is_main {
        return "main".to_owned();
    }
    let mut name = [0_u8; 16];
    // SAFETY: there is room for the name and the zero after it.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned()
}

/// A time in the format's unit.
struct Micros(Time);

impl Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = Duration::from_nanos(self.0);
        write!(f, "{}.{:03}", time.as_micros(), self.0 % 1000)
    }
}

/// A text as JSON has it.
struct Quoted<'a>(&'a dyn Display);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Escaped<'a, 'b>(&'a mut fmt::Formatter<'b>);

        impl fmt::Write for Escaped<'_, '_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                text.chars().try_for_each(|char| match char {
                    '"' | '\\' => write!(self.0, "\\{char}"),
                    '\0'..' ' => write!(self.0, "\\u{:04x}", char as u32),
                    _ => self.0.write_char(char),
                })
            }
        }

        f.write_char('"')?;
        write!(Escaped(f), "{}", self.0)?;
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted() {
        let quoted = |text: &str| Quoted(&text).to_string();
        assert_eq!(quoted("a \"b\" \\ c\n\u{1}é"), r#""a \"b\" \\ c\u000a\u0001é""#);
    }

    #[test]
    fn times_are_microseconds() {
        assert_eq!(Micros(1_234_567_089).to_string(), "1234567.089");
        assert_eq!(Micros(5).to_string(), "0.005");
    }

    #[test]
    fn a_track_keeps_its_number() {
        let (one, two) = (Track::new(), Track::new());
        assert_eq!((one.number(), two.number()), (one.number(), two.number()));
        assert_ne!(one.number(), two.number());
    }
}
