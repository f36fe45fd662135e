//! Assigns offsets to the arrays in local memory.
//!
//! Before:
//! ```llvm
//!   %sums = call ptr @__schism_local_static(ptr @SUMS, i64 12, i64 4)
//!   %tile = call ptr @__schism_local_static(ptr @TILE, i64 1024, i64 16)
//!   %more = call ptr @__schism_local_dynamic()
//! ```
//! After:
//! ```llvm
//!   %memory = call ptr @__schism_local_memory()
//!   %sums = getelementptr inbounds i8, ptr %memory, i64 1024
//!   %memory1 = call ptr @__schism_local_memory()
//!   %tile = getelementptr inbounds i8, ptr %memory1, i64 0
//!   %memory2 = call ptr @__schism_local_memory()
//!   %more = getelementptr inbounds i8, ptr %memory2, i64 1152
//! ```
//!
//! An array is known by its tag, the address of a constant of the place in the source that declares
//! it, and by its size and alignment. Two arrays that one kernel reaches never overlap; two that no
//! kernel reaches both may, so a kernel pays for its own arrays only, also where kernels share
//! functions. What a launch adds begins behind the arrays of every kernel that asks for its address
//! at the same call, at a multiple of [`DYNAMIC_ALIGN`].

use std::collections::{BTreeSet, HashMap, HashSet};

use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, ContextRef, IntoValue, ModuleRef, Value};
use thiserror::Error;

use crate::frontend::kernel_reachability;
use crate::spec::builtins::{self, DYNAMIC_ALIGN, LOCAL_DYNAMIC, LOCAL_MEMORY, LOCAL_STATIC};
use crate::spec::image::{GroupNeeds, KernelImage};

/// The least alignment of a group's memory.
const LEAST_ALIGN: u64 = 16;

/// More local memory than this is more than any device has, and safe to add up.
const MOST_BYTES: u64 = 1 << 32;

/// Why the arrays could not be placed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LocalMemoryError {
    /// A call does not say which array it means.
    #[error(
        "`{function}` asks for a local array whose tag, size or alignment is no constant; declare \
         it with `schism::local_array!`"
    )]
    NotConstant {
        /// The symbol of the function that makes the call.
        function: String,
    },
    /// The arrays of a kernel are larger than any device's memory.
    #[error("the local arrays of kernel `{kernel}` are {bytes} bytes, more than any device has")]
    TooLarge {
        /// The kernel.
        kernel: String,
        /// Bytes of those that were added up until it was too much.
        bytes: u64,
    },
}

/// One array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Array<'m> {
    tag: Value<'m>,
    size: u64,
    align: u64,
}

/// An array, the kernels that reach it, and where it is.
#[derive(Debug)]
struct Placed<'m> {
    array: Array<'m>,
    kernels: BTreeSet<usize>,
    offset: u64,
}

impl<'m> Placed<'m> {
    fn end(&self) -> u64 {
        self.offset + self.array.size
    }
}

/// Runs the pass, and notes what each kernel asks of its groups.
///
/// # Errors
/// See [`LocalMemoryError`].
pub fn run(module: &Module<'_>, images: &mut [KernelImage]) -> Result<(), LocalMemoryError> {
    let (context, raw) = (module.handle().context(), module.handle());
    let kernels: Vec<&str> = images.iter().map(|kernel| kernel.name.as_str()).collect();
    // A kernel and its variant have the same arrays.
    let index: HashMap<Value<'_>, usize> = images
        .iter()
        .enumerate()
        .flat_map(|(at, kernel)| [(Some(&kernel.name), at), (kernel.offset_variant.as_ref(), at)])
        .filter_map(|(name, at)| Some((module.get_function(name?)?.value(), at)))
        .collect();
    let reach = |function: Value<'_>| -> BTreeSet<usize> {
        let functions = kernel_reachability::functions_reaching(function);
        functions.iter().filter_map(|function| index.get(function).copied()).collect()
    };

    let mut needs: Vec<Option<GroupNeeds>> = vec![None; kernels.len()];
    for builtin in builtins::of_groups().filter_map(|name| module.get_function(name)) {
        for kernel in reach(builtin.value()) {
            needs[kernel] = Some(GroupNeeds { local_size: 0, local_align: LEAST_ALIGN });
        }
    }

    let mut arrays: Vec<Placed> = Vec::new();
    let static_calls = calls_of(module, LOCAL_STATIC, &kernels);
    for &call in &static_calls {
        let array = array_of(call).ok_or_else(|| LocalMemoryError::NotConstant {
            function: call.parent_function().name(),
        })?;
        let reached = reach(call.parent_function());
        match arrays.iter_mut().find(|placed| placed.array == array) {
            Some(placed) => placed.kernels.extend(reached),
            None => arrays.push(Placed { array, kernels: reached, offset: 0 }),
        }
    }
    place(&mut arrays, &kernels)?;
    let size_of = |kernel: usize| {
        let own = arrays.iter().filter(|placed| placed.kernels.contains(&kernel));
        own.map(Placed::end).max().unwrap_or(0)
    };
    for (kernel, needs) in needs.iter_mut().enumerate() {
        let Some(needs) = needs else { continue };
        needs.local_size = size_of(kernel);
        let own = arrays.iter().filter(|placed| placed.kernels.contains(&kernel));
        needs.local_align = own.map(|placed| placed.array.align).fold(LEAST_ALIGN, u64::max);
    }

    for call in static_calls {
        let array = array_of(call);
        let offset = arrays.iter().find(|placed| Some(placed.array) == array);
        replace(raw, context, call, offset.map_or(0, |placed| placed.offset));
    }
    // Shared code finds the launch's memory at one place for all its kernels, so each of them is as
    // large as the largest, and code that two groups of kernels share makes all of them equal:
    // until nothing changes.
    let dynamic: Vec<(Value<'_>, BTreeSet<usize>)> = calls_of(module, LOCAL_DYNAMIC, &kernels)
        .into_iter()
        .map(|call| (call, reach(call.parent_function())))
        .collect();
    let base = |needs: &[Option<GroupNeeds>], kernels: &BTreeSet<usize>| {
        let sizes = kernels.iter().filter_map(|&kernel| needs[kernel]);
        let most = sizes.map(|needs| needs.local_size).max().unwrap_or(0);
        most.next_multiple_of(DYNAMIC_ALIGN)
    };
    loop {
        let before = needs.clone();
        for (_, kernels) in &dynamic {
            let base = base(&needs, kernels);
            for &kernel in kernels {
                if let Some(needs) = &mut needs[kernel] {
                    needs.local_size = base;
                    needs.local_align = needs.local_align.max(DYNAMIC_ALIGN);
                }
            }
        }
        if needs == before {
            break;
        }
    }
    for (call, kernels) in dynamic {
        let base = base(&needs, &kernels);
        replace(raw, context, call, base);
    }
    for name in [LOCAL_STATIC, LOCAL_DYNAMIC] {
        if let Some(function) = module.get_function(name)
            && function.value().users().is_empty()
        {
            function.value().delete_function();
        }
    }
    for (image, needs) in images.iter_mut().zip(needs) {
        image.groups = needs;
    }
    Ok(())
}

