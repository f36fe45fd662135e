//! Answers what code asks of the host's processor at run time, with "no".
//!
//! `is_x86_feature_detected!` and its like ask the standard library, which asks the processor and
//! keeps the answer in a static. Crates ask before they use instructions that not every processor
//! has, and have plain code for the others: a device runs that. Before:
//! ```llvm
//! @_ZN10std_detect6detect5cache5CACHE17h0E = global [24 x i8] zeroinitializer
//!   %has = call i1 @_ZN10std_detect6detect9check_for17h0E(i8 28)
//!   br i1 %has, label %vectors, label %plain
//! ```
//! After:
//! ```llvm
//!   br label %plain
//! ```
//! MIR may have inlined these functions into their callers, which then read the static. So it
//! becomes a constant that says that the processor was asked, and has nothing: the highest bit of
//! each word, which LLVM folds reads of.
//!
//! Parallel iterators that run as kernels unasked have the answers of the host's own code, so these
//! are left alone, and the [device check](crate::check::device_check) refuses what asks.
//! It does without knowing what is behind the symbols: a processor may have no features at all.

use schism_llvm::{ModuleRef, TypeKind};

use crate::frontend::fold_constants::ir_constants;

/// What symbols of the module of the standard library contain, in either way in which rustc writes
/// symbols.
const DETECTION: &str = "10std_detect6detect";

/// Functions in it that tell whether the processor has a feature: one for any, one for each, the one
/// behind both; and the one that asks, whose result has a bit for each feature.
const ANSWERS: [&str; 4] = [
    "6detect9check_for",
    "21__is_feature_detected",
    "6detect5cache4test",
    "6detect5cache21detect_and_initialize",
];

/// The static in it that keeps what the processor has said: a bit for each feature, and in each word
/// one that says that it was asked.
const CACHE: &str = "6detect5cache5CACHE";

/// Folds the answers in a module.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub(super) fn fold(module: ModuleRef<'_>) -> Result<(), String> {
    let is_part = |name: &str, parts: &[&str]| {
        name.contains(DETECTION) && parts.iter().any(|part| name.contains(part))
    };
    for global in module.globals() {
        if !is_part(&global.name(), &[CACHE]) || global.is_global_constant() {
            continue;
        }
        let size = module.data_layout().abi_size(global.value_type()) as usize;
        let word = module.data_layout().pointer_size(0) as usize;
        let bytes: Vec<u8> = (1..=size).map(|end| if end % word == 0 { 0x80 } else { 0 }).collect();
        let bytes = module.context().const_bytes(&bytes);
        let asked = module.add_global(bytes.ty(), "");
        asked.set_initializer(bytes);
        asked.set_global_constant(true);
        asked.set_alignment(word as u32);
        asked.set_internal();
        global.replace_uses(asked);
        global.delete_global();
    }
    let answers: Vec<(String, u64)> = module
        .functions()
        .into_iter()
        .filter(|function| function.value_type().return_type().kind() == TypeKind::Integer)
        .map(|function| (function.name(), 0))
        .filter(|(name, _)| is_part(name, &ANSWERS))
        .collect();
    ir_constants::fold_in(module, &[], &answers)
}
