//! Phis of aggregates, and choices between them: there is one for each part.
//!
//! SPIR-V has no choice between aggregates, before its version 1.4. Intel's compiler for processors does
//! not compute structures in the lanes of vectors, and ends with a wrong access to memory where the blocks
//! that a structure comes from differ between work-items. LLVM makes such phis and choices of what
//! operations with overflow return. So
//! ```llvm
//!   %product = phi { i8, i1 } [ %computed, %then ], [ { i8 116, i1 false }, %else ]
//!   %low = extractvalue { i8, i1 } %product, 0
//! ```
//! becomes
//! ```llvm
//! then:
//!   %computed.0 = extractvalue { i8, i1 } %computed, 0
//!   %computed.1 = extractvalue { i8, i1 } %computed, 1
//!   ...
//!   %low = phi i8 [ %computed.0, %then ], [ 116, %else ]
//!   %product.1 = phi i1 [ %computed.1, %then ], [ false, %else ]
//! ```
//! and
//! ```llvm
//!   %sum = select i1 %fits, { i64, i1 } %computed, { i64, i1 } %other
//! ```
//! becomes a `select` of the first parts and one of the second ones. Who needs the aggregate as a
//! whole gets one that is made of the parts. Runs after optimisation.

use std::collections::HashMap;

use schism_llvm::{Block, Builder, Opcode, Type, TypeKind, Value};

use crate::common::module::Module;

/// Runs the step over all functions of a module.
pub fn split(module: &Module<'_>) {
    for function in module.functions() {
        // A part may be an aggregate itself.
        while let Some(one) = function.instructions().into_iter().find(|&it| is_split(it)) {
            match one.opcode() {
                Some(Opcode::Phi) => split_phi(one),
                _ => split_choice(one),
            }
        }
    }
}

fn is_split(instruction: Value<'_>) -> bool {
    matches!(instruction.opcode(), Some(Opcode::Phi | Opcode::Select))
        && matches!(instruction.ty().kind(), TypeKind::Struct | TypeKind::Array)
}

/// The types of an aggregate's parts.
fn types_of(ty: Type<'_>) -> Vec<Type<'_>> {
    match ty.kind() {
        TypeKind::Struct => (0..ty.num_fields()).map(|index| ty.field_type(index)).collect(),
        _ => (0..ty.array_length()).map(|_| ty.element_type()).collect(),
    }
}

/// A part of an aggregate.
fn part<'m>(builder: &Builder<'m>, whole: Value<'m>, index: u32) -> Value<'m> {
    let mut whole = whole;
    // What was split before was put together again.
    while whole.opcode() == Some(Opcode::InsertValue)
        && let [inserted] = whole.aggregate_indices()[..]
    {
        if inserted == index {
            return whole.operand(1);
        }
        whole = whole.operand(0);
    }
    builder.extract_value(whole, index)
}

/// Puts parts in the place of an aggregate; `after` is where all of them are there.
fn replace<'m>(old: Value<'m>, parts: &[Value<'m>], after: Value<'m>) {
    for user in old.users() {
        if user.opcode() == Some(Opcode::ExtractValue)
            && let [index] = user.aggregate_indices()[..]
        {
            user.replace_with(parts[index as usize]);
        }
    }
    if old.is_used() {
        let builder = Builder::before(after);
        let mut whole = old.ty().poison();
        for (index, part) in (0..).zip(parts) {
            whole = builder.insert_value(whole, *part, index);
        }
        old.replace_uses(whole);
    }
}

fn split_choice(choice: Value<'_>) {
    let builder = Builder::before(choice);
    let [condition, yes, no] = [0, 1, 2].map(|index| choice.operand(index));
    let parts: Vec<Value<'_>> = (0..)
        .zip(types_of(choice.ty()))
        .map(|(index, _)| {
            let [yes, no] = [yes, no].map(|side| part(&builder, side, index));
            builder.select(condition, yes, no)
        })
        .collect();
    replace(choice, &parts, choice);
    choice.erase();
}

fn split_phi<'m>(phi: Value<'m>) {
    let types = types_of(phi.ty());
    let own: Vec<Value<'m>> = types.into_iter().map(|ty| Builder::before(phi).phi(ty)).collect();
    replace(phi, &own, phi.block().first_non_phi());
    let mut parts: HashMap<Block<'m>, Vec<Value<'m>>> = HashMap::new();
    for (value, from) in phi.incoming_edges() {
        // Two edges from one block bring the same value.
        let parts = parts.entry(from).or_insert_with(|| {
            let builder = Builder::before(from.end());
            (0..).zip(&own).map(|(index, _)| part(&builder, value, index)).collect()
        });
        for (own, part) in own.iter().zip(parts) {
            own.add_incoming(*part, from);
        }
    }
    phi.erase();
}
