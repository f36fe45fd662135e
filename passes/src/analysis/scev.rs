//! Scalar evolution: the values of a loop as add-recurrences `base + iteration * step`, in as many
//! bits as the value has.
//!
//! In iteration `j`, counted from 0, the add-recurrence `base`, `Up(step)` has the value `base + j
//! * step`, modulo 2^bits; `Down(step)` has `base - j * step`. Wrapping is not excluded: whoever
//! compares the values of all iterations must rule it out. Expressions consist of loop-invariant
//! values; [`Emit`] turns them into instructions.

use std::collections::HashMap;
use std::rc::Rc;

use llvm_sys::LLVMOpcode;
use llvm_sys::LLVMTypeKind::{LLVMIntegerTypeKind, LLVMPointerTypeKind};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMGetModuleDataLayout, LLVMPointerSizeForAS};

use crate::ir;
use crate::ir::cfg::{Cfg, Loop};

/// An expression of values that a loop does not change.
pub(crate) type Expr = Rc<Node>;

/// What an expression is, and how many bits it has, 64 at most.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub bits: u32,
    pub kind: Kind,
    /// How many nodes there are, shared ones as often as they are used.
    size: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Constant(u64),
    /// An integer, or the address that a pointer is.
    Leaf(LLVMValueRef),
    Sum(Expr, Expr),
    Difference(Expr, Expr),
    Product(Expr, Expr),
    ZeroExtended(Expr),
    SignExtended(Expr),
    Truncated(Expr),
}

/// How a value changes from iteration to iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    None,
    Up(Expr),
    Down(Expr),
}

/// An add-recurrence: a value as a function of the iteration.
#[derive(Clone, Debug)]
pub(crate) struct AddRec {
    pub base: Expr,
    pub step: Step,
    /// The no-wrap conditions: narrower add-recurrences, of which this one is an extension, and which must not wrap in any iteration.
    pub no_wrap: Vec<Rc<AddRec>>,
}

fn node(bits: u32, kind: Kind) -> Expr {
    let inner = match &kind {
        Kind::Constant(_) | Kind::Leaf(_) => 0,
        Kind::Sum(a, b) | Kind::Difference(a, b) | Kind::Product(a, b) => {
            a.size.saturating_add(b.size)
        }
        Kind::ZeroExtended(a) | Kind::SignExtended(a) | Kind::Truncated(a) => a.size,
    };
    Rc::new(Node { bits, kind, size: inner.saturating_add(1) })
}

fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

pub(crate) fn constant(bits: u32, value: u64) -> Expr {
    node(bits, Kind::Constant(value & mask(bits)))
}

/// The value of a constant.
pub(crate) fn known(expr: &Expr) -> Option<u64> {
    match expr.kind {
        Kind::Constant(value) => Some(value),
        _ => None,
    }
}

pub(crate) fn sum(a: &Expr, b: &Expr) -> Expr {
    match (known(a), known(b)) {
        (Some(a_value), Some(b_value)) => constant(a.bits, a_value.wrapping_add(b_value)),
        (Some(0), _) => b.clone(),
        (_, Some(0)) => a.clone(),
        _ => node(a.bits, Kind::Sum(a.clone(), b.clone())),
    }
}

pub(crate) fn difference(a: &Expr, b: &Expr) -> Expr {
    match (known(a), known(b)) {
        (Some(a_value), Some(b_value)) => constant(a.bits, a_value.wrapping_sub(b_value)),
        (_, Some(0)) => a.clone(),
        _ if a == b => constant(a.bits, 0),
        // The end of a slice is its beginning and its size: what the beginning is cancels out.
        _ => match &a.kind {
            Kind::Sum(rest, other) | Kind::Sum(other, rest) if other == b => rest.clone(),
            _ => node(a.bits, Kind::Difference(a.clone(), b.clone())),
        },
    }
}

/// What a constant was added to.
pub(crate) fn before(expr: &Expr, by: u64) -> Option<Expr> {
    match &expr.kind {
        Kind::Sum(a, b) if known(b) == Some(by) => Some(a.clone()),
        Kind::Sum(a, b) if known(a) == Some(by) => Some(b.clone()),
        _ => None,
    }
}

