//! Atomic accesses that SPIR-V's kernels do not have: of 8 and 16 bits, and updates of
//! floating-point numbers and by `nand`. They become loops around a compare-exchange of 32 or 64
//! bits.
//!
//! ```llvm
//!   %old = atomicrmw add ptr addrspace(1) %at, i8 %value syncscope("device") monotonic
//! ```
//! becomes
//! ```llvm
//!   %old = call i8 @schism.atomic.add.i8.p1.device.monotonic(ptr addrspace(1) %at, i8 %value)
//!
//! define internal i8 @schism.atomic.add.i8.p1.device.monotonic(ptr addrspace(1) %at, i8 %value) {
//! start:
//!   ; …                               the word around the byte, and where in it the byte is
//!   br label %again
//! again:
//!   %word = phi i32 [ %first, %start ], [ %found, %again ]
//!   ; …                               the word with the new byte
//!   %pair = cmpxchg ptr addrspace(1) %cell, i32 %word, i32 %new.word syncscope("device") monotonic monotonic
//!   %found = extractvalue { i32, i1 } %pair, 0
//!   %is.done = extractvalue { i32, i1 } %pair, 1
//!   br i1 %is.done, label %done, label %again
//! done:
//!   ret i8 %old
//! }
//! ```
//! A word never leaves its page, and others' bytes in it are written back only if none changed
//! them. Runs after optimisation.

use std::collections::BTreeMap;

use schism_llvm::{
    AtomicOrdering, AtomicRMWBinOp, Builder, Context, Opcode, Type, TypeKind, Value,
};

use crate::JitError;
use crate::common::module::Module;

/// A function that accesses: its name, and its text.
type Function = (String, String);

/// Replaces the accesses by calls of functions.
pub fn expand<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    let mut accesses = Vec::new();
    let mut functions = BTreeMap::new();
    for access in module.functions().into_iter().flat_map(Value::instructions) {
        if let Some((name, text)) = function_for(access) {
            functions.insert(name.clone(), text);
            accesses.push((access, name));
        }
    }
    if accesses.is_empty() {
        return Ok(());
    }
    let mut text: String = functions.into_values().collect();
    for bits in [32, 64] {
        let ty = if bits == 32 { "float" } else { "double" };
        for kind in ["maxnum", "minnum"] {
            text += &format!("declare {ty} @llvm.{kind}.f{bits}({ty}, {ty})\n");
        }
    }
    let bodies = Module::from_text(context, &text).map_err(JitError::Internal)?;
    bodies.set_target_of(module);
    module.link(context, bodies).map_err(JitError::Internal)?;
    for (access, name) in accesses {
        let gone = || JitError::Internal(format!("`{name}` is gone"));
        let function = module.function(&name).ok_or_else(gone)?;
        function.set_internal();
        let operands = match access.opcode() {
            // The address comes first.
            Some(Opcode::Store) => vec![access.operand(1), access.operand(0)],
            _ => access.operands().collect(),
        };
        let result = Builder::before(access).call_function(function, &operands);
        match access.opcode() {
            Some(Opcode::Store) => access.erase(),
            _ => access.replace_with(result),
        }
    }
    Ok(())
}

/// An access that is to be expanded.
struct Access {
    /// The value's type, its bits, and those of the word that is exchanged.
    ty: String,
    bits: u32,
    word: u32,
    /// The address's type, and parts of names.
    pointer: String,
    space: u32,
    scope: &'static str,
    order: &'static str,
    /// The order of a compare-exchange that fails.
    failure: &'static str,
}

impl Access {
    /// Of a value of a type at an address; `None` if that is no number.
    fn new(it: Value<'_>, ty: Type<'_>, address: Value<'_>) -> Option<Self> {
        let (text, bits) = match ty.kind() {
            TypeKind::Integer => (ty.text(), ty.int_width()),
            TypeKind::Float => ("float".to_owned(), 32),
            TypeKind::Double => ("double".to_owned(), 64),
            _ => return None,
        };
        let scopes = ["singlethread", "subgroup", "workgroup", "block", "device"];
        let scope = scopes.into_iter().find(|scope| it.has_sync_scope(scope)).unwrap_or("");
        let (order, failure) = match it.ordering() {
            AtomicOrdering::Acquire => ("acquire", "acquire"),
            AtomicOrdering::Release => ("release", "monotonic"),
            AtomicOrdering::AcquireRelease => ("acq_rel", "acquire"),
            AtomicOrdering::SequentiallyConsistent => ("seq_cst", "seq_cst"),
            _ => ("monotonic", "monotonic"),
        };
        let space = address.ty().address_space();
        let pointer = format!("ptr addrspace({space})");
        let word = bits.max(32);
        Some(Self { ty: text, bits, word, pointer, space, scope, order, failure })
    }

