//! The container of a crate: its images, and what launches must know of its kernels.

use schism_hcf::{
    Addresses, Container, GENERIC_IR, Groups, IN_PROCESS, Image, Kernel, Parameter, ParameterKind,
};
use schism_passes::DeviceImage;
use schism_passes::analysis::structural_hash;
use schism_passes::spec::image::KernelImage;
use schism_passes::stage1::ProcessImage;

use crate::collect::spec_constants::SpecConstant;
use crate::kernels::KernelInfo;

/// The name of the image of a container that has one.
const IMAGE: &str = "llvm-ir.global";

/// The name of the image whose kernels run in the program's own process.
const PROCESS_IMAGE: &str = "llvm-ir.process";

/// What a container has besides images, and what does not change while kernels are taken out.
pub(super) struct CrateKernels<'a> {
    /// The name of the crate.
    pub crate_name: &'a str,
    /// The kernels that there are for any device.
    pub kernels: &'a [KernelInfo],
    /// The specialization constants that kernels reach.
    pub spec_constants: &'a [SpecConstant],
    /// For each kernel, whether it uses no thread-local variables on the host.
    pub no_thread_locals: &'a [bool],
}

/// Packs the images for devices, of the kernels `of_devices`, and that for the process.
pub(super) fn container(
    of_crate: &CrateKernels<'_>,
    image: DeviceImage,
    of_devices: &[KernelInfo],
    process: Option<(&ProcessImage, &[KernelInfo])>,
) -> Container {
    let CrateKernels { crate_name, kernels: all, spec_constants, no_thread_locals } = *of_crate;
    let is_read = |constant: &&SpecConstant| {
        image.kernels.iter().any(|kernel| kernel.spec_constants.contains(&constant.symbol))
    };
    let spec_constants = spec_constants
        .iter()
        .filter(is_read)
        .cloned()
        .map(|constant| schism_hcf::SpecConstant {
            symbol: constant.symbol,
            path: constant.path,
            align: constant.align,
            default: constant.default,
            parts: constant.parts,
        })
        .collect();
    let single = image.parts.len() == 1;
    let name_of_part =
        |number: usize| if single { IMAGE.to_owned() } else { format!("llvm-ir.part{number}") };
    let image_of = |kernel: usize| {
        let part = image.parts.iter().position(|part| part.kernels.contains(&kernel));
        name_of_part(part.expect("every kernel is in a part"))
    };
    let kernel_of = |(index, kernel): (usize, &KernelInfo)| {
        let on_devices = of_devices.iter().position(|other| other.name == kernel.name);
        let in_process = process.and_then(|(image, kernels)| {
            let at = kernels.iter().position(|other| other.name == kernel.name)?;
            Some(image.structural_hashes[at])
        });
        if on_devices.is_none() && in_process.is_none() {
            return None;
        }
        let nothing = KernelImage::new(&kernel.name);
        let shaped = on_devices.map_or(&nothing, |at| &image.kernels[at]);
        let images = in_process.map(|_| PROCESS_IMAGE.to_owned()).into_iter();
        Some(Kernel {
            name: kernel.name.clone(),
            display_name: kernel.located_name(),
            dimensions: kernel.dimensions,
            closure_size: kernel.closure.size,
            closure_align: kernel.closure.align,
            parameters: kernel
                .closure
                .parameters
                .iter()
                .zip(&kernel.closure.addresses)
                .map(parameter)
                .collect(),
            images: images.chain(on_devices.map(image_of)).collect(),
            can_panic: shaped.can_panic,
            groups: shaped.groups.map(|groups| Groups {
                local_size: groups.local_size,
                local_align: groups.local_align,
            }),
            offset_variant: shaped.offset_variant.clone(),
            spec_constants: shaped.spec_constants.clone(),
            imports: shaped.imports.clone(),
            capabilities: shaped.capabilities.iter().map(ToString::to_string).collect(),
            content: match in_process {
                None => shaped.structural_hash,
                Some(own) => structural_hash::joined([own, shaped.structural_hash]),
            },
            no_thread_locals: no_thread_locals.get(index).copied().unwrap_or_default(),
        })
    };
    let kernels = all.iter().enumerate().filter_map(kernel_of).collect();
    let in_process = process.map(|(image, _)| Image {
        name: PROCESS_IMAGE.to_owned(),
        format: GENERIC_IR.to_owned(),
        variant: IN_PROCESS.to_owned(),
        code: None,
        exported_symbols: Vec::new(),
        imported_symbols: image.host_symbols.clone(),
        data: image.bitcode.clone(),
    });
    let images = image.parts.iter().enumerate().map(|(number, part)| Image {
        name: name_of_part(number),
        format: GENERIC_IR.to_owned(),
        variant: if single { "global-module" } else { "module-part" }.to_owned(),
        code: None,
        exported_symbols: part.exported_symbols.clone(),
        imported_symbols: part.imported_symbols.clone(),
        data: part.bitcode.clone(),
    });
    Container {
        generator: concat!(
            "schism ",
            env!("CARGO_PKG_VERSION"),
            " for rustc ",
            env!("SCHISM_RELEASE")
        )
        .to_owned(),
        llvm_version: llvm_version(),
        crate_name: crate_name.to_owned(),
        images: in_process.into_iter().chain(images).collect(),
        spec_constants,
        kernels,
    }
}

/// The version of the compiler's LLVM, which wrote the bitcode: releases of rustc differ in it.
fn llvm_version() -> String {
    let (major, minor, patch) = schism_llvm::version();
    format!("{major}.{minor}.{patch}")
}

fn parameter((parameter, addresses): (&schism_passes::Parameter, &Addresses)) -> Parameter {
    Parameter {
        offset: parameter.offset,
        size: parameter.size,
        align: parameter.align,
        kind: match parameter.kind {
            schism_passes::ParameterKind::Integer => ParameterKind::Integer,
            schism_passes::ParameterKind::Float => ParameterKind::Float,
            schism_passes::ParameterKind::Pointer { .. } => ParameterKind::Pointer,
            schism_passes::ParameterKind::Bytes => ParameterKind::Bytes,
        },
        read_only: matches!(
            parameter.kind,
            schism_passes::ParameterKind::Pointer { readonly: true, .. }
        ),
        specialized: parameter.specialized,
        addresses: addresses.clone(),
    }
}
