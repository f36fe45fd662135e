//! A module of stage 2, and passes over it as a whole.

use std::ffi::CStr;

use schism_jit_abi::code::OPEN_CONSTANT;
use schism_passes::frontend::lower_unwind;
use schism_passes::gpu::merge_panic_exits::{self, Fences, Joins};
use schism_passes::pass::PassContext;
use schism_passes::pipeline::{self, Driver, Step};
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

    /// Reads bitcode lazily: function bodies only when the linker needs them. So the module is for
    /// being [linked](Self::link), and its functions look empty until then.
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

    /// Verifies the module; an error is LLVM's message.
    pub fn verify(&self) -> Result<(), String> {
        self.handle().verify()
    }

    /// Links `other` into this module; declarations and definitions with one name are merged.
    pub fn link(&self, context: &'c Context, other: Module<'c>) -> Result<(), String> {
        match self.handle().link(other.0) {
            true => Ok(()),
            false => Err(context.errors_or("two modules do not fit together")),
        }
    }

    /// Allows the linker to leave out definitions that the destination does not need.
    pub fn make_optional(&self) {
        self.handle().make_optional();
    }

    /// Makes internal what [`make_optional`](Self::make_optional) was called for, after linking.
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

    /// The declaration of an intrinsic, named without `llvm.` and type, for that many bits.
    pub fn float_intrinsic(&self, name: &str, bits: u32) -> Result<Value<'_>, String> {
        let full = format!("llvm.{name}");
        let (id, context) = (intrinsic_id(&full), self.handle().context());
        if id == 0 {
            return Err(format!("this LLVM has no `{full}`"));
        }
        let number = if bits == 32 { context.float_type() } else { context.double_type() };
        Ok(self.handle().intrinsic(id, &[number]))
    }

    /// Inserts calls of the device library where a device needs them.
    pub fn call_library(&self, device: &TargetLibraryInfo) {
        device_library::run(self.handle(), device);
    }

    /// Sets the values of specialization constants, and folds their uses.
    pub fn specialise(&self, values: &[(String, Vec<u8>)]) -> Result<(), JitError> {
        spec_constants::run(self.handle(), values).map_err(|error| match error {
            SpecialiseError::Llvm(message) => JitError::Internal(message),
            error => JitError::InvalidRequest(error.to_string()),
        })
    }

    /// Leaves specialization constants open: each one that exists becomes a symbol of the code,
    /// which LLVM treats as a constant with unknown value.
    pub fn open_constants<'a>(
        &self,
        symbols: impl Iterator<Item = &'a str>,
    ) -> Result<(), JitError> {
        for (symbol, index) in symbols.zip(0..) {
            let global = self.handle().global(symbol);
            let Some(global) = global.filter(|&global| spec_constants::is_constant(global)) else {
                // It may have been split off into another image.
                continue;
            };
            let name = format!("{OPEN_CONSTANT}{index}");
            global.set_name(&name);
            if global.name() != name {
                return Err(JitError::InvalidImage(format!("it has its own `{name}`")));
            }
            global.set_external();
        }
        Ok(())
    }

    /// Relaxes floating-point operations as `math` says.
    pub fn allow_fast_math(&self, math: FastMath) {
        fast_math::run(self.handle(), math);
    }

    /// Removes those of a function's parameters in `indices` that it does not use, if no function calls
    /// it.
    pub fn remove_unused_parameters(&self, function: &str, indices: &[u32]) {
        let Some(function) = self.function(function) else { return };
        dead_arguments::remove_unused(function, |index| indices.contains(&index));
    }

    /// Marks every function by whether it can reach a panic: those that can may unwind.
    pub fn infer_unwinding(&self) {
        lower_unwind::infer(self.handle());
    }

    /// Whether a function has landing pads.
    pub fn unwinds(&self) -> bool {
        lower_unwind::unwinds(self.handle())
    }

    /// Keeps the landing pads that matter to what a kernel leaves in memory, and removes all others.
    pub fn keep_noticed_unwinding(&self, kernel: Value<'_>) -> Result<(), String> {
        lower_unwind::run_for(self.handle(), &[kernel])
    }

    /// The same once more, when more is known of the kernel: all landing pads, or none. Returns
    /// whether there are some.
    pub fn still_unwinds(&self, kernel: Value<'_>) -> Result<bool, String> {
        lower_unwind::still_unwinds(self.handle(), kernel)
    }

    /// Removes all landing pads.
    pub fn remove_unwinding(&self) -> Result<(), String> {
        lower_unwind::run(self.handle())
    }

    /// Marks every function as not unwinding: when optimisation is complete.
    pub fn forget_unwinding(&self) {
        lower_unwind::forget(self.handle());
    }

    /// Merges the panic exits of a function into one block.
    pub fn merge_panic_exits(&self, fences: Fences, joins: Joins) {
        merge_panic_exits::run(self.handle(), fences, joins);
    }

    /// Runs a pipeline; the driver runs the steps that are no passes of `schism_passes`.
    pub fn run_pipeline<D: Driver>(
        &self,
        steps: &[Step],
        cx: &mut PassContext<'_>,
        driver: &mut D,
    ) -> Result<(), D::Error> {
        pipeline::run_raw(self.handle(), steps, cx, driver)
    }

    /// Runs passes given in the syntax of LLVM's `opt -passes=`.
    pub fn run_passes(&self, passes: &str, machine: Option<&Machine>) -> Result<(), String> {
        self.handle().run_optimizing_passes(passes, machine)
    }

    /// Sets the module's target to that of another module.
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

    /// Converts generic pointers to integers where their order is compared with a constant. For a
    /// pointer that is known to point into a specific address space, LLVM would compare the address
    /// within that space, and both sides would be another number:
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

/// Whether an instruction compares a generic pointer with a constant for order.
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
