//! AOT code: which of it serves a launch, and when stage 2 is used instead.
//!
//! Beside the image that stage 2 compiles, a container may have AOT code for some targets, in a few
//! versions with different [assumptions](Assumptions). Of the code that serves a launch on a device,
//! the one for the best target is used, and of that the version with the most assumptions. If it is
//! complete, that is, if it has all properties that the launch requests, nothing else is tried: this
//! costs no compilation. If the launch requests optional properties (relaxed mathematics, constants
//! with values built in), stage 2 is tried first, and the AOT code is the fallback. PTX is the
//! fallback of machine code that the driver refuses.

use std::cmp::Reverse;

use schism_hcf::{Code, ImageRef, KernelRef, RecordRef, Target};
use schism_jit_abi::{
    ABI_VERSION, FLAG_BASE, FLAG_IN_PROCESS, FLAG_OFFSET, FLAG_OPEN_CONSTANTS, FLAG_PORTABLE_MATH,
};

use crate::code::assumptions::Assumptions;
use crate::code::images;
use crate::code::variant::Variant;
use crate::error::ImageError;
use crate::launch::options::Math;

/// Code that serves a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AotCode<'r, 'a> {
    pub(crate) image: &'r ImageRef<'a>,
    pub(crate) code: &'r Code,
    /// Whether stage 2 could not make code that serves the launch better.
    pub(super) complete: bool,
}

/// The properties of a device that AOT code depends on.
pub(crate) trait AotTarget {
    /// Whether code for a target runs there.
    fn runs(&self, target: Target) -> bool;

    /// Whether the device's driver can read the code.
    fn reads(&self, _image: &ImageRef<'_>) -> bool {
        true
    }

    /// The target that a build must name to have code for this device.
    fn name(&self) -> String;
}

/// Whether an image is code that runs on a device.
fn takes(on: &dyn AotTarget, image: &ImageRef<'_>, code: &Code) -> bool {
    const KNOWN: u32 =
        FLAG_OFFSET | FLAG_BASE | FLAG_OPEN_CONSTANTS | FLAG_PORTABLE_MATH | FLAG_IN_PROCESS;
    let understood = code.interface == ABI_VERSION
        && code.flags & !KNOWN == 0
        && Assumptions::of_code(code).is_some();
    understood && on.runs(code.target) && on.reads(image)
}

/// All code of a kernel that serves launches on a device for which its assumptions hold, and these.
fn all<'r, 'a>(
    record: &'r RecordRef<'a>,
    kernel: &KernelRef<'_>,
    variant: &Variant,
    on: &dyn AotTarget,
) -> impl Iterator<Item = (&'r ImageRef<'a>, &'r Code, Assumptions)> {
    let offset = variant.offset && kernel.offset_variant.is_some();
    let serves = move |code: &Code| {
        let has = |flag| code.flags & flag != 0;
        has(FLAG_OFFSET) == offset
            && has(FLAG_PORTABLE_MATH) == variant.portable
            && has(FLAG_IN_PROCESS) == variant.in_process
            && (has(FLAG_OPEN_CONSTANTS) || variant.constants.is_empty())
            && (has(FLAG_BASE) || !variant.sub_grids)
    };
    let images = kernel.images.iter().filter_map(|name| record.image(name));
    images
        .filter_map(|image| Some((image, image.code.as_ref()?)))
        .filter(move |(image, code)| serves(code) && takes(on, image, code))
        .filter_map(|(image, code)| Some((image, code, Assumptions::of_code(code)?)))
}

/// The better code has the greater rank. Of the same target, the less general code is faster.
fn rank(code: &Code, assumptions: Assumptions) -> (Target, Reverse<u32>, u32) {
    let general = (code.flags & (FLAG_BASE | FLAG_OPEN_CONSTANTS)).count_ones();
    (code.target, Reverse(general), assumptions.count())
}

/// Whether launches request no optional properties, which only stage 2 can give them.
fn is_plain(variant: &Variant) -> bool {
    variant.math == Math::Precise && variant.constants.is_empty() && variant.values.is_empty()
}

