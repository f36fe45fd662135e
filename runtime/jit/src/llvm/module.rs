//! A module: functions, globals, and passes over them.

use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;
use std::ptr::null_mut;

use llvm_sys::LLVMLinkage;
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::bit_reader::{LLVMGetBitcodeModuleInContext2, LLVMParseBitcodeInContext2};
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMStripModuleDebugInfo;
use llvm_sys::error::LLVMGetErrorMessage;
use llvm_sys::ir_reader::LLVMParseIRInContext2;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use llvm_sys::target_machine::LLVMTargetMachineRef;
use llvm_sys::transforms::pass_builder::{
    LLVMCreatePassBuilderOptions, LLVMDisposePassBuilderOptions,
    LLVMPassBuilderOptionsSetInlinerThreshold, LLVMPassBuilderOptionsSetLoopInterleaving,
    LLVMPassBuilderOptionsSetLoopUnrolling, LLVMPassBuilderOptionsSetLoopVectorization,
    LLVMPassBuilderOptionsSetMergeFunctions, LLVMPassBuilderOptionsSetSLPVectorization,
    LLVMRunPasses,
};

use schism_jit_abi::code::OPEN_CONSTANT;
use schism_passes::analysis::cold_paths;
use schism_passes::bounds::loop_versioning;
use schism_passes::bounds::merge_checks;
use schism_passes::bounds::narrow_checks;
use schism_passes::bounds::strip_mine;
use schism_passes::frontend::lower_unwind;
use schism_passes::gpu::address_spaces;
use schism_passes::gpu::demote_private_atomics;
use schism_passes::gpu::demote_shared_loads;
use schism_passes::gpu::expand_mem_intrinsics;
use schism_passes::gpu::hoist_global_loads;
use schism_passes::gpu::infer_alignment;
use schism_passes::gpu::lower_local_memory;
use schism_passes::gpu::merge_panic_exits;
use schism_passes::gpu::narrow_division;
use schism_passes::gpu::panic_sites;
use schism_passes::gpu::superblocks;
use schism_passes::gpu::unroll_hints;
use schism_passes::nvptx::address_strides;
use schism_passes::nvptx::circular_statics;
use schism_passes::nvptx::launch_bounds;
use schism_passes::nvptx::product_reuse;
use schism_passes::nvptx::suppress_umax;
use schism_passes::spec::options::FastMath;
use schism_passes::spec::target_library::TargetLibraryInfo;
use schism_passes::specialize::dead_arguments;
use schism_passes::specialize::device_library;
use schism_passes::specialize::fast_math;
use schism_passes::specialize::spec_constants::{self, SpecialiseError};

use super::{Builder, Context, Machine, Value, take_message};
use crate::JitError;

/// Brings loops into the form in which checks are seen: what does not change in them stands in front of them, and they end where they
/// go on. Before that, checks go that can never fail: a loop need not be there twice for those.
const SHAPE_LOOPS: &CStr = c"function<eager-inv>(lower-expect,sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,constraint-elimination,simplifycfg,loop-mssa(loop-instsimplify,licm,loop-rotate,licm),simplifycfg,instcombine<no-verify-fixpoint>)";

/// A module of a [`Context`].
pub struct Module<'c> {
    raw: LLVMModuleRef,
    context: PhantomData<&'c Context>,
}

impl<'c> Module<'c> {
    /// An empty module.
    pub fn new(context: &'c Context, name: &CStr) -> Self {
        // SAFETY: the context is live and the name ends with a NUL.
        let raw = unsafe { LLVMModuleCreateWithNameInContext(name.as_ptr(), context.raw()) };
        Self { raw, context: PhantomData }
    }

    /// Reads bitcode: what a function does only when the linker asks for it. So the module is for being [linked](Self::link), and
    /// its functions seem to be empty until then.
    pub fn from_bitcode_lazily(context: &'c Context, bitcode: &'c [u8]) -> Result<Self, String> {
        let mut raw = null_mut();
        // SAFETY: the context is live and `raw` is a live variable; the buffer borrows bytes that live as long as the module can.
        let (failed, buffer) = unsafe {
            let buffer = LLVMCreateMemoryBufferWithMemoryRange(
                bitcode.as_ptr().cast(),
                bitcode.len(),
                c"image".as_ptr(),
                0,
            );
            (LLVMGetBitcodeModuleInContext2(context.raw(), buffer, &mut raw), buffer)
        };
        if failed != 0 || raw.is_null() {
            // SAFETY: a module has its buffer; where there is none, the buffer stays ours.
            unsafe { LLVMDisposeMemoryBuffer(buffer) };
            return Err(context.errors_or("not LLVM bitcode"));
        }
        Ok(Self { raw, context: PhantomData })
    }

