//! The stack of kernels: overflows hit the guard page, and the need is computed where possible.
//!
//! **Frames are probed page by page.** A function with a frame larger than a page could step over
//! the guard page below a stack, and write into another thread's stack. So each frame is touched
//! from its beginning, as rustc does for the host half. rustc's own attribute is removed from
//! images, since other devices do not know it, and functions come from other places, too: from the
//! device library, and from stage 2 itself. So all functions get it when the module is complete.
//!
//! **The need of a kernel** is the longest path from the entry function through the call graph,
//! weighted by the frame sizes that LLVM's code generator reports (its attribute
//! `warn-stack-size`). It is unknown for recursion, calls through pointers, calls of the program's
//! allocator, and frames with parts of computed size. What the unwinder takes is part of what the runtime
//! adds for functions of the process.

use std::collections::{HashMap, HashSet};

use schism_jit_abi::STACK_UNKNOWN;
use schism_jit_abi::code::{ENTRY, HEAP};

use crate::common::host_calls;
use crate::common::module::Module;
use schism_llvm::{Opcode, Value};

/// What a call needs besides the frame that LLVM reports: the return address, alignment beyond that
/// of a call (64 bytes for the widest vectors), pushed arguments, and the 128 bytes of red zone
/// that a leaf function may use.
const BESIDE_FRAME: u64 = 256;

/// Makes all functions probe their frames and report the sizes.
pub fn prepare(module: &Module<'_>) {
    let functions = module.functions();
    let defined = functions.into_iter().filter(|function| !function.is_declaration());
    for (function, number) in defined.zip(0_u64..) {
        function.add_string_attribute("probe-stack", "inline-asm");
        function.add_string_attribute("warn-stack-size", "0");
        // Sizes are reported by name.
        if function.name().is_empty() {
            function.set_name(format!("schism.unnamed.{number}"));
        }
    }
}

/// The functions of a module, and which of them call which.
pub struct Calls {
    functions: Vec<Function>,
    entry: Option<usize>,
}

struct Function {
    name: String,
    /// Those of the module that it calls.
    callees: Vec<usize>,
    /// Whether it needs more than its frame and its callees.
    open: bool,
}

impl Calls {
    /// The call graph of a module that is ready for the code generator.
    pub fn of(module: &Module<'_>, in_process: bool) -> Self {
        let defined: Vec<Value> =
            module.functions().into_iter().filter(|function| !function.is_declaration()).collect();
        let index: HashMap<Value, usize> = defined.iter().copied().zip(0..).collect();
        let functions = defined.iter().map(|function| {
            let mut this = Function { name: function.name(), callees: Vec::new(), open: false };
            for instruction in function.instructions() {
                if instruction.is_dynamic_alloca() {
                    this.open = true;
                }
                let callee = instruction.called().or_else(|| instruction.callee());
                let Some(callee) = callee else {
                    this.open |= instruction.opcode() == Some(Opcode::Invoke);
                    continue;
                };
                match index.get(&callee) {
                    Some(&callee) => this.callees.push(callee),
                    // Functions of the process that loads the code are few, and known; but an
                    // allocator may be the program's own.
                    None if callee.is_function() => {
                        this.open |= HEAP.contains(&&*callee.name())
                            || (in_process && host_calls::is_of_host(callee));
                    }
                    None => this.open |= !callee.is_inline_assembly(),
                }
            }
            this.callees.sort_unstable();
            this.callees.dedup();
            this
        });
        let functions: Vec<Function> = functions.collect();
        let entry = functions.iter().position(|function| function.name == ENTRY);
        Self { functions, entry }
    }