/// The best code of a kernel for a launch on a device, for some targets.
fn find_for<'r, 'a>(
    record: &'r RecordRef<'a>,
    kernel: &KernelRef<'_>,
    variant: &Variant,
    on: &dyn AotTarget,
    targets: impl Fn(Target) -> bool,
) -> Option<AotCode<'r, 'a>> {
    let found = all(record, kernel, variant, on)
        .filter(|(_, code, assumptions)| {
            targets(code.target) && assumptions.hold_for(variant.assumptions)
        })
        .max_by_key(|(_, code, assumptions)| rank(code, *assumptions));
    found.map(|(image, code, assumptions)| {
        // The size of ranges alone is no reason to compile.
        let but_for_size = |assumptions| Assumptions { small: false, ..assumptions };
        let has_all = but_for_size(assumptions) == but_for_size(variant.assumptions);
        AotCode { image, code, complete: is_plain(variant) && has_all }
    })
}

/// The best code of a kernel for a launch on a device.
pub(crate) fn find<'r, 'a>(
    record: &'r RecordRef<'a>,
    kernel: &KernelRef<'_>,
    variant: &Variant,
    on: &dyn AotTarget,
) -> Option<AotCode<'r, 'a>> {
    find_for(record, kernel, variant, on, |_| true)
}

/// The same of the code that is PTX.
pub(super) fn find_ptx<'r, 'a>(
    record: &'r RecordRef<'a>,
    kernel: &KernelRef<'_>,
    variant: &Variant,
    on: &dyn AotTarget,
) -> Option<AotCode<'r, 'a>> {
    find_for(record, kernel, variant, on, |target| matches!(target, Target::Ptx(_)))
}

/// The assumptions of the code with all properties that launches of a kernel request, the best
/// first. Empty if there is no such code for all launches.
pub(crate) fn versions(
    record: &RecordRef<'_>,
    kernel: &KernelRef<'_>,
    variant: &Variant,
    on: &dyn AotTarget,
) -> Box<[Assumptions]> {
    if !find(record, kernel, variant, on).is_some_and(|aot_code| aot_code.complete) {
        return Box::default();
    }
    let mut versions: Vec<_> = all(record, kernel, variant, on)
        .map(|(_, code, assumptions)| (rank(code, assumptions), assumptions))
        .collect();
    versions.sort_by_key(|(rank, _)| Reverse(*rank));
    let mut known = Vec::new();
    for (_, assumptions) in versions {
        if !known.contains(&assumptions) {
            known.push(assumptions);
        }
    }
    known.into()
}

impl AotCode<'_, '_> {
    /// For the trace, such as `ptx:sm_90 fit: index=32 block=256 narrow=1`.
    pub(crate) fn version(&self) -> String {
        let assumptions = Assumptions::of_code(self.code).unwrap_or_default();
        let version = format!("{} {}", self.code.target, self.image.variant);
        if assumptions == Assumptions::default() {
            return version;
        }
        format!("{version}: {}", Variant { assumptions, ..Variant::default() })
    }
}

/// The error that names the targets of the AOT code, if stage 2 is missing and none of it serves.
pub(super) fn explain(
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
    let mut here = codes.iter().filter(|code| on.runs(code.target)).peekable();
    let has_mathematics = |code: &&Code| (code.flags & FLAG_PORTABLE_MATH != 0) == variant.portable;
    if here.peek().is_some() && !here.any(has_mathematics) {
        let library = if variant.portable { "portable" } else { "host" };
        wanted.push_str(&format!(" with SCHISM_CPU_MATH={library}"));
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

/// The values of open constants in the form that loaders take: each constant's index in the
/// kernel's list, and its bytes.
pub(crate) fn values<'v>(kernel: &KernelRef<'_>, variant: &'v Variant) -> Vec<(usize, &'v [u8])> {
    let place = |symbol: &str| kernel.spec_constants.iter().position(|other| other == symbol);
    let values = variant.constants.iter();
    values.filter_map(|(symbol, value)| Some((place(symbol)?, &**value))).collect()
}

#[cfg(test)]
#[path = "aot_tests.rs"]
mod tests;