    /// Reads bitcode. The module is not verified.
    pub fn from_bitcode(context: &'c Context, bitcode: &[u8]) -> Result<Self, String> {
        // SAFETY: the buffer borrows `bitcode`, which outlives it: it is disposed of below, and the parsed module keeps
        // no reference to it (only LLVM's lazy reader does).
        let buffer = unsafe {
            LLVMCreateMemoryBufferWithMemoryRange(
                bitcode.as_ptr().cast(),
                bitcode.len(),
                c"image".as_ptr(),
                0,
            )
        };
        let mut raw = null_mut();
        // SAFETY: the context and the buffer are live and `raw` is a live variable; the buffer stays ours.
        let failed = unsafe {
            let failed = LLVMParseBitcodeInContext2(context.raw(), buffer, &mut raw);
            LLVMDisposeMemoryBuffer(buffer);
            failed
        };
        if failed != 0 || raw.is_null() {
            return Err(context.errors_or("not LLVM bitcode"));
        }
        Ok(Self { raw, context: PhantomData })
    }

    /// Reads LLVM's assembly.
    pub fn from_text(context: &'c Context, text: &str) -> Result<Self, String> {
        let mut raw = null_mut();
        let mut error = null_mut();
        // SAFETY: the copy ends with a NUL as the reader wants it; the buffer stays ours and the module keeps nothing of it.
        let failed = unsafe {
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
                text.as_ptr().cast(),
                text.len(),
                c"text".as_ptr(),
            );
            let failed = LLVMParseIRInContext2(context.raw(), buffer, &mut raw, &mut error);
            LLVMDisposeMemoryBuffer(buffer);
            failed
        };
        if failed != 0 {
            // SAFETY: on failure LLVM set `error` to a text that is ours.
            return Err(unsafe { take_message(error) });
        }
        Ok(Self { raw, context: PhantomData })
    }

    /// A copy.
    pub fn duplicate(&self) -> Self {
        // SAFETY: the module is live.
        Self { raw: unsafe { LLVMCloneModule(self.raw) }, context: PhantomData }
    }

    /// Whether the module obeys LLVM's rules; if not, what it breaks.
    pub fn verify(&self) -> Result<(), String> {
        let mut error = null_mut();
        // SAFETY: the module is live and `error` is a live variable, set to a text that is ours in either case.
        unsafe {
            let broken = LLVMVerifyModule(
                self.raw,
                LLVMVerifierFailureAction::LLVMReturnStatusAction,
                &mut error,
            );
            let text = take_message(error);
            if broken != 0 { Err(text) } else { Ok(()) }
        }
    }

    /// Moves everything of `other` in here; declarations and definitions of one name become one.
    pub fn link(&self, context: &'c Context, other: Module<'c>) -> Result<(), String> {
        let raw = other.raw;
        std::mem::forget(other);
        // SAFETY: both modules are live and of one context; LLVM disposes of the second, which is forgotten above.
        if unsafe { LLVMLinkModules2(self.raw, raw) } != 0 {
            return Err(context.errors_or("two modules do not fit together"));
        }
        Ok(())
    }

    /// Lets the linker leave out those definitions that the module it links to does not need.
    pub fn make_optional(&self) {
        let globals = self.globals();
        for global in globals.into_iter().chain(self.functions()).chain(self.aliases()) {
            // SAFETY: the value is a live global.
            unsafe {
                let local = matches!(
                    LLVMGetLinkage(global.raw()),
                    LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage
                );
                if !global.is_declaration() && !local {
                    LLVMSetLinkage(global.raw(), LLVMLinkage::LLVMLinkOnceODRLinkage);
                }
            }
        }
    }

    /// Hides what [`make_optional`](Self::make_optional) was called for, now that it is linked.
    pub fn internalise_optional(&self) {
        for global in self.globals().into_iter().chain(self.functions()).chain(self.aliases()) {
            // SAFETY: the value is a live global.
            let linkage = unsafe { LLVMGetLinkage(global.raw()) };
            if linkage == LLVMLinkage::LLVMLinkOnceODRLinkage {
                global.set_internal();
            }
        }
    }

    /// Declares a function of another module of the same context, by its name and type.
    pub fn declare_as(&self, function: Value) {
        let Ok(name) = CString::new(function.name()) else { return };
        // SAFETY: the module is live, the type is of its context, and the name ends with a NUL.
        unsafe { LLVMAddFunction(self.raw, name.as_ptr(), function.function_type()) };
    }

    /// The declaration of an intrinsic, named without `llvm.` and type, for numbers of so many bits.
    pub fn float_intrinsic(
        &self,
        context: &'c Context,
        name: &str,
        bits: u32,
    ) -> Result<Value, String> {
        let full = format!("llvm.{name}");
        // SAFETY: module and context are live; an intrinsic is asked for only if LLVM knows the name, and those that callers
        // name have one type, of floats.
        unsafe {
            let id = LLVMLookupIntrinsicID(full.as_ptr().cast(), full.len());
            let mut number = match bits {
                32 => LLVMFloatTypeInContext(context.raw()),
                _ => LLVMDoubleTypeInContext(context.raw()),
            };
            (id != 0)
                .then(|| Value::new(LLVMGetIntrinsicDeclaration(self.raw, id, &mut number, 1)))
                .flatten()
                .ok_or_else(|| format!("this LLVM has no `{full}`"))
        }
    }

    /// Makes calls of the device library where a device needs them.
    pub fn call_library(&self, device: &TargetLibraryInfo) {
        // SAFETY: the module is live, and this thread alone has it.
        unsafe { device_library::run(self.raw, device) };
    }

    /// Gives specialization constants their values, and folds what reads them.
    pub fn specialise(&self, values: &[(String, Vec<u8>)]) -> Result<(), JitError> {
        // SAFETY: the module is live, and this thread alone has it.
        unsafe { spec_constants::run(self.raw, values) }.map_err(|error| match error {
            SpecialiseError::Llvm(message) => JitError::Internal(message),
            error => JitError::InvalidRequest(error.to_string()),
        })
    }

    /// Leaves specialization constants open: each that is there is a symbol of the code, which LLVM knows not to change and does not
    /// look into.
    pub fn open_constants<'a>(
        &self,
        symbols: impl Iterator<Item = &'a str>,
    ) -> Result<(), JitError> {
        for (symbol, index) in symbols.zip(0..) {
            // SAFETY: the module is live, and this thread alone has it; the name is passed with its length.
            let global = unsafe {
                LLVMGetNamedGlobalWithLength(self.raw, symbol.as_ptr().cast(), symbol.len())
            };
            // SAFETY: a global of this live module, if there is one.
            let Some(global) = Value::new(global)
                .filter(|global| unsafe { spec_constants::is_constant(global.raw()) })
            else {
                // What was split off into another image has no part in this one.
                continue;
            };
            let name = format!("{OPEN_CONSTANT}{index}");
            global.set_name(&name);
            if global.name() != name {
                return Err(JitError::InvalidImage(format!("it has a `{name}` of its own")));
            }
            global.set_external();
        }
        Ok(())
    }

    /// Lets floating-point operations be as inexact as that.
    pub fn allow_fast_math(&self, math: FastMath) {
        // SAFETY: the module is live, and this thread alone has it.
        unsafe { fast_math::run(self.raw, math) };
    }

    /// Makes all memory of a work-group one symbol, as PTX has it, aligned to `align` bytes or more.
    pub fn use_shared_memory(&self, align: u64) -> Result<(), JitError> {
        let none = HashSet::new();
        // SAFETY: the module is live, and this thread alone has it.
        unsafe { lower_local_memory::run_raw(self.raw, &none, align) }
            .map_err(|error| JitError::Internal(error.to_string()))
    }

    /// Makes a function a kernel of the module's target, and tells accesses which memory they mean.
    pub fn separate_address_spaces(&self, kernel: &str) -> Result<(), JitError> {
        let kernels = HashSet::from([kernel]);
        // SAFETY: the module is live, and this thread alone has it.
        unsafe { address_spaces::run_raw(self.raw, &self.triple(), &kernels) }
            .map_err(|error| JitError::Internal(error.to_string()))
    }

    /// Removes those of a function's parameters from `indices` that it does not use, if nobody calls it.
    pub fn remove_unused_parameters(&self, function: &str, indices: &[u32]) {
        let Some(function) = self.function(function) else { return };
        // SAFETY: the function is live and, as callers see to, a definition; this thread alone has the module.
        unsafe { dead_arguments::remove_unused(function.raw(), |index| indices.contains(&index)) };
    }

    /// Says of every function whether it can reach a panic: what can, may unwind.
    pub fn infer_unwinding(&self) {
        // SAFETY: the module is live, and this thread alone has it; stage 2 has no invokes.
        unsafe { lower_unwind::infer(self.raw) };
    }

    /// Says of every function that nothing unwinds through it: when nothing is optimised any more.
    pub fn forget_unwinding(&self) {
        // SAFETY: the module is live, and this thread alone has it.
        unsafe { lower_unwind::forget(self.raw) };
    }

    /// Lets panics that show plain values pass them on, and no memory.
    pub fn shape_panics(&self) {
        // SAFETY: the module is live, and this thread alone has it.
        unsafe { panic_sites::run_raw(self.raw) };
    }

    /// Has detours that few values take be decided once, behind what all others need.
    pub fn leave_detours(&self) {
        // SAFETY: the module is live, and this thread alone has it.
        unsafe { superblocks::run_raw(self.raw) };
    }

    /// Makes checks of indices against small lengths in 32 bits.
    pub fn narrow_checks(&self) {
        // SAFETY: the module is live, and this thread alone has it.
        unsafe { narrow_checks::run_raw(self.raw) };
    }

    /// Keeps the code generator from making maxima of comparisons of 64 bits.
    pub fn keep_comparisons(&self) {
        // SAFETY: the module is live, and this thread alone has it.
        unsafe { suppress_umax::run_raw(self.raw) };
    }

    /// Declares statics that refer to each other in a circle before they are defined.
    pub fn open_circles(&self) {
        // SAFETY: the module is live, and this thread alone has it.
        unsafe { circular_statics::run_raw(self.raw) };
    }

    /// Lets the panics of a function leave by one block.
    pub fn join_panics(&self) {
        // SAFETY: the module is live, and this thread alone has it.
        unsafe { merge_panic_exits::run_raw(self.raw) };
    }

    /// Makes atomic accesses of a work-item's own memory plain ones.
    pub fn plain_private_atomics(&self) {
        for function in self.functions() {
            // SAFETY: the function is one of this live module, which this thread alone has.
            unsafe { demote_private_atomics::run(function.raw()) };
        }
    }

    /// Makes loads of the group's memory plain that nobody can store to meanwhile, in a module for a GPU.
    pub fn plain_quiet_loads(&self) {
        self.run_on_each_function(demote_shared_loads::run_on);
    }

    /// Asks for small loops to be unrolled. See [`unroll_hints`].
    pub fn hint_unrolling(&self) -> Result<(), String> {
        self.run_passes(c"function(loop-simplify)", None)?;
        self.run_on_each_function(unroll_hints::run_on);
        Ok(())
    }

    /// Lets loops in which nothing can panic run without their checks, and decides other checks together.
    pub fn lift_checks(&self, machine: &Machine) -> Result<(), String> {
        // SAFETY: the function is one of this live module.
        let has_panics = |function: &Value| unsafe { cold_paths::has_panics(function.raw()) };
        if !self.functions().iter().any(has_panics) {
            return Ok(());
        }
        self.run_passes(SHAPE_LOOPS, Some(machine))?;
        for function in self.functions() {
            // SAFETY: the function is one of this live module, which this thread alone has.
            unsafe {
                loop_versioning::run_on(function.raw())?;
                merge_checks::run_on(function.raw());
            }
        }
        Ok(())
    }

    /// Makes several turns at once of loops that check what they load, in a module for a GPU.
    pub fn make_chunks(&self) -> Result<(), String> {
        for function in self.functions() {
            // SAFETY: the function is one of this live module, which this thread alone has.
            unsafe { strip_mine::run_on(function.raw())? };
        }
        Ok(())
    }

    /// Brings loads from global memory in front of stores to the group's memory, in a module for a GPU.
    pub fn load_early(&self) {
        self.run_on_each_function(hoist_global_loads::run_on);
    }

    /// Tells accesses at addresses that go on by steps their alignment.
    pub fn align_steps(&self) {
        self.run_on_each_function(infer_alignment::run_on);
    }

    /// Has products that differ by a constant times the same factor share one multiplication, in a module for a GPU.
    pub fn share_products(&self) {
        self.run_on_each_function(product_reuse::run_on);
    }

    /// Makes addresses that differ by a number of 32 bits steps from each other, in a module for NVIDIA's GPUs.
    pub fn step_narrowly(&self) {
        self.run_on_each_function(address_strides::run_on);
    }

    /// Divides counts of turns in 32 bits where they fit, in a module for a GPU.
    pub fn shorten_divisions(&self) {
        self.run_on_each_function(narrow_division::run_on);
    }

    /// Makes loops of words of large fills and copies of memory, in a module for a GPU.
    pub fn copy_words(&self) {
        self.run_on_each_function(expand_mem_intrinsics::run_on);
    }

    /// Gives kernels with loops that load much more registers, in a module for NVIDIA's GPUs.
    pub fn bound_launches(&self) {
        self.run_on_each_function(launch_bounds::run_on);
    }

    /// Runs a pass that changes one function and nothing else.
    fn run_on_each_function(&self, pass: unsafe fn(LLVMValueRef)) {
        for function in self.functions() {
            // SAFETY: the function is one of this live module, which this thread alone has; a pass asks for no more.
            unsafe { pass(function.raw()) };
        }
    }

    /// Runs passes given in the syntax of LLVM's `opt -passes=`.
    pub fn run_passes(&self, passes: &CStr, machine: Option<&Machine>) -> Result<(), String> {
        let threshold = machine.and_then(Machine::inline_threshold);
        let vectorises_loops = machine.is_none_or(Machine::vectorises_loops);
        let machine: LLVMTargetMachineRef = machine.map_or(null_mut(), Machine::raw);
        // SAFETY: module and machine (or null) are live; the options are ours; an error, if any, is ours, and reading its
        // text takes it.
        unsafe {
            let options = LLVMCreatePassBuilderOptions();
            LLVMPassBuilderOptionsSetLoopVectorization(options, vectorises_loops.into());
            LLVMPassBuilderOptionsSetSLPVectorization(options, 1);
            // The same pass does that, and looks at each loop for it.
            LLVMPassBuilderOptionsSetLoopInterleaving(options, vectorises_loops.into());
            LLVMPassBuilderOptionsSetLoopUnrolling(options, 1);
            LLVMPassBuilderOptionsSetMergeFunctions(options, 1);
            if let Some(threshold) = threshold {
                LLVMPassBuilderOptionsSetInlinerThreshold(options, threshold);
            }
            let error = LLVMRunPasses(self.raw, passes.as_ptr(), machine, options);
            LLVMDisposePassBuilderOptions(options);
            if error.is_null() {
                return Ok(());
            }
            let message = LLVMGetErrorMessage(error);
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            llvm_sys::error::LLVMDisposeErrorMessage(message);
            Err(text)
        }
    }

    /// The triple's text, empty if the module has none.
    pub fn triple(&self) -> String {
        // SAFETY: the module is live, and the text lives in it until the triple changes; it is copied here.
        unsafe { CStr::from_ptr(LLVMGetTarget(self.raw)) }.to_string_lossy().into_owned()
    }

    /// The data layout's text, empty if the module has none.
    pub fn data_layout(&self) -> String {
        // SAFETY: the module is live, and the text lives in it until the layout changes; it is copied here.
        unsafe { CStr::from_ptr(LLVMGetDataLayoutStr(self.raw)) }.to_string_lossy().into_owned()
    }

    /// Makes the module one for this machine.
    pub fn set_machine(&self, machine: &Machine) {
        let layout = machine.data_layout();
        // SAFETY: the module is live and the texts, which LLVM copies, end with a NUL; the layout is one that LLVM printed.
        unsafe {
            LLVMSetTarget(self.raw, machine.triple().as_ptr());
            LLVMSetDataLayout(self.raw, layout.as_ptr());
        }
    }

    /// Makes the module one for what another module is for.
    pub fn set_target_of(&self, other: &Module<'_>) {
        // SAFETY: both modules are live, and the texts, which LLVM copies, live in the other one.
        unsafe {
            LLVMSetTarget(self.raw, LLVMGetTarget(other.raw));
            LLVMSetDataLayout(self.raw, LLVMGetDataLayoutStr(other.raw));
        }
    }

    /// Removes all debug information.
    pub fn strip_debug_info(&self) {
        // SAFETY: the module is live.
        unsafe { LLVMStripModuleDebugInfo(self.raw) };
    }

    /// Assembly at module level, empty if there is none.
    pub fn inline_assembly(&self) -> Vec<u8> {
        let mut len = 0;
        // SAFETY: the module is live and owns the bytes, which are copied here; `len` is a live variable.
        unsafe {
            let start = LLVMGetModuleInlineAsm(self.raw, &mut len);
            if start.is_null() || len == 0 {
                return Vec::new();
            }
            std::slice::from_raw_parts(start.cast(), len).to_vec()
        }
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<Value> {
        let name = CString::new(name).ok()?;
        // SAFETY: the module is live and the name ends with a NUL.
        Value::new(unsafe { LLVMGetNamedFunction(self.raw, name.as_ptr()) })
    }

    /// All functions, declarations too.
    pub fn functions(&self) -> Vec<Value> {
        // SAFETY: the module is live, and so is each function of it that the walk has reached.
        unsafe { walk(LLVMGetFirstFunction(self.raw), |f| LLVMGetNextFunction(f)) }
    }

    /// All global variables.
    pub fn globals(&self) -> Vec<Value> {
        // SAFETY: as in `functions`.
        unsafe { walk(LLVMGetFirstGlobal(self.raw), |g| LLVMGetNextGlobal(g)) }
    }

    /// All aliases.
    pub fn aliases(&self) -> Vec<Value> {
        // SAFETY: as in `functions`.
        unsafe { walk(LLVMGetFirstGlobalAlias(self.raw), |a| LLVMGetNextGlobalAlias(a)) }
    }

    /// All ifuncs.
    pub fn ifuncs(&self) -> Vec<Value> {
        // SAFETY: as in `functions`.
        unsafe { walk(LLVMGetFirstGlobalIFunc(self.raw), |i| LLVMGetNextGlobalIFunc(i)) }
    }

    /// The operands of a named metadata node.
    pub fn named_metadata(&self, name: &CStr) -> Vec<LLVMValueRef> {
        // SAFETY: the module is live and the name ends with a NUL; the array is as long as LLVM says that it must be.
        unsafe {
            let count = LLVMGetNamedMetadataNumOperands(self.raw, name.as_ptr());
            let mut nodes = vec![null_mut(); count as usize];
            LLVMGetNamedMetadataOperands(self.raw, name.as_ptr(), nodes.as_mut_ptr());
            nodes
        }
    }

    /// Makes numbers of generic pointers that are compared with a constant for their order. Of a pointer that is known to point
    /// into one memory LLVM would compare the address within that memory, and both sides would be another number:
    /// ```llvm
    ///   %more = icmp ugt ptr %local, inttoptr (i64 3 to ptr)
    /// ```
    /// becomes
    /// ```llvm
    ///   %address = ptrtoint ptr %local to i64
    ///   %more = icmp ugt i64 %address, 3
    /// ```
    pub fn compare_addresses_as_numbers(&self, context: &Context) {
        for instruction in self.functions().into_iter().flat_map(Value::instructions) {
            if instruction.orders_address_and_constant() {
                let number = Builder::before(context, instruction).compare_as_numbers(instruction);
                instruction.replace_uses(number);
                // SAFETY: nothing uses it any more, and it comes up once.
                unsafe { instruction.erase() };
            }
        }
    }

    /// LLVM's assembly of the module.
    pub fn print(&self) -> String {
        // SAFETY: the module is live, and the text is ours.
        unsafe { take_message(LLVMPrintModuleToString(self.raw)) }
    }

    pub(super) fn raw(&self) -> LLVMModuleRef {
        self.raw
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: the module is live and ours, and its context outlives it by the borrow.
        unsafe { LLVMDisposeModule(self.raw) };
    }
}

/// Collects a list of LLVM's: the first element, then each one's next.
fn walk(first: LLVMValueRef, next: impl Fn(LLVMValueRef) -> LLVMValueRef) -> Vec<Value> {
    std::iter::successors(Value::new(first), |value| Value::new(next(value.raw()))).collect()
}

/// LLVM's number for a kind of metadata.
pub fn metadata_kind(context: &Context, name: &str) -> u32 {
    // SAFETY: the context is live, and the length is the name's.
    unsafe {
        LLVMGetMDKindIDInContext(context.raw(), name.as_ptr().cast::<c_char>(), name.len() as u32)
    }
}
