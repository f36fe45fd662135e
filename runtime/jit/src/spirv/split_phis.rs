//! Phis of structures: each field gets one of its own.
//!
//! Intel's compiler for processors does not compute structures in the lanes of vectors, and ends with
//! a wrong access to memory where the blocks that a structure comes from differ between work-items.
//! LLVM makes such phis of what operations with overflow return. So
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
//! Who needs the structure as a whole gets one that is made of the fields. Runs after optimisation.

use std::collections::HashMap;

use schism_llvm::{Block, Builder, Opcode, TypeKind, Value};

use crate::module::Module;

/// Runs the step over all functions of a module.
pub fn split(module: &Module<'_>) {
    for function in module.functions() {
        // A field may be a structure itself.
        while let Some(phi) = function.instructions().into_iter().find(|&it| is_split(it)) {
            split_one(phi);
        }
    }
}

fn is_split(instruction: Value<'_>) -> bool {
    instruction.opcode() == Some(Opcode::Phi) && instruction.ty().kind() == TypeKind::Struct
}

fn split_one<'m>(phi: Value<'m>) {
    let fields: Vec<Value<'m>> = (0..phi.ty().num_fields())
        .map(|index| Builder::before(phi).phi(phi.ty().field_type(index)))
        .collect();
    for user in phi.users() {
        if user.opcode() == Some(Opcode::ExtractValue)
            && let [index] = user.aggregate_indices()[..]
        {
            user.replace_with(fields[index as usize]);
        }
    }
    if phi.is_used() {
        let builder = Builder::before(phi.block().first_non_phi());
        let mut whole = phi.ty().poison();
        for (index, field) in (0..).zip(&fields) {
            whole = builder.insert_value(whole, *field, index);
        }
        phi.replace_uses(whole);
    }
    let mut parts: HashMap<Block<'m>, Vec<Value<'m>>> = HashMap::new();
    for (value, from) in phi.incoming_edges() {
        // Two edges from one block bring the same value.
        let parts = parts.entry(from).or_insert_with(|| {
            let builder = Builder::before(from.end());
            (0..).zip(&fields).map(|(index, _)| builder.extract_value(value, index)).collect()
        });
        for (field, part) in fields.iter().zip(parts) {
            field.add_incoming(*part, from);
        }
    }
    phi.erase();
}
