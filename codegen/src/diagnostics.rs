//! What the passes refuse, as rustc's own errors.

use rustc_session::Session;
use rustc_span::{FileName, Pos, RemapPathScopeComponents, Span};
use schism_passes::Stage1Error;
use schism_passes::device_check::{SourceLocation, Violation, ViolationKind};

use crate::device::{Failure, Stage1Failure};

/// Reports why a crate has no device half.
pub(crate) fn report(sess: &Session, failure: &Failure) {
    match &failure.cause {
        Stage1Failure::Passes(Stage1Error::NotForDevices(violations)) => {
            for violation in violations {
                report_violation(sess, failure, violation);
            }
        }
        Stage1Failure::Passes(error) => internal(sess, failure, &error.to_string()),
        Stage1Failure::Container(error) => internal(sess, failure, &error.to_string()),
        Stage1Failure::Panicked => internal(sess, failure, "a pass panicked"),
    }
}

/// A defect of schism itself: nothing that the user wrote should lead here.
fn internal(sess: &Session, failure: &Failure, message: &str) {
    let mut error = sess
        .dcx()
        .struct_err(format!("schism could not make the device half of this crate: {message}"));
    for kernel in &failure.kernels {
        error.span_note(kernel.span, format!("kernel `{}`", kernel.display_name));
    }
    error.note("this is a defect of schism, not of the program; please report it");
    error.help("build with plain `cargo` to run the kernels on the host meanwhile");
    error.emit();
}

fn report_violation(sess: &Session, failure: &Failure, violation: &Violation) {
    let readable = |symbol: &str| match failure.functions.get(symbol) {
        Some((path, _)) => path.clone(),
        None => format!("{:#}", rustc_demangle::demangle(symbol)),
    };
    let kernel = violation
        .chain
        .last()
        .and_then(|name| failure.kernels.iter().find(|kernel| &kernel.name == name));
    let (message, help) = match &violation.what {
        ViolationKind::ExternalFunction(symbol) => describe_function(symbol, &readable(symbol)),
        ViolationKind::ExternalStatic(symbol) => (
            format!("a kernel uses the static `{}`, which no device has", readable(symbol)),
            "pass its value into the kernel, or make it a `const`".to_owned(),
        ),
        ViolationKind::InlineAssembly => (
            "a kernel contains inline assembly".to_owned(),
            "inline assembly is for one CPU; write the kernel in Rust".to_owned(),
        ),
        ViolationKind::MutableStatic(symbol) => (
            format!("a kernel uses the static `{}`, whose value can change", readable(symbol)),
            "a device would have a copy of its own: pass the value into the kernel, or share a \
             buffer through `atomic_view`"
                .to_owned(),
        ),
        ViolationKind::ThreadLocal(symbol) => (
            format!("a kernel uses the thread-local `{}`", readable(symbol)),
            "a device has no threads of the host: pass the value into the kernel".to_owned(),
        ),
        ViolationKind::OffsetByAddress(symbol) => (
            format!(
                "a kernel calls `{}`, which reads where the launch begins, through a pointer",
                readable(symbol)
            ),
            "call it by its name, or pass it the offset of the work-item (`item.offset()`)"
                .to_owned(),
        ),
    };
    let own_place = violation.location.as_ref().and_then(|location| span_of(sess, location));
    let callee_place = match &violation.what {
        ViolationKind::ExternalFunction(symbol) => failure.functions.get(symbol),
        _ => None,
    };
    let span = own_place.or_else(|| kernel.map(|kernel| kernel.span));
    let mut error = match span {
        Some(span) => sess.dcx().struct_span_err(span, message),
        None => sess.dcx().struct_err(message),
    };
    if let Some((path, span)) = callee_place {
        error.span_note(*span, format!("`{path}` is defined here, without a body for devices"));
    }
    for symbol in &violation.chain {
        if kernel.is_some_and(|kernel| &kernel.name == symbol) {
            continue;
        }
        match failure.functions.get(symbol) {
            Some((path, span)) => error.span_note(*span, format!("called in `{path}`")),
            None => error.note(format!("called in `{}`", readable(symbol))),
        };
    }
    if let Some(kernel) = kernel {
        error.span_note(kernel.span, format!("reached from the kernel `{}`", kernel.display_name));
    }
    error.help(help);
    error.emit();
}

/// Message and help for a function without a body.
fn describe_function(symbol: &str, path: &str) -> (String, String) {
    if symbol.contains("__rust_no_alloc_shim")
        || symbol.contains("__rust_alloc")
        || symbol.contains("__rust_realloc")
        || symbol.contains("__rust_dealloc")
        || symbol.contains("__rustc::__rust")
    {
        return (
            "a kernel allocates or frees memory".to_owned(),
            "a device has no heap: use an array, or a buffer that the host makes".to_owned(),
        );
    }
    if path == symbol {
        return (
            format!("a kernel calls the foreign function `{symbol}`, which no device has"),
            "write it in Rust, or call it on the host before or after the launch".to_owned(),
        );
    }
    (
        format!("a kernel calls `{path}`, which has no code for devices"),
        "if it is yours, make it `#[inline]` or generic; if it does input, output or calls the \
         system, do that on the host"
            .to_owned(),
    )
}

/// Finds a recorded place among the files that this session has read.
fn span_of(sess: &Session, location: &SourceLocation) -> Option<Span> {
    let map = sess.source_map();
    let files = map.files();
    let file = files.iter().find(|file| match &file.name {
        FileName::Real(name) => {
            let path = name.path(RemapPathScopeComponents::DEBUGINFO);
            std::path::Path::new(&location.file).ends_with(path)
        }
        _ => false,
    })?;
    let line = location.line.checked_sub(1)? as usize;
    if line >= file.count_lines() {
        return None;
    }
    let bounds = file.line_bounds(line);
    let column = location.column.saturating_sub(1);
    let position = rustc_span::BytePos(bounds.start.to_u32().checked_add(column)?);
    (position < bounds.end).then(|| Span::with_root_ctxt(position, position))
}
