//! NVIDIA GPUs: compiles a kernel to a PTX module with one entry.
//!
//! A GPU runs a function for each work-item by itself, so there is no loop to add. Take a kernel
//! over one dimension:
//!
//! ```llvm
//! define void @saxpy(ptr align 4 %y, ptr noalias readonly align 4 %x, float %a) {
//!   %i = call i64 @__schism_global_id_x()
//!   …
//! ```
//!
//! [`entry`] puts a function around it that skips the work-items outside the range (there are only
//! whole blocks), and gives the builtins bodies that read the special registers. With everything
//! inlined, and pointers in the address spaces of the target:
//!
//! ```llvm
//! define ptx_kernel void @saxpy(ptr addrspace(1) align 4 %p0, ptr addrspace(1) noalias readonly align 4 %p1, float %p2,
//!                               i64 %schism.range.x) {
//!   %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
//!   …                                             ; %x = ctaid * ntid + tid
//!   %x.inside = icmp ult i64 %x, %schism.range.x
//!   br i1 %x.inside, label %x.go, label %done
//! x.go:
//!   …                                             ; the kernel, with %x for the builtin's result
//! done:
//!   ret void
//! }
//! ```
//!
//! **Precision.** As on the CPU, nothing allows LLVM to change a result: a multiply and an add stay
//! two operations, divisions and square roots are those of IEEE 754, subnormal numbers are kept.
//!
//! **Panics and prints.** A work-item that panics writes its message to a message buffer that the
//! host can read ([`message`]), and ends with `exit`; other work-items continue. It never traps:
//! that would destroy the host's context, and all memory in it.
//!
//! **Constants and statics** of the image are in global memory: code reads tables at indices that
//! differ between work-items, which is slow in the constant bank.

pub(crate) mod arch;
pub(crate) mod atomics;
pub(crate) mod code;
pub(crate) mod entry;
pub(crate) mod message;
mod one_function;
mod order;
pub(crate) mod steps;
mod sub_group;

use std::ffi::{CStr, CString};
use std::fmt;
use std::time::Instant;

use schism_jit_abi::{
    ASSUME_DIVISIBLE, ASSUME_GROUP_ON_THREAD, ASSUME_INDEX_32, GPU_ADDRESSES, PARAM_INTEGER,
    PARAM_POINTER,
};
use schism_passes::analysis::addresses_passed::{self, ParameterOffset};
use schism_passes::nvptx::circular_statics;
use schism_passes::pass::PassContext;
use schism_passes::pipeline::{self, Step};
use schism_passes::spec::target_library::TargetLibraryInfo;

use crate::cpu::inline;
use crate::devicelib;
use crate::image::{GLOBAL_ID, GLOBAL_RANGE, PANIC, PANIC_FORMAT, group_builtins};
use crate::module::Module;
use crate::pause::{self, Pause};
use crate::ptx::steps::EntryState;
use crate::target::{Lowered, Target, Work, lower};
use crate::{JitError, Request};
use schism_llvm::fatal::isolated;
use schism_llvm::{FileKind, Machine, Value};

/// The options of PTX, besides the kernel. The fields have the meaning of those in
/// [`schism_jit_abi::GpuRequest`].
#[derive(Clone, Debug, Default)]
pub struct PtxOptions {
    /// The processor, such as `sm_90`.
    pub arch: String,
    /// The version of PTX, times ten; 0 is the lowest that `arch` allows.
    pub isa: u32,
    /// The work-items of a block in each dimension, or 0.
    pub group: [u32; 3],
    /// What every launch satisfies: a sum of `ASSUME_` constants.
    pub assumptions: u32,
    /// Whether the launch is divided into sub-grids.
    pub base: bool,
    /// The alignment that local memory needs.
    pub local_align: u64,
    /// Bit `i`: parameter `i` is a pointer or an integer of 64 bits that is always a multiple of
    /// `schism_jit_abi::ALIGNED`.
    pub aligned: u64,
    /// Bit `i`: parameter `i` is an integer of 64 bits that is always below
    /// `schism_jit_abi::NARROW`.
    pub narrow: u64,
    /// The vendor's mathematics, instead of the device library's.
    pub libdevice: Libdevice,
    /// Whether a work-item's place in the grid is a value of the device's own: the intrinsic
    /// `llvm.spv.thread.id`.
    pub global_ids: bool,
}

impl PtxOptions {
    /// The assumptions that there are for the target.
    const fn known_assumptions(&self) -> u32 {
        let of_opencl = if self.global_ids { ASSUME_GROUP_ON_THREAD } else { 0 };
        ASSUME_INDEX_32 | ASSUME_DIVISIBLE | of_opencl
    }
}

