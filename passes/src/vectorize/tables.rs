//! Fills tables once that each work-item would fill with the same.
//!
//! A closure has captured the weights of a filter, and each work-item copies them:
//! ```llvm
//! item:
//!   %x = phi i64 [ %begin, %start ], [ %x.after, %item ]
//!   call void @llvm.lifetime.start.p0(ptr %weights)
//!   store float %w0, ptr %weights
//!   %weights.1 = getelementptr i8, ptr %weights, i64 4
//!   store float %w1, ptr %weights.1
//!   …
//!   %w = load float, ptr %weights.k
//!   call void @llvm.lifetime.end.p0(ptr %weights)
//! ```
//! The stores move before the loop, and the lifetime begins there:
//! ```llvm
//! start:
//!   call void @llvm.lifetime.start.p0(ptr %weights)
//!   store float %w0, ptr %weights
//!   …
//! ```
//! **What it relies on.** The lifetime begins before all other uses in the loop, so nothing goes from
//! one work-item to the next. All stores are of values from outside of the loop, to places that do not
//! overlap, and nothing else writes there: each load gets what is stored to its place, whenever that is.

use schism_llvm::{Block, Builder, Opcode, Value};

use super::intrinsics::is_called;
use super::private::begins_inside;
use super::region::Region;
use crate::ir::address::base_and_offset;
use crate::ir::cfg::Cfg;

/// How many instructions use a table at most.
const USES: usize = 400;

/// Moves what fills tables out of the loops of a function with these latches. Returns whether there are any.
pub(super) fn run<'m>(function: Value<'m>, latches: &[Block<'m>]) -> bool {
    let mut any = false;
    for &latch in latches {
        let cfg = Cfg::of(function);
        let latch = cfg.index[&latch];
        let Ok(region) = Region::of(cfg, function, latch) else { continue };
        for local in function.allocas() {
            if let Some(table) = Table::of(&region, local) {
                table.fill_in_front(&region);
                any = true;
            }
        }
    }
    any
}

/// A local that each work-item fills with the same.
struct Table<'m> {
    starts: Vec<Value<'m>>,
    ends: Vec<Value<'m>>,
    /// With the addresses that are computed in the loop, each before its store.
    stores: Vec<Value<'m>>,
}

impl<'m> Table<'m> {
    fn of(region: &Region<'m>, local: Value<'m>) -> Option<Self> {
        let layout = region.function.module().data_layout();
        let mut table = Self { starts: Vec::new(), ends: Vec::new(), stores: Vec::new() };
        let mut places: Vec<(i64, i64)> = Vec::new();
        let mut pointers = vec![local];
        let mut at = 0;
        while let Some(&pointer) = pointers.get(at) {
            at += 1;
            if pointers.len() > USES {
                return None;
            }
            for user in pointer.users() {
                if user.opcode() == Some(Opcode::GetElementPtr) && user.operand(0) == pointer {
                    pointers.push(user);
                    continue;
                }
                if !region.has(user) {
                    continue;
                }
                let called = |name| user.callee().is_some_and(|callee| is_called(callee, name));
                match user.opcode() {
                    Some(Opcode::Load) if user.is_simple() => {}
                    Some(Opcode::Store) if user.is_simple() => {
                        let value = user.operand(0);
                        if value == pointer || region.has(value) {
                            return None;
                        }
                        let (base, place) = base_and_offset(pointer);
                        if base != local {
                            return None;
                        }
                        let end = place.checked_add(layout.abi_size(value.ty()) as i64)?;
                        if places.iter().any(|&(first, last)| place < last && first < end) {
                            return None;
                        }
                        places.push((place, end));
                        table.stores.push(user);
                    }
                    Some(Opcode::Call) if called("lifetime.start") => table.starts.push(user),
                    Some(Opcode::Call) if called("lifetime.end") => table.ends.push(user),
                    _ => return None,
                }
            }
        }
        let fills = !table.stores.is_empty() && table.starts.len() == 1;
        (fills && begins_inside(region, local, &pointers)).then_some(table)
    }

    fn fill_in_front(&self, region: &Region<'m>) {
        let end = region.cfg.blocks[region.preheader].end();
        let builder = Builder::before(end);
        let move_out = |one: Value<'m>| {
            one.remove_from_block();
            builder.insert(one);
        };
        self.starts.iter().copied().for_each(move_out);
        for &store in &self.stores {
            // All indices are constants.
            let mut addresses = Vec::new();
            let mut address = store.operand(1);
            while region.has(address) {
                addresses.push(address);
                address = address.operand(0);
            }
            addresses.into_iter().rev().for_each(move_out);
            move_out(store);
        }
        self.ends.iter().for_each(|end| end.erase());
    }
}
