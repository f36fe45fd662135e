//! Computes one work-item apart from the loop over the others.
//!
//! The borders of an image are copied:
//! ```llvm
//! item:
//!   %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
//!   %is.border = icmp eq i64 %x, %last
//!   %copies = or i1 %is.border, %is.top
//!   br i1 %copies, label %copy, label %blur
//!   …
//! ```
//! The loop runs up to that work-item, then a clone of the loop's body, which branches to the other side,
//! then the loop once more, from there on. So the loop needs no mask:
//! ```llvm
//! start:
//!   …                                              ; %is.there: %last is in the range
//!   %up.to = select i1 %is.there, i64 %last, i64 %end
//!   br label %part
//! part:
//!   %from = phi i64 [ %begin, %start ], [ %behind, %single ]
//!   %to = phi i64 [ %up.to, %start ], [ %end, %single ]
//!   %todo = phi i1 [ %is.there, %start ], [ false, %single ]
//!   %any = icmp ult i64 %from, %to
//!   br i1 %any, label %item, label %part.end
//! item:
//!   %x = phi i64 [ %from, %part ], [ %x.after, %next ]
//!   br i1 %is.top, label %copy, label %blur
//!   …
//! part.end:
//!   br i1 %todo, label %single, label %exit
//! single:
//!   …                                              ; with %last for %x
//!   br label %part
//! ```
//! Work-items run in the order in which they ran.

use schism_llvm::{IntPredicate, Value};

use super::apart::{Clone, Part, take_apart};
use super::region::Region;

/// Takes the work-item with a number out of the loop, of which a condition is an equality. Returns whether the
/// loop allows that.
pub(super) fn apply<'m>(region: &Region<'m>, condition: Value<'m>, number: Value<'m>) -> bool {
    use IntPredicate::{EQ, UGE, ULT};
    let cloned = take_apart(region, Clone::Body, |builder| {
        // What is not evaluated may be poison.
        let single = builder.freeze(number);
        let is_behind = builder.icmp(UGE, single, region.begin);
        let is_there = builder.and(is_behind, builder.icmp(ULT, single, region.end));
        let behind = builder.add(single, single.ty().const_int(1, false));
        Part { first: single, behind, is_there }
    });
    let Some(cloned) = cloned else { return false };
    let bit = condition.ty();
    let holds = |is_equal: bool| {
        bit.const_int((is_equal == (condition.icmp_predicate() == EQ)).into(), false)
    };
    cloned.value(condition).replace_uses(holds(true));
    condition.replace_uses(holds(false));
    true
}
