//! What stage 2 is asked for, and what it answers.

use std::mem::MaybeUninit;

use schism_cache::Value;
use schism_hcf::KernelRef;
use schism_jit_abi::{
    Bytes, CPU_PLAIN_LOOPS, Constant, CpuObject, CpuRequest, FLAG_BASE, FLAG_FINITE_MATH,
    FLAG_IN_PROCESS, FLAG_OFFSET, FLAG_PORTABLE_MATH, FLAG_RELAXED_MATH, GPU_ADDRESSES, GpuKernel,
    GpuRequest, KernelRequest, KnownValue, OK, Param, Setting, Text,
};

use crate::code::background_jobs;
use crate::code::compiled::{CpuCode, GpuCode};
use crate::code::compiler::Stage2;
use crate::code::imports::Linked;
use crate::code::variant::Variant;
use crate::error::ImageError;
use crate::launch::options::Math;
use crate::util::{variables, warn_once};

/// What a device's code is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage2Target<'a> {
    /// The processor of this process.
    Cpu,
    Gpu(GpuTarget<'a>),
}

/// What of a request for a GPU's code depends on the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuTarget<'a> {
    /// One of the `schism_jit_abi::TARGET_` constants.
    pub(crate) target: u32,
    pub(crate) isa: u32,
    pub(crate) arch: &'a str,
    /// What holds for all launches on the device: a sum of `schism_jit_abi::ASSUME_` constants.
    pub(crate) assumptions: u32,
    /// Bitcode of mathematics that replaces schism's own.
    pub(crate) libdevice: Option<&'a [u8]>,
}

/// A request to compile a version of a kernel.
pub(crate) struct CompileRequest<'a> {
    pub(crate) kernel: &'a KernelRef<'a>,
    variant: &'a Variant,
    image: &'a [u8],
    params: Vec<Param>,
    constants: Vec<Constant>,
    values: Vec<KnownValue>,
    /// Images of other crates that define what the kernel imports.
    links: Vec<Bytes>,
    settings: Vec<Setting>,
    /// A sum of `schism_jit_abi::FLAG_` constants.
    flags: u32,
}

/// What stage 2 has made.
#[derive(Debug)]
pub(crate) struct Lowered {
    /// In the form of [`crate::code::compiled`].
    pub(crate) value: Value,
    pub(crate) code_bytes: usize,
    /// How long compiling took.
    pub(crate) micros: u64,
    /// The passes that failed, a line each.
    pub(crate) failures: String,
}

impl<'a> CompileRequest<'a> {
    pub(crate) fn new(
        kernel: &'a KernelRef<'a>,
        variant: &'a Variant,
        image: &'a [u8],
        linked: &'a Linked,
    ) -> Self {
        let params = kernel.parameters.iter().map(Param::from);
        let constants = variant.constants.iter().map(|(symbol, value)| Constant {
            symbol: Bytes::new(symbol.as_bytes()),
            value: Bytes::new(value),
        });
        let values = variant
            .values
            .iter()
            .map(|known| KnownValue { param: known.param, bytes: Bytes::new(&known.bytes) });
        let settings = variables::of_stage2().map(|(variable, value)| Setting {
            name: Bytes::new(variable.name.as_bytes()),
            value: Bytes::new(value.as_encoded_bytes()),
        });
        Self {
            kernel,
            variant,
            image,
            params: params.collect(),
            constants: constants.collect(),
            values: values.collect(),
            links: linked.images().map(Bytes::new).collect(),
            settings: settings.collect(),
            flags: flags(kernel, variant),
        }
    }

    /// Has stage 2 compile.
    ///
    /// # Errors
    /// [`ImageError::Compile`].
    pub(crate) fn compile(
        &self,
        stage2: &Stage2,
        target: &Stage2Target<'_>,
    ) -> Result<Lowered, ImageError> {
        match target {
            Stage2Target::Cpu => self.compile_cpu(stage2),
            Stage2Target::Gpu(target) => self.compile_gpu(stage2, target),
        }
    }

    /// The kernel's function in the image: its offset variant for a launch with an offset, if it has
    /// one. A kernel without such a variant does not read the offset.
    fn symbol(&self) -> Bytes {
        let with_offset = self.kernel.offset_variant.as_ref().filter(|_| self.variant.offset);
        Bytes::new(with_offset.unwrap_or(&self.kernel.name).as_bytes())
    }

    /// What is compiled, for groups of a size; it borrows from this.
    fn common(&self, group: [u32; 3]) -> KernelRequest {
        KernelRequest {
            image: Bytes::new(self.image),
            kernel: self.symbol(),
            params: self.params.as_ptr(),
            params_len: self.params.len(),
            closure_size: self.kernel.closure_size,
            closure_align: self.kernel.closure_align,
            dimensions: self.kernel.dimensions,
            flags: self.flags,
            constants: self.constants.as_ptr(),
            constants_len: self.constants.len(),
            values: self.values.as_ptr(),
            values_len: self.values.len(),
            links: self.links.as_ptr(),
            links_len: self.links.len(),
            group,
            settings: self.settings.as_ptr(),
            settings_len: self.settings.len(),
        }
    }

