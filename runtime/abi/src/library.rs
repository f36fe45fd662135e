//! Stage 2 as a library for tools, with safe functions: for compilation before a program runs.
//!
//! The runtime does not use this: it finds cached kernels without opening stage 2.

use core::ffi::c_void;
use core::mem::MaybeUninit;
use std::borrow::ToOwned;
use std::ffi::OsString;
use std::path::Path;
use std::string::{String, ToString};
use std::vec::Vec;

use schism_hcf::KernelRef;

use crate::ptxas::{Ptxas, PtxasError};
use crate::variables::STAGE2;
use crate::{
    ABI_VERSION, BACKEND_FAILED, Bytes, Constant, CpuObject, CpuRequest, ENTRY_SYMBOL, EntryFn,
    GpuKernel, GpuRequest, INTERNAL, JitApi, KernelRequest, OK, Param, Setting,
    TARGET_AMD_ASSEMBLY, TARGET_CODE_OBJECT, TARGET_PTX, TARGET_SPIRV, Text, code, version_of,
};

/// Stage 2, open. It stays loaded until the process ends.
#[derive(Clone, Copy, Debug)]
pub struct Stage2(&'static JitApi);

/// Why stage 2 could not be opened. Each text describes the problem without naming the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// An untrusted user may have put it there or changed it, or it cannot be opened.
    #[error("cannot be loaded: {0}")]
    Untrusted(schism_trust::Untrusted),
    /// The system cannot load it.
    #[error("cannot be loaded: {0}")]
    Load(libloading::Error),
    /// It is another library.
    #[error("is no stage 2: {0}")]
    Foreign(libloading::Error),
    /// It belongs to another version of schism.
    #[error(
        "belongs to another version of schism: it speaks version {} of the interface, and version {ABI_VERSION} is needed",
        .found.map_or("?".to_owned(), |found| found.to_string())
    )]
    Version {
        /// Its interface version, if it can be determined.
        found: Option<u32>,
    },
}

/// Stage 2 rejected a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refused {
    /// One of this crate's codes, such as [`crate::UNSUPPORTED`].
    pub code: u32,
    /// Stage 2's message.
    pub reason: String,
}

/// The parts of a compile request that are the same for all devices.
#[derive(Clone, Copy, Debug)]
pub struct CompileRequest<'a> {
    /// The image with the kernel, LLVM bitcode.
    pub image: &'a [u8],
    /// The kernel's description in its container.
    pub kernel: &'a KernelRef<'a>,
    /// A sum of `FLAG_` constants. [`crate::FLAG_OFFSET`] selects the kernel's offset variant;
    /// [`crate::FLAG_OPEN_CONSTANTS`] leaves open all specialization constants that the kernel
    /// reads, in the container's order.
    pub flags: u32,
    /// Images that define what the kernel imports, LLVM bitcode.
    pub links: &'a [&'a [u8]],
}

/// What holds for every launch of a GPU's code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchAssumptions {
    /// A sum of `ASSUME_` constants.
    pub flags: u32,
    /// The work-items of a block in each dimension, x first, if they are known; else zeros.
    pub block: [u32; 3],
    /// [`GpuRequest::aligned`].
    pub aligned: u64,
    /// [`GpuRequest::narrow`].
    pub narrow: u64,
}

/// Code of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledKernel {
    /// The code.
    pub code: Vec<u8>,
    /// The entry's symbol in it.
    pub entry: String,
    /// What it needs and takes: a sum of `CPU_` or `GPU_` constants.
    pub needs: u32,
    /// For the CPU, [`CpuObject::stack`]; [`crate::STACK_UNKNOWN`] for a GPU.
    pub stack: u64,
}

