//! The text of errors and warnings: what the passes refuse or warn of, and what to write instead.

use std::borrow::Cow;

use schism_passes::spec::report::{LintKind, ViolationKind};

use crate::collect::call_map::{CallMap, ItemKind, Origin};
use crate::kernels::names::{is_allocator, readable};
use crate::report::call_paths::ReportLocation;

/// The text for one location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiagnosticText {
    /// Of several causes at one location, the one with the lowest rank is reported.
    pub rank: u8,
    /// The message of the error.
    pub message: String,
    /// The label at the location.
    pub label: String,
    /// The help: what to write instead.
    pub help: Cow<'static, str>,
    /// Only the drop of a value that was made elsewhere: not reported beside other errors.
    pub only_drops: bool,
    /// Not reported inside a location that has another error.
    pub detail: bool,
}

/// What functions do that stand for instructions, or ask for them.
const ONE_CPU: &str = "is for one kind of CPU";

/// Parts of the standard library: a path prefix, what such a function does, and what to do instead.
/// The first match is used.
const APIS: [(&[&str], &str, &str); 16] = [
    (
        &["std::io::_print", "std::io::_eprint"],
        "prints, and a device has no standard output",
        "print with `schism::dprintln!`, or write the values into a buffer and print them on the host",
    ),
    (
        &["std::fs::", "std::net::", "std::io::", "std::os::"],
        "does input or output",
        "read and write on the host; a kernel gets data in buffers",
    ),
    (
        &["std::time::"],
        "asks the system for the time",
        "ask on the host and pass the value in; `Event` and `SCHISM_TRACE` time launches",
    ),
    (
        &["std::env::"],
        "asks for the process's environment",
        "ask on the host and pass the value into the kernel",
    ),
    (
        &["std::process::abort", "std::process::exit", "core::intrinsics::abort"],
        "ends the process",
        "panic instead: the launch then returns an error",
    ),
    (&["std::process::"], "manages processes", "do that on the host, before or after the launch"),
    (
        &["std::thread::LocalKey"],
        "reads a thread-local, and a device has no threads of the host",
        "pass the value into the kernel",
    ),
    (
        &["std::thread::"],
        "manages threads of the host",
        "a kernel's parallelism is its range: launch more work-items",
    ),
    (
        &["std::sync::mpsc::", "std::sync::mpmc::"],
        "sends or receives between threads of the host",
        "let each work-item write its own element of a buffer",
    ),
    (
        &[
            "std::sync::OnceLock",
            "std::sync::LazyLock",
            "std::sync::Once",
            "std::cell::LazyCell",
            "std::cell::OnceCell",
        ],
        "makes, or waits for, a value that the host's threads share",
        "compute the value on the host before the launch, and capture it",
    ),
    (
        &[
            "std::sync::Mutex",
            "std::sync::RwLock",
            "std::sync::Condvar",
            "std::sync::Barrier",
            "std::sync::poison",
            "std::sync::nonpoison",
            "std::sync::ReentrantLock",
        ],
        "waits for threads of the host",
        "let each work-item write its own element, or use the atomics of `Buffer::atomic_view`",
    ),
    (
        &[
            "std::panic::",
            "std::panicking::",
            "core::intrinsics::catch_unwind",
            "std::intrinsics::catch_unwind",
        ],
        "catches panics or sets their hook",
        "a panic ends the launch with an error: return a value, and look at it on the host",
    ),
    (
        &[
            "std::collections::HashMap",
            "std::collections::HashSet",
            "std::collections::hash",
            "std::hash::random",
            "std::hash::RandomState",
        ],
        "needs memory and random keys for a hash table",
        "use an array, or a sorted buffer that the host makes and the kernel searches",
    ),
    (
        &["std::backtrace::", "std::alloc::set_alloc"],
        "looks into the host's process",
        "do that on the host",
    ),
    (
        &["std::arch::", "core::arch::", "core::core_arch::", "std::is_x86", "std_detect"],
        ONE_CPU,
        "write the operation with plain Rust on arrays, which is vectorised for the device at hand",
    ),
    (&["std::hint::"], "is a hint to the host's CPU", "leave it out"),
];

