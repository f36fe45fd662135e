//! What the targets of GPUs share: a function around the kernel that the driver launches, the bodies
//! of builtins in it, and how messages leave the device.
//!
//! | file | what |
//! |---|---|
//! | `compiled` | the steps of a compilation, and its code |
//! | `options` | what the code depends on, besides the request |
//! | `machine` | LLVM's code generator for PTX, and its use as a stand-in |
//! | `steps` | the steps of a pipeline that are the same for all |
//! | `entry` | the function around the kernel, its hidden parameters |
//! | `builtins` | what a kernel asks of its device, by neutral names |
//! | `sub_group` | operations of sub-groups |
//! | `message` | messages of panics and prints |
//! | `heap` | what kernels allocate from |
//! | `atomics` | scopes of atomic accesses |
//! | `code` | addresses of functions as data |
//! | `one_function` | kernels that must be one function |

pub mod atomics;
pub mod builtins;
pub mod code;
pub mod compiled;
pub mod entry;
mod heap;
pub mod machine;
pub mod message;
pub mod one_function;
pub mod options;
pub mod steps;
pub mod sub_group;
