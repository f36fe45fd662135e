//! A kernel that stage 2 compiled for a GPU, loaded by the driver.

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use schism_cache::{KeyBuilder, Value};
use schism_hcf::{Addresses, KernelRef, ParameterKind};
use schism_jit_abi::code::{OPEN_CONSTANT, TICK};
use schism_jit_abi::{
    FLAG_BASE, FLAG_OFFSET, GPU_GROUPS, GPU_HEAP, GPU_MESSAGES, GPU_PRINT, GPU_RANGE,
};

use crate::code::aot::{self, AotCode, AotTarget};
use crate::code::assumptions::FlattenedParameters;
use crate::code::captured;
use crate::code::compiled::GpuCode;
use crate::code::host_symbols::HostSymbols;
use crate::code::profile::Profiler;
use crate::code::request::{GpuTarget, Stage2Target, flags};
use crate::code::variant::Variant;
use crate::data::device_heap;
use crate::error::{DriverError, ImageError};
use crate::hal::address_window::LARGEST_DANGLING;
use crate::hal::gpu::api::{RawFunction, RawModule, number, symbol};
use crate::hal::gpu::context::Context;
use crate::hal::{CodeLoader, GPUS_LACK};

/// A part of the closure that becomes a parameter.
#[derive(Clone, Debug)]
pub(super) struct FlattenedParameter {
    pub(super) offset: usize,
    pub(super) kind: FlattenedKind,
}

#[derive(Clone, Debug)]
pub(super) enum FlattenedKind {
    /// Passed from where it is: a number, or bytes without addresses.
    Value,
    /// An address.
    Pointer { readonly: bool },
    /// So many bytes that contain addresses.
    Bytes { size: usize, addresses: Addresses },
}

/// A kernel in a context. Dropping it unloads the code, so launches in flight hold it in an `Arc`.
#[derive(Debug)]
pub(crate) struct LoadedKernel {
    pub(super) context: Arc<Context>,
    module: RawModule,
    /// What the driver may read as long as the module is loaded.
    _kept: Box<[u64]>,
    pub(super) function: RawFunction,
    /// A sum of `GPU_` constants of the interface.
    flags: u32,
    /// Where the closure has all addresses by which the kernel reaches memory, in bytes, if that is
    /// known.
    addresses: Option<Box<[usize]>>,
    /// Whether the kernel takes the launch's offset.
    pub(super) offset: bool,
    /// Whether the kernel takes the first id of the sub-grid.
    pub(super) base: bool,
    pub(super) flattened: Box<[FlattenedParameter]>,
    /// Of each word of the closure, the bits of addresses and integers, and those of other parameters;
    /// `None` if its launches are not kept.
    pub(super) masks: Option<Box<[[u64; 2]]>>,
    /// The maximum threads of a block, which its registers limit.
    pub(crate) max_block: u32,
    /// Whether stage 1 has made it a kernel because a launch can undo its changes, wherever it ends.
    pub(super) is_undone: bool,
    /// Bytes of local memory that a group needs, without what a launch adds.
    pub(super) local_memory: usize,
    /// The bytes of it that the driver knows of.
    shared_memory: AtomicU32,
    /// For the trace.
    pub(super) version: Box<str>,
}

/// The directive of a source line.
const LINE: &[u8] = b"\t.loc\t";

/// The most words of a closure whose launches are kept.
pub(super) const MOST_WORDS: usize = 64;

/// Bytes for the output of the driver's compiler.
const LOG: usize = 16 << 10;

impl LoadedKernel {
    /// Loads AOT code.
    pub(crate) fn of_aot(
        context: &Arc<Context>,
        aot_code: &AotCode<'_, '_>,
        kernel: &KernelRef<'_>,
        variant: &Variant,
    ) -> Result<Self, ImageError> {
        let format = &context.gpu.code;
        let nul = || ImageError::Mismatch { reason: format!("a NUL in its {}", format.name) };
        let entry = CString::new(aot_code.code.entry.as_bytes()).map_err(|_| nul())?;
        let data = aot_code.image.data;
        if format.is_text && !is_machine_code(data) && data.contains(&0) {
            return Err(nul());
        }
        let bytes = [data, b"\0"].concat();
        let flags = aot_code.code.needs;
        let code = GpuCode { flags, addresses: None, entry: &entry, bytes: &bytes };
        let loaded =
            Self::of_code(context, &code, aot_code.code.flags, kernel, aot_code.version())?;
        for (index, value) in aot::values(kernel, variant) {
            loaded.set_constant(index, value)?;
        }
        Ok(loaded)
    }

