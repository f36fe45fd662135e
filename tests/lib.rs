//! What the tests share. The tests themselves are in `tests/`, one file a subject:
//!
//! | file | tests |
//! |---|---|
//! | `tests/passes.rs` | passes, over the IR files in `passes/` |
//!
//! `passes/<pass>/*.ll` holds one case each: the IR that goes in, and comments that say what must
//! and must not come out; see [`filecheck`].

pub mod filecheck;