    fn is_narrow(&self) -> bool {
        matches!(self.bits, 8 | 16)
    }

    fn name(&self, kind: &str) -> String {
        let Self { ty, space, scope, order, .. } = self;
        format!("schism.atomic.{kind}.{ty}.p{space}.{scope}.{order}")
    }

    fn scope(&self) -> String {
        if self.scope.is_empty() {
            String::new()
        } else {
            format!("syncscope(\"{}\") ", self.scope)
        }
    }

    /// The cell that is exchanged, and where in it the value is.
    fn place(&self) -> String {
        let pointer = &self.pointer;
        if !self.is_narrow() {
            return format!("  %cell = getelementptr i8, {pointer} %at, i64 0\n");
        }
        let ones = (1_u64 << self.bits) - 1;
        format!(
            "  %number = ptrtoint {pointer} %at to i64
               %behind = and i64 %number, 3
               %back = sub i64 0, %behind
               %cell = getelementptr i8, {pointer} %at, i64 %back
               %behind.32 = trunc i64 %behind to i32
               %shift = shl i32 %behind.32, 3
               %mask = shl i32 {ones}, %shift
               %others = xor i32 %mask, -1\n"
        )
    }

    /// Reads the cell for the first time.
    fn first(&self, order: &str) -> String {
        let Self { word, pointer, .. } = self;
        format!(
            "  %first = load atomic i{word}, {pointer} %cell {}{order}, align {}\n",
            self.scope(),
            word / 8
        )
    }

    /// The value that a word has, as `%NAME`.
    fn part(&self, name: &str, word: &str) -> String {
        let Self { ty, bits, word: width, .. } = self;
        match (self.is_narrow(), ty.starts_with('i')) {
            (true, _) => format!(
                "  %{name}.down = lshr i32 {word}, %shift
                   %{name} = trunc i32 %{name}.down to i{bits}\n"
            ),
            (false, true) => format!("  %{name} = add i{width} {word}, 0\n"),
            (false, false) => format!("  %{name} = bitcast i{width} {word} to {ty}\n"),
        }
    }

    /// The word with `%NAME` as its value, as `%NAME.word`.
    fn whole(&self, name: &str, word: &str) -> String {
        let Self { ty, bits, word: width, .. } = self;
        match (self.is_narrow(), ty.starts_with('i')) {
            (true, _) => format!(
                "  %{name}.wide = zext i{bits} %{name} to i32
                   %{name}.up = shl i32 %{name}.wide, %shift
                   %{name}.rest = and i32 {word}, %others
                   %{name}.word = or i32 %{name}.rest, %{name}.up\n"
            ),
            (false, true) => format!("  %{name}.word = add i{width} %{name}, 0\n"),
            (false, false) => format!("  %{name}.word = bitcast {ty} %{name} to i{width}\n"),
        }
    }

    /// Exchanges `%word` for another one.
    fn exchange(&self, new: &str) -> String {
        let Self { word, pointer, order, failure, .. } = self;
        format!(
            "  %pair = cmpxchg {pointer} %cell, i{word} %word, i{word} {new} {}{order} {failure}, align {}
               %found = extractvalue {{ i{word}, i1 }} %pair, 0
               %is.done = extractvalue {{ i{word}, i1 }} %pair, 1\n",
            self.scope(),
            word / 8
        )
    }

