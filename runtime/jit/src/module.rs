//! A module of stage 2: what happens to it as a whole, pass by pass.

use std::collections::HashSet;
use std::ffi::CStr;

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

use schism_llvm::{
    AsModule, Builder, Context, IntPredicate, Linkage, Machine, ModuleRef, Opcode, TypeKind, Value,
    intrinsic_id,
};

use crate::JitError;

/// Brings loops into the form in which checks are seen: what does not change in them stands in front of them, and they end where they
/// go on. Before that, checks go that can never fail: a loop need not be there twice for those.
const SHAPE_LOOPS: &str = "function<eager-inv>(lower-expect,sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,constraint-elimination,simplifycfg,loop-mssa(loop-instsimplify,licm,loop-rotate,licm),simplifycfg,instcombine<no-verify-fixpoint>)";

/// A module of a [`Context`].
pub struct Module<'c>(schism_llvm::Module<'c>);

impl AsModule for Module<'_> {
    fn handle(&self) -> ModuleRef<'_> {
        self.0.handle()
    }
}

impl<'c> Module<'c> {
    /// An empty module.
    pub fn new(context: &'c Context, name: &CStr) -> Self {
        Self(schism_llvm::Module::new(context.handle(), name))
    }

    /// Reads bitcode: what a function does only when the linker asks for it. So the module is for being [linked](Self::link), and
    /// its functions seem to be empty until then.
    pub fn from_bitcode_lazily(context: &'c Context, bitcode: &'c [u8]) -> Result<Self, String> {
        schism_llvm::Module::from_bitcode_lazily(context.handle(), bitcode, c"image")
            .map(Self)
            .ok_or_else(|| context.errors_or("not LLVM bitcode"))
    }

    /// Reads bitcode. The module is not verified.
    pub fn from_bitcode(context: &'c Context, bitcode: &[u8]) -> Result<Self, String> {
        schism_llvm::Module::from_bitcode(context.handle(), bitcode)
            .map(Self)
            .ok_or_else(|| context.errors_or("not LLVM bitcode"))
    }

    /// Reads LLVM's assembly.
    pub fn from_text(context: &'c Context, text: &str) -> Result<Self, String> {
        schism_llvm::Module::from_text(context.handle(), text).map(Self)
    }

    /// A copy.
    pub fn duplicate(&self) -> Self {
        Self(self.0.duplicate())
    }

    /// Whether the module obeys LLVM's rules; if not, what it breaks.
    pub fn verify(&self) -> Result<(), String> {
        self.handle().verify()
    }

    /// Moves everything of `other` in here; declarations and definitions of one name become one.
    pub fn link(&self, context: &'c Context, other: Module<'c>) -> Result<(), String> {
        match self.handle().link(other.0) {
            true => Ok(()),
            false => Err(context.errors_or("two modules do not fit together")),
        }
    }

    /// Lets the linker leave out those definitions that the module it links to does not need.
    pub fn make_optional(&self) {
        self.handle().make_optional();
    }

    /// Hides what [`make_optional`](Self::make_optional) was called for, now that it is linked.
    pub fn internalise_optional(&self) {
        for global in self.globals().into_iter().chain(self.functions()).chain(self.aliases()) {
            if global.linkage() == Linkage::LinkOnceODR {
                global.set_internal();
            }
        }
    }

    /// Declares a function of another module of the same context, by its name and type.
    pub fn declare_as(&self, function: Value<'_>) {
        self.handle().add_function(&function.name(), function.value_type());
    }

