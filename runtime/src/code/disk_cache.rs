//! The on-disk cache of compiled kernels, shared by all programs: `schism-cache` with this
//! runtime's keys.

use std::collections::BTreeSet;
use std::time::Instant;

use schism_cache::{Cache, Found, Key, KeyBuilder, Problem, Settings, Source, Value as Entry};
use schism_hcf::{KernelRef, ParameterKind, RecordRef};
use schism_jit_abi::variables::Effect;

use crate::code::imports::Linked;
use crate::code::variant::Variant;
use crate::code::{background_jobs, compiler_path};
use crate::error::ImageError;
use crate::util::fork::PerProcess;
use crate::util::timeline::{self, Value};
use crate::util::{variables, warn_once};

fn cache() -> &'static Cache {
    // A forked process opens the folder again: with the parent's descriptors it would share the
    // parent's locks.
    static CACHE: PerProcess<Cache> = PerProcess::new();
    CACHE.get(|| {
        let report = |problem: &Problem| match problem {
            // The search for stage 2 may have said it.
            Problem::Home(told) => warn_once::warn_once(told.clone()),
            _ => warn_once::warn(problem),
        };
        let privileged = schism_trust::is_privileged();
        Cache::new(&Settings::from_variables(variables::by_name, privileged, &report), report)
    })
}

/// Whether the user wants to see stage 2 at work.
fn is_watched() -> bool {
    variables::of_stage2().any(|(it, value)| it.effect == Effect::Seen && value != "0")
}

/// The cached value of `key`, or else the result of `compile`. Without a key nothing is cached.
pub(crate) fn get_or_compile<E>(
    key: Option<Key>,
    compile: impl FnOnce() -> Result<Entry, E>,
) -> Result<Found, E> {
    match key.filter(|_| !is_watched()) {
        // Files are written whole or not at all, whenever the process ends.
        Some(key) => background_jobs::may_be_cut(|| cache().get_or_compile(&key, compile)),
        None => background_jobs::may_be_cut(compile)
            .map(|value| Found { value: value.into(), source: Source::Compiled }),
    }
}

/// An entry of another kind than kernels.
pub(crate) fn read(key: &Key) -> Option<Entry> {
    // What cannot be read is written again.
    cache().folder()?.read(key).ok()?
}

/// Writes an entry of another kind than kernels.
pub(crate) fn write(key: &Key, value: &Entry) {
    if let Some(folder) = cache().folder() {
        // Who reads it can do without.
        let _ = folder.write(key, value);
    }
}

/// The key of what stage 2 makes of a kernel, for a purpose (which kind of target, in which form):
/// `flags` of `schism_jit_abi`, linked images, the values of specialization constants and known
/// parameters, and what the code assumes of its launches. The caller adds what else the code depends
/// on (the target). `None` if stage 2 cannot be identified.
pub(crate) fn key_of(
    purpose: &str,
    record: &RecordRef<'_>,
    kernel: &KernelRef<'_>,
    flags: u32,
    variant: &Variant,
    linked: &Linked,
) -> Option<KeyBuilder> {
    let mut key = Key::builder(purpose).part("stage 2", compiler_path::identity()?.as_bytes());
    key = add_writer(key, record);
    key = match &kernel.content {
        Some(content) => key.part("content", content),
        // An older compiler wrote no hash of the kernel: then the whole container counts.
        None => key
            .part("container", record.object_id().as_bytes())
            .part("kernel", kernel.name.as_bytes()),
    };
    key = key
        .number("dimensions", kernel.dimensions.into())
        .number("size", kernel.closure_size)
        .number("align", kernel.closure_align)
        .number("flags", flags.into());
    for parameter in &kernel.parameters {
        let kind: &[u8] = match parameter.kind {
            ParameterKind::Integer => b"integer",
            ParameterKind::Float => b"float",
            ParameterKind::Pointer => b"pointer",
            ParameterKind::Bytes => b"bytes",
        };
        key = key
            .part("parameter", kind)
            .number("offset", parameter.offset)
            .number("size", parameter.size)
            .number("align", parameter.align);
    }
    if let Some(groups) = kernel.groups {
        key = key.number("local", groups.local_size).number("local align", groups.local_align);
    }
    for (it, value) in variables::of_stage2().filter(|(it, _)| it.effect == Effect::Code) {
        key = key.part("setting", it.name.as_bytes());
        for name in names(&value.to_string_lossy()) {
            key = key.part("value", name.as_bytes());
        }
    }
    for object in linked.objects() {
        key = key.part("linked", object.as_bytes());
    }
    for (symbol, value) in &variant.constants {
        key = key.part("constant", symbol.as_bytes()).part("value", value);
    }
    for known in &variant.values {
        key = key.number("known", known.param.into()).part("value", &known.bytes);
    }
    let assumptions = &variant.assumptions;
    key = key
        .number("assumptions", assumptions.flags().into())
        .number("aligned", assumptions.aligned)
        .number("narrow", assumptions.narrow);
    for items in assumptions.block {
        key = key.number("block", items.into());
    }
    Some(key)
}