fn product(a: &Expr, b: &Expr) -> Expr {
    match (known(a), known(b)) {
        (Some(a_value), Some(b_value)) => constant(a.bits, a_value.wrapping_mul(b_value)),
        (Some(1), _) | (_, Some(0)) => b.clone(),
        (_, Some(1)) | (Some(0), _) => a.clone(),
        _ => node(a.bits, Kind::Product(a.clone(), b.clone())),
    }
}

/// An expression in another number of bits; `sign` says how it becomes longer.
fn resized(expr: &Expr, bits: u32, sign: bool) -> Expr {
    if let (Some(value), false) = (known(expr), sign) {
        return constant(bits, value);
    }
    let kind = match () {
        () if bits < expr.bits => Kind::Truncated(expr.clone()),
        () if sign => Kind::SignExtended(expr.clone()),
        () => Kind::ZeroExtended(expr.clone()),
    };
    node(bits, kind)
}

impl Step {
    fn each(&self, change: impl FnOnce(&Expr) -> Expr) -> Self {
        match self {
            Step::None => Step::None,
            Step::Up(size) => Step::Up(change(size)),
            Step::Down(size) => Step::Down(change(size)),
        }
    }

    fn reversed(self) -> Self {
        match self {
            Step::None => Step::None,
            Step::Up(size) => Step::Down(size),
            Step::Down(size) => Step::Up(size),
        }
    }

    fn plus(&self, other: &Self) -> Self {
        match (self, other) {
            (Step::None, step) | (step, Step::None) => step.clone(),
            (Step::Up(a), Step::Up(b)) => Step::Up(sum(a, b)),
            (Step::Down(a), Step::Down(b)) => Step::Down(sum(a, b)),
            (Step::Up(up), Step::Down(down)) | (Step::Down(down), Step::Up(up)) => {
                match (known(up), known(down)) {
                    (Some(up_by), Some(down_by)) if up_by < down_by => {
                        Step::Down(difference(down, up))
                    }
                    _ => Step::Up(difference(up, down)),
                }
            }
        }
    }
}

impl AddRec {
    fn fixed(base: Expr) -> Self {
        AddRec { base, step: Step::None, no_wrap: Vec::new() }
    }

    /// Whether it is loop-invariant.
    pub fn is_fixed(&self) -> bool {
        self.step == Step::None
    }

    pub fn bits(&self) -> u32 {
        self.base.bits
    }

    fn is_small(&self) -> bool {
        let step = match &self.step {
            Step::None => 0,
            Step::Up(size) | Step::Down(size) => size.size,
        };
        self.base.size <= NODES && step <= NODES && self.no_wrap.len() <= 4
    }

    fn negated(mut self) -> Self {
        self.base = difference(&constant(self.bits(), 0), &self.base);
        self.step = self.step.reversed();
        self
    }

    fn plus(mut self, other: AddRec) -> Self {
        self.base = sum(&self.base, &other.base);
        self.step = self.step.plus(&other.step);
        self.no_wrap.extend(other.no_wrap);
        self
    }

    fn minus(mut self, other: AddRec) -> Self {
        self.base = difference(&self.base, &other.base);
        self.step = self.step.plus(&other.step.reversed());
        self.no_wrap.extend(other.no_wrap);
        self
    }

    fn times(mut self, factor: &Expr) -> Self {
        self.base = product(&self.base, factor);
        self.step = self.step.each(|size| product(size, factor));
        self
    }
}

/// Finds out what values of one loop are.
pub(crate) struct Values<'a> {
    cfg: &'a Cfg,
    of: &'a Loop,
    seen: HashMap<LLVMValueRef, Option<AddRec>>,
}

/// How deep expressions are followed.
const DEPTH: u32 = 24;

/// How large they may become.
const NODES: u32 = 64;

impl<'a> Values<'a> {
    pub fn new(cfg: &'a Cfg, of: &'a Loop) -> Self {
        Values { cfg, of, seen: HashMap::new() }
    }