    /// The declaration of an intrinsic, named without `llvm.` and type, for numbers of so many bits.
    pub fn float_intrinsic(&self, name: &str, bits: u32) -> Result<Value<'_>, String> {
        let full = format!("llvm.{name}");
        let (id, context) = (intrinsic_id(&full), self.handle().context());
        if id == 0 {
            return Err(format!("this LLVM has no `{full}`"));
        }
        let number = if bits == 32 { context.float_type() } else { context.double_type() };
        Ok(self.handle().intrinsic(id, &[number]))
    }

    /// Makes calls of the device library where a device needs them.
    pub fn call_library(&self, device: &TargetLibraryInfo) {
        device_library::run(self.handle(), device);
    }

    /// Gives specialization constants their values, and folds what reads them.
    pub fn specialise(&self, values: &[(String, Vec<u8>)]) -> Result<(), JitError> {
        spec_constants::run(self.handle(), values).map_err(|error| match error {
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
            let global = self.handle().global(symbol);
            let Some(global) = global.filter(|&global| spec_constants::is_constant(global)) else {
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
        fast_math::run(self.handle(), math);
    }

    /// Makes all memory of a work-group one symbol, as PTX has it, aligned to `align` bytes or more.
    pub fn use_shared_memory(&self, align: u64) -> Result<(), JitError> {
        let none = HashSet::new();
        lower_local_memory::run_raw(self.handle(), &none, align)
            .map_err(|error| JitError::Internal(error.to_string()))
    }

    /// Makes a function a kernel of the module's target, and tells accesses which memory they mean.
    pub fn separate_address_spaces(&self, kernel: &str) -> Result<(), JitError> {
        let kernels = HashSet::from([kernel]);
        address_spaces::run_raw(self.handle(), &self.handle().triple(), &kernels)
            .map_err(|error| JitError::Internal(error.to_string()))
    }

    /// Removes those of a function's parameters from `indices` that it does not use, if nobody calls it.
    pub fn remove_unused_parameters(&self, function: &str, indices: &[u32]) {
        let Some(function) = self.function(function) else { return };
        dead_arguments::remove_unused(function, |index| indices.contains(&index));
    }

    /// Says of every function whether it can reach a panic: what can, may unwind.
    pub fn infer_unwinding(&self) {
        lower_unwind::infer(self.handle());
    }

    /// Says of every function that nothing unwinds through it: when nothing is optimised any more.
    pub fn forget_unwinding(&self) {
        lower_unwind::forget(self.handle());
    }

    /// Lets panics that show plain values pass them on, and no memory.
    pub fn shape_panics(&self) {
        panic_sites::run_raw(self.handle());
    }

    /// Has detours that few values take be decided once, behind what all others need.
    pub fn leave_detours(&self) {
        superblocks::run_raw(self.handle());
    }

    /// Makes checks of indices against small lengths in 32 bits.
    pub fn narrow_checks(&self) {
        narrow_checks::run_raw(self.handle());
    }

    /// Keeps the code generator from making maxima of comparisons of 64 bits.
    pub fn keep_comparisons(&self) {
        suppress_umax::run_raw(self.handle());
    }

    /// Declares statics that refer to each other in a circle before they are defined.
    pub fn open_circles(&self) {
        circular_statics::run_raw(self.handle());
    }

    /// Lets the panics of a function leave by one block.
    pub fn join_panics(&self) {
        merge_panic_exits::run_raw(self.handle());
    }

    /// Makes atomic accesses of a work-item's own memory plain ones.
    pub fn plain_private_atomics(&self) {
        for function in self.functions() {
            demote_private_atomics::run(function);
        }
    }

    /// Makes loads of the group's memory plain that nobody can store to meanwhile, in a module for a GPU.
    pub fn plain_quiet_loads(&self) {
        self.run_on_each_function(demote_shared_loads::run_on);
    }

    /// Asks for small loops to be unrolled. See [`unroll_hints`].
    pub fn hint_unrolling(&self) -> Result<(), String> {
        self.run_passes("function(loop-simplify)", None)?;
        self.run_on_each_function(unroll_hints::run_on);
        Ok(())
    }

    /// Lets loops in which nothing can panic run without their checks, and decides other checks together.
    pub fn lift_checks(&self, machine: &Machine) -> Result<(), String> {
        let has_panics = |function: &Value| cold_paths::has_panics(function);
        if !self.functions().iter().any(has_panics) {
            return Ok(());
        }
        self.run_passes(SHAPE_LOOPS, Some(machine))?;
        for function in self.functions() {
            loop_versioning::run_on(function)?;
            merge_checks::run_on(function);
        }
        Ok(())
    }

    /// Makes several turns at once of loops that check what they load, in a module for a GPU.
    pub fn make_chunks(&self) -> Result<(), String> {
        for function in self.functions() {
            strip_mine::run_on(function)?;
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
    fn run_on_each_function(&self, pass: fn(Value<'_>)) {
        self.functions().into_iter().for_each(pass);
    }

    /// Runs passes given in the syntax of LLVM's `opt -passes=`.
    pub fn run_passes(&self, passes: &str, machine: Option<&Machine>) -> Result<(), String> {
        self.handle().run_optimizing_passes(passes, machine)
    }

    /// Makes the module one for what another module is for.
    pub fn set_target_of(&self, other: &Module<'_>) {
        self.handle().set_target_of(other.handle());
    }

    /// Removes all debug information.
    pub fn strip_debug_info(&self) {
        self.handle().strip_debug_info();
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<Value<'_>> {
        self.handle().function(name)
    }

    /// All functions, declarations too.
    pub fn functions(&self) -> Vec<Value<'_>> {
        self.handle().functions()
    }

    /// All global variables.
    pub fn globals(&self) -> Vec<Value<'_>> {
        self.handle().globals()
    }

    /// All aliases.
    pub fn aliases(&self) -> Vec<Value<'_>> {
        self.handle().aliases()
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
    pub fn compare_addresses_as_numbers(&self) {
        for comparison in self.functions().into_iter().flat_map(Value::instructions) {
            if !orders_address_and_constant(comparison) {
                continue;
            }
            let builder = Builder::before(comparison);
            let long = comparison.context().int_type(64);
            let [left, right] =
                [0, 1].map(|index| builder.ptrtoint(comparison.operand(index), long));
            let number = builder.icmp(comparison.icmp_predicate(), left, right);
            comparison.replace_with(number);
        }
    }

    /// LLVM's assembly of the module.
    pub fn print(&self) -> String {
        self.handle().print()
    }
}

/// Whether an instruction compares a generic pointer and a constant for their order.
fn orders_address_and_constant(instruction: Value<'_>) -> bool {
    if instruction.opcode() != Some(Opcode::ICmp) {
        return false;
    }
    let ty = instruction.operand(0).ty();
    ty.kind() == TypeKind::Pointer
        && ty.address_space() == 0
        && instruction.operands().any(Value::is_constant)
        && ![IntPredicate::EQ, IntPredicate::NE].contains(&instruction.icmp_predicate())
}
