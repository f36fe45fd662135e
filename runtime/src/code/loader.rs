//! What kernels are compiled for: the processor of this process, or a context of a GPU.

use std::sync::Arc;
use std::time::Instant;

use schism_hcf::{KernelRef, RecordRef};

use crate::code::aot::{Ahead, On};
use crate::code::assumptions::Leaves;
use crate::code::disk_cache;
use crate::code::imports::Linked;
use crate::code::profile::Watch;
use crate::code::table::{CPU, ON_CPU, ON_CUDA, Table};
use crate::code::variant::Variant;
use crate::error::ImageError;
use crate::hal::cuda::{Context, CudaKernel};
use crate::hal::host::kernel::{CpuKernel, CpuObject};

/// What code is made for.
pub(super) trait Target: Clone + Send + 'static {
    type Kernel: Send + Sync + 'static;

    fn table() -> &'static Table<Self::Kernel>;

    /// Tells devices apart.
    fn id(&self) -> u64;

    fn name(&self) -> &str;

    /// Takes note of launches of a kernel.
    fn watch(leaves: &Leaves) -> Watch;

    /// For which device code that was made ahead of time is looked for.
    fn on(&self) -> On;

    /// Loads code that was made ahead of time.
    fn load(
        &self,
        ahead: &Ahead<'_, '_>,
        kernel: &KernelRef<'_>,
        variant: &Variant,
    ) -> Result<Self::Kernel, ImageError>;

    /// Finds or makes code.
    fn compile(
        &self,
        record: &RecordRef<'_>,
        kernel: &KernelRef<'_>,
        image: &[u8],
        linked: &Linked,
        variant: &Variant,
    ) -> Result<Self::Kernel, ImageError>;
}

/// The processor of this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cpu;

impl Target for Cpu {
    type Kernel = CpuKernel;

    fn table() -> &'static Table<CpuKernel> {
        &ON_CPU
    }

    fn id(&self) -> u64 {
        CPU
    }

    fn name(&self) -> &str {
        "cpu"
    }

    fn watch(leaves: &Leaves) -> Watch {
        // What a GPU gains by a simple number, this one's vectors and predictions mostly have anyway.
        if leaves.scalars.is_empty() { Watch::blind() } else { Watch::new(false) }
    }

    fn on(&self) -> On {
        On::Cpu
    }

    fn load(
        &self,
        ahead: &Ahead<'_, '_>,
        kernel: &KernelRef<'_>,
        variant: &Variant,
    ) -> Result<CpuKernel, ImageError> {
        CpuKernel::ahead(ahead, kernel, variant)
    }

    fn compile(
        &self,
        record: &RecordRef<'_>,
        kernel: &KernelRef<'_>,
        image: &[u8],
        linked: &Linked,
        variant: &Variant,
    ) -> Result<CpuKernel, ImageError> {
        let started = Instant::now();
        let found = CpuObject::get_or_compile(record, kernel, variant, image, linked)?;
        let compiled = CpuKernel::load(&found.value, kernel, variant)?;
        let code_bytes = compiled.code_size();
        disk_cache::trace(kernel, self.name(), variant, &found, code_bytes, started);
        Ok(compiled)
    }
}

impl Target for Arc<Context> {
    type Kernel = CudaKernel;

    fn table() -> &'static Table<CudaKernel> {
        &ON_CUDA
    }

    fn id(&self) -> u64 {
        Context::id(self)
    }

    fn name(&self) -> &str {
        Context::name(self)
    }

    fn watch(_: &Leaves) -> Watch {
        Watch::new(true)
    }

    fn on(&self) -> On {
        self.ahead()
    }

    fn load(
        &self,
        ahead: &Ahead<'_, '_>,
        kernel: &KernelRef<'_>,
        variant: &Variant,
    ) -> Result<CudaKernel, ImageError> {
        CudaKernel::ahead(self, ahead, kernel, variant)
    }

    fn compile(
        &self,
        record: &RecordRef<'_>,
        kernel: &KernelRef<'_>,
        image: &[u8],
        linked: &Linked,
        variant: &Variant,
    ) -> Result<CudaKernel, ImageError> {
        CudaKernel::get_or_compile(self, record, image, kernel, variant, linked)
    }
}