/// Adds what wrote the container: plugins for two compilers never share an entry, even for a kernel
/// that hashes the same, as their compilers' LLVMs may have optimised it in other ways.
fn add_writer(key: KeyBuilder, record: &RecordRef<'_>) -> KeyBuilder {
    key.part("generator", record.generator().as_bytes())
        .part("llvm of the image", record.llvm_version().as_bytes())
}

/// The names in a list, such as one of passes, each once.
fn names(list: &str) -> BTreeSet<&str> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// Traces that a version of a kernel is ready, since `started`.
pub(crate) fn trace(
    kernel: &KernelRef<'_>,
    device: &str,
    variant: &Variant,
    found: &Found,
    code_bytes: usize,
    started: Instant,
) {
    let from = match found.source {
        Source::Memory => "memory",
        Source::Disk => "disk",
        Source::Compiled => "stage 2",
    };
    if let Some(now) = timeline::begin() {
        let all = [
            ("device", Value::Text(&device)),
            ("version", Value::Text(variant)),
            ("from", Value::Text(&from)),
            ("cache_hit", Value::Is(!matches!(found.source, Source::Compiled))),
            ("code_bytes", Value::Number(code_bytes as u64)),
        ];
        let begin = now.saturating_sub(started.elapsed().as_nanos() as u64);
        timeline::on_this_thread("compile", &kernel.display_name, begin, &all);
    }
    let micros = started.elapsed().as_micros() as u64;
    tracing::debug!(
        kernel = %kernel.display_name, device, version = %variant, from, micros, code_bytes, "version"
    );
}

/// The error for a value that this runtime cannot have written.
pub(crate) fn damaged(what: &str) -> ImageError {
    ImageError::Compile {
        code: schism_jit_abi::INTERNAL,
        reason: format!(
            "the kernel cache has {what} of an unknown form; `cargo schism cache clear` empties it"
        ),
    }
}

#[cfg(test)]
mod tests {
    use schism_cache::Key;
    use schism_hcf::{Container, RecordRef};

    use super::{add_writer, names};

    #[test]
    fn containers_of_two_compilers_have_no_entry_in_common() {
        let key = |generator: &str, llvm_version: &str| {
            let container = Container {
                generator: generator.to_owned(),
                llvm_version: llvm_version.to_owned(),
                ..Container::default()
            };
            let bytes = container.to_record().unwrap();
            let record = RecordRef::parse(&bytes).unwrap();
            *add_writer(Key::builder("test"), &record).finish().as_bytes()
        };
        let ours = key("schism 0.1.0 for rustc 1.95.0", "22.1.2");
        assert_eq!(key("schism 0.1.0 for rustc 1.95.0", "22.1.2"), ours);
        assert_ne!(key("schism 0.1.0 for rustc 1.97.1", "22.1.2"), ours);
        assert_ne!(key("schism 0.1.0 for rustc 1.95.0", "22.1.3"), ours);
    }

    #[test]
    fn lists_that_mean_the_same_passes_are_the_same() {
        assert_eq!(names("b, a,,b"), names("a,b"));
        assert_ne!(names("a"), names("a,b"));
        assert!(names(" ").is_empty());
    }
}