    /// Whether a value is loop-invariant because it is defined outside of the loop.
    pub fn is_outside(&self, value: LLVMValueRef) -> bool {
        ir::opcode(value).is_none() || !self.of.blocks.contains(&self.cfg.block_of(value))
    }

    /// An integer or a pointer as a function of the iteration.
    pub fn add_rec(&mut self, value: LLVMValueRef) -> Option<AddRec> {
        self.within(value, DEPTH)
    }

    fn within(&mut self, value: LLVMValueRef, depth: u32) -> Option<AddRec> {
        if let Some(known) = self.seen.get(&value) {
            return known.clone();
        }
        // A value that leads to itself other than through the header has no such form.
        self.seen.insert(value, None);
        let found = if depth == 0 { None } else { self.find(value, depth - 1) };
        let found = found.filter(AddRec::is_small);
        self.seen.insert(value, found.clone());
        found
    }

    fn find(&mut self, value: LLVMValueRef, depth: u32) -> Option<AddRec> {
        let bits = bits_of(value)?;
        // SAFETY: the value is live; a constant integer of at most 64 bits has such a value.
        unsafe {
            if !LLVMIsAConstantInt(value).is_null() {
                return Some(AddRec::fixed(constant(bits, LLVMConstIntGetZExtValue(value))));
            }
        }
        if self.is_outside(value) {
            let leaf = || AddRec::fixed(node(bits, Kind::Leaf(value)));
            return Some(self.place(value, depth).unwrap_or_else(leaf));
        }
        // SAFETY: the value is an instruction of the loop; each opcode has the operands that are asked for.
        let operand = |index| unsafe { LLVMGetOperand(value, index) };
        use LLVMOpcode::*;
        match ir::opcode(value)? {
            LLVMPHI => self.counter(value),
            LLVMAdd => Some(self.within(operand(0), depth)?.plus(self.within(operand(1), depth)?)),
            LLVMSub => Some(self.within(operand(0), depth)?.minus(self.within(operand(1), depth)?)),
            // SAFETY: only an `or` is asked.
            LLVMOr if unsafe { LLVMGetIsDisjoint(value) } != 0 => {
                Some(self.within(operand(0), depth)?.plus(self.within(operand(1), depth)?))
            }
            // `-1 - x`
            LLVMXor => {
                let (a, b) = (self.within(operand(0), depth)?, self.within(operand(1), depth)?);
                let ones = known(&b.base) == Some(mask(bits)) && b.is_fixed();
                ones.then(|| b.plus(a.negated()))
            }
            LLVMMul => {
                let (a, b) = (self.within(operand(0), depth)?, self.within(operand(1), depth)?);
                match (a.is_fixed(), b.is_fixed()) {
                    (_, true) => Some(a.times(&b.base)),
                    (true, false) => Some(b.times(&a.base)),
                    (false, false) => None,
                }
            }
            LLVMShl => {
                let by = self.within(operand(1), depth)?;
                let by =
                    known(&by.base).filter(|&shift| by.is_fixed() && shift < u64::from(bits))?;
                Some(self.within(operand(0), depth)?.times(&constant(bits, 1 << by)))
            }
            LLVMZExt => {
                let inner = self.within(operand(0), depth)?;
                let mut outer = AddRec {
                    base: resized(&inner.base, bits, false),
                    step: inner.step.each(|size| resized(size, bits, false)),
                    no_wrap: inner.no_wrap.clone(),
                };
                if !inner.is_fixed() {
                    outer.no_wrap.push(Rc::new(inner));
                }
                Some(outer)
            }
            LLVMGetElementPtr => {
                let by = AddRec::fixed(constant(bits, offset(value)?));
                Some(self.within(operand(0), depth)?.plus(by))
            }
            LLVMSExt => {
                let inner = self.within(operand(0), depth)?;
                inner.is_fixed().then(|| AddRec::fixed(resized(&inner.base, bits, true)))
            }
            LLVMTrunc => {
                let mut inner = self.within(operand(0), depth)?;
                inner.base = resized(&inner.base, bits, false);
                inner.step = inner.step.each(|size| resized(size, bits, false));
                Some(inner)
            }
            _ => None,
        }
    }