impl Stage2 {
    /// Opens the library at an absolute path, if it is [trusted](schism_trust).
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        schism_trust::open(path).map_err(OpenError::Untrusted)?;
        // SAFETY: loading runs the constructors of libLLVM and of our own library, which only fill
        // their own tables. Only a trusted user can have put another library there, and the
        // caller, who names it, vouches for it.
        let library = unsafe { libloading::Library::new(path) }.map_err(OpenError::Load)?;
        // SAFETY: the symbol, if it exists, has this type, by this crate's definition.
        let entry = unsafe { library.get::<EntryFn>(ENTRY_SYMBOL.to_bytes_with_nul()) };
        let entry = *entry.map_err(OpenError::Foreign)?;
        core::mem::forget(library);
        // SAFETY: any version is allowed; the result is null or a table that lives as long as the
        // library, which stays.
        let api = unsafe { entry(ABI_VERSION).as_ref() };
        // SAFETY: the library's own symbol; it stays.
        api.map(Self).ok_or_else(|| OpenError::Version { found: unsafe { version_of(entry) } })
    }

    /// Name and version of stage 2 and of its LLVM.
    #[must_use]
    pub fn version(&self) -> String {
        // SAFETY: the text lives as long as the library.
        String::from_utf8_lossy(unsafe { (self.0.version)().as_slice() }).into_owned()
    }

    /// The processor of this process, by LLVM's name.
    #[must_use]
    pub fn cpu_name(&self) -> String {
        // SAFETY: the text lives as long as the library.
        String::from_utf8_lossy(unsafe { (self.0.cpu_name)().as_slice() }).into_owned()
    }

    /// Compiles a kernel for a processor by LLVM's name, or for that of this process if it is
    /// empty; for groups of so many work-items in each dimension, x first, or of any size if these
    /// are zeros.
    ///
    /// # Errors
    /// If stage 2 rejects it.
    pub fn compile_cpu(
        &self,
        wanted: CompileRequest<'_>,
        cpu: &str,
        group: [u32; 3],
    ) -> Result<CompiledKernel, Refused> {
        let lists = Lists::of(wanted);
        let common = KernelRequest { group, ..lists.request(wanted) };
        let request = CpuRequest { common, cpu: Bytes::new(cpu.as_bytes()) };
        let mut out = MaybeUninit::<CpuObject>::uninit();
        let mut error = Text::EMPTY;
        // SAFETY: what the request points to outlives the call; the rest can be written.
        let status =
            unsafe { (self.0.compile_cpu)(&raw const request, out.as_mut_ptr(), &raw mut error) };
        let made = self.outcome(status, out, error)?;
        // SAFETY: the bytes live until the handle is released, which happens once, and after they
        // are copied.
        let bytes = unsafe { self.take(made.object, self.0.release_cpu, made.handle) };
        Ok(CompiledKernel {
            code: bytes,
            entry: code::ENTRY.to_owned(),
            needs: made.flags,
            stack: made.stack,
        })
    }

    /// Compiles a kernel to PTX, for a processor such as `sm_90`, in the lowest PTX version that
    /// knows it.
    ///
    /// # Errors
    /// If stage 2 rejects it.
    pub fn compile_ptx(
        &self,
        wanted: CompileRequest<'_>,
        processor: &str,
        assumptions: LaunchAssumptions,
    ) -> Result<CompiledKernel, Refused> {
        self.compile_gpu(wanted, TARGET_PTX, processor, assumptions)
    }

    /// Compiles a kernel to machine code of an NVIDIA processor such as `sm_90`: a cubin.
    ///
    /// # Errors
    /// If stage 2 rejects it, or the assembler does.
    pub fn compile_sass(
        &self,
        wanted: CompileRequest<'_>,
        processor: &str,
        assumptions: LaunchAssumptions,
        ptxas: &Ptxas,
    ) -> Result<CompiledKernel, Refused> {
        let made = self.compile_ptx(wanted, processor, assumptions)?;
        let code = ptxas.assemble(&made.code, processor).map_err(|error| Refused {
            code: match error {
                PtxasError::Refused { .. } => BACKEND_FAILED,
                _ => INTERNAL,
            },
            reason: error.to_string(),
        })?;
        Ok(CompiledKernel { code, ..made })
    }

    /// Compiles a kernel to SPIR-V for OpenCL's devices: little-endian words.
    ///
    /// # Errors
    /// If stage 2 rejects it.
    pub fn compile_spirv(&self, wanted: CompileRequest<'_>) -> Result<CompiledKernel, Refused> {
        self.compile_gpu(wanted, TARGET_SPIRV, "", LaunchAssumptions::default())
    }

    /// Compiles a kernel to a code object for a processor of AMD's such as `gfx90a`.
    ///
    /// # Errors
    /// If stage 2 rejects it.
    pub fn compile_code_object(
        &self,
        wanted: CompileRequest<'_>,
        processor: &str,
        assumptions: LaunchAssumptions,
    ) -> Result<CompiledKernel, Refused> {
        self.compile_gpu(wanted, TARGET_CODE_OBJECT, processor, assumptions)
    }

    /// As [`compile_code_object`](Self::compile_code_object), to assembly.
    ///
    /// # Errors
    /// If stage 2 rejects it.
    pub fn compile_amd_assembly(
        &self,
        wanted: CompileRequest<'_>,
        processor: &str,
        assumptions: LaunchAssumptions,
    ) -> Result<CompiledKernel, Refused> {
        self.compile_gpu(wanted, TARGET_AMD_ASSEMBLY, processor, assumptions)
    }

    fn compile_gpu(
        &self,
        wanted: CompileRequest<'_>,
        target: u32,
        processor: &str,
        assumptions: LaunchAssumptions,
    ) -> Result<CompiledKernel, Refused> {
        let lists = Lists::of(wanted);
        let common = KernelRequest { group: assumptions.block, ..lists.request(wanted) };
        let request = GpuRequest {
            common,
            target,
            isa: 0,
            arch: Bytes::new(processor.as_bytes()),
            assumptions: assumptions.flags,
            local_align: wanted.kernel.groups.unwrap_or_default().local_align,
            aligned: assumptions.aligned,
            narrow: assumptions.narrow,
            libdevice: Bytes::EMPTY,
        };
        let mut out = MaybeUninit::<GpuKernel>::uninit();
        let mut error = Text::EMPTY;
        // SAFETY: what the request points to outlives the call; the rest can be written.
        let status =
            unsafe { (self.0.compile_gpu)(&raw const request, out.as_mut_ptr(), &raw mut error) };
        let made = self.outcome(status, out, error)?;
        // SAFETY: the name lives until the handle is released.
        let entry = String::from_utf8_lossy(unsafe { made.entry.as_slice() }).into_owned();
        // SAFETY: as above; that is once, and after the text is copied.
        let text = unsafe { self.take(made.code, self.0.release_gpu, made.handle) };
        Ok(CompiledKernel { code: text, entry, needs: made.flags, stack: crate::STACK_UNKNOWN })
    }

    fn outcome<K>(&self, status: u32, out: MaybeUninit<K>, error: Text) -> Result<K, Refused> {
        if status == OK {
            // SAFETY: stage 2 fills it when the status is OK.
            return Ok(unsafe { out.assume_init() });
        }
        // SAFETY: the text belongs to stage 2, and is freed once, after it is copied.
        let reason = unsafe {
            let reason = String::from_utf8_lossy(error.as_slice()).into_owned();
            (self.0.free_text)(error);
            reason
        };
        Err(Refused { code: status, reason })
    }

    /// Copies bytes and releases their owner.
    ///
    /// # Safety
    /// The bytes belong to the handle, which `release` takes, and neither is used again.
    unsafe fn take(
        &self,
        bytes: Bytes,
        release: unsafe extern "C" fn(*mut c_void),
        handle: *mut c_void,
    ) -> Vec<u8> {
        // SAFETY: as promised by the caller.
        unsafe {
            let copy = bytes.as_slice().to_vec();
            release(handle);
            copy
        }
    }
}

