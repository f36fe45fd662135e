//! Loads the code that stage 2 generates for the CPU.
//!
//! Stage 2 makes objects; the process that launches kernels loads them with this crate. So a cached
//! object runs without stage 2 and its LLVM, which would take longer to open than everything else
//! together.
//!
//! | module | what |
//! |---|---|
//! | [`Code`] | sections, relocations, memory |
//! | `symbols` | symbols that code may use and that are not in its object |
//! | [`context`] | the thread's work-item, for code that has no other access to it; barriers |
//! | `heap` | the program's allocator |
//! | [`message`] | the messages of panics and prints |
//!
//! The interface between generated code and these functions is [`schism_jit_abi::code`].

pub mod context;
mod heap;
mod load;
pub mod message;
mod symbols;

pub use load::{Code, FindInHost, LoadError};