    /// A function that exchanges until no other access has come between; `combine` computes `%new` of `%old`
    /// and `%value`.
    fn update(&self, kind: &str, combine: &str, gives: bool) -> Function {
        let Self { ty, word, pointer, .. } = self;
        let name = self.name(kind);
        let (result, end) = if gives {
            (ty.as_str(), format!("ret {ty} %old"))
        } else {
            ("void", "ret void".into())
        };
        let text = format!(
            "define {result} @{name}({pointer} %at, {ty} %value) nounwind {{
             start:
             {place}{first}  br label %again
             again:
               %word = phi i{word} [ %first, %start ], [ %found, %again ]
             {part}{combine}
             {whole}{exchange}  br i1 %is.done, label %done, label %again
             done:
               {end}
             }}\n",
            place = self.place(),
            first = self.first("monotonic"),
            part = self.part("old", "%word"),
            whole = self.whole("new", "%word"),
            exchange = self.exchange("%new.word"),
        );
        (name, text)
    }

    fn load(&self) -> Function {
        let Self { ty, pointer, order, .. } = self;
        let name = self.name("load");
        let text = format!(
            "define {ty} @{name}({pointer} %at) nounwind {{
             {}{}{}  ret {ty} %value
             }}\n",
            self.place(),
            self.first(order),
            self.part("value", "%first")
        );
        (name, text)
    }

    fn compare_exchange(&self) -> Function {
        let Self { ty, word, pointer, failure, .. } = self;
        let name = self.name("exchange");
        let text = format!(
            "define {{ {ty}, i1 }} @{name}({pointer} %at, {ty} %expected, {ty} %new) nounwind {{
             start:
             {place}{first}  br label %again
             again:
               %word = phi i{word} [ %first, %start ], [ %found, %go ]
             {part}  %is.same = icmp eq {ty} %old, %expected
               br i1 %is.same, label %go, label %other
             go:
             {whole}{exchange}  br i1 %is.done, label %done, label %again
             other:
               %no.0 = insertvalue {{ {ty}, i1 }} poison, {ty} %old, 0
               %no = insertvalue {{ {ty}, i1 }} %no.0, i1 false, 1
               ret {{ {ty}, i1 }} %no
             done:
               %yes.0 = insertvalue {{ {ty}, i1 }} poison, {ty} %old, 0
               %yes = insertvalue {{ {ty}, i1 }} %yes.0, i1 true, 1
               ret {{ {ty}, i1 }} %yes
             }}\n",
            place = self.place(),
            first = self.first(failure),
            part = self.part("old", "%word"),
            whole = self.whole("new", "%word"),
            exchange = self.exchange("%new.word"),
        );
        (name, text)
    }
}

/// The function that does what an access does; `None` for accesses that SPIR-V has, and for other
/// instructions.
fn function_for(it: Value<'_>) -> Option<Function> {
    match it.opcode()? {
        Opcode::Load if it.is_atomic() => {
            let access = Access::new(it, it.ty(), it.operand(0))?;
            access.is_narrow().then(|| access.load())
        }
        Opcode::Store if it.is_atomic() => {
            let (value, address) = (it.operand(0), it.operand(1));
            let access = Access::new(it, value.ty(), address)?;
            let ty = &access.ty;
            let new = format!("  %new = add {ty} %value, 0");
            access.is_narrow().then(|| access.update("store", &new, false))
        }
        Opcode::AtomicCmpXchg => {
            let access = Access::new(it, it.operand(2).ty(), it.operand(0))?;
            access.is_narrow().then(|| access.compare_exchange())
        }
        Opcode::AtomicRMW => update_for(it),
        _ => None,
    }
}

fn update_for(it: Value<'_>) -> Option<Function> {
    use AtomicRMWBinOp::*;
    let access = Access::new(it, it.operand(1).ty(), it.operand(0))?;
    let Access { ty, bits, .. } = &access;
    let is_needed = access.is_narrow();
    let plain = |op: &str| format!("  %new = {op} {ty} %old, %value");
    let chosen = |relation: &str| {
        format!(
            "  %wins = icmp {relation} {ty} %old, %value
               %new = select i1 %wins, {ty} %old, {ty} %value"
        )
    };
    let number =
        |kind: &str| format!("  %new = call {ty} @llvm.{kind}.f{bits}({ty} %old, {ty} %value)");
    let (kind, combine, is_needed) = match it.rmw_operation() {
        Xchg => ("xchg", format!("  %new = add {ty} %value, 0"), is_needed),
        Add => ("add", plain("add"), is_needed),
        Sub => ("sub", plain("sub"), is_needed),
        And => ("and", plain("and"), is_needed),
        Or => ("or", plain("or"), is_needed),
        Xor => ("xor", plain("xor"), is_needed),
        Max => ("max", chosen("sgt"), is_needed),
        Min => ("min", chosen("slt"), is_needed),
        UMax => ("umax", chosen("ugt"), is_needed),
        UMin => ("umin", chosen("ult"), is_needed),
        Nand => {
            ("nand", format!("  %both = and {ty} %old, %value\n  %new = xor {ty} %both, -1"), true)
        }
        FAdd => ("fadd", plain("fadd"), true),
        FSub => ("fsub", plain("fsub"), true),
        FMax => ("fmax", number("maxnum"), true),
        FMin => ("fmin", number("minnum"), true),
        _ => return None,
    };
    is_needed.then(|| access.update(kind, &combine, true))
}