    /// The address that a `getelementptr` from outside of the loop with one index makes.
    fn place(&mut self, value: LLVMValueRef, depth: u32) -> Option<AddRec> {
        let (first, index, size) = ir::element(value)?;
        if bits_of(index) != Some(64) {
            return None;
        }
        let by = self.within(index, depth)?.times(&constant(64, size));
        Some(self.within(first, depth)?.plus(by)).filter(AddRec::is_small)
    }

    /// A phi of the header that the latch changes by the same amount in every iteration.
    fn counter(&mut self, phi: LLVMValueRef) -> Option<AddRec> {
        let (cfg, of) = (self.cfg, self.of);
        if cfg.block_of(phi) != of.header {
            return None;
        }
        let incoming = |block: usize| ir::incoming(phi, cfg.blocks[block]);
        let (start, next) = (incoming(of.preheader)?, incoming(of.latch)?);
        let bits = bits_of(phi)?;
        let base = self.within(start, 1)?.base;
        if self.is_outside(next) {
            return None;
        }
        // SAFETY: `next` is an instruction of the loop; each opcode has the operands that are asked for.
        let operand = |index| unsafe { LLVMGetOperand(next, index) };
        let (first, second) = (operand(0), operand(1));
        let step = match ir::opcode(next)? {
            LLVMOpcode::LLVMAdd if first == phi => self.fixed(second)?,
            LLVMOpcode::LLVMAdd if second == phi => self.fixed(first)?,
            LLVMOpcode::LLVMSub if first == phi => {
                let size = self.fixed(second)?;
                return Some(AddRec { base, step: Step::Down(size), no_wrap: Vec::new() });
            }
            LLVMOpcode::LLVMGetElementPtr if first == phi => constant(bits, offset(next)?),
            _ => return None,
        };
        // A constant with its highest bit counts down.
        let step = match known(&step) {
            Some(0) => Step::None,
            Some(size) if size > mask(bits) >> 1 => Step::Down(constant(bits, size.wrapping_neg())),
            _ => Step::Up(step),
        };
        Some(AddRec { base, step, no_wrap: Vec::new() })
    }

    fn fixed(&mut self, value: LLVMValueRef) -> Option<Expr> {
        let outside = self.is_outside(value);
        outside.then(|| self.within(value, 1)).flatten().map(|affine| affine.base)
    }
}

/// The bits of an integer of at most 64, or of a pointer with 64; others have none here.
fn bits_of(value: LLVMValueRef) -> Option<u32> {
    // SAFETY: the value and its type are live; each kind of type is asked only for what it has. A pointer is asked for
    // where it is used, by an instruction of a module.
    unsafe {
        let ty = LLVMTypeOf(value);
        match LLVMGetTypeKind(ty) {
            LLVMIntegerTypeKind => Some(LLVMGetIntTypeWidth(ty)).filter(|bits| *bits <= 64),
            LLVMPointerTypeKind => Some(64),
            _ => None,
        }
    }
}

/// Whether a value is a pointer.
pub(crate) fn is_pointer(value: LLVMValueRef) -> bool {
    // SAFETY: the value is live.
    unsafe { LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind }
}

/// Whether all addresses of the pointer's memory are numbers of 64 bits.
pub(crate) fn is_wide_pointer(module: LLVMModuleRef, value: LLVMValueRef) -> bool {
    // SAFETY: module and value are live, and only a pointer's type is asked for its address space.
    unsafe {
        let ty = LLVMTypeOf(value);
        LLVMGetTypeKind(ty) == LLVMPointerTypeKind
            && LLVMPointerSizeForAS(LLVMGetModuleDataLayout(module), LLVMGetPointerAddressSpace(ty))
                == 8
    }
}

/// How many bytes a `getelementptr` with one constant index goes on.
fn offset(instruction: LLVMValueRef) -> Option<u64> {
    let (_, index, size) = ir::element(instruction)?;
    // SAFETY: the index is a live value; a constant integer is asked for its value.
    let index = unsafe {
        if LLVMIsAConstantInt(index).is_null() {
            return None;
        }
        LLVMConstIntGetSExtValue(index)
    };
    Some((index as u64).wrapping_mul(size))
}