    /// Loads code into the driver; `flags` are those of the request that it was made by.
    fn of_code(
        context: &Arc<Context>,
        code: &GpuCode<'_>,
        flags: u32,
        kernel: &KernelRef<'_>,
        version: String,
    ) -> Result<Self, ImageError> {
        let (module, kept) = load(context, code)?;
        let flattened = kernel.parameters.iter().map(|parameter| FlattenedParameter {
            offset: parameter.offset as usize,
            kind: match parameter.kind {
                ParameterKind::Integer | ParameterKind::Float => FlattenedKind::Value,
                ParameterKind::Pointer => FlattenedKind::Pointer { readonly: parameter.read_only },
                ParameterKind::Bytes if parameter.addresses.is_empty() => FlattenedKind::Value,
                ParameterKind::Bytes => FlattenedKind::Bytes {
                    size: parameter.size as usize,
                    addresses: parameter.addresses.clone(),
                },
            },
        });
        let mut this = Self {
            context: Arc::clone(context),
            module,
            _kept: kept,
            function: RawFunction(std::ptr::null_mut()),
            flags: code.flags,
            addresses: code.addresses.clone(),
            offset: flags & FLAG_OFFSET != 0,
            base: flags & FLAG_BASE != 0,
            is_undone: device_heap::is_of(&kernel.capabilities),
            flattened: flattened.collect(),
            masks: masks(kernel),
            max_block: 0,
            // What does not fit is an error at the launch.
            local_memory: usize::try_from(kernel.groups.unwrap_or_default().local_size)
                .unwrap_or(usize::MAX),
            shared_memory: AtomicU32::new(0),
            version: version.into(),
        };
        this.find(code.entry).map_err(|source| ImageError::Driver {
            source: Box::new(source),
            log: String::new(),
        })?;
        if let Some(tick) = context.gpu.code.tick {
            this.set_variable(TICK, &tick.to_ne_bytes())?;
        }
        Ok(this)
    }

    /// Writes the value of an open constant. The context is current.
    fn set_constant(&self, index: usize, value: &[u8]) -> Result<(), ImageError> {
        self.set_variable(&format!("{OPEN_CONSTANT}{index}"), value)
    }

    /// Writes the value of a variable, if the code has it. The context is current.
    fn set_variable(&self, name: &str, value: &[u8]) -> Result<(), ImageError> {
        let refused = |source| ImageError::Driver { source: Box::new(source), log: String::new() };
        let name = CString::new(name).unwrap_or_default();
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the name ends with a NUL; address and size can be written.
        let code = unsafe {
            let (address, bytes) = (&raw mut address, &raw mut bytes);
            (self.context.api().module_global)(address, bytes, self.module, name.as_ptr())
        };
        if code == number::NOT_FOUND {
            // Nothing reads it.
            return Ok(());
        }
        self.context.check(code, symbol::module_global).map_err(refused)?;
        if value.len() > bytes {
            let reason = format!("a constant of {bytes} bytes has a value of {}", value.len());
            return Err(ImageError::Mismatch { reason });
        }
        // SAFETY: the module's own memory, which has room for the value; nothing runs in the module
        // yet.
        unsafe { self.context.write(address, value.as_ptr(), value.len()) }.map_err(refused)
    }

    /// Finds the entry in the loaded module.
    fn find(&mut self, entry: &CStr) -> Result<(), DriverError> {
        let api = self.context.api();
        // SAFETY: the name ends with a NUL; the function can be written.
        let result =
            unsafe { (api.module_function)(&raw mut self.function, self.module, entry.as_ptr()) };
        self.context.check(result, symbol::module_function)?;
        self.max_block = self.attribute(number::FUNCTION_MAX_BLOCK)?;
        Ok(())
    }