/// The lists of a request.
struct Lists {
    params: Vec<Param>,
    constants: Vec<Constant>,
    links: Vec<Bytes>,
    settings: Vec<Setting>,
    /// What `settings` borrows from.
    _values: Vec<(&'static str, OsString)>,
}

impl Lists {
    fn of(wanted: CompileRequest<'_>) -> Self {
        let open = wanted.flags & crate::FLAG_OPEN_CONSTANTS != 0;
        let constants = wanted.kernel.spec_constants.iter().filter(|_| open);
        let constants = constants
            .map(|symbol| Constant { symbol: Bytes::new(symbol.as_bytes()), value: Bytes::EMPTY });
        // A program with rights that its user lacks ignores what its user could misuse.
        let values =
            STAGE2.iter().filter_map(|it| Some((it.name, schism_trust::variable(it.name)?)));
        let values: Vec<_> = values.collect();
        let settings = values.iter().map(|(name, value)| Setting {
            name: Bytes::new(name.as_bytes()),
            value: Bytes::new(value.as_encoded_bytes()),
        });
        Self {
            params: wanted.kernel.parameters.iter().map(Param::from).collect(),
            constants: constants.collect(),
            links: wanted.links.iter().map(|image| Bytes::new(image)).collect(),
            settings: settings.collect(),
            _values: values,
        }
    }

