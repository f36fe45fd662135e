//! By which of its parameters a kernel reaches memory.
//!
//! ```llvm
//! define ptx_kernel void @scale(ptr byval([24 x i8]) %slices, i64 %count) {
//!   %from = load ptr, ptr %slices
//!   %to.at = getelementptr i8, ptr %slices, i64 16
//!   %to = load ptr, ptr %to.at
//!   %x = load double, ptr %from
//!   store double %x, ptr %to
//! ```
//!
//! Whatever the kernel reads or writes is behind the addresses that it was passed at the bytes 0 and
//! 16 of `%slices`: it computes addresses from nothing else, and finds none in memory. So a launch
//! whose two addresses a device can use needs no look at the rest of the process's memory.

use std::collections::{BTreeSet, HashSet};

use schism_llvm::{Opcode, TypeKind, Value};

use crate::spec::target::NVPTX;

/// An address that a kernel is passed: the number of the parameter, and the byte in it.
pub type ParameterOffset = (u32, u64);

/// A kernel with more of them is not described.
const MOST: usize = 32;

/// The addresses by which an optimised kernel reaches all memory that is not its own; `None` if it
/// may reach memory otherwise.
pub fn of(kernel: Value<'_>) -> Option<BTreeSet<ParameterOffset>> {
    let mut search = Search::default();
    for instruction in kernel.instructions() {
        match instruction.opcode()? {
            Opcode::Load => search.follow(instruction.operand(0), Access::Read)?,
            Opcode::AtomicRMW | Opcode::AtomicCmpXchg => {
                search.follow(instruction.operand(0), Access::Write)?;
            }
            Opcode::Store => search.follow(instruction.operand(1), Access::Write)?,
            Opcode::Call => search.call(instruction)?,
            Opcode::Invoke | Opcode::CallBr | Opcode::VAArg => return None,
            // Neither reads nor writes memory.
            _ => {}
        }
    }
    (search.found.len() <= MOST).then_some(search.found)
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Access {
    Read,
    Write,
}

#[derive(Default)]
struct Search<'m> {
    /// Addresses that were followed.
    seen: HashSet<(Value<'m>, Access)>,
    found: BTreeSet<ParameterOffset>,
}

impl<'m> Search<'m> {
    /// Follows an address to its underlying objects. What is passed by value must stay as it is:
    /// otherwise an address in it may be another.
    fn follow(&mut self, address: Value<'m>, access: Access) -> Option<()> {
        let mut open = vec![address];
        while let Some(address) = open.pop() {
            if !self.seen.insert((address, access)) {
                continue;
            }
            if address.is_argument() {
                match byval_index(address) {
                    Some(_) if access == Access::Write => return None,
                    Some(_) => {}
                    None => drop(self.found.insert((address.param_index()?, 0))),
                }
            } else if address.is_global_variable() {
                // A variable of the module, or the local memory of the group.
                let is_local = address.address_space() == Some(NVPTX.local);
                if address.initializer().is_none() && !is_local {
                    return None;
                }
            } else if address.is_constant_expression() {
                match address.const_opcode() {
                    Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast => {
                        open.push(address.operand(0));
                    }
                    _ => return None,
                }
            } else {
                match address.opcode() {
                    // A null address, through which there is no access.
                    None if address.is_constant() && !address.is_function() => {}
                    Some(Opcode::Alloca) => {}
                    Some(
                        Opcode::GetElementPtr
                        | Opcode::AddrSpaceCast
                        | Opcode::BitCast
                        | Opcode::Freeze,
                    ) => open.push(address.operand(0)),
                    Some(Opcode::Select) => open.extend([address.operand(1), address.operand(2)]),
                    Some(Opcode::Phi) => {
                        open.extend(address.incoming_edges().into_iter().map(|(value, _)| value));
                    }
                    Some(Opcode::Load) => drop(self.found.insert(passed(address)?)),
                    _ => return None,
                }
            }
        }
        Some(())
    }

    /// A call: LLVM's own operations use nothing but the addresses that they are passed.
    fn call(&mut self, call: Value<'m>) -> Option<()> {
        if call.called_value().is_inline_assembly() && call.num_args() == 0 {
            return Some(());
        }
        call.direct_callee().filter(|callee| callee.is_intrinsic())?;
        if call.calls_intrinsic(&["memcpy.", "memmove."]) {
            self.follow(call.operand(0), Access::Write)?;
            return self.follow(call.operand(1), Access::Read);
        }
        call.args().into_iter().try_for_each(|argument| match argument.ty().kind() {
            TypeKind::Pointer => self.follow(argument, Access::Write),
            // It may have addresses.
            TypeKind::Vector | TypeKind::Struct | TypeKind::Array => None,
            _ => Some(()),
        })
    }
}

/// Where a load finds an address that the kernel was passed.
fn passed(load: Value<'_>) -> Option<ParameterOffset> {
    let layout = load.parent_function().module().data_layout();
    let (mut at, mut offset) = (load.operand(0), 0_i64);
    loop {
        if let Some(index) = byval_index(at) {
            return Some((index, u64::try_from(offset).ok()?));
        }
        match at.opcode()? {
            Opcode::GetElementPtr => offset = offset.checked_add(layout.constant_offset(at)?)?,
            Opcode::AddrSpaceCast => {}
            _ => return None,
        }
        at = at.operand(0);
    }
}

/// The number of a parameter that is passed by value, in memory.
fn byval_index(value: Value<'_>) -> Option<u32> {
    let index = value.is_argument().then(|| value.param_index()).flatten()?;
    value.param_function().byval_size(index).map(|_| index)
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;
    use schism_llvm::AsModule;

    use super::*;

    /// What is found for a kernel with this body.
    fn found(body: &str) -> Option<Vec<ParameterOffset>> {
        let text = format!(
            "@table = internal addrspace(1) constant [4 x i64] zeroinitializer
             @hosts = external addrspace(1) global i64
             @group = external addrspace(3) global [0 x i8]
             declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
             declare void @other(ptr)
             define void @kernel(ptr addrspace(1) %a, ptr byval([32 x i8]) %b, i64 %i) {{
               {body}
               ret void
             }}\0"
        );
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = context.create_module_from_ir(buffer).expect("it is LLVM's text");
        let kernel = module.handle().function("kernel").expect("it is there");
        of(kernel).map(|found| found.into_iter().collect())
    }

    #[test]
    fn addresses_that_a_kernel_is_passed() {
        let own = "%own = alloca i64
            %at = getelementptr i64, ptr addrspace(1) %a, i64 %i
            %x = load i64, ptr addrspace(1) %at
            store i64 %x, ptr %own
            %y.at = getelementptr i64, ptr addrspace(1) @table, i64 %x
            %y = atomicrmw add ptr addrspace(3) @group, i64 %x monotonic";
        assert_eq!(found(own), Some(vec![(0, 0)]));
        let aggregate = "%p = load ptr, ptr %b
            %q.at = getelementptr { i64, [2 x ptr] }, ptr %b, i64 0, i32 1, i64 1
            %q = load ptr, ptr %q.at
            %c = icmp eq i64 %i, 0
            %r = select i1 %c, ptr %p, ptr %q
            store i64 %i, ptr %r";
        assert_eq!(found(aggregate), Some(vec![(1, 0), (1, 16)]));
        let copied = "%p = load ptr, ptr %b
            call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %b, i64 8, i1 false)";
        assert_eq!(found(copied), Some(vec![(1, 0)]));
        // An address that is passed and not used.
        assert_eq!(found("%p = load ptr, ptr %b"), Some(vec![]));
    }

    #[test]
    fn addresses_from_elsewhere() {
        let bodies = [
            // Found in memory.
            "%p = load ptr, ptr addrspace(1) %a
             store i64 0, ptr %p",
            // A number.
            "%p = inttoptr i64 %i to ptr
             store i64 0, ptr %p",
            "store i64 0, ptr inttoptr (i64 4096 to ptr)",
            // Somewhere in what is passed.
            "%at = getelementptr ptr, ptr %b, i64 %i
             %p = load ptr, ptr %at
             store i64 0, ptr %p",
            // In what was passed, which has changed.
            "store i64 %i, ptr %b
             %p = load ptr, ptr %b
             store i64 0, ptr %p",
            "call void @llvm.memcpy.p0.p0.i64(ptr %b, ptr %b, i64 8, i1 false)",
            // In a local.
            "%own = alloca ptr
             %p = load ptr, ptr %own
             store i64 0, ptr %p",
            "store i64 0, ptr addrspace(1) @hosts",
            "call void @other(ptr null)",
        ];
        for body in bodies {
            assert_eq!(found(body), None, "{body}");
        }
    }
}