    fn attribute(&self, attribute: c_uint) -> Result<u32, DriverError> {
        let mut value: c_int = 0;
        // SAFETY: a function of this context; the number can be written.
        let code = unsafe {
            (self.context.api().function_attribute)(&raw mut value, attribute, self.function)
        };
        self.context.check(code, symbol::function_attribute)?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    pub(super) const fn has_groups(&self) -> bool {
        self.flags & GPU_GROUPS != 0
    }

    pub(super) const fn takes_range(&self) -> bool {
        self.flags & GPU_RANGE != 0
    }

    pub(super) const fn takes_message_buffer(&self) -> bool {
        self.flags & GPU_MESSAGES != 0
    }

    pub(super) const fn allocates(&self) -> bool {
        self.flags & GPU_HEAP != 0
    }

    pub(super) const fn prints(&self) -> bool {
        self.flags & GPU_PRINT != 0
    }

    /// Whether all memory that the kernel of a closure uses is behind addresses that are `good`,
    /// or unknown. Small addresses do not count: those of empty slices.
    ///
    /// # Safety
    /// The closure is of the type that the kernel is compiled for.
    pub(super) unsafe fn uses_only(&self, closure: *const u8, good: fn(usize) -> bool) -> bool {
        let is_good = |offset: &usize| {
            // SAFETY: the closure has an address there.
            let address = unsafe { captured::word(closure.add(*offset)) };
            address < LARGEST_DANGLING || good(address)
        };
        self.addresses.as_ref().is_some_and(|offsets| offsets.iter().all(is_good))
    }

    /// Allows a block to have that much shared memory.
    #[inline]
    pub(super) fn allow_shared_memory(&self, bytes: u32) -> Result<(), DriverError> {
        let allowed = || self.shared_memory.load(Ordering::Relaxed);
        if bytes == 0 || bytes <= allowed().max(self.context.gpu.shared_memory_unasked) {
            return Ok(());
        }
        self.ask_for_shared_memory(bytes)
    }

    #[cold]
    fn ask_for_shared_memory(&self, bytes: u32) -> Result<(), DriverError> {
        self.context.enter()?;
        // SAFETY: a function of this context, which is current.
        let code = unsafe {
            (self.context.api().set_function_attribute)(
                self.function,
                number::FUNCTION_SHARED_MEMORY,
                bytes as c_int,
            )
        };
        self.context.check(code, symbol::set_function_attribute)?;
        self.shared_memory.fetch_max(bytes, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for LoadedKernel {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: no launch uses the kernel any more.
            unsafe { (self.context.api().module_unload)(self.module) };
        }
    }
}

impl CodeLoader for Arc<Context> {
    type Kernel = LoadedKernel;

    const COUNTS_ON_CAPTURES: bool = true;
    const LACKS: &'static [(&'static str, &'static str)] = GPUS_LACK;

    fn id(&self) -> u64 {
        self.id
    }

    fn name(&self) -> &str {
        &self.gpu.name
    }

    fn profiler(_: &FlattenedParameters) -> Profiler {
        Profiler::new(true)
    }

    fn aot_target(&self) -> Box<dyn AotTarget> {
        self.gpu.aot_target()
    }

    fn format(&self) -> &'static str {
        self.gpu.code.name
    }

    fn target(&self) -> Stage2Target<'_> {
        let code = &self.gpu.code;
        Stage2Target::Gpu(GpuTarget {
            target: code.target,
            isa: code.isa,
            arch: code.processor,
            assumptions: 0,
            libdevice: (code.mathematics)().map(|library| &*library.bitcode),
        })
    }

    fn add_to_key(&self, key: KeyBuilder) -> Option<KeyBuilder> {
        let key = key
            .part("arch", self.gpu.code.processor.as_bytes())
            .number("isa", self.gpu.code.isa.into())
            .number("driver", self.gpu.driver.version.into());
        Some(match (self.gpu.code.mathematics)() {
            Some(libdevice) => key.part("libdevice", libdevice.key.as_bytes()),
            None => key,
        })
    }