/// Makes instructions of expressions, in front of one instruction.
pub(crate) struct Emit {
    builder: LLVMBuilderRef,
    context: LLVMContextRef,
    module: LLVMModuleRef,
    /// Leaves, made definite: what nobody would have asked for may be poison.
    leaves: HashMap<LLVMValueRef, LLVMValueRef>,
}

impl Emit {
    /// # Safety
    /// `before` is an instruction of a live module, which all expressions' values dominate; the caller is done with this
    /// before either goes.
    pub unsafe fn before(before: LLVMValueRef) -> Self {
        // SAFETY: as promised by the caller.
        unsafe {
            let module = LLVMGetGlobalParent(ir::parent_function(before));
            let context = LLVMGetModuleContext(module);
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderBefore(builder, before);
            Emit { builder, context, module, leaves: HashMap::new() }
        }
    }

    pub fn builder(&self) -> LLVMBuilderRef {
        self.builder
    }

    fn int(&self, bits: u32) -> LLVMTypeRef {
        // SAFETY: the context is live.
        unsafe { LLVMIntTypeInContext(self.context, bits) }
    }

    pub fn number(&self, bits: u32, value: u64) -> LLVMValueRef {
        // SAFETY: the type is an integer's.
        unsafe { LLVMConstInt(self.int(bits), value & mask(bits), 0) }
    }

    /// The expression's value.
    pub fn value(&mut self, expr: &Expr) -> LLVMValueRef {
        let name = c"".as_ptr();
        let ty = self.int(expr.bits);
        match &expr.kind {
            Kind::Constant(value) => self.number(expr.bits, *value),
            Kind::Leaf(leaf) => self.definite(*leaf),
            Kind::Sum(a, b) | Kind::Difference(a, b) | Kind::Product(a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                // SAFETY: both are integers of the same type.
                unsafe {
                    match expr.kind {
                        Kind::Sum(..) => LLVMBuildAdd(self.builder, a, b, name),
                        Kind::Difference(..) => LLVMBuildSub(self.builder, a, b, name),
                        _ => LLVMBuildMul(self.builder, a, b, name),
                    }
                }
            }
            Kind::ZeroExtended(inner) => {
                let inner = self.value(inner);
                // SAFETY: the type is that of a longer integer.
                unsafe { LLVMBuildZExt(self.builder, inner, ty, name) }
            }
            Kind::SignExtended(inner) => {
                let inner = self.value(inner);
                // SAFETY: the type is that of a longer integer.
                unsafe { LLVMBuildSExt(self.builder, inner, ty, name) }
            }
            Kind::Truncated(inner) => {
                let inner = self.value(inner);
                // SAFETY: the type is that of a shorter integer.
                unsafe { LLVMBuildTrunc(self.builder, inner, ty, name) }
            }
        }
    }

    /// A leaf that is not poison, as a number.
    fn definite(&mut self, leaf: LLVMValueRef) -> LLVMValueRef {
        if let Some(&known) = self.leaves.get(&leaf) {
            return known;
        }
        let name = c"".as_ptr();
        // The address is made definite, and the pointer left alone: of what comes of a definite one LLVM does not know what it
        // points to.
        // SAFETY: the leaf is a live integer or pointer that dominates the builder's place.
        let value = unsafe {
            let leaf = if is_sound(leaf, SOUND) { self.without_promises(leaf) } else { leaf };
            let value = match is_pointer(leaf) {
                true => LLVMBuildPtrToInt(self.builder, leaf, self.int(64), name),
                false => leaf,
            };
            match is_sound(leaf, SOUND) {
                true => value,
                false => LLVMBuildFreeze(self.builder, value, name),
            }
        };
        self.leaves.insert(leaf, value);
        value
    }

