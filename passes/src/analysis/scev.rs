//! Scalar evolution: the values of a loop as add-recurrences `base + iteration * step`, in as many
//! bits as the value has.
//!
//! In iteration `j`, counted from 0, the add-recurrence `base`, `Up(step)` has the value `base + j
//! * step`, modulo 2^bits; `Down(step)` has `base - j * step`. Wrapping is not excluded: a caller
//! that compares the values of all iterations must rule it out. Expressions consist of loop-invariant
//! values; [`Emit`] turns them into instructions.

use std::collections::HashMap;
use std::rc::Rc;

use schism_llvm::{
    Builder, ContextRef, ModuleRef, Opcode, Type, TypeKind, Value, enum_kind, intrinsic_id,
};

use crate::ir::cfg::{Cfg, Loop};

/// An expression of values that a loop does not change.
pub(crate) type Expr<'m> = Rc<Node<'m>>;

/// What an expression is, and how many bits it has, 64 at most.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Node<'m> {
    pub bits: u32,
    pub kind: Kind<'m>,
    /// How many nodes there are, shared ones as often as they are used.
    size: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind<'m> {
    Constant(u64),
    /// An integer, or the address that a pointer is, of which nothing else is known.
    Unknown(Value<'m>),
    Sum(Expr<'m>, Expr<'m>),
    Difference(Expr<'m>, Expr<'m>),
    Product(Expr<'m>, Expr<'m>),
    ZeroExtended(Expr<'m>),
    SignExtended(Expr<'m>),
    Truncated(Expr<'m>),
}

/// How a value changes from iteration to iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step<'m> {
    None,
    Up(Expr<'m>),
    Down(Expr<'m>),
}

/// An add-recurrence: a value as a function of the iteration.
#[derive(Clone, Debug)]
pub(crate) struct AddRec<'m> {
    pub base: Expr<'m>,
    pub step: Step<'m>,
    /// The no-wrap conditions: narrower add-recurrences, of which this one is an extension, and
    /// which must not wrap in any iteration.
    pub no_wrap: Vec<Rc<AddRec<'m>>>,
}

fn node(bits: u32, kind: Kind<'_>) -> Expr<'_> {
    let inner = match &kind {
        Kind::Constant(_) | Kind::Unknown(_) => 0,
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

pub(crate) fn constant<'m>(bits: u32, value: u64) -> Expr<'m> {
    node(bits, Kind::Constant(value & mask(bits)))
}

/// The value of a constant.
pub(crate) fn known(expr: &Expr<'_>) -> Option<u64> {
    match expr.kind {
        Kind::Constant(value) => Some(value),
        _ => None,
    }
}

pub(crate) fn sum<'m>(a: &Expr<'m>, b: &Expr<'m>) -> Expr<'m> {
    match (known(a), known(b)) {
        (Some(a_value), Some(b_value)) => constant(a.bits, a_value.wrapping_add(b_value)),
        (Some(0), _) => b.clone(),
        (_, Some(0)) => a.clone(),
        _ => node(a.bits, Kind::Sum(a.clone(), b.clone())),
    }
}

pub(crate) fn difference<'m>(a: &Expr<'m>, b: &Expr<'m>) -> Expr<'m> {
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
pub(crate) fn before<'m>(expr: &Expr<'m>, by: u64) -> Option<Expr<'m>> {
    match &expr.kind {
        Kind::Sum(a, b) if known(b) == Some(by) => Some(a.clone()),
        Kind::Sum(a, b) if known(a) == Some(by) => Some(b.clone()),
        _ => None,
    }
}

/// An expression without the constants that are added to it, and their sum.
pub(crate) fn without_constant<'m>(expr: &Expr<'m>) -> (Expr<'m>, i64) {
    let (mut rest, mut sum) = (expr.clone(), 0_i64);
    while let Kind::Sum(a, b) = &rest.kind {
        let (other, by) = match (known(a), known(b)) {
            (_, Some(by)) => (a.clone(), by),
            (Some(by), None) => (b.clone(), by),
            _ => break,
        };
        sum = sum.wrapping_add(by as i64);
        rest = other;
    }
    (rest, sum)
}

fn product<'m>(a: &Expr<'m>, b: &Expr<'m>) -> Expr<'m> {
    match (known(a), known(b)) {
        (Some(a_value), Some(b_value)) => constant(a.bits, a_value.wrapping_mul(b_value)),
        (Some(1), _) | (_, Some(0)) => b.clone(),
        (_, Some(1)) | (Some(0), _) => a.clone(),
        _ => node(a.bits, Kind::Product(a.clone(), b.clone())),
    }
}

/// An expression in another number of bits; `sign` says how it becomes longer.
fn resized<'m>(expr: &Expr<'m>, bits: u32, sign: bool) -> Expr<'m> {
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

impl<'m> Step<'m> {
    fn each(&self, change: impl FnOnce(&Expr<'m>) -> Expr<'m>) -> Self {
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

impl<'m> AddRec<'m> {
    /// What is the same in all iterations.
    pub fn fixed(base: Expr<'m>) -> Self {
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

    fn plus(mut self, other: AddRec<'m>) -> Self {
        self.base = sum(&self.base, &other.base);
        self.step = self.step.plus(&other.step);
        self.no_wrap.extend(other.no_wrap);
        self
    }

    pub(crate) fn minus(mut self, other: AddRec<'m>) -> Self {
        self.base = difference(&self.base, &other.base);
        self.step = self.step.plus(&other.step.reversed());
        self.no_wrap.extend(other.no_wrap);
        self
    }

    fn product(self, other: AddRec<'m>) -> Option<Self> {
        match (self.is_fixed(), other.is_fixed()) {
            (_, true) => Some(self.times(&other.base)),
            (true, false) => Some(other.times(&self.base)),
            (false, false) => None,
        }
    }

    fn zero_extended(self, bits: u32) -> Self {
        let mut outer = AddRec {
            base: resized(&self.base, bits, false),
            step: self.step.each(|size| resized(size, bits, false)),
            no_wrap: self.no_wrap.clone(),
        };
        if !self.is_fixed() {
            outer.no_wrap.push(Rc::new(self));
        }
        outer
    }

    fn sign_extended(self, bits: u32) -> Option<Self> {
        self.is_fixed().then(|| AddRec::fixed(resized(&self.base, bits, true)))
    }

    fn truncated(mut self, bits: u32) -> Self {
        self.base = resized(&self.base, bits, false);
        self.step = self.step.each(|size| resized(size, bits, false));
        self
    }

    fn times(mut self, factor: &Expr<'m>) -> Self {
        self.base = product(&self.base, factor);
        self.step = self.step.each(|size| product(size, factor));
        self
    }
}

/// Finds out what values of one loop are.
pub(crate) struct Values<'a, 'm> {
    cfg: &'a Cfg<'m>,
    of: &'a Loop,
    seen: HashMap<Value<'m>, Option<AddRec<'m>>>,
}

/// How deep expressions are followed.
const DEPTH: u32 = 24;

/// How large they may become.
const NODES: u32 = 64;

impl<'a, 'm> Values<'a, 'm> {
    pub fn new(cfg: &'a Cfg<'m>, of: &'a Loop) -> Self {
        Values { cfg, of, seen: HashMap::new() }
    }

    /// Whether a value is loop-invariant because it is defined outside of the loop.
    pub fn is_outside(&self, value: Value<'m>) -> bool {
        value.opcode().is_none() || !self.of.blocks.contains(&self.cfg.block_of(value))
    }

    /// Takes an integer or a pointer that the loop computes for what is the same in all iterations.
    pub fn assume_fixed(&mut self, value: Value<'m>) {
        if let Some(bits) = bits_of(value) {
            self.seen.insert(value, Some(AddRec::fixed(node(bits, Kind::Unknown(value)))));
        }
    }

    /// An integer or a pointer as a function of the iteration.
    pub fn add_rec(&mut self, value: Value<'m>) -> Option<AddRec<'m>> {
        self.within(value, DEPTH)
    }

    /// An expression of values that a loop inside of this one does not change, as a function of this loop's
    /// iteration.
    pub fn of_expression(&mut self, expr: &Expr<'m>) -> Option<AddRec<'m>> {
        let bits = expr.bits;
        let found = match &expr.kind {
            Kind::Constant(_) => AddRec::fixed(expr.clone()),
            Kind::Unknown(value) => self.add_rec(*value)?,
            Kind::Sum(a, b) => self.of_expression(a)?.plus(self.of_expression(b)?),
            Kind::Difference(a, b) => self.of_expression(a)?.minus(self.of_expression(b)?),
            Kind::Product(a, b) => self.of_expression(a)?.product(self.of_expression(b)?)?,
            Kind::ZeroExtended(inner) => self.of_expression(inner)?.zero_extended(bits),
            Kind::SignExtended(inner) => self.of_expression(inner)?.sign_extended(bits)?,
            Kind::Truncated(inner) => self.of_expression(inner)?.truncated(bits),
        };
        Some(found).filter(AddRec::is_small)
    }

    fn within(&mut self, value: Value<'m>, depth: u32) -> Option<AddRec<'m>> {
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

    fn find(&mut self, value: Value<'m>, depth: u32) -> Option<AddRec<'m>> {
        let bits = bits_of(value)?;
        if value.is_constant_int() {
            return Some(AddRec::fixed(constant(bits, value.zext_value())));
        }
        if self.is_outside(value) {
            let unknown = || AddRec::fixed(node(bits, Kind::Unknown(value)));
            return Some(self.place(value, depth).unwrap_or_else(unknown));
        }
        let operand = |index| value.operand(index);
        match value.opcode()? {
            Opcode::Phi => self.counter(value),
            Opcode::Add => {
                Some(self.within(operand(0), depth)?.plus(self.within(operand(1), depth)?))
            }
            Opcode::Sub => {
                Some(self.within(operand(0), depth)?.minus(self.within(operand(1), depth)?))
            }
            Opcode::Or if value.is_disjoint() => {
                Some(self.within(operand(0), depth)?.plus(self.within(operand(1), depth)?))
            }
            // `-1 - x`
            Opcode::Xor => {
                let (a, b) = (self.within(operand(0), depth)?, self.within(operand(1), depth)?);
                let ones = known(&b.base) == Some(mask(bits)) && b.is_fixed();
                ones.then(|| b.plus(a.negated()))
            }
            Opcode::Mul => self.within(operand(0), depth)?.product(self.within(operand(1), depth)?),
            Opcode::Shl => {
                let by = self.within(operand(1), depth)?;
                let by =
                    known(&by.base).filter(|&shift| by.is_fixed() && shift < u64::from(bits))?;
                Some(self.within(operand(0), depth)?.times(&constant(bits, 1 << by)))
            }
            Opcode::ZExt => Some(self.within(operand(0), depth)?.zero_extended(bits)),
            Opcode::GetElementPtr => match offset(value) {
                Some(by) => {
                    let by = AddRec::fixed(constant(bits, by));
                    Some(self.within(operand(0), depth)?.plus(by))
                }
                None => self.place(value, depth),
            },
            Opcode::SExt => self.within(operand(0), depth)?.sign_extended(bits),
            Opcode::Trunc => Some(self.within(operand(0), depth)?.truncated(bits)),
            _ => None,
        }
    }

    /// The address that a `getelementptr` with one index makes.
    fn place(&mut self, value: Value<'m>, depth: u32) -> Option<AddRec<'m>> {
        let (first, index, size) = value.element()?;
        if bits_of(index) != Some(64) {
            return None;
        }
        let by = self.within(index, depth)?.times(&constant(64, size));
        Some(self.within(first, depth)?.plus(by)).filter(AddRec::is_small)
    }

    /// A phi of the header that the latch changes by the same amount in every iteration.
    fn counter(&mut self, phi: Value<'m>) -> Option<AddRec<'m>> {
        let (cfg, of) = (self.cfg, self.of);
        if cfg.block_of(phi) != of.header {
            return None;
        }
        let incoming = |block: usize| phi.incoming(cfg.blocks[block]);
        let (start, next) = (incoming(of.preheader)?, incoming(of.latch)?);
        let bits = bits_of(phi)?;
        let base = self.within(start, 1)?.base;
        if self.is_outside(next) {
            return None;
        }
        let operand = |index| next.operand(index);
        let step = match next.opcode()? {
            Opcode::Add if operand(0) == phi => self.fixed(operand(1))?,
            Opcode::Add if operand(1) == phi => self.fixed(operand(0))?,
            Opcode::Sub if operand(0) == phi => {
                let size = self.fixed(operand(1))?;
                return Some(AddRec { base, step: Step::Down(size), no_wrap: Vec::new() });
            }
            Opcode::GetElementPtr if operand(0) == phi => constant(bits, offset(next)?),
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

    fn fixed(&mut self, value: Value<'m>) -> Option<Expr<'m>> {
        let outside = self.is_outside(value);
        outside.then(|| self.within(value, 1)).flatten().map(|add_rec| add_rec.base)
    }
}

/// The bits of an integer of at most 64, or of a pointer with 64; others have none here.
fn bits_of(value: Value<'_>) -> Option<u32> {
    let ty = value.ty();
    match ty.kind() {
        TypeKind::Integer => Some(ty.int_width()).filter(|bits| *bits <= 64),
        TypeKind::Pointer => Some(64),
        _ => None,
    }
}

/// Whether a value is a pointer.
pub(crate) fn is_pointer(value: Value<'_>) -> bool {
    value.ty().kind() == TypeKind::Pointer
}

/// Whether all addresses of the pointer's memory are numbers of 64 bits.
pub(crate) fn is_wide_pointer<'m>(module: ModuleRef<'m>, value: Value<'m>) -> bool {
    let ty = value.ty();
    ty.kind() == TypeKind::Pointer && module.data_layout().pointer_size(ty.address_space()) == 8
}

/// How many bytes a `getelementptr` with one constant index continues.
fn offset(instruction: Value<'_>) -> Option<u64> {
    let (_, index, size) = instruction.element()?;
    let index = {
        if !index.is_constant_int() {
            return None;
        }
        index.sext_value()
    };
    Some((index as u64).wrapping_mul(size))
}

/// Makes instructions of expressions, before one instruction.
pub(crate) struct Emit<'m> {
    builder: Builder<'m>,
    context: ContextRef<'m>,
    module: ModuleRef<'m>,
    /// Unknowns, frozen: the program may not use them where these expressions do, so they may be poison.
    unknowns: HashMap<Value<'m>, Value<'m>>,
}

impl<'m> Emit<'m> {
    pub fn before(before: Value<'m>) -> Self {
        let module = before.parent_function().module();
        let context = module.context();
        let builder = Builder::before(before);
        Emit { builder, context, module, unknowns: HashMap::new() }
    }

    pub fn builder(&self) -> &Builder<'m> {
        &self.builder
    }

    fn int(&self, bits: u32) -> Type<'m> {
        self.context.int_type(bits)
    }

    /// Has another value, which is there already, stand for an unknown that the loop computes.
    pub fn stands_for(&mut self, value: Value<'m>, unknown: Value<'m>) {
        let number = match is_pointer(value) {
            true => self.builder.ptrtoint(value, self.int(64)),
            false => value,
        };
        let number = self.builder.freeze(number);
        self.unknowns.insert(unknown, number);
    }

    pub fn number(&self, bits: u32, value: u64) -> Value<'m> {
        self.int(bits).const_int(value & mask(bits), false)
    }

    /// The expression's value.
    pub fn value(&mut self, expr: &Expr<'m>) -> Value<'m> {
        let ty = self.int(expr.bits);
        match &expr.kind {
            Kind::Constant(value) => self.number(expr.bits, *value),
            Kind::Unknown(unknown) => self.definite(*unknown),
            Kind::Sum(a, b) | Kind::Difference(a, b) | Kind::Product(a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                match expr.kind {
                    Kind::Sum(..) => self.builder.add(a, b),
                    Kind::Difference(..) => self.builder.sub(a, b),
                    _ => self.builder.mul(a, b),
                }
            }
            Kind::ZeroExtended(inner) => {
                let inner = self.value(inner);
                self.builder.zext(inner, ty)
            }
            Kind::SignExtended(inner) => {
                let inner = self.value(inner);
                self.builder.sext(inner, ty)
            }
            Kind::Truncated(inner) => {
                let inner = self.value(inner);
                self.builder.trunc(inner, ty)
            }
        }
    }

    /// An unknown that is not poison, as a number.
    fn definite(&mut self, unknown: Value<'m>) -> Value<'m> {
        if let Some(&known) = self.unknowns.get(&unknown) {
            return known;
        }
        // The address is made definite, and the pointer left alone: of what comes of a definite one
        // LLVM does not know what it points to. SAFETY: the unknown is a live integer or pointer
        // that dominates the builder's place.
        let value = {
            let unknown =
                if is_sound(unknown, SOUND) { self.without_promises(unknown) } else { unknown };
            let value = match is_pointer(unknown) {
                true => self.builder.ptrtoint(unknown, self.int(64)),
                false => unknown,
            };
            match is_sound(unknown, SOUND) {
                true => value,
                false => self.builder.freeze(value),
            }
        };
        self.unknowns.insert(unknown, value);
        value
    }

    /// The same arithmetic once more, without the promises (`nuw`, say) that make poison of it
    /// where they are broken. LLVM knows the range of what comes out, which it does not of a
    /// `freeze`.
    fn without_promises(&mut self, value: Value<'m>) -> Value<'m> {
        let Some(opcode) = value.opcode().filter(|opcode| *opcode != Opcode::Call) else {
            return value;
        };
        let ty = value.ty();
        let mut operand = |index| {
            let operand = value.operand(index);
            self.without_promises(operand)
        };
        let first = operand(0);
        match opcode {
            Opcode::ZExt | Opcode::Trunc => self.builder.cast(opcode, first, ty),
            _ => {
                let second = operand(1);
                self.builder.binary(opcode, first, second)
            }
        }
    }

    /// A value that is used as a condition, not poison.
    pub fn condition(&mut self, value: Value<'m>) -> Value<'m> {
        self.definite(value)
    }

    /// The expression's value in 64 bits.
    pub fn wide(&mut self, expr: &Expr<'m>) -> Value<'m> {
        let value = self.value(expr);
        if expr.bits == 64 {
            return value;
        }
        self.builder.zext(value, self.int(64))
    }

    /// Calls an intrinsic of two numbers of one type.
    pub fn intrinsic(&self, intrinsic: &str, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        let id = intrinsic_id(intrinsic);
        let types = [a.ty()];
        let function = self.module.intrinsic(id, &types);
        let ty = self.context.intrinsic_type(id, &types);
        self.builder.call(ty, function, &[a, b])
    }
}

/// How many steps of arithmetic are made once more at most.
const SOUND: u32 = 4;

/// Whether an integer is poison only if a promise of the arithmetic that makes it is broken.
fn is_sound(value: Value<'_>, depth: u32) -> bool {
    let noundef = enum_kind("noundef");
    if value.is_constant() {
        return !value.is_undef();
    }
    if value.is_argument() {
        return value.parameter_attribute("noundef").is_some();
    }
    match value.opcode() {
        Some(Opcode::Call) => {
            value.call_enum_attribute(0, noundef).is_some()
                || value.callee().is_some_and(|callee| callee.enum_attribute(0, noundef).is_some())
        }
        Some(
            Opcode::Add
            | Opcode::Sub
            | Opcode::Mul
            | Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::ZExt
            | Opcode::Trunc,
        ) => depth > 0 && value.operands().all(|operand| is_sound(operand, depth - 1)),
        // By a constant that is less than the bits that there are.
        Some(Opcode::Shl | Opcode::LShr) => {
            let by = value.operand(1);
            let bits = by.ty().int_width();
            depth > 0
                && bits <= 64
                && by.is_constant_int()
                && by.zext_value() < u64::from(bits)
                && is_sound(value.operand(0), depth - 1)
        }
        _ => false,
    }
}

impl<'m> Drop for Emit<'m> {
    fn drop(&mut self) {}
}
