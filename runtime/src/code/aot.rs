//! Code that the build made ahead of time: which of it serves a launch, and when stage 2 is asked instead.
//!
//! A container may have, beside the image that stage 2 makes code of, code for some targets. Of what serves a launch on a device,
//! the code for the best target is taken. If it is exactly what the launch asks for, nothing else is tried: it costs no compilation.
//! If the launch asks for more than it must have (relaxed mathematics, constants with values built in), stage 2 is asked first, and
//! the code serves where there is no stage 2.

use schism_hcf::{Code, ImageRef, KernelRef, RecordRef, Target};
use schism_jit_abi::{ABI_VERSION, ASSUME_INDEX_32, FLAG_BASE, FLAG_OFFSET, FLAG_OPEN_CONSTANTS};

use crate::code::assumptions::Assumptions;
use crate::code::images;
use crate::code::variant::Variant;
use crate::error::ImageError;
use crate::launch::options::Math;
use crate::util::warn_once;

/// Code that serves a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AotCode<'r, 'a> {
    pub(crate) image: &'r ImageRef<'a>,
    pub(crate) code: &'r Code,
    /// Stage 2 could make nothing that serves the launch better.
    complete: bool,
}

/// What code must be made for to run on a device.
pub(crate) trait AotTarget {
    /// Whether code for a target runs there.
    fn runs(&self, target: Target) -> bool;

    /// Whether the device's driver reads the code.
    fn reads(&self, _image: &ImageRef<'_>) -> bool {
        true
    }

    /// Whether only stage 2 can make what a launch asks for, in which case the name of that.
    fn needs_compiler(&self, _variant: &Variant) -> Option<&'static str> {
        None
    }

    /// What a build must be asked for, to have code for this device.
    fn name(&self) -> String;
}

/// Whether an image is code that runs on a device.
fn takes(on: &dyn AotTarget, image: &ImageRef<'_>, code: &Code) -> bool {
    const KNOWN: u32 = FLAG_OFFSET | FLAG_BASE | FLAG_OPEN_CONSTANTS;
    let understood = code.interface == ABI_VERSION
        && code.flags & !KNOWN == 0
        && code.assumptions & !ASSUME_INDEX_32 == 0;
    understood && on.runs(code.target) && on.reads(image)
}

/// The best code of a kernel for a launch on a device.
pub(crate) fn find<'r, 'a>(
    record: &'r RecordRef<'a>,
    kernel: &KernelRef<'_>,
    variant: &Variant,
    on: &dyn AotTarget,
) -> Option<AotCode<'r, 'a>> {
    let offset = variant.offset && kernel.offset_variant.is_some();
    let constants = !variant.constants.is_empty();
    if on.needs_compiler(variant).is_some() {
        return None;
    }
    let serves = |code: &Code| {
        let has = |flag| code.flags & flag != 0;
        has(FLAG_OFFSET) == offset
            && (has(FLAG_OPEN_CONSTANTS) || !constants)
            && (has(FLAG_BASE) || !variant.sub_grids)
            && (code.assumptions & ASSUME_INDEX_32 == 0 || variant.assumptions.small)
    };
    // Of the same target, what is prepared for less is faster.
    let rank = |code: &Code| {
        let general = (code.flags & (FLAG_BASE | FLAG_OPEN_CONSTANTS)).count_ones();
        (code.target, u32::MAX - general, code.assumptions & ASSUME_INDEX_32)
    };
    let nothing_known = Assumptions { small: variant.assumptions.small, ..Assumptions::default() };
    let complete = variant.math == Math::Precise
        && !constants
        && variant.values.is_empty()
        && variant.assumptions == nothing_known;
    kernel
        .images
        .iter()
        .filter_map(|name| record.image(name))
        .filter_map(|image| Some((image, image.code.as_ref()?)))
        .filter(|(image, code)| serves(code) && takes(on, image, code))
        .max_by_key(|(_, code)| rank(code))
        .map(|(image, code)| AotCode { image, code, complete })
}

/// Whether there is code that is all that launches of a kernel ask for.
pub(crate) fn is_complete(
    record: &RecordRef<'_>,
    kernel: &KernelRef<'_>,
    variant: &Variant,
    on: &dyn AotTarget,
) -> bool {
    find(record, kernel, variant, on).is_some_and(|aot_code| aot_code.complete)
}