    fn compile_cpu(&self, stage2: &Stage2) -> Result<Lowered, ImageError> {
        let common = self.common(self.variant.assumptions.block);
        let request = CpuRequest { common, cpu: Bytes::EMPTY };
        let mut made = MaybeUninit::<CpuObject>::uninit();
        // SAFETY: everything that the request points to lives as long as `self`, and the result can
        // be written.
        let made = unsafe {
            self.call(stage2, |error| {
                (stage2.api.compile_cpu)(&raw const request, made.as_mut_ptr(), error)
            })?;
            // Filled when the status is OK.
            made.assume_init()
        };
        // SAFETY: both live until the handle is released, which is done once, and nothing of it is
        // used later.
        let lowered = unsafe {
            let object = made.object.as_slice();
            let lowered = Lowered {
                value: CpuCode::write(made.flags, made.stack, object),
                code_bytes: object.len(),
                micros: made.lower_micros,
                failures: String::from_utf8_lossy(made.failures.as_slice()).into_owned(),
            };
            (stage2.api.release_cpu)(made.handle);
            lowered
        };
        if made.flags & CPU_PLAIN_LOOPS != 0 {
            self.warn_of_plain_loops();
        }
        Ok(lowered)
    }

    fn compile_gpu(&self, stage2: &Stage2, target: &GpuTarget<'_>) -> Result<Lowered, ImageError> {
        let assumptions = &self.variant.assumptions;
        let request = GpuRequest {
            common: self.common(assumptions.block),
            target: target.target,
            isa: target.isa,
            arch: Bytes::new(target.arch.as_bytes()),
            assumptions: assumptions.flags() | target.assumptions,
            local_align: self.kernel.groups.unwrap_or_default().local_align,
            aligned: assumptions.aligned,
            narrow: assumptions.narrow,
            libdevice: target.libdevice.map_or(Bytes::EMPTY, Bytes::new),
        };
        let mut made = MaybeUninit::<GpuKernel>::uninit();
        // SAFETY: everything that the request points to lives as long as `self` and the target, and
        // the result can be written.
        let made = unsafe {
            self.call(stage2, |error| {
                (stage2.api.compile_gpu)(&raw const request, made.as_mut_ptr(), error)
            })?;
            // Filled when the status is OK.
            made.assume_init()
        };
        // SAFETY: all of it lives until the handle is released, which is done once, and nothing of
        // it is used later.
        let lowered = unsafe {
            let addresses = match made.flags & GPU_ADDRESSES {
                0 => &[],
                _ => std::slice::from_raw_parts(made.addresses, made.addresses_len),
            };
            let (entry, code) = (made.entry.as_slice(), made.code.as_slice());
            let lowered = Lowered {
                value: GpuCode::write(made.flags, addresses, entry, code),
                code_bytes: code.len(),
                micros: made.lower_micros,
                failures: String::from_utf8_lossy(made.failures.as_slice()).into_owned(),
            };
            (stage2.api.release_gpu)(made.handle);
            lowered
        };
        Ok(lowered)
    }

    /// Calls stage 2, which returns a status, and fills an error's text if that is not OK.
    ///
    /// # Safety
    /// `compile` calls a function of this stage 2 with the text.
    unsafe fn call(
        &self,
        stage2: &Stage2,
        compile: impl FnOnce(*mut Text) -> u32,
    ) -> Result<(), ImageError> {
        let mut error = Text::EMPTY;
        match background_jobs::let_fork(self.variant, || compile(&raw mut error)) {
            OK => Ok(()),
            // SAFETY: stage 2 filled the text, or left it empty; it is freed once, after its last use.
            code => Err(unsafe {
                let reason = String::from_utf8_lossy(error.as_slice()).into_owned();
                (stage2.api.free_text)(error);
                ImageError::Compile { code, reason }
            }),
        }
    }

    #[cold]
    fn warn_of_plain_loops(&self) {
        let message = format_args!(
            "kernel `{}` was compiled without LLVM's loop vectoriser, which did not come to an end; it may run slower. A long \
             chain of operations on what is the same for all work-items is the cause; compute it once, on the host",
            self.kernel.display_name
        );
        // Who wrote an ordinary iterator did not ask for a kernel.
        if self.variant.in_process {
            tracing::info!("{message}");
        } else {
            warn_once::warn(message);
        }
    }
}

/// The flags of a request: a sum of `schism_jit_abi::FLAG_` constants.
pub(crate) fn flags(kernel: &KernelRef<'_>, variant: &Variant) -> u32 {
    let math = match variant.math {
        Math::Precise => 0,
        Math::Relaxed => FLAG_RELAXED_MATH,
        Math::RelaxedFinite => FLAG_RELAXED_MATH | FLAG_FINITE_MATH,
    };
    let with_offset = variant.offset && kernel.offset_variant.is_some();
    [
        (with_offset, FLAG_OFFSET),
        (variant.portable, FLAG_PORTABLE_MATH),
        (variant.in_process, FLAG_IN_PROCESS),
        (variant.sub_grids, FLAG_BASE),
    ]
    .into_iter()
    .filter(|(is_set, _)| *is_set)
    .fold(math, |flags, (_, flag)| flags | flag)
}
