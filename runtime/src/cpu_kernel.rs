//! A kernel that stage 2 compiled for this machine's processor.

use schism_hcf::{KernelRef, ParameterKind};
use schism_jit_abi::{
    Bytes, Constant, CpuChunk, CpuRequest, FLAG_FINITE_MATH, FLAG_OFFSET, FLAG_PORTABLE_MATH,
    FLAG_RELAXED_MATH, OK, PARAM_BYTES, PARAM_FLOAT, PARAM_INTEGER, PARAM_POINTER, PanicRecord,
    Param, Text,
};

use crate::error::ImageError;
use crate::kernels::Variant;
use crate::options::Math;
use crate::stage2::Stage2;

/// Machine code of one kernel. Dropping it frees the code, so launches hold it in an `Arc`.
#[derive(Debug)]
pub(crate) struct CpuKernel {
    code: schism_jit_abi::CpuKernel,
    stage2: &'static Stage2,
    /// Size and alignment of the local memory that groups need, without what a launch adds.
    local_memory: (usize, usize),
}

// SAFETY: stage 2 allows all its functions on any thread, `run` on many at once.
unsafe impl Send for CpuKernel {}
// SAFETY: as above.
unsafe impl Sync for CpuKernel {}

impl CpuKernel {
    /// Compiles `kernel` from `image`, as a launch asks for it. A kernel without a variant for launches that begin elsewhere than
    /// at zero does not ask where they begin.
    pub(crate) fn compile(
        stage2: &'static Stage2,
        image: &[u8],
        kernel: &KernelRef<'_>,
        variant: &Variant,
    ) -> Result<Self, ImageError> {
        let params: Vec<Param> = kernel
            .parameters
            .iter()
            .map(|parameter| Param {
                offset: parameter.offset,
                size: parameter.size,
                align: parameter.align,
                kind: match parameter.kind {
                    ParameterKind::Integer => PARAM_INTEGER,
                    ParameterKind::Float => PARAM_FLOAT,
                    ParameterKind::Pointer => PARAM_POINTER,
                    ParameterKind::Bytes => PARAM_BYTES,
                },
            })
            .collect();
        let with_offset = kernel.offset_variant.as_ref().filter(|_| variant.offset);
        let math = match variant.math {
            Math::Exact => 0,
            Math::Relaxed => FLAG_RELAXED_MATH,
            Math::RelaxedFinite => FLAG_RELAXED_MATH | FLAG_FINITE_MATH,
        };
        let constants: Vec<Constant> = variant
            .constants
            .iter()
            .map(|(symbol, value)| Constant {
                symbol: Bytes::new(symbol.as_bytes()),
                value: Bytes::new(value),
            })
            .collect();
        let request = CpuRequest {
            image: Bytes::new(image),
            kernel: Bytes::new(with_offset.unwrap_or(&kernel.name).as_bytes()),
            params: params.as_ptr(),
            params_len: params.len(),
            closure_size: kernel.closure_size,
            closure_align: kernel.closure_align,
            dimensions: kernel.dimensions,
            flags: math
                | if with_offset.is_some() { FLAG_OFFSET } else { 0 }
                | if variant.portable { FLAG_PORTABLE_MATH } else { 0 },
            constants: constants.as_ptr(),
            constants_len: constants.len(),
            print: Some(crate::print::from_kernel),
        };
        let mut code = std::mem::MaybeUninit::uninit();
        let mut error = Text::EMPTY;
        // SAFETY: all that the request points to lives until the end of this function; the rest is ours to be written.
        let status = unsafe {
            (stage2.api.compile_cpu)(&raw const request, code.as_mut_ptr(), &raw mut error)
        };
        if status == OK {
            // SAFETY: filled when the status is OK.
            let code = unsafe { code.assume_init() };
            let groups = kernel.groups.unwrap_or_default();
            // What does not fit is refused when it is launched.
            let bytes = |number| usize::try_from(number).unwrap_or(usize::MAX);
            let local_memory = (bytes(groups.local_size), bytes(groups.local_align));
            return Ok(Self { code, stage2, local_memory });
        }
        // SAFETY: stage 2 filled it, or left it empty; it is freed once, after its last use.
        let reason = unsafe { take_text(stage2, error) };
        Err(ImageError::Compile { code: status, reason })
    }

    /// Bytes of code and constants.
    pub(crate) const fn code_size(&self) -> u64 {
        self.code.code_size
    }

    /// What [`run`](Self::run) asks of a chunk: a sum of `schism_jit_abi::CPU_` constants.
    pub(crate) const fn flags(&self) -> u32 {
        self.code.flags
    }

    /// Size and alignment of the local memory that groups need, without what a launch adds.
    pub(crate) const fn local_memory(&self) -> (usize, usize) {
        self.local_memory
    }

    /// How long compiling took.
    pub(crate) const fn lower_micros(&self) -> u64 {
        self.code.lower_micros
    }

    /// Copies a message and frees it.
    ///
    /// # Safety
    /// The text is that of a record of this kernel and is not used again.
    pub(crate) unsafe fn take_text(&self, text: Text) -> String {
        // SAFETY: as promised by the caller.
        unsafe { take_text(self.stage2, text) }
    }

    /// # Safety
    /// As for [`schism_jit_abi::CpuEntry`]. The name of the record's file lives as long as `self`.
    pub(crate) unsafe fn run(
        &self,
        closure: *const u8,
        chunk: &CpuChunk,
        panic: &mut PanicRecord,
    ) -> u32 {
        // SAFETY: the caller's promises.
        unsafe { (self.code.run)(closure, chunk, panic) }
    }
}

/// Copies a text and frees it.
///
/// # Safety
/// The text is stage 2's and is not used again.
unsafe fn take_text(stage2: &Stage2, text: Text) -> String {
    // SAFETY: as promised by the caller.
    unsafe {
        let copy = String::from_utf8_lossy(text.as_slice()).into_owned();
        (stage2.api.free_text)(text);
        copy
    }
}

impl Drop for CpuKernel {
    fn drop(&mut self) {
        // SAFETY: nobody has this kernel any more, so none of its code is running; it is released once.
        unsafe { (self.stage2.api.release_cpu)(self.code.handle) };
    }
}