/// Gives each array the lowest offset where it overlaps no array that one of its kernels also
/// reaches. The most aligned and the largest come first, so that there are few gaps; the order of
/// the source decides the rest.
fn place(arrays: &mut [Placed<'_>], kernels: &[&str]) -> Result<(), LocalMemoryError> {
    let mut order: Vec<usize> = (0..arrays.len()).collect();
    order.sort_by_key(|&at| {
        let array = arrays[at].array;
        (std::cmp::Reverse(array.align), std::cmp::Reverse(array.size))
    });
    for (position, &at) in order.iter().enumerate() {
        let Array { size, align, .. } = arrays[at].array;
        let mut taken: Vec<(u64, u64)> = order[..position]
            .iter()
            .map(|&other| &arrays[other])
            .filter(|other| !other.kernels.is_disjoint(&arrays[at].kernels))
            .map(|other| (other.offset, other.end()))
            .collect();
        taken.sort_unstable();
        let mut offset = 0_u64;
        for (begin, end) in taken {
            if offset.saturating_add(size) <= begin {
                break;
            }
            offset = offset.max(end.next_multiple_of(align));
        }
        let bytes = offset.saturating_add(size);
        if bytes > MOST_BYTES {
            let kernel = arrays[at].kernels.first().map_or("?", |&kernel| kernels[kernel]);
            return Err(LocalMemoryError::TooLarge { kernel: kernel.to_owned(), bytes });
        }
        arrays[at].offset = offset;
    }
    Ok(())
}

/// The calls of a function, in the order of the source, or what the IR shows of it: that of a
/// depth-first walk from the kernels, which enters a function where it is first mentioned. The
/// order of the module's functions is that of their symbols, which hashes are part of, and that of
/// LLVM's list of uses depends on what ran before.
fn calls_of<'m>(module: &'m Module<'_>, name: &str, kernels: &[&str]) -> Vec<Value<'m>> {
    let Some(function) = module.get_function(name) else { return Vec::new() };
    let function = function.value();
    let mut calls = Vec::new();
    let mut seen = HashSet::from([function]);
    let roots = kernels.iter().filter_map(|&kernel| module.get_function(kernel));
    // What no kernel reaches has its calls replaced, too.
    for root in roots.chain(module.get_functions()) {
        // What is left to visit; the next one is the last.
        let mut stack = vec![root.value()];
        while let Some(value) = stack.pop() {
            if value.is_instruction() {
                if value.callee() == Some(function) {
                    calls.push(value);
                }
            } else if !seen.insert(value) {
                continue;
            }
            if value.is_function() {
                stack.extend(value.instructions().into_iter().rev());
            } else {
                stack.extend(value.operands().rev().filter(|operand| operand.is_constant()));
            }
        }
    }
    calls
}

/// The array that a call asks for, if its arguments say which.
fn array_of(call: Value<'_>) -> Option<Array<'_>> {
    if call.num_args() != 3 {
        return None;
    }
    let tag = call.operand(0);
    if !tag.is_global() {
        return None;
    }
    let number = |index| {
        let value = call.operand(index);
        (value.is_constant_int()).then(|| value.zext_value())
    };
    let (size, align) = (number(1)?, number(2)?);
    (align.is_power_of_two() && align <= MOST_BYTES).then_some(Array { tag, size, align })
}

/// Puts an address in the group's memory in a call's place.
fn replace<'m>(module: ModuleRef<'m>, context: ContextRef<'m>, call: Value<'m>, offset: u64) {
    let pointer = context.pointer_type(0);
    let ty = pointer.function(&[], false);
    let memory = module.declare_pure_builtin(LOCAL_MEMORY, ty);
    let builder = Builder::before(call);
    let base = builder.call(ty, memory, &[]).with_name("memory");
    let index = [context.int_type(64).const_int(offset, false)];
    let address = builder.inbounds_gep(context.int_type(8), base, &index);
    call.replace_uses(address);
    call.erase();
}