/// NVIDIA's mathematics library, as LLVM bitcode; empty, if it is not used.
#[derive(Clone, Default)]
pub struct Libdevice(pub Vec<u8>);

impl fmt::Debug for Libdevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Libdevice({} bytes)", self.0.len())
    }
}

/// A kernel as PTX.
#[derive(Debug)]
pub struct PtxCode {
    /// Ends with a NUL.
    text: CString,
    entry: CString,
    flags: u32,
    addresses: Vec<u64>,
    /// How long compiling took, in microseconds.
    pub lower_micros: u64,
    /// The passes that failed and were left out, a line each.
    pub failures: String,
}

impl PtxCode {
    /// The PTX. A NUL follows it.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.text.to_bytes()
    }

    /// The entry's name.
    #[must_use]
    pub fn entry(&self) -> &CStr {
        &self.entry
    }

    /// What the kernel needs and takes: a sum of `schism_jit_abi::GPU_` constants.
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.flags
    }

    /// With [`GPU_ADDRESSES`] among the flags: where the closure has the addresses by which the
    /// kernel reaches memory, in bytes.
    #[must_use]
    pub fn addresses(&self) -> &[u64] {
        &self.addresses
    }
}

/// Compiles a kernel for NVIDIA's driver.
///
/// # Errors
/// Every variant of [`JitError`] documents when it occurs.
pub fn compile_ptx(request: Request, options: PtxOptions) -> Result<PtxCode, JitError> {
    let start = Instant::now();
    check(&request, &options)?;
    let kernel = request.kernel.clone();
    let bytes = parameter_bytes(&request);
    let version = arch::version_for(&options.arch, options.isa, bytes)?;
    let version = version.map_err(|most| JitError::Unsupported {
        kernel: kernel.clone(),
        feature: format!("{bytes} bytes of parameters (its closure), more than {most},"),
        device: Ptx::DEVICE,
    })?;
    let target = Ptx { options, version };
    let Lowered { mut code, failures } = isolated(move || lower(&target, &request))
        .map_err(|failure| JitError::of_thread(failure, &kernel))
        .flatten()?;
    code.failures = failures;
    code.lower_micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    Ok(code)
}

/// The bytes of the entry's parameters, including all the hidden ones that it may have.
fn parameter_bytes(request: &Request) -> u64 {
    let end = |begin: u64, param: &schism_jit_abi::Param| {
        let begin = begin.checked_next_multiple_of(param.align).unwrap_or(u64::MAX);
        begin.saturating_add(param.size)
    };
    let own = request.params.iter().fold(0, end);
    let hidden = 8 * (3 + u64::from(request.dimensions) + 3 + 1);
    own.checked_next_multiple_of(8).unwrap_or(u64::MAX).saturating_add(hidden)
}

/// Checks the options against the interface's rules.
pub(crate) fn check(request: &Request, options: &PtxOptions) -> Result<(), JitError> {
    /// The maximum number of threads of a block, in total and in each dimension.
    const BLOCK: [u32; 4] = [1024, 1024, 1024, 64];

    let wrong = |reason: String| Err(JitError::InvalidRequest(reason));
    if options.assumptions & !options.known_assumptions() != 0 {
        return wrong("unknown assumptions".to_owned());
    }
    if options.local_align != 0
        && (!options.local_align.is_power_of_two() || options.local_align > 1 << 16)
    {
        return wrong(format!("local memory aligned to {} bytes", options.local_align));
    }
    let [x, y, z] = options.group;
    let known = options.group != [0; 3];
    let product = [x, y, z].into_iter().try_fold(1_u32, u32::checked_mul);
    let fits = x <= BLOCK[1] && y <= BLOCK[2] && z <= BLOCK[3];
    if known && (!fits || !product.is_some_and(|all| (1..=BLOCK[0]).contains(&all))) {
        return wrong(format!("blocks of {x} by {y} by {z} work-items"));
    }
    let outside = options.group.get(request.dimensions as usize..).unwrap_or_default();
    if known && outside.iter().any(|&size| size != 1) {
        return wrong(format!("blocks of more than {} dimensions", request.dimensions));
    }
    let is_pointer = |index: u32| {
        request.params.get(index as usize).is_some_and(|param| param.kind == PARAM_POINTER)
    };
    let is_long = |index: u32| {
        let param = request.params.get(index as usize);
        param.is_some_and(|param| param.kind == PARAM_INTEGER && param.size == 8)
    };
    if let Some(index) =
        (0..64).find(|i| options.aligned >> i & 1 != 0 && !is_pointer(*i) && !is_long(*i))
    {
        return wrong(format!(
            "the aligned parameter {index} is neither a pointer nor an integer of 64 bits"
        ));
    }
    if let Some(index) = (0..64).find(|i| options.narrow >> i & 1 != 0 && !is_long(*i)) {
        return wrong(format!("the narrow parameter {index} is no integer of 64 bits"));
    }
    Ok(())
}

