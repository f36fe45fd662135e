//! Code that the build made ahead of time: which of it serves a launch, and when stage 2 is asked instead.
//!
//! A container may have, beside the image that stage 2 makes code of, code for some targets. Of what serves a launch on a device,
//! the code for the best target is taken. If it is exactly what the launch asks for, nothing else is tried: it costs no compilation.
//! If the launch asks for more than it must have (inexact mathematics, constants with values built in), stage 2 is asked first, and
//! the code serves where there is no stage 2.

use std::sync::OnceLock;

use schism_hcf::{Code, ImageRef, KernelRef, Level, RecordRef, Target};
use schism_jit_abi::{ABI_VERSION, FACT_INDEX_32, FLAG_BASE, FLAG_OFFSET, FLAG_OPEN_CONSTANTS};

use crate::code::assumptions::Facts;
use crate::code::images;
use crate::code::variant::Variant;
use crate::error::ImageError;
use crate::launch::options::Math;
use crate::util::warn_once;

/// Code that serves a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead<'r, 'a> {
    pub(crate) image: &'r ImageRef<'a>,
    pub(crate) code: &'r Code,
    /// Stage 2 could make nothing that serves the launch better.
    exact: bool,
}

/// The device that code is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum On {
    /// The processor that this process runs on.
    Cpu,
    /// A GPU, by its compute capability and the newest version of PTX that its driver reads, times ten; 0 if that is not known.
    Gpu { capability: (u32, u32), isa: u32 },
}

/// The highest level that this processor is of.
pub(crate) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| Level::highest(has))
}

/// Whether this processor has a feature, and the system lets programs use it.
#[cfg(target_arch = "x86_64")]
fn has(feature: &str) -> bool {
    macro_rules! detect {
        ($($name:tt)*) => {
            match feature {
                $($name => std::arch::is_x86_feature_detected!($name),)*
                _ => false,
            }
        };
    }
    detect!(
        "fxsr" "sse" "sse2" "cmpxchg16b" "popcnt" "sse3" "sse4.1" "sse4.2" "ssse3"
        "avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe" "xsave"
        "avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl"
    )
}

#[cfg(not(target_arch = "x86_64"))]
fn has(_: &str) -> bool {
    false
}

impl On {
    /// Whether code for a target runs there.
    fn runs(self, target: Target) -> bool {
        match (self, target) {
            (Self::Cpu, Target::Host(needed)) => cfg!(target_arch = "x86_64") && needed <= level(),
            (Self::Gpu { capability, .. }, Target::Ptx(processor)) => processor.runs_on(capability),
            _ => false,
        }
    }

    /// Whether an image is code that runs there.
    fn takes(self, image: &ImageRef<'_>, code: &Code) -> bool {
        const KNOWN: u32 = FLAG_OFFSET | FLAG_BASE | FLAG_OPEN_CONSTANTS;
        let understood = code.interface == ABI_VERSION
            && code.flags & !KNOWN == 0
            && code.facts & !FACT_INDEX_32 == 0;
        understood
            && self.runs(code.target)
            && match self {
                // Without a version the driver will say what it thinks of the code.
                Self::Gpu { isa: isa @ 1.., .. } => {
                    ptx_version(image.data).is_none_or(|version| version <= isa)
                }
                _ => true,
            }
    }

    /// What a build must be asked for, to have code for this device.
    fn target(self) -> String {
        match self {
            Self::Cpu => "host".to_owned(),
            Self::Gpu { capability: (major, minor), .. } => format!("ptx:sm_{major}{minor}"),
        }
    }
}

/// The version that a text of PTX says it is of, times ten.
fn ptx_version(text: &[u8]) -> Option<u32> {
    // It is the first thing that is no comment.
    let head = str::from_utf8(&text[..text.len().min(4096)]).ok()?;
    let mut lines =
        head.lines().map(str::trim).filter(|line| !line.starts_with("//") && !line.is_empty());
    let (major, minor) = lines.next()?.strip_prefix(".version")?.trim().split_once('.')?;
    Some(major.parse::<u32>().ok()? * 10 + minor.parse::<u32>().ok()?)
}