impl AotCode<'_, '_> {
    /// For the trace.
    pub(crate) fn version(&self) -> String {
        format!("{} {}", self.code.target, self.image.variant)
    }
}

/// The kernel from the code that there is, from stage 2, or from one after the other has failed.
pub(crate) fn choose<K>(
    record: &RecordRef<'_>,
    kernel: &KernelRef<'_>,
    variant: &Variant,
    on: &dyn AotTarget,
    load: impl FnOnce(&AotCode<'_, '_>) -> Result<K, ImageError>,
    compile: impl FnOnce() -> Result<K, ImageError>,
) -> Result<K, ImageError> {
    let Some(aot_code) = find(record, kernel, variant, on) else {
        return compile().map_err(|error| explain(error, record, kernel, variant, on));
    };
    let (name, image) = (&kernel.display_name, &aot_code.image.name);
    if aot_code.complete {
        let refused = match load(&aot_code) {
            Ok(loaded) => {
                tracing::debug!(kernel = %name, %image, target = %aot_code.code.target, "made ahead of time");
                return Ok(loaded);
            }
            Err(refused) => refused,
        };
        let compiled = compile().map_err(|_| refused.clone())?;
        warn_once::warn(format_args!(
            "kernel `{name}` was compiled now, because its code for {} that was made ahead of time cannot be used: {refused}",
            aot_code.code.target
        ));
        return Ok(compiled);
    }
    compile().or_else(|reason| {
        let loaded = load(&aot_code).map_err(|_| reason.clone())?;
        tracing::debug!(
            kernel = %name, %image, target = %aot_code.code.target, %reason, "made ahead of time, for any values and precise mathematics"
        );
        Ok(loaded)
    })
}

/// Says which code there is, where stage 2 is missing and none of the code serves.
fn explain(
    error: ImageError,
    record: &RecordRef<'_>,
    kernel: &KernelRef<'_>,
    variant: &Variant,
    on: &dyn AotTarget,
) -> ImageError {
    let ImageError::Stage2 { reason } = error else { return error };
    let images = kernel.images.iter().filter_map(|name| record.image(name));
    let codes: Vec<&Code> = images.filter_map(|image| image.code.as_ref()).collect();
    if codes.is_empty() {
        return ImageError::Stage2 { reason };
    }
    let mut targets: Vec<Target> = codes.iter().map(|code| code.target).collect();
    targets.sort_unstable();
    targets.dedup();
    let mut wanted = on.name();
    if let Some(what) = on.needs_compiler(variant) {
        wanted.push_str(" with ");
        wanted.push_str(what);
    }
    if !variant.constants.is_empty() {
        wanted.push_str(" with values of specialization constants");
    }
    let of_another_version = codes.iter().all(|code| code.interface != ABI_VERSION);
    if of_another_version {
        wanted.push_str(" by this version of schism");
    }
    let targets: Vec<_> = targets.iter().map(ToString::to_string).collect();
    ImageError::NoAotCode { available: targets.join(", "), wanted, reason }
}

/// Whether any kernel of the program has code for a device.
pub(crate) fn is_there(on: &dyn AotTarget) -> bool {
    images::any_record(|record| {
        let mut images = record.images().iter();
        images.any(|image| image.code.as_ref().is_some_and(|code| takes(on, image, code)))
    })
}

/// Whether any kernel of the program has code for a target that satisfies `predicate`.
pub(crate) fn is_there_for(predicate: impl Fn(Target) -> bool) -> bool {
    images::any_record(|record| {
        let codes = record.images().iter().filter_map(|image| image.code.as_ref());
        codes.into_iter().any(|code| predicate(code.target))
    })
}

/// The values of open constants as a loader takes them: each constant's place in the kernel's list, and its bytes.
pub(crate) fn values<'v>(kernel: &KernelRef<'_>, variant: &'v Variant) -> Vec<(usize, &'v [u8])> {
    let place = |symbol: &str| kernel.spec_constants.iter().position(|other| other == symbol);
    let values = variant.constants.iter();
    values.filter_map(|(symbol, value)| Some((place(symbol)?, &**value))).collect()
}

#[cfg(test)]
#[path = "aot_tests.rs"]
mod tests;
