//! Finds a kernel in its container, and checks that it is the kernel that is launched.

use std::alloc::Layout;
use std::str;

use schism_hcf::{ImageRef, KernelRef, RecordRef, SpecConstantRef, SpecPart};

use crate::code::variant::{ConstantValue, Variant};
use crate::error::ImageError;
use crate::kernel::abi::Descriptor;
use crate::kernel::spec_place::ConstantPlace;
use crate::launch::options::{self, Options};

/// Where a kernel is launched.
#[derive(Clone, Copy)]
pub(super) struct LaunchSite {
    pub(super) descriptor: *const Descriptor,
    /// That of the closure.
    pub(super) layout: Layout,
}

// SAFETY: a descriptor is a constant, but for its slot, which is atomic.
unsafe impl Send for LaunchSite {}

/// The kernel's name in the container.
pub(super) fn name_of(descriptor: &Descriptor) -> Result<&str, ImageError> {
    // SAFETY: stage 1 wrote pointer and length of a constant.
    let name = unsafe { std::slice::from_raw_parts(descriptor.name, descriptor.name_len) };
    str::from_utf8(name)
        .map_err(|_| ImageError::Mismatch { reason: "a kernel's name is not UTF-8".to_owned() })
}

/// The values that a launch gives to the constants that a kernel reads, where they differ from the
/// defaults: for each constant all of its bytes.
pub(super) fn values(
    record: &RecordRef<'_>,
    kernel: &str,
    options: &Options,
) -> Result<Vec<ConstantValue>, ImageError> {
    let read = record.kernel(kernel).map_or(&[][..], |kernel| &kernel.spec_constants);
    let mut values = Vec::new();
    for constant in read.iter().filter_map(|symbol| record.spec_constant(symbol)) {
        let mut bytes = None;
        for part in &constant.parts {
            let Some(value) = value_of(record, constant, part, options)? else { continue };
            let bytes = bytes.get_or_insert_with(|| constant.default.clone().into_boxed_slice());
            // The container says that a part lies in its constant.
            bytes[part.offset as usize..][..value.len()].copy_from_slice(value);
        }
        if let Some(bytes) = bytes.filter(|bytes| **bytes != *constant.default) {
            values.push((constant.symbol.to_string(), bytes));
        }
    }
    Ok(values)
}

/// The value that a launch gives to a part of a constant, if any.
fn value_of<'o>(
    record: &RecordRef<'_>,
    constant: &SpecConstantRef<'_>,
    part: &SpecPart,
    options: &'o Options,
) -> Result<Option<&'o [u8]>, ImageError> {
    let Some(value) = options.values().iter().find(|value| is_of(value, part)) else {
        return Ok(None);
    };
    let ambiguous = |second: String| {
        Err(ImageError::AmbiguousConstant {
            first: format!("{}{}", constant.path, part.path),
            second,
        })
    };
    let all = record.spec_constants().iter();
    let mut others = all.flat_map(|other| other.parts.iter().map(move |part| (other, part)));
    let is_same = |other: &SpecPart| {
        (&other.place, other.line, other.column, other.type_id)
            == (&part.place, part.line, part.column, part.type_id)
    };
    if let Some((other, part)) =
        others.find(|(_, other)| !std::ptr::eq(*other, part) && is_same(other))
    {
        return ambiguous(format!("{}{}", other.path, part.path));
    }
    // The container does not have the other one.
    if options.values().iter().filter(|value| is_of(value, part)).count() > 1 {
        let ConstantPlace { name, line, column } = value.place;
        return ambiguous(format!("{name}:{line}:{column}"));
    }
    Ok(Some(&value.bytes))
}

/// Whether a launch's value is for a part: place and type identify it.
fn is_of(value: &options::Value, part: &SpecPart) -> bool {
    let ConstantPlace { name, line, column } = value.place;
    (name, line, column, value.type_id)
        == (part.place.as_str(), part.line, part.column, part.type_id)
        // The same type has the same size; a container that says otherwise is wrong.
        && value.bytes.len() as u64 == part.size
}

/// The images that stage 2 compiles a kernel from, if there are any.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelImages<'r, 'a> {
    /// For all devices.
    general: Option<&'r ImageRef<'a>>,
    /// For the program's own process.
    in_process: Option<&'r ImageRef<'a>>,
}

impl<'r, 'a> KernelImages<'r, 'a> {
    /// Whether there is an image for the program's own process.
    pub(super) const fn are_in_process(self) -> bool {
        self.in_process.is_some()
    }

    /// The image for a variant.
    pub(super) fn of(
        self,
        kernel: &KernelRef<'_>,
        variant: &Variant,
    ) -> Result<&'r ImageRef<'a>, ImageError> {
        let image = if variant.in_process { self.in_process } else { self.general };
        image.ok_or_else(|| match self.in_process {
            Some(_) => ImageError::OnlyInProcess,
            None => ImageError::NoImage { available: kernel.images.join(", ") },
        })
    }
}

/// A kernel in its container, and the image that it is compiled from.
pub(super) fn find<'r, 'a>(
    record: &'r RecordRef<'a>,
    name: &str,
    dimensions: u32,
    closure: Layout,
) -> Result<(&'r KernelRef<'a>, KernelImages<'r, 'a>), ImageError> {
    let mismatch = |reason: String| Err(ImageError::Mismatch { reason });
    let Some(kernel) = record.kernel(name) else {
        return Err(ImageError::NoKernel);
    };
    if kernel.dimensions != dimensions {
        return mismatch(format!(
            "{} dimensions where the launch has {dimensions}",
            kernel.dimensions
        ));
    }
    let (size, align) = (closure.size() as u64, closure.align() as u64);
    if (kernel.closure_size, kernel.closure_align) != (size, align) {
        return mismatch(format!(
            "captures of {} bytes aligned to {}, where the program has {size} aligned to {align}",
            kernel.closure_size, kernel.closure_align
        ));
    }
    // A crate's kernels may be divided among several images.
    let image = |in_process: bool| record.generic_ir(kernel, in_process);
    Ok((kernel, KernelImages { general: image(false), in_process: image(true) }))
}