    /// The same arithmetic once more, without the promises (`nuw`, say) that make poison of it where they are broken. LLVM knows the range of
    /// what comes out, which it does not of a `freeze`.
    ///
    /// # Safety
    /// The value is [sound](is_sound), and dominates the builder's place.
    unsafe fn without_promises(&mut self, value: LLVMValueRef) -> LLVMValueRef {
        use LLVMOpcode::*;
        let Some(opcode) = ir::opcode(value).filter(|opcode| *opcode != LLVMCall) else {
            return value;
        };
        // SAFETY: as promised by the caller; the operands dominate what they are operands of.
        unsafe {
            let ty = LLVMTypeOf(value);
            let mut operand = |index| {
                let operand = LLVMGetOperand(value, index);
                self.without_promises(operand)
            };
            let first = operand(0);
            let name = c"".as_ptr();
            match opcode {
                LLVMZExt | LLVMTrunc => LLVMBuildCast(self.builder, opcode, first, ty, name),
                _ => {
                    let second = operand(1);
                    LLVMBuildBinOp(self.builder, opcode, first, second, name)
                }
            }
        }
    }

    /// A value that is used as a condition, not poison.
    pub fn condition(&mut self, value: LLVMValueRef) -> LLVMValueRef {
        self.definite(value)
    }

    /// The expression's value in 64 bits.
    pub fn wide(&mut self, expr: &Expr) -> LLVMValueRef {
        let value = self.value(expr);
        if expr.bits == 64 {
            return value;
        }
        // SAFETY: the value is an integer of fewer bits.
        unsafe { LLVMBuildZExt(self.builder, value, self.int(64), c"".as_ptr()) }
    }

    /// Calls an intrinsic of two numbers of 64 bits.
    pub fn intrinsic(&self, intrinsic: &str, a: LLVMValueRef, b: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: the intrinsic is one of LLVM's that is overloaded by the type of its two parameters, which both values have.
        unsafe {
            let id = LLVMLookupIntrinsicID(intrinsic.as_ptr().cast(), intrinsic.len());
            let mut types = [self.int(64)];
            let function = LLVMGetIntrinsicDeclaration(self.module, id, types.as_mut_ptr(), 1);
            let ty = LLVMIntrinsicGetType(self.context, id, types.as_mut_ptr(), 1);
            LLVMBuildCall2(self.builder, ty, function, [a, b].as_mut_ptr(), 2, c"".as_ptr())
        }
    }
}

/// How many steps of arithmetic are made once more at most.
const SOUND: u32 = 4;

/// Whether an integer is poison only if a promise of the arithmetic that makes it is broken.
fn is_sound(value: LLVMValueRef, depth: u32) -> bool {
    use LLVMOpcode::*;
    // SAFETY: the value is live, and each kind of value is asked for what it has.
    unsafe {
        let noundef = ir::enum_kind("noundef");
        if LLVMIsConstant(value) != 0 {
            return LLVMIsUndef(value) == 0;
        }
        if !LLVMIsAArgument(value).is_null() {
            return ir::parameter_attribute(value, "noundef").is_some();
        }
        match ir::opcode(value) {
            Some(LLVMCall) => {
                !LLVMGetCallSiteEnumAttribute(value, 0, noundef).is_null()
                    || ir::callee(value).is_some_and(|callee| {
                        !LLVMGetEnumAttributeAtIndex(callee, 0, noundef).is_null()
                    })
            }
            Some(
                LLVMAdd | LLVMSub | LLVMMul | LLVMAnd | LLVMOr | LLVMXor | LLVMZExt | LLVMTrunc,
            ) => depth > 0 && ir::operands(value).all(|operand| is_sound(operand, depth - 1)),
            // By a constant that is less than the bits that there are.
            Some(LLVMShl | LLVMLShr) => {
                let by = LLVMGetOperand(value, 1);
                let bits = LLVMGetIntTypeWidth(LLVMTypeOf(by));
                depth > 0
                    && bits <= 64
                    && !LLVMIsAConstantInt(by).is_null()
                    && LLVMConstIntGetZExtValue(by) < u64::from(bits)
                    && is_sound(LLVMGetOperand(value, 0), depth - 1)
            }
            _ => false,
        }
    }
}

impl Drop for Emit {
    fn drop(&mut self) {
        // SAFETY: the builder is this value's own.
        unsafe { LLVMDisposeBuilder(self.builder) };
    }
}