    /// The stack need of the entry function, including its callees, given the sizes of frames.
    /// Functions without a frame are not listed.
    pub fn most(&self, frames: &HashMap<String, u64>) -> u64 {
        #[derive(Clone, Copy)]
        enum Known {
            New,
            /// Its callees are being visited: reaching it again means recursion.
            Open,
            Takes(u64),
        }
        let Some(entry) = self.entry else { return STACK_UNKNOWN };
        // The entry function calls another one, so it has a frame. If LLVM does not report that, or
        // reports unknown names, the format of its reports has changed.
        let names: HashSet<&str> = self.functions.iter().map(|f| f.name.as_str()).collect();
        if !frames.contains_key(ENTRY) || !frames.keys().all(|name| names.contains(name.as_str())) {
            return STACK_UNKNOWN;
        }
        let mut known = vec![Known::New; self.functions.len()];
        // Each entry: a function, the number of callees visited, and the maximum need of these. An
        // explicit stack, since the image determines the depth.
        let mut path = vec![(entry, 0, 0_u64)];
        known[entry] = Known::Open;
        while let Some(last) = path.last_mut() {
            let (at, looked, below) = *last;
            let function = &self.functions[at];
            if function.open {
                return STACK_UNKNOWN;
            }
            if let Some(&callee) = function.callees.get(looked) {
                match known[callee] {
                    Known::Open => return STACK_UNKNOWN,
                    Known::Takes(bytes) => {
                        last.1 += 1;
                        last.2 = below.max(bytes);
                    }
                    Known::New => {
                        known[callee] = Known::Open;
                        path.push((callee, 0, 0));
                    }
                }
            } else {
                let frame = frames.get(&function.name).copied().unwrap_or(0);
                let bytes = frame.saturating_add(BESIDE_FRAME).saturating_add(below);
                known[at] = Known::Takes(bytes);
                path.pop();
            }
        }
        match known[entry] {
            Known::Takes(bytes) => bytes,
            _ => STACK_UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(module: &[(&str, &[usize], bool)]) -> Calls {
        let functions = module.iter().map(|(name, callees, open)| Function {
            name: (*name).to_owned(),
            callees: callees.to_vec(),
            open: *open,
        });
        let functions: Vec<_> = functions.collect();
        let entry = functions.iter().position(|function| function.name == ENTRY);
        Calls { functions, entry }
    }

    fn frames(sizes: &[(&str, u64)]) -> HashMap<String, u64> {
        sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect()
    }

    #[test]
    fn the_longest_way_counts() {
        let module = calls(&[
            ("leaf", &[], false),
            (ENTRY, &[2, 3], false),
            ("small", &[0], false),
            ("large", &[0, 2], false),
            ("not called", &[4], true),
        ]);
        let frames = frames(&[("leaf", 10), (ENTRY, 1), ("small", 100), ("large", 1000)]);
        assert_eq!(module.most(&frames), 1111 + 4 * BESIDE_FRAME);
    }

    #[test]
    fn what_depends_on_data_is_not_known() {
        let circle = calls(&[(ENTRY, &[1], false), ("a", &[2], false), ("b", &[1], false)]);
        let itself = calls(&[(ENTRY, &[1], false), ("a", &[1], false)]);
        let open = calls(&[(ENTRY, &[1], false), ("a", &[], true)]);
        let no_entry = calls(&[("a", &[], false)]);
        for module in [circle, itself, open, no_entry] {
            assert_eq!(module.most(&frames(&[(ENTRY, 8)])), STACK_UNKNOWN);
        }
    }

    #[test]
    fn frames_that_are_not_understood_are_not_believed() {
        let module = calls(&[(ENTRY, &[1], false), ("a", &[], false)]);
        assert_eq!(module.most(&frames(&[(ENTRY, 8)])), 8 + 2 * BESIDE_FRAME);
        for strange in [&[][..], &[("a", 8)], &[(ENTRY, 8), ("b", 8)]] {
            assert_eq!(module.most(&frames(strange)), STACK_UNKNOWN, "{strange:?}");
        }
    }

    #[test]
    fn sizes_do_not_overflow() {
        let module = calls(&[(ENTRY, &[1], false), ("a", &[], false)]);
        assert_eq!(
            module.most(&frames(&[(ENTRY, u64::MAX - 1), ("a", u64::MAX - 1)])),
            STACK_UNKNOWN
        );
    }
}