    /// The request; it borrows from the lists.
    fn request(&self, wanted: CompileRequest<'_>) -> KernelRequest {
        let CompileRequest { image, kernel, flags, .. } = wanted;
        let variant = kernel.offset_variant.as_deref().filter(|_| flags & crate::FLAG_OFFSET != 0);
        KernelRequest {
            image: Bytes::new(image),
            kernel: Bytes::new(variant.unwrap_or(&kernel.name).as_bytes()),
            params: self.params.as_ptr(),
            params_len: self.params.len(),
            closure_size: kernel.closure_size,
            closure_align: kernel.closure_align,
            dimensions: kernel.dimensions,
            flags,
            constants: self.constants.as_ptr(),
            constants_len: self.constants.len(),
            values: core::ptr::null(),
            values_len: 0,
            links: self.links.as_ptr(),
            links_len: self.links.len(),
            group: [0; 3],
            settings: self.settings.as_ptr(),
            settings_len: self.settings.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_are_none_are_told_apart() {
        let error = |path: &Path| Stage2::open(path).unwrap_err().to_string();
        assert!(error(Path::new("/nonexistent.so")).starts_with("cannot be loaded: "));
        assert!(error(Path::new("libc.so.6")).contains("`libc.so.6` is no path from the root"));
        // A library of this process: the C library.
        let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
        let line = maps.lines().find(|line| line.contains("libc.so")).expect("it is loaded");
        let library = Path::new(line.split_whitespace().last().expect("a path"));
        assert!(error(library).starts_with("is no stage 2: "));
    }

    #[test]
    fn another_version_is_named() {
        unsafe extern "C" fn older(version: u32) -> *const JitApi {
            let table = core::ptr::without_provenance(8);
            if version == ABI_VERSION - 1 { table } else { core::ptr::null() }
        }
        unsafe extern "C" fn none(_: u32) -> *const JitApi {
            core::ptr::null()
        }
        // SAFETY: functions of this program.
        let found = unsafe { [version_of(older), version_of(none)] };
        assert_eq!(found, [Some(ABI_VERSION - 1), None]);
        let texts = found.map(|found| OpenError::Version { found }.to_string());
        let expected = std::format!(
            "speaks version {} of the interface, and version {ABI_VERSION} is",
            ABI_VERSION - 1
        );
        assert!(texts[0].contains(&expected), "{}", texts[0]);
        assert!(texts[1].contains("version ? of"), "{}", texts[1]);
    }
}
