//! Private memory in lanes: the locals of a work-item that are left in memory.
//!
//! Each lane needs its own. Where all accesses of a local are of one size, element after element,
//! the lanes' elements are interleaved: an access at the same index in all lanes is one vector.
//! Otherwise each lane has a whole copy, one behind the other. A local to which all lanes store the
//! same, such as a table that each work-item makes, stays one for all of them. So does what a
//! work-item has filled before a loop of independent iterations, each of which has a part of it.

use std::collections::{HashMap, HashSet};

use schism_llvm::{DataLayout, Opcode, TypeKind, Value};

use super::intrinsics::is_called;
use super::refusal::Refusal;
use super::region::Region;
use super::shape::Shape;

/// How many bytes the locals of one work-item may have.
const LIMIT: u64 = 16 << 10;

/// How a local lies in memory for all lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Elements of this size; behind each lane's one the next lane's.
    Interleaved(u64),
    /// A copy for each lane, this many bytes apart.
    Copies(u64),
}

/// A local.
pub(super) struct Private {
    pub layout: Layout,
    pub size: u64,
    pub align: u32,
}

/// The locals of a region.
#[derive(Default)]
pub(super) struct Privates<'m> {
    pub all: HashMap<Value<'m>, Private>,
    /// The same, in their order.
    pub order: Vec<Value<'m>>,
    /// For each address of a local, the local.
    pointers: HashMap<Value<'m>, Value<'m>>,
    /// The addresses of locals that are one for all lanes, as all store the same, and the local.
    pub shared: HashMap<Value<'m>, Value<'m>>,
    /// The addresses that are computed outside of the region, each behind those that it is made of.
    pub outside: Vec<Value<'m>>,
}

/// Whether a local's lifetime begins in each work-item, before all uses: then it does not matter what
/// others hold in the same memory, such as work-items of another loop. These may only access it: an address
/// that they keep may come back.
pub(super) fn begins_inside<'m>(
    region: &Region<'m>,
    local: Value<'m>,
    pointers: &[Value<'m>],
) -> bool {
    let cfg = &region.cfg;
    let is_called_one =
        |user: &Value<'m>, name| user.callee().is_some_and(|callee| is_called(callee, name));
    let is_start = |user: &Value<'m>| is_called_one(user, "lifetime.start");
    let only_accesses = |user: &Value<'m>, pointer: Value<'m>| match user.opcode() {
        Some(Opcode::Load | Opcode::GetElementPtr) => true,
        Some(Opcode::Store) => user.operand(0) != pointer,
        _ => is_start(user) || is_called_one(user, "lifetime.end"),
    };
    let is_kept = |pointer: &Value<'m>| {
        let users = pointer.users().into_iter();
        users.filter(|user| !region.has(*user)).any(|user| !only_accesses(&user, *pointer))
    };
    if pointers.iter().any(is_kept) {
        return false;
    }
    let Some(start) = local.users().into_iter().find(|user| region.has(*user) && is_start(user))
    else {
        return false;
    };
    let begins = cfg.block_of(start);
    let is_behind = |user: &Value<'m>| {
        let block = cfg.block_of(*user);
        if block != begins {
            return cfg.dominates(begins, block);
        }
        let order = cfg.blocks[block].instructions();
        let place = |of: Value<'m>| order.iter().position(|it| *it == of);
        place(start) <= place(*user)
    };
    // An address may be computed before.
    let accesses = |user: &Value<'m>| user.opcode() != Some(Opcode::GetElementPtr);
    let users = pointers.iter().flat_map(|pointer| pointer.users());
    users.filter(|user| region.has(*user) && accesses(user)).all(|user| is_behind(&user))
}

impl<'m> Privates<'m> {
    /// Those of a region.
    pub fn of_region(region: &Region<'m>, apart: &HashSet<Value<'m>>) -> Result<Self, Refusal> {
        let mut new = Self::default();
        let layout = region.function.module().data_layout();
        for (block, it) in region.cfg.blocks.iter().enumerate() {
            for local in it.instructions().into_iter().filter(|one| one.is_alloca()) {
                if region.contains(block) {
                    return Err(Refusal::Construct("memory of the stack taken in the loop"));
                }
                new.look_at(region, &layout, local, apart)?;
            }
        }
        if new.all.values().map(|one| one.size).sum::<u64>() > LIMIT {
            return Err(Refusal::Construct("much private memory"));
        }
        Ok(new)
    }

    /// The local that an address is of, if its lanes are interleaved.
    pub fn of(&self, pointer: Value<'m>) -> Option<(Value<'m>, u64)> {
        let &local = self.pointers.get(&pointer)?;
        match self.all[&local].layout {
            Layout::Interleaved(unit) => Some((local, unit)),
            Layout::Copies(_) => None,
        }
    }

    /// Whether an address is of a local, however its lanes lie.
    pub fn contains(&self, pointer: Value<'m>) -> bool {
        self.pointers.contains_key(&pointer) || self.shared.contains_key(&pointer)
    }

