//! What a container says of a kernel, and whether that is the kernel which is launched.

use std::alloc::Layout;
use std::str;

use schism_hcf::{ImageRef, KernelRef, RecordRef};

use crate::__private::Descriptor;
use crate::error::ImageError;
use crate::options::Options;
use crate::spec_const::Place;
use crate::variant::ConstantValue;

/// The format of the images that stage 2 compiles from.
pub(super) const FORMAT: &str = "llvm-ir";

/// The kernel's name in the container.
pub(super) fn name_of(descriptor: &Descriptor) -> Result<&str, ImageError> {
    // SAFETY: stage 1 wrote pointer and length of a constant.
    let name = unsafe { std::slice::from_raw_parts(descriptor.name, descriptor.name_len) };
    str::from_utf8(name)
        .map_err(|_| ImageError::Mismatch { reason: "a kernel's name is not UTF-8".to_owned() })
}

/// The values that a launch gives to the constants that a kernel reads, where those are not the defaults.
pub(super) fn values(
    record: &RecordRef<'_>,
    kernel: &str,
    options: &Options,
) -> Result<Vec<ConstantValue>, ImageError> {
    let read = record.kernel(kernel).map_or(&[][..], |kernel| &kernel.spec_constants);
    let mut values = Vec::new();
    for constant in read.iter().filter_map(|symbol| record.spec_constant(symbol)) {
        let here = |place: &Place| {
            (place.name, place.line, place.column)
                == (&*constant.place, constant.line, constant.column)
        };
        let Some(value) = options
            .values()
            .iter()
            .find(|value| here(&value.place) && value.bytes.len() == constant.default.len())
        else {
            continue;
        };
        let other = record.spec_constants().iter().find(|other| {
            other.symbol != constant.symbol
                && (&other.place, other.line, other.column)
                    == (&constant.place, constant.line, constant.column)
        });
        if let Some(other) = other {
            let (first, second) = (constant.path.to_string(), other.path.to_string());
            return Err(ImageError::AmbiguousConstant { first, second });
        }
        if *value.bytes != *constant.default {
            values.push((constant.symbol.to_string(), value.bytes.clone()));
        }
    }
    Ok(values)
}

/// What stage 2 makes code of, if a kernel has that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'r, 'a>(Option<&'r ImageRef<'a>>);

impl<'a> Source<'_, 'a> {
    pub(super) fn data(self, kernel: &KernelRef<'_>) -> Result<&'a [u8], ImageError> {
        let none = || ImageError::NoImage { available: kernel.images.join(", ") };
        self.0.map(|image| image.data).ok_or_else(none)
    }
}

/// A kernel in its container, and the image that it is compiled from.
pub(super) fn find<'r, 'a>(
    record: &'r RecordRef<'a>,
    name: &str,
    dimensions: u32,
    closure: Layout,
) -> Result<(&'r KernelRef<'a>, Source<'r, 'a>), ImageError> {
    let mismatch = |reason: String| Err(ImageError::Mismatch { reason });
    let Some(kernel) = record.kernel(name) else {
        return mismatch(format!("it has no kernel {name}"));
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
    let mut images = kernel.images.iter().filter_map(|image| record.image(image));
    Ok((kernel, Source(images.find(|image| image.format == FORMAT))))
}