    fn load_aot(
        &self,
        aot_code: &AotCode<'_, '_>,
        kernel: &KernelRef<'_>,
        variant: &Variant,
        _: Option<HostSymbols<'_>>,
    ) -> Result<LoadedKernel, ImageError> {
        LoadedKernel::of_aot(self, aot_code, kernel, variant)
    }

    fn load(
        &self,
        value: &Value,
        kernel: &KernelRef<'_>,
        variant: &Variant,
        _: Option<HostSymbols<'_>>,
    ) -> Result<(LoadedKernel, usize), ImageError> {
        let code = GpuCode::read(self.format(), value)?;
        let flags = flags(kernel, variant);
        let loaded = LoadedKernel::of_code(self, &code, flags, kernel, variant.to_string())?;
        Ok((loaded, code.code().len()))
    }
}

/// See [`LoadedKernel::masks`].
fn masks(kernel: &KernelRef<'_>) -> Option<Box<[[u64; 2]]>> {
    let words = usize::try_from(kernel.closure_size).ok()?.div_ceil(8);
    if words > MOST_WORDS {
        return None;
    }
    let mut bytes = vec![[[0_u8; 8]; 2]; words];
    for parameter in &kernel.parameters {
        let decides = matches!(parameter.kind, ParameterKind::Integer | ParameterKind::Pointer);
        for at in parameter.offset..parameter.offset + parameter.size {
            bytes.get_mut(at as usize / 8)?[usize::from(!decides)][at as usize % 8] = 0xff;
        }
    }
    Some(bytes.into_iter().map(|both| both.map(u64::from_ne_bytes)).collect())
}

/// Loads the code into the driver, which compiles a text for its device; returns what the driver
/// may still read.
fn load(context: &Context, code: &GpuCode<'_>) -> Result<(RawModule, Box<[u64]>), ImageError> {
    let failed = |source, log: String| ImageError::Driver { source: Box::new(source), log };
    context.enter().map_err(|error| failed(error, String::new()))?;
    let started = Instant::now();
    let mut log = vec![0_u8; LOG];
    let mut options = [number::LOG_BUFFER, number::LOG_BYTES, number::LINES];
    // The others are numbers in place of pointers.
    let mut values: [*mut c_void; 3] = [
        log.as_mut_ptr().cast(),
        std::ptr::without_provenance_mut(LOG),
        std::ptr::without_provenance_mut(1),
    ];
    // With lines of the source, which profilers show.
    let is_text = context.gpu.code.is_text && !is_machine_code(code.bytes);
    let lines = is_text && code.bytes.windows(LINE.len()).any(|bytes| bytes == LINE);
    let count = match (is_text, lines) {
        (false, _) => 0,
        (true, false) => options.len() - 1,
        (true, true) => options.len(),
    };
    // A text is copied. A file is aligned, and stays as long as the module.
    let kept = if is_text { Box::default() } else { aligned(code.bytes) };
    let image = if is_text { code.bytes.as_ptr() } else { kept.as_ptr().cast() };
    let mut module = RawModule::NULL;
    // SAFETY: a text ends with a NUL, and a file says how long it is; the log is as long as it
    // says; the module can be written.
    let result = unsafe {
        (context.api().module_load)(
            &raw mut module,
            image.cast(),
            count as c_uint,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    context.check(result, symbol::module_load).map_err(|error| {
        log[LOG - 1] = 0;
        let text = CStr::from_bytes_until_nul(&log).unwrap_or_default();
        failed(error, text.to_string_lossy().trim().to_owned())
    })?;
    let micros = started.elapsed().as_micros() as u64;
    tracing::debug!(device = context.gpu.name, micros, "the driver took the code");
    Ok((module, kept))
}

/// Whether code is a file of machine code, which a driver may take in the place of a text.
fn is_machine_code(code: &[u8]) -> bool {
    code.starts_with(b"\x7fELF")
}

/// A copy of bytes at an aligned address.
fn aligned(bytes: &[u8]) -> Box<[u64]> {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_ne_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}