/// NVIDIA's driver.
struct Ptx {
    options: PtxOptions,
    /// The version of PTX, times ten.
    version: u32,
}

impl Target for Ptx {
    type Code = PtxCode;
    type State = EntryState;
    const DEVICE: &'static str = "cuda";
    const LINES: bool = true;
    const PIPELINE: &'static [Step] = pipeline::PTX;

    fn to_text(&self) -> String {
        format!("{:?}", self.options)
    }

    fn machine(&self) -> Result<Machine, JitError> {
        arch::machine(&self.options.arch, self.version)
    }

    fn run_step<'c>(
        &'c self,
        step: &'static str,
        work: &Work<'_, 'c>,
        state: &mut EntryState,
        cx: &mut PassContext<'_>,
    ) -> Result<(), JitError> {
        let Work { context, module, request, .. } = *work;
        let options = &self.options;
        match step {
            "link-device-library" => {
                let libdevice = &options.libdevice.0;
                devicelib::supply(context, module, &TargetLibraryInfo::PTX, libdevice)?;
            }
            "choose-inlining" => {
                // Panic code need not be in the entry, since the message buffer is found from
                // everywhere; but a kernel without calls has all its registers for itself.
                let ids = GLOBAL_ID.into_iter().chain(GLOBAL_RANGE).chain(group_builtins());
                let special = ids.chain([PANIC, PANIC_FORMAT]);
                inline::choose(module, special, inline::SMALL_OF_LIBRARY, false);
            }
            "define-pause" => pause::add(context, module, Pause::Nvidia)?,
            "order-atomics" => atomics::order_updates(module),
            "unmask-multiples" => entry::show_multiples(module, state.entry()?, request, options),
            "adopt-lines" => module.adopt_lines(&state.entry()?.name),
            step => steps::run_common(step, work, options, state, cx)?,
        }
        Ok(())
    }

    fn emit<'c>(&self, work: &Work<'_, 'c>, state: EntryState) -> Result<PtxCode, JitError> {
        let Work { context, module, machine, request, dump, .. } = *work;
        let entry = state.into_entry()?;
        unresolved(module, request)?;
        let addresses = addresses(module, &entry.name, request);
        let known = if addresses.is_some() { GPU_ADDRESSES } else { 0 };
        let text =
            machine.emit(module, FileKind::Assembly).map_err(|reason| work.failed(reason))?;
        let text = circular_statics::joined(&String::from_utf8_lossy(&text));
        let text = order::sort_variables(&text);
        dump.bytes("ptx", text.as_bytes());
        if let Some(errors) = context.take_errors() {
            return Err(work.failed(errors));
        }
        let internal = |_| JitError::Internal("a NUL in the generated text".to_owned());
        Ok(PtxCode {
            text: CString::new(text).map_err(internal)?,
            entry: CString::new(entry.name).map_err(internal)?,
            flags: entry.flags | known,
            addresses: addresses.unwrap_or_default(),
            lower_micros: 0,
            failures: String::new(),
        })
    }
}

/// Where the closure has the addresses by which the kernel reaches memory; `None` if it may find
/// others.
fn addresses(module: &Module<'_>, entry: &str, request: &Request) -> Option<Vec<u64>> {
    let passed = addresses_passed::of(module.function(entry)?)?;
    // Behind these are the parameters of the launch itself.
    let of_closure =
        |(index, byte): ParameterOffset| Some(request.params.get(index as usize)?.offset + byte);
    Some(passed.into_iter().filter_map(of_closure).collect())
}

/// Refuses a module that calls undefined functions: a GPU has no libraries to find them in.
pub(crate) fn unresolved(module: &Module<'_>, request: &Request) -> Result<(), JitError> {
    let mut symbols: Vec<String> = module
        .functions()
        .into_iter()
        .filter(|function| function.is_declaration() && !function.is_intrinsic())
        .filter(|function| !function.users().is_empty())
        .map(Value::name)
        .collect();
    if symbols.is_empty() {
        return Ok(());
    }
    symbols.sort();
    Err(JitError::UnresolvedSymbols { kernel: request.kernel.clone(), symbols })
}
