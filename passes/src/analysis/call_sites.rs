//! Where in the source an instruction comes from, however much was inlined and whether or not the
//! crate was built with debug information.
//!
//! Not part of the pipeline of a good module: when the device check has found something, the module
//! is read once more, [`number`] gives every instruction its own location, and the passes run
//! again. Inlining keeps a location's call path: after it, `call_path_of` tells for an instruction
//! through which calls it came to where it stands.
//!
//! Before:
//! ```llvm
//! define void @middle() { call void @write() ... }
//! define void @kernel() { call void @middle() ... }
//! ```
//! After [`number`], and after inlining:
//! ```llvm
//! define void @kernel() { call void @write(), !dbg !7 ... }
//! !7 = !DILocation(line: 1, scope: @middle, inlinedAt: !8)    ; site 0: `middle` calls `write`
//! !8 = !DILocation(line: 2, scope: @kernel)                   ; site 1: `kernel` calls `middle`
//! ```
//!
//! A site is named by its caller, its callee and its ordinal among the calls of that callee by that
//! caller, in the order in which the compiler made them: [`tag`] keeps this order, which the order
//! of blocks in a module does not tell.

use std::collections::HashMap;

use inkwell::module::Module;
use schism_llvm::{AsModule, ContextRef, IntoValue, LineScopes, ModuleRef, Opcode, Value};

use crate::spec::report::{CallSite, SiteKind, SourceLocation};

/// The metadata on a call that is not the only one of its callee in its caller.
const TAG: &str = "schism.call";

/// The file of all numbers.
const FILE: &str = "schism.sites";

/// Keeps the order in which the compiler made the calls of each function by each caller. It is the
/// order of uses in a module fresh from the compiler, and gets lost when the module is written.
pub fn tag(module: ModuleRef<'_>) {
    let context = module.context();
    let kind = tag_kind(context);
    let number_type = context.int_type(32);
    for function in module.functions() {
        let mut by_caller: HashMap<Value<'_>, Vec<Value<'_>>> = HashMap::new();
        for user in function.users() {
            if user.callee() == Some(function) {
                by_caller.entry(user.parent_function()).or_default().push(user);
            }
        }
        for calls in by_caller.values().filter(|calls| calls.len() > 1) {
            // The list of uses starts with the newest.
            for (ordinal, &call) in calls.iter().rev().enumerate() {
                let ordinal = number_type.const_int(ordinal as u64, false);
                let node = context.md_node(&[ordinal.as_metadata()]);
                call.set_metadata(kind, node.as_value(context));
            }
        }
    }
}

/// Takes the marks of [`tag`] out again: they do not belong into an image.
pub fn untag(module: &Module<'_>) {
    let kind = tag_kind(module.handle().context());
    for function in module.get_functions() {
        for instruction in function.value().instructions() {
            if instruction.has_metadata() && instruction.metadata(kind).is_some() {
                instruction.remove_metadata(kind);
            }
        }
    }
}

/// Gives every instruction its own location: its line is one more than its index in what this
/// returns. The module's own debug information goes.
pub fn number(module: &Module<'_>) -> Vec<CallSite> {
    let mut sites = Vec::new();
    let mut numbered = Vec::new();
    for function in module.get_functions() {
        let function = function.value();
        let caller = function.name();
        let mut ordinals: HashMap<SiteKind, u32> = HashMap::new();
        for instruction in function.instructions() {
            let kind = kind_of(instruction);
            let next = ordinals.entry(kind.clone()).or_default();
            let ordinal = tagged(instruction).unwrap_or(*next);
            *next += 1;
            numbered.push((function, instruction));
            let location = location_of(instruction);
            sites.push(CallSite { caller: caller.clone(), kind, ordinal, location });
        }
    }
    untag(module);
    let module = module.handle();
    module.strip_debug_info();
    let scopes = LineScopes::new(module, FILE);
    let mut current = None;
    for (index, &(function, instruction)) in numbered.iter().enumerate() {
        let scope = match current {
            Some((of, scope)) if of == function => scope,
            _ => scopes.describe(function),
        };
        current = Some((function, scope));
        if instruction.opcode() != Some(Opcode::Phi) {
            instruction.set_debug_loc(Some(scopes.line(index as u32 + 1, scope)));
        }
    }
    sites
}

/// The indices of the sites through which an instruction came to where it stands: its own first,
/// then the call through which its function was inlined, and so on. Empty in a module without
/// numbers.
pub(crate) fn call_path_of(instruction: Value<'_>) -> Vec<usize> {
    let mut path = Vec::new();
    let mut next = instruction.debug_loc();
    while let Some(location) = next {
        // Bodies that come in later have lines of their own, and line 0 is what LLVM gives an
        // instruction that it made of two.
        if location.file_name() == FILE
            && let Some(index) = location.line().checked_sub(1)
        {
            path.push(index as usize);
        }
        next = location.inlined_at();
    }
    path
}

fn kind_of(instruction: Value<'_>) -> SiteKind {
    if let Some(callee) = instruction.callee() {
        return SiteKind::Call(callee.name());
    }
    if !matches!(instruction.opcode(), Some(Opcode::Call | Opcode::Invoke)) {
        return SiteKind::Other;
    }
    let assembly = instruction.called_value().is_inline_assembly();
    if assembly { SiteKind::Assembly } else { SiteKind::CallPointer }
}

/// The ordinal that [`tag`] gave a call.
fn tagged(instruction: Value<'_>) -> Option<u32> {
    if !instruction.has_metadata() {
        return None;
    }
    let node = instruction.metadata(tag_kind(instruction.context()))?;
    match node.md_operands()[..] {
        [Some(operand)] => operand.as_unsigned().map(|ordinal| ordinal as u32),
        _ => None,
    }
}

fn tag_kind(context: ContextRef<'_>) -> u32 {
    context.metadata_kind(TAG)
}

fn location_of(instruction: Value<'_>) -> Option<SourceLocation> {
    let (directory, file, line, column) = instruction.source_position()?;
    let file = if file.starts_with('/') || directory.is_empty() {
        file
    } else {
        format!("{directory}/{file}")
    };
    Some(SourceLocation { file, line, column })
}
