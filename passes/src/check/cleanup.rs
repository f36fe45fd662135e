//! Finds kernels whose unwinding the program would notice.
//!
//! Changes nothing. Where kernels do not unwind, a panic leaves undone what destructors and guards
//! would do. Nobody notices if that is about memory of the work-item's own, which ends with it:
//! ```llvm
//!   invoke void @closure(ptr %item) to label %next unwind label %cleanup
//! cleanup:
//!   %pad = landingpad { ptr, i32 } cleanup
//!   store i64 %length, ptr %of_vector                  ; the length of the program's vector
//!   resume { ptr, i32 } %pad
//! ```
//! This is a summary of each function: which of its parameters point to what its cleanup may change,
//! and whether it may change anything else. A local variable that a caller passes is the caller's own.
//! It runs before landing pads are removed, and before anything is inlined.

use std::collections::{BTreeSet, HashMap, HashSet};

use inkwell::module::Module;
use schism_llvm::{AsModule, Block, Opcode, Value};

use crate::check::capabilities::reached_from;
use crate::spec::builtins;
use crate::spec::device::DeviceSpec;
use crate::spec::image::{Capability, KernelImage};

/// Notes the kernels in the program's memory whose cleanup changes some of it.
pub fn run(module: &Module<'_>, spec: &DeviceSpec, kernels: &mut [KernelImage]) {
    let module = module.handle();
    let of_program: Vec<(&mut KernelImage, Value<'_>)> = kernels
        .iter_mut()
        .zip(&spec.kernels)
        .filter(|(image, _)| spec.host_memory.contains(&image.name))
        .filter_map(|(image, kernel)| Some((image, module.function(&kernel.entry)?)))
        .collect();
    let entries: Vec<Value<'_>> = of_program.iter().map(|(_, entry)| *entry).collect();
    let summaries = Summaries::of(&reached_from(&entries));
    for (image, entry) in of_program {
        if summaries.cleanup.get(&entry).is_some_and(|places| !places.is_empty()) {
            image.capabilities.insert(Capability::Unwinding);
        }
    }
}

/// Memory as a function knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// What a parameter points to.
    Parameter(u32),
    /// Any other that is not a local variable.
    Elsewhere,
}

type Places = BTreeSet<Place>;

/// What functions may change.
#[derive(Default)]
struct Summaries<'m> {
    /// In whatever they do.
    writes: HashMap<Value<'m>, Places>,
    /// In their cleanup, and in that of what they call.
    cleanup: HashMap<Value<'m>, Places>,
}

impl<'m> Summaries<'m> {
    fn of(functions: &[Value<'m>]) -> Self {
        let mut summaries = Self::default();
        let bodies: Vec<(Value<'m>, Vec<Value<'m>>, HashSet<Value<'m>>)> = functions
            .iter()
            .filter(|function| !function.is_declaration())
            .map(|&function| (function, function.instructions(), in_cleanup(function)))
            .collect();
        loop {
            let mut changed = false;
            for (function, instructions, in_cleanup) in &bodies {
                let (mut writes, mut cleanup) = (Places::new(), Places::new());
                for &instruction in instructions {
                    let written = summaries.written(instruction);
                    if in_cleanup.contains(&instruction) {
                        cleanup.extend(&written);
                    }
                    writes.extend(written);
                    if let Some(called) = instruction.callee()
                        && let Some(of_callee) = summaries.cleanup.get(&called)
                    {
                        cleanup.extend(at_call(instruction, of_callee));
                    }
                }
                let (old_writes, old_cleanup) = (
                    summaries.writes.insert(*function, writes.clone()),
                    summaries.cleanup.insert(*function, cleanup.clone()),
                );
                changed |= old_writes != Some(writes) || old_cleanup != Some(cleanup);
            }
            if !changed {
                return summaries;
            }
        }
    }

    /// The memory that an instruction may change.
    fn written(&self, instruction: Value<'m>) -> Places {
        match instruction.opcode() {
            Some(Opcode::Store) => places(instruction.operand(1)),
            Some(Opcode::AtomicRMW | Opcode::AtomicCmpXchg) => places(instruction.operand(0)),
            Some(Opcode::Call | Opcode::Invoke | Opcode::CallBr) => {
                let Some(called) = instruction.callee() else {
                    return Places::from([Place::Elsewhere]);
                };
                if let Some(written) = self.writes.get(&called) {
                    return at_call(instruction, written);
                }
                if !called.is_declaration() {
                    // In the next round.
                    return Places::new();
                }
                let name = called.name();
                let copies = ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."];
                if copies.iter().any(|prefix| name.starts_with(prefix)) {
                    return places(instruction.operand(0));
                }
                let is_known = name.starts_with("llvm.")
                    || builtins::is_builtin(&name)
                    || called.has_function_attribute("noreturn");
                if is_known { Places::new() } else { Places::from([Place::Elsewhere]) }
            }
            _ => Places::new(),
        }
    }
}

/// What a call changes, by what the called function changes.
fn at_call(call: Value<'_>, of_callee: &Places) -> Places {
    let mut all = Places::new();
    for place in of_callee {
        match place {
            Place::Parameter(index) if *index < call.num_args() => {
                all.extend(places(call.operand(*index)));
            }
            _ => _ = all.insert(Place::Elsewhere),
        }
    }
    all
}

/// Where an address may point, besides local variables.
fn places(address: Value<'_>) -> Places {
    let (mut all, mut seen, mut stack) = (Places::new(), HashSet::new(), vec![address]);
    while let Some(value) = stack.pop() {
        if !seen.insert(value) {
            continue;
        }
        match value.opcode() {
            Some(Opcode::Alloca) => {}
            Some(Opcode::GetElementPtr | Opcode::BitCast | Opcode::AddrSpaceCast) => {
                stack.push(value.operand(0));
            }
            Some(Opcode::Phi) => stack.extend(value.operands()),
            Some(Opcode::Select) => stack.extend(value.operands().skip(1)),
            _ => {
                let place = value.param_index().map_or(Place::Elsewhere, Place::Parameter);
                all.insert(place);
            }
        }
    }
    all
}

/// The instructions of a function that are executed while it unwinds.
fn in_cleanup(function: Value<'_>) -> HashSet<Value<'_>> {
    let begins = |block: &Block<'_>| {
        let mut instructions = block.instructions().into_iter();
        instructions.any(|it| it.opcode() == Some(Opcode::LandingPad))
    };
    let mut stack: Vec<Block<'_>> = function.blocks().into_iter().filter(begins).collect();
    let (mut seen, mut inside) = (HashSet::new(), HashSet::new());
    while let Some(block) = stack.pop() {
        if seen.insert(block) {
            inside.extend(block.instructions());
            stack.extend(block.successors());
        }
    }
    inside
}
