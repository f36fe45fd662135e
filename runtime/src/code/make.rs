//! Finds or makes the code of a version of a kernel: made ahead of time, kept in the cache, or
//! compiled by stage 2.

use std::time::Instant;

use schism_cache::Value;
use schism_hcf::{KernelRef, RecordRef, Target};

use crate::code::aot::{self, AotCode, AotTarget};
use crate::code::compiler::stage2;
use crate::code::host_symbols::HostSymbols;
use crate::code::imports::Linked;
use crate::code::lookup::{self, LaunchSite, name_of};
use crate::code::request::{CompileRequest, flags};
use crate::code::requirements::SpecializationKey;
use crate::code::variant::Variant;
use crate::code::{background_jobs, disk_cache, images};
use crate::error::ImageError;
use crate::hal::CodeLoader;
use crate::util::{progress, timeline, warn_once};

/// Makes a version.
///
/// # Safety
/// The site's shared object is loaded.
pub(super) unsafe fn make<L: CodeLoader>(
    loader: &L,
    site: LaunchSite,
    base: &Variant,
    key: &SpecializationKey,
) -> Result<L::Kernel, ImageError> {
    // SAFETY: the caller's promise.
    let descriptor = unsafe { &*site.descriptor };
    let container = images::container_of(descriptor);
    // SAFETY: as above.
    let record = unsafe { container.record()? };
    let (kernel, images) =
        lookup::find(record, name_of(descriptor)?, descriptor.dimensions, site.layout)?;
    let variant =
        Variant { assumptions: key.assumptions, values: key.values.clone(), ..base.clone() };
    // SAFETY: stage 1 made the table for this container's image in the process, and the caller keeps
    // both loaded.
    let host = || unsafe { HostSymbols::of(images.of(kernel, &variant)?, container.host_table()) };
    let host = if variant.in_process { Some(host()?) } else { None };
    let load = |aot_code: &AotCode<'_, '_>| loader.load_aot(aot_code, kernel, &variant, host);
    let compile = || {
        let linked = Linked::of(kernel)?;
        let image = images.of(kernel, &variant)?.data;
        let started = Instant::now();
        let flags = flags(kernel, &variant);
        let key = disk_cache::key_of(loader.format(), record, kernel, flags, &variant, &linked)
            .and_then(|key| loader.add_to_key(key))
            .map(|key| key.finish());
        let lower = || lower(loader, &CompileRequest::new(kernel, &variant, image, &linked));
        let found = disk_cache::get_or_compile(key, lower)?;
        let (compiled, code_bytes) = loader.load(&found.value, kernel, &variant, host)?;
        disk_cache::trace(kernel, loader.name(), &variant, &found, code_bytes, started);
        Ok(compiled)
    };
    let make = || choose(record, kernel, &variant, &*loader.aot_target(), load, compile);
    let what = format!("compiling kernel `{}` for `{}`", kernel.display_name, loader.name());
    if background_jobs::IS_BACKGROUND.get() { make() } else { progress::telling(&what, make) }
}

/// Compiles a kernel with stage 2.
fn lower<L: CodeLoader>(loader: &L, request: &CompileRequest<'_>) -> Result<Value, ImageError> {
    let kernel = request.kernel;
    let has = |name: &str| kernel.capabilities.iter().any(|capability| capability == name);
    let lacking = L::LACKS.iter().find(|(capability, _)| has(capability));
    lacking.map_or(Ok(()), |(_, what)| Err(ImageError::Lacks { what }))?;
    let stage2 = stage2().map_err(|reason| ImageError::Stage2 { reason: reason.to_string() })?;
    let lowered = request.compile(stage2, &loader.target())?;
    let (device, micros, code_bytes) = (loader.name(), lowered.micros, lowered.code_bytes);
    tracing::debug!(kernel = %kernel.display_name, device, micros, code_bytes, "lowered");
    // The code is right, and may run slower.
    for failure in lowered.failures.lines() {
        tracing::warn!(
            kernel = %kernel.display_name, device, "compiled {failure}; the code may run slower; please report this"
        );
    }
    Ok(lowered.value)
}

/// The kernel from AOT code, from stage 2, or from the second if the first fails.
pub(super) fn choose<K>(
    record: &RecordRef<'_>,
    kernel: &KernelRef<'_>,
    variant: &Variant,
    on: &dyn AotTarget,
    load: impl Fn(&AotCode<'_, '_>) -> Result<K, ImageError>,
    compile: impl FnOnce() -> Result<K, ImageError>,
) -> Result<K, ImageError> {
    let name = &kernel.display_name;
    match aot::find(record, kernel, variant, on) {
        None => compile().map_err(|error| aot::explain(error, record, kernel, variant, on)),
        Some(aot_code) if aot_code.complete => {
            let begin = timeline::begin();
            let ptx = || aot::find_ptx(record, kernel, variant, on);
            let loaded = load(&aot_code).inspect(|_| {
                if let Some(begin) = begin {
                    let from = ("from", timeline::Value::Text(&"AOT code"));
                    timeline::on_this_thread("compile", name, begin, &[from]);
                }
                tracing::debug!(
                    kernel = %name, image = %aot_code.image.name, target = %aot_code.code.target, version = aot_code.version(),
                    "made ahead of time"
                );
            });
            loaded.or_else(|refused| replace(name, &aot_code, &refused, ptx, load, compile))
        }
        Some(aot_code) => compile().or_else(|reason| {
            let loaded = load(&aot_code).map_err(|_| reason.clone())?;
            tracing::debug!(
                kernel = %name, image = %aot_code.image.name, target = %aot_code.code.target, %reason,
                "made ahead of time, for any values and precise mathematics"
            );
            Ok(loaded)
        }),
    }
}

/// The kernel in the place of AOT code that the device refused: from PTX in the place of machine
/// code, otherwise from stage 2.
#[cold]
fn replace<'r, K>(
    name: &str,
    aot_code: &AotCode<'_, '_>,
    refused: &ImageError,
    ptx: impl FnOnce() -> Option<AotCode<'r, 'r>>,
    load: impl Fn(&AotCode<'_, '_>) -> Result<K, ImageError>,
    compile: impl FnOnce() -> Result<K, ImageError>,
) -> Result<K, ImageError> {
    let target = aot_code.code.target;
    let ptx = if let Target::Sass(_) = target { ptx() } else { None };
    let from_ptx = ptx.and_then(|ptx| Some((load(&ptx).ok()?, ptx.code.target)));
    match from_ptx {
        Some((loaded, ptx)) => {
            warn_once::warn(format_args!(
                "the driver compiled code of kernel `{name}` for {ptx} now, because that for {target} cannot be used: {refused}"
            ));
            Ok(loaded)
        }
        None => compile().map_err(|_| refused.clone()).inspect(|_| {
            warn_once::warn(format_args!(
                "kernel `{name}` was compiled now, because its code for {target} that was made ahead of time cannot be used: {refused}"
            ));
        }),
    }
}