    /// Whether an address is of a local of which each lane has a whole copy.
    pub fn is_apart(&self, pointer: Value<'m>) -> bool {
        let local = self.pointers.get(&pointer);
        local.is_some_and(|local| matches!(self.all[local].layout, Layout::Copies(_)))
    }

    /// The shapes of addresses that come from outside of the region. Interleaved, an address stands
    /// for the element of the first lane.
    pub fn seeds(&self) -> impl Iterator<Item = (&Value<'m>, Shape)> {
        let is_outside =
            |pointer: &Value<'m>| pointer.is_alloca() || self.outside.contains(pointer);
        self.pointers.iter().filter(move |(pointer, _)| is_outside(pointer)).map(
            |(pointer, local)| {
                let shape = match self.all[local].layout {
                    Layout::Interleaved(_) => Shape::Uniform,
                    Layout::Copies(stride) => Shape::Strided(stride as i64),
                };
                (pointer, shape)
            },
        )
    }

    fn look_at(
        &mut self,
        region: &Region<'m>,
        layout: &DataLayout<'m>,
        local: Value<'m>,
        apart: &HashSet<Value<'m>>,
    ) -> Result<(), Refusal> {
        let is_inside = |user: Value<'m>| region.contains(region.cfg.block_of(user));
        let mut uses = Uses { size: None, uniform_size: true, is_used: false };
        let mut pointers = vec![local];
        let mut outside = Vec::new();
        let mut at = 0;
        while let Some(&pointer) = pointers.get(at) {
            at += 1;
            let mut seen = HashSet::new();
            for user in pointer.users() {
                if !user.is_instruction() || !seen.insert(user) {
                    continue;
                }
                let inside = is_inside(user);
                let is_mark = user.callee().is_some_and(|callee| {
                    is_called(callee, "lifetime.start") || is_called(callee, "lifetime.end")
                });
                if is_mark {
                    continue;
                }
                if user.opcode() == Some(Opcode::GetElementPtr) && user.operand(0) == pointer {
                    if !inside {
                        let block = region.cfg.block_of(user);
                        if !region.cfg.dominates(region.header, block) {
                            outside.push(user);
                        }
                    }
                    pointers.push(user);
                    continue;
                }
                if !inside {
                    continue;
                }
                uses.is_used = true;
                uses.look_at(layout, user, pointer);
            }
        }
        if !uses.is_used {
            return Ok(());
        }
        let before = |user: &Value<'m>| {
            user.is_instruction()
                && !is_inside(*user)
                && !region.cfg.dominates(region.header, region.cfg.block_of(*user))
                && user.opcode() != Some(Opcode::GetElementPtr)
                && !user.callee().is_some_and(|callee| is_called(callee, "lifetime.start"))
        };
        let used_before = !begins_inside(region, local, &pointers)
            && pointers.iter().any(|pointer| pointer.users().iter().any(before));
        if used_before && region.is_inside {
            // It is the work-item's, and what an iteration uses of it no other one writes.
            return Ok(());
        }
        if used_before {
            // Filled before the loop, and only read in it: all lanes read the same.
            let reads = pointers.iter().all(|pointer| {
                pointer.users().into_iter().filter(|&user| user.is_instruction()).all(|user| {
                    !is_inside(user)
                        || matches!(user.opcode(), Some(Opcode::Load | Opcode::GetElementPtr))
                })
            });
            return if reads {
                Ok(())
            } else {
                Err(Refusal::Construct("private memory that was filled before the loop"))
            };
        }
        let known = |pointer: &Value<'m>| {
            let users = pointer.users().into_iter().filter(|&user| user.is_instruction());
            users.filter(|&user| is_inside(user)).all(|user| is_known_use(user, *pointer))
        };
        if !apart.contains(&local) && pointers.iter().all(known) {
            self.shared.extend(pointers.iter().map(|&pointer| (pointer, local)));
            return Ok(());
        }
        if !local.operand(0).is_constant_int() || local.operand(0).as_unsigned() != Some(1) {
            return Err(Refusal::Construct("private memory of an unknown size"));
        }
        let size = layout.abi_size(local.allocated_type());
        let align = local.alignment();
        let unit = uses.size.filter(|&unit| {
            uses.uniform_size
                && unit > 0
                && size.is_multiple_of(unit)
                && pointers
                    .iter()
                    .all(|&pointer| pointer == local || steps_by(layout, pointer, unit))
        });
        let layout = match unit {
            Some(unit) => Layout::Interleaved(unit),
            None => Layout::Copies(size.max(1).next_multiple_of(align.into())),
        };
        self.order.push(local);
        self.all.insert(local, Private { layout, size, align });
        for pointer in pointers {
            self.pointers.insert(pointer, local);
        }
        self.outside.extend(outside);
        Ok(())
    }
}