/// Functions of the C library, and their replacements.
const FOREIGN: [(&[&str], &str); 2] = [
    (
        &["printf", "fprintf", "dprintf", "puts", "fputs", "putchar", "putc", "fputc", "perror"],
        "print with `schism::dprintln!`, or write the values into a buffer and print them on the host",
    ),
    (
        &["malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "free", "strdup"],
        "a device has no heap: use an array of fixed length, or a buffer that the host makes",
    ),
];

impl DiagnosticText {
    fn new(rank: u8, message: String, label: &str, help: impl Into<Cow<'static, str>>) -> Self {
        let label = label.to_owned();
        Self { rank, message, label, help: help.into(), only_drops: false, detail: false }
    }
}

/// The text for a violation at a location.
pub(crate) fn of(what: &ViolationKind, place: &ReportLocation, map: &CallMap) -> DiagnosticText {
    let path =
        |symbol: &str| map.item(symbol).map_or_else(|| readable(symbol), |item| item.path.clone());
    // The function of the standard library that the user, or a dependency, calls.
    let api = place.inner.iter().find(|step| step.origin == Origin::Std).map(|step| &*step.path);
    let terminal = what.symbol().map(path);
    let api = api.or(terminal.as_deref().filter(|path| is_std(path)));
    let called = place.by_macro.clone().or(api.map(plain));
    let drops = place.inner.first().is_some_and(|step| step.path.starts_with(DROP));
    let text = match (api, api.and_then(known_api)) {
        (Some(api), _) if api.starts_with("std::fmt::format") => DiagnosticText {
            help: "a device has no heap for text: write the values in the panic or in `schism::dprintln!` itself, whose text the host makes, \
                   or put them into a buffer"
                .into(),
            ..allocates(called.as_deref())
        },
        (Some(_), Some((_, does, help))) => {
            let called = called.as_deref().unwrap_or_default();
            let message = if drops {
                format!("a kernel drops {}, which {does}", called.trim_start_matches(DROP))
            } else {
                format!("a kernel calls `{called}`, which {does}")
            };
            DiagnosticText::new(
                0,
                message,
                if drops { "dropped here" } else { "called here" },
                *help,
            )
        }
        _ => of_kind(what, called.as_deref(), map, path),
    };
    // Who uses a crate cannot write it in another way.
    let help = match dependency(place) {
        Some(name) if is_of_one_cpu(what, api) => format!(
            "`{name}` has this for processors like the host's: look for a feature of `{name}` that selects portable code (often \
             `default-features = false`), use another crate, or call it on the host"
        )
        .into(),
        _ => text.help,
    };
    DiagnosticText { only_drops: text.only_drops || drops, help, ..text }
}

/// The name of the innermost crate, other than the program's and the standard library's, through
/// which something is reached.
fn dependency(place: &ReportLocation) -> Option<&str> {
    let step = place.inner.iter().rfind(|step| step.origin == Origin::Dependency)?;
    crate_of(&step.path)
}

/// The crate that a path begins with.
fn crate_of(path: &str) -> Option<&str> {
    let path = path.trim_start_matches(DROP).trim_start_matches(['`', '<', '&', '*']);
    let name = path.split("::").next()?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

/// Whether something is refused because it is for one kind of CPU.
fn is_of_one_cpu(what: &ViolationKind, api: Option<&str>) -> bool {
    matches!(what, ViolationKind::InlineAssembly | ViolationKind::Intrinsic(_))
        || api.and_then(known_api).is_some_and(|(_, does, _)| *does == ONE_CPU)
}

/// The text for what makes a kernel slow.
pub(crate) fn of_lint(what: &LintKind, place: &ReportLocation) -> DiagnosticText {
    let std = place.inner.iter().find(|step| step.origin == Origin::Std).map(|step| &*step.path);
    match what {
        LintKind::Formatting(_) => {
            let called = place.by_macro.clone().or(std.map(plain));
            let with = called.map_or_else(String::new, |called| format!(" with `{called}`"));
            DiagnosticText::new(
                0,
                format!("a kernel formats text{with}, which is slow on a device"),
                "the formatting machinery becomes part of the device half for this",
                "write the values into a buffer, and make text of them on the host; panics and \
                 `schism::dprintln!` have their text made there anyway",
            )
        }
        LintKind::PrivateMemory { bytes } => DiagnosticText::new(
            1,
            format!("a kernel has {} KiB of local variables in one function", bytes / 1024),
            "each work-item has all of them",
            "use smaller arrays, or a buffer of which each work-item has its part; what a work-group \
             shares can be in local memory (`local_array!`)",
        ),
        LintKind::Captures { bytes } => DiagnosticText::new(
            1,
            format!("a kernel captures {} KiB by value", bytes / 1024),
            "each work-item has a copy",
            "put it into a buffer and capture its view (`buffer.view()`)",
        ),
        LintKind::DivisionInAddress => DiagnosticText::new(
            2,
            "a kernel divides by a variable, in 64 bits, to find a place in memory".to_owned(),
            "this takes dozens of instructions on a GPU",
            "launch in two or three dimensions instead of dividing an index, make the divisor a \
             constant (`const`, `SpecConst`), or divide `u32`s",
        ),
    }
}

/// The path prefix of functions that drop a value.
pub(crate) const DROP: &str = "drop of ";

fn of_kind(
    what: &ViolationKind,
    called: Option<&str>,
    map: &CallMap,
    path: impl Fn(&str) -> String,
) -> DiagnosticText {
    match what {
        ViolationKind::InlineAssembly => DiagnosticText::new(
            1,
            "a kernel contains inline assembly".to_owned(),
            "this is for one kind of CPU",
            "write it in Rust; where the host needs it, keep it apart with `if schism::is_device()`",
        ),
        ViolationKind::Intrinsic(name) => DiagnosticText::new(
            1,
            format!("a kernel uses `{name}`, an operation of one kind of CPU"),
            "used here",
            "write the operation with plain Rust on arrays, which is vectorised for the device at hand",
        ),
        ViolationKind::ThreadLocal(symbol) => DiagnosticText::new(
            1,
            format!("a kernel uses the thread-local `{}`", path(symbol)),
            "a device has no threads of the host",
            "pass the value into the kernel",
        ),
        ViolationKind::MutableStatic(symbol) => {
            let (label, help, detail) = of_static(map, symbol);
            let what = if holds_spec_constants(map, symbol) {
                "in which no launch can replace specialization constants"
            } else {
                "whose value can change"
            };
            let path = path(symbol);
            let elsewhere = map.item(symbol).filter(|item| item.origin == Origin::Dependency);
            let help = match elsewhere.map(|item| &item.kind) {
                Some(ItemKind::Static { ty, .. }) if !detail => of_static_elsewhere(&path, ty),
                _ => help.into(),
            };
            let message = format!("a kernel uses the static `{path}`, {what}");
            DiagnosticText { detail, ..DiagnosticText::new(1, message, label, help) }
        }
        ViolationKind::ExternalStatic(symbol) => DiagnosticText {
            detail: true,
            ..DiagnosticText::new(
                2,
                format!("a kernel uses the static `{}`, which no device has", path(symbol)),
                "used here",
                "pass its value into the kernel, or make it a `const`",
            )
        },
        ViolationKind::OffsetByAddress(symbol) => DiagnosticText::new(
            1,
            format!(
                "a kernel calls `{}`, which reads where the launch begins, through a pointer",
                path(symbol)
            ),
            "its address is taken here",
            "call it by its name, or pass it the offset of the work-item (`item.offset()`)",
        ),
        ViolationKind::OfKernels(symbol) => {
            let needs = match symbol.strip_prefix("__schism_") {
                Some(builtin) if builtin.starts_with("global_offset") => {
                    "where the launch begins".to_owned()
                }
                Some(_) => "a work-group".to_owned(),
                None => format!("the specialization constant `{}`", path(symbol)),
            };
            DiagnosticText::new(
                1,
                format!(
                    "a function that is exported to devices needs {needs}, which only a kernel has"
                ),
                "for this",
                "let the kernel ask, and pass the function the value",
            )
        }
        ViolationKind::VariadicFunction(symbol) => DiagnosticText::new(
            1,
            format!(
                "a kernel calls `{}`, which takes a variable number of arguments",
                plain(&path(symbol))
            ),
            "a device has no list of arguments that a function could go through",
            "take a slice or an array, or write a function for each number of arguments",
        ),
        ViolationKind::UnknownFunction => DiagnosticText::new(
            1,
            "a kernel calls a function whose address was made from a number".to_owned(),
            "whatever it names lives on the host",
            "choose among functions by an enum and `match`, or call the function by its name",
        ),
        ViolationKind::HostFunction => DiagnosticText::new(
            1,
            "a kernel calls a function whose address comes from the host".to_owned(),
            "whatever it names lives on the host",
            "choose among functions by an enum and `match`, or call the function by its name",
        ),
        ViolationKind::Recursion(circle) => DiagnosticText::new(
            1,
            format!(
                "a kernel calls functions in a circle, and the device has no stack for it: {}",
                circle
                    .iter()
                    .map(|name| format!("`{}`", path(name)))
                    .collect::<Vec<_>>()
                    .join(" → ")
            ),
            "this call closes the circle",
            "write a loop, with an array of fixed length for what is still to do",
        ),
        ViolationKind::ExternalFunction(symbol) => of_function(symbol, &path(symbol), called, map),
    }
}

fn allocates(called: Option<&str>) -> DiagnosticText {
    let label = match called {
        Some(called) => format!("`{called}` needs memory"),
        None => "this needs memory".to_owned(),
    };
    let help =
        "a device has no heap: use an array of fixed length, or a buffer that the host makes";
    DiagnosticText::new(3, "a kernel allocates memory".to_owned(), &label, help)
}

/// Whether a static contains specialization constants that the plugin does not support.
fn holds_spec_constants(map: &CallMap, symbol: &str) -> bool {
    matches!(
        map.item(symbol).map(|item| &item.kind),
        Some(ItemKind::Static { mutable: false, spec_constants: true, .. })
    )
}

/// Label and help for a static whose value can change, and whether it is a lock or similar: then
/// the functions that the kernel calls on it have better texts.
fn of_static(map: &CallMap, symbol: &str) -> (&'static str, &'static str, bool) {
    let (mutable, ty) = match map.item(symbol).map(|item| &item.kind) {
        Some(ItemKind::Static { mutable, ty, .. }) => (*mutable, ty.as_str()),
        _ => (false, ""),
    };
    let label = "a device would have its own copy";
    if mutable {
        let help = "pass the value into the kernel, or make it a `const` or a plain `static`";
        return (label, help, false);
    }
    if ["OnceLock", "LazyLock", "Lazy<", "OnceCell", "Once"].iter().any(|name| ty.contains(name)) {
        let label = "the value is made when the host first asks for it";
        return (label, "compute the value on the host before the launch, and capture it", true);
    }
    if holds_spec_constants(map, symbol) {
        let label =
            "it has specialization constants in an enum, or beside a reference or another cell";
        let help = "declare each `SpecConst` as its own `static`, or in arrays, tuples and structs without enums, references \
                    and other cells; at most 1024 to a `static`";
        return (label, help, false);
    }
    if ty.contains("Atomic") {
        let help = "count in a buffer of the device, through `Buffer::atomic_view`, and read it after \
                    the launch";
        return (label, help, false);
    }
    let help = "pass the value into the kernel, or share a buffer through `Buffer::atomic_view`";
    (label, help, ty.starts_with("std::sync::"))
}

/// The help for a static of another crate whose value can change.
fn of_static_elsewhere(path: &str, ty: &str) -> Cow<'static, str> {
    let Some(name) = crate_of(path) else { return "call it on the host".into() };
    // A table of functions, or an address of one.
    let keeps = match ty.contains("AtomicPtr") {
        true => format!(
            "`{name}` chooses code for the processor while the program runs, and keeps its choice there"
        ),
        false => format!(
            "`{name}` keeps something there while the program runs, such as what the processor has"
        ),
    };
    format!(
        "{keeps}: look for a feature of `{name}` that turns this off, for functions of it that do without, or for another crate, or call it \
         on the host"
    )
    .into()
}

/// The text for a function without a body.
fn of_function(symbol: &str, path: &str, called: Option<&str>, map: &CallMap) -> DiagnosticText {
    if symbol.contains("__rust_dealloc") {
        let help = "a device has no heap: make and drop the value on the host";
        let message = "a kernel frees memory of the heap".to_owned();
        return DiagnosticText {
            only_drops: true,
            ..DiagnosticText::new(6, message, "dropped here", help)
        };
    }
    if symbol.contains("__rust_no_alloc_shim") {
        // Every allocation refers to it, so every allocation has a better text.
        return DiagnosticText { rank: 9, ..allocates(called) };
    }
    if is_allocator(symbol) || path.contains("__rustc::__rust") {
        return allocates(called);
    }
    if ["core::fmt::", "std::fmt::"].iter().any(|part| path.contains(part)) {
        return DiagnosticText {
            detail: true,
            ..DiagnosticText::new(
                5,
                format!("a kernel formats text, with `{}`", plain(path)),
                "for this",
                "write the values into a buffer, and make text of them on the host",
            )
        };
    }
    let item = map.item(symbol);
    if item.map_or(path == symbol, |item| item.kind == ItemKind::Foreign) {
        let name = path.rsplit("::").next().unwrap_or(path);
        let known = FOREIGN.iter().find(|(names, _)| names.contains(&name));
        return DiagnosticText::new(
            2,
            format!("a kernel calls the foreign function `{path}`, which no device has"),
            "called here",
            known.map_or(
                "write it in Rust, or call it on the host before or after the launch; if another crate of the \
                 program exports it to devices, list it with `schism::import_to_device!`",
                |(_, help)| *help,
            ),
        );
    }
    if item.is_some_and(|item| item.kind == ItemKind::Naked) {
        return DiagnosticText::new(
            2,
            format!("a kernel calls the naked function `{}`, whose body is assembly", plain(path)),
            "the assembly is for one kind of CPU",
            "write it in Rust; where the host needs it, keep it apart with `if schism::is_device()`",
        );
    }
    if map.allocating.contains(symbol) {
        return allocates(called.or(Some(&plain(path))));
    }
    if is_std(path) {
        return DiagnosticText::new(
            4,
            format!(
                "a kernel calls `{}`, which the standard library has for the host only",
                called.map_or_else(|| plain(path), str::to_owned)
            ),
            "called here",
            "do that on the host, before or after the launch",
        );
    }
    DiagnosticText::new(
        4,
        format!("a kernel calls `{}`, whose body is not at hand for devices", plain(path)),
        "called here",
        "make it `#[inline]` or generic, or let its crate depend on `schism` and list it with \
         `schism::export_to_device!`, so that its body travels with it",
    )
}

fn is_std(path: &str) -> bool {
    let path = path.trim_start_matches('<');
    ["std::", "core::", "alloc::"].iter().any(|start| path.starts_with(start))
}

fn known_api(path: &str) -> Option<&'static (&'static [&'static str], &'static str, &'static str)> {
    let path = path.trim_start_matches(DROP).trim_start_matches('`').trim_start_matches('<');
    APIS.iter().find(|(starts, _, _)| starts.iter().any(|start| path.starts_with(start)))
}

/// The shortest understandable path: `Vec::<T, A>::push` is `Vec::push`, `<X as Y>::f` is `X::f`,
/// or `Y::f` where `X` is only a parameter.
pub(crate) fn plain(path: &str) -> String {
    if path.starts_with(DROP) {
        return path.to_owned();
    }
    if let Some((head, method)) = path.strip_prefix('<').and_then(|rest| rest.rsplit_once(">::"))
        && let Some((subject, interface)) = head.split_once(" as ")
        && !method.contains(['<', '>'])
    {
        let subject = if subject.contains("::") { subject } else { interface };
        let subject = subject.split('<').next().unwrap_or(subject);
        return format!("{subject}::{method}");
    }
    let mut text = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find("::<") {
        let inside = &rest[at + 3..];
        let mut depth = 1;
        let end = inside.char_indices().find_map(|(index, character)| {
            match character {
                '<' => depth += 1,
                // Not the head of an arrow.
                '>' if !inside[..index].ends_with('-') => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(index)
        });
        let Some(end) = end else { break };
        if inside.starts_with("impl ") {
            // `core::num::<impl u32>::pow` would lose its subject.
            text += &rest[..at + 3 + end + 1];
        } else {
            text += &rest[..at];
        }
        rest = &inside[end + 1..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::{known_api, plain};

    #[test]
    fn paths_lose_their_generic_arguments() {
        assert_eq!(plain("std::vec::Vec::<T, A>::push"), "std::vec::Vec::push");
        assert_eq!(plain("f::<fn(u8) -> Vec<u8>>::g"), "f::g");
        assert_eq!(plain("core::num::<impl u32>::pow"), "core::num::<impl u32>::pow");
        assert_eq!(plain("std::io::_print"), "std::io::_print");
        assert_eq!(
            plain("<std::sync::LazyLock<T, F> as std::ops::Deref>::deref"),
            "std::sync::LazyLock::deref"
        );
        assert_eq!(
            plain("<T as std::string::ToString>::to_string"),
            "std::string::ToString::to_string"
        );
    }

    #[test]
    fn parts_of_the_standard_library_are_known_by_their_paths() {
        let does = |path| known_api(path).map(|&(_, does, _)| does);
        assert_eq!(does("std::io::_print"), Some("prints, and a device has no standard output"));
        assert_eq!(does("<std::fs::File as std::io::Read>::read"), Some("does input or output"));
        assert_eq!(does("std::vec::Vec::<T>::push"), None);
    }
}