/// The best code of a kernel for a launch on a device.
pub(crate) fn find<'r, 'a>(
    record: &'r RecordRef<'a>,
    kernel: &KernelRef<'_>,
    variant: &Variant,
    on: On,
) -> Option<Ahead<'r, 'a>> {
    let offset = variant.offset && kernel.offset_variant.is_some();
    let constants = !variant.constants.is_empty();
    if matches!(on, On::Cpu) && variant.portable {
        return None;
    }
    let serves = |code: &Code| {
        let has = |flag| code.flags & flag != 0;
        has(FLAG_OFFSET) == offset
            && (has(FLAG_OPEN_CONSTANTS) || !constants)
            && (has(FLAG_BASE) || !variant.pieces)
            && (code.facts & FACT_INDEX_32 == 0 || variant.facts.small)
    };
    // Of the same target, what is prepared for less is faster.
    let rank = |code: &Code| {
        let general = (code.flags & (FLAG_BASE | FLAG_OPEN_CONSTANTS)).count_ones();
        (code.target, u32::MAX - general, code.facts & FACT_INDEX_32)
    };
    let nothing_known = Facts { small: variant.facts.small, ..Facts::default() };
    let exact = variant.math == Math::Exact
        && !constants
        && variant.values.is_empty()
        && variant.facts == nothing_known;
    kernel
        .images
        .iter()
        .filter_map(|name| record.image(name))
        .filter_map(|image| Some((image, image.code.as_ref()?)))
        .filter(|(image, code)| serves(code) && on.takes(image, code))
        .max_by_key(|(_, code)| rank(code))
        .map(|(image, code)| Ahead { image, code, exact })
}

/// Whether there is code that is all that launches of a kernel ask for.
pub(crate) fn is_exact(
    record: &RecordRef<'_>,
    kernel: &KernelRef<'_>,
    variant: &Variant,
    on: On,
) -> bool {
    find(record, kernel, variant, on).is_some_and(|ahead| ahead.exact)
}

impl Ahead<'_, '_> {
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
    on: On,
    load: impl FnOnce(&Ahead<'_, '_>) -> Result<K, ImageError>,
    compile: impl FnOnce() -> Result<K, ImageError>,
) -> Result<K, ImageError> {
    let Some(ahead) = find(record, kernel, variant, on) else {
        return compile().map_err(|error| explain(error, record, kernel, variant, on));
    };
    let (name, image) = (&kernel.display_name, &ahead.image.name);
    if ahead.exact {
        let refused = match load(&ahead) {
            Ok(loaded) => {
                tracing::debug!(kernel = %name, %image, target = %ahead.code.target, "made ahead of time");
                return Ok(loaded);
            }
            Err(refused) => refused,
        };
        let compiled = compile().map_err(|_| refused.clone())?;
        warn_once::warn(format_args!(
            "kernel `{name}` was compiled now, because its code for {} that was made ahead of time cannot be used: {refused}",
            ahead.code.target
        ));
        return Ok(compiled);
    }
    compile().or_else(|reason| {
        let loaded = load(&ahead).map_err(|_| reason.clone())?;
        tracing::debug!(
            kernel = %name, %image, target = %ahead.code.target, %reason, "made ahead of time, for any values and exact mathematics"
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
    on: On,
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
    let mut wanted = on.target();
    if matches!(on, On::Cpu) && variant.portable {
        wanted.push_str(" with SCHISM_CPU_MATH=portable");
    }
    if !variant.constants.is_empty() {
        wanted.push_str(" with values of specialization constants");
    }
    let of_another_version = codes.iter().all(|code| code.interface != ABI_VERSION);
    if of_another_version {
        wanted.push_str(" by this version of schism");
    }
    let targets: Vec<_> = targets.iter().map(ToString::to_string).collect();
    ImageError::Ahead { available: targets.join(", "), wanted, reason }
}

/// Whether any kernel of the program has code for a device.
pub(crate) fn is_there(on: On) -> bool {
    images::any_record(|record| {
        let mut images = record.images().iter();
        images.any(|image| image.code.as_ref().is_some_and(|code| on.takes(image, code)))
    })
}

/// Whether any kernel of the program has code for GPUs.
pub(crate) fn is_there_for_gpus() -> bool {
    images::any_record(|record| {
        let codes = record.images().iter().filter_map(|image| image.code.as_ref());
        codes.into_iter().any(|code| matches!(code.target, Target::Ptx(_)))
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