/// Whether a use of an address reads, writes or moves it on and does nothing else.
fn is_known_use<'m>(user: Value<'m>, pointer: Value<'m>) -> bool {
    match user.opcode() {
        Some(Opcode::Load) => true,
        Some(Opcode::Store) => user.operand(0) != pointer,
        Some(Opcode::GetElementPtr) => user.operand(0) == pointer,
        Some(Opcode::Call) => user.callee().is_some_and(|callee| {
            let is = |name| is_called(callee, name);
            is("lifetime.start") || is("lifetime.end") || is_fill(user)
        }),
        _ => false,
    }
}

/// Whether a call copies or fills a constant number of bytes.
pub(super) fn is_fill(call: Value<'_>) -> bool {
    let is = |name| call.callee().is_some_and(|callee| is_called(callee, name));
    (is("memcpy") || is("memset")) && call.operand(2).is_constant_int() && call.operand(3).is_zero()
}

/// How a local is used in the region.
struct Uses {
    /// The size of the accesses.
    size: Option<u64>,
    /// Whether all are of that size.
    uniform_size: bool,
    is_used: bool,
}

impl Uses {
    fn look_at<'m>(&mut self, layout: &DataLayout<'m>, user: Value<'m>, pointer: Value<'m>) {
        let ty = match user.opcode() {
            Some(Opcode::Load) if user.is_simple() => user.ty(),
            Some(Opcode::Store)
                if user.operand(1) == pointer && user.operand(0) != pointer && user.is_simple() =>
            {
                user.operand(0).ty()
            }
            Some(Opcode::Call) if is_whole_memset(user, pointer) => {
                return;
            }
            _ => {
                self.uniform_size = false;
                return;
            }
        };
        let plain = ty.is_plain_number() || ty.kind() == TypeKind::Pointer;
        let size = layout.abi_size(ty);
        self.uniform_size &= plain && *self.size.get_or_insert(size) == size;
    }
}

/// Whether a call fills memory from an address on with a constant byte, a constant number of times.
pub(super) fn is_whole_memset<'m>(call: Value<'m>, pointer: Value<'m>) -> bool {
    call.callee().is_some_and(|callee| is_called(callee, "memset"))
        && call.operand(0) == pointer
        && call.operand(1).is_constant_int()
        && call.operand(2).as_unsigned().is_some_and(|length| length % 8 == 0)
        && call.operand(3).is_zero()
}

/// Whether all steps of an address are multiples of a number.
fn steps_by<'m>(layout: &DataLayout<'m>, address: Value<'m>, unit: u64) -> bool {
    let mut ty = address.gep_source_type();
    for (at, index) in address.operands().skip(1).enumerate() {
        if at > 0 {
            match ty.kind() {
                TypeKind::Struct => {
                    let Some(field) = index.as_unsigned() else { return false };
                    if !layout.offset_of(ty, field as u32).is_multiple_of(unit) {
                        return false;
                    }
                    ty = ty.field_type(field as u32);
                    continue;
                }
                TypeKind::Array => ty = ty.element_type(),
                _ => return false,
            }
        }
        let size = layout.abi_size(ty);
        let whole = match index.as_signed() {
            Some(index) => (index.unsigned_abs() * size).is_multiple_of(unit),
            None => {
                size.is_multiple_of(unit)
                    || unit.is_multiple_of(size)
                        && is_multiple(index, unit / size, &mut HashSet::new())
            }
        };
        if !whole {
            return false;
        }
    }
    true
}

/// Whether a number is a multiple of another one whatever its operands are. One of which that is being asked is
/// assumed to be: it is if what it starts with is, and each step keeps that.
fn is_multiple<'m>(value: Value<'m>, of: u64, asked: &mut HashSet<Value<'m>>) -> bool {
    /// How many numbers are looked at.
    const MOST: usize = 32;
    if let Some(number) = value.as_signed() {
        return number.unsigned_abs().is_multiple_of(of);
    }
    if !asked.insert(value) {
        return true;
    }
    if asked.len() > MOST || !of.is_power_of_two() {
        return false;
    }
    let [a, b] = [0, 1].map(|at| value.get_operand(at));
    match (value.opcode(), a, b) {
        (Some(Opcode::Add | Opcode::Sub), Some(a), Some(b)) => {
            is_multiple(a, of, asked) && is_multiple(b, of, asked)
        }
        (Some(Opcode::Or), Some(a), Some(b)) if value.is_disjoint() => {
            is_multiple(a, of, asked) && is_multiple(b, of, asked)
        }
        (Some(Opcode::Mul), Some(_), Some(b)) => {
            b.as_unsigned().is_some_and(|factor| factor.is_multiple_of(of))
        }
        (Some(Opcode::Shl), Some(_), Some(b)) => {
            b.as_unsigned().is_some_and(|bits| bits < 64 && (1_u64 << bits).is_multiple_of(of))
        }
        (Some(Opcode::Phi), ..) => {
            value.incoming_edges().into_iter().all(|(value, _)| is_multiple(value, of, asked))
        }
        (Some(Opcode::Select), ..) => (1..3).all(|at| is_multiple(value.operand(at), of, asked)),
        _ => false,
    }
}
