//! What all targets share.
//!
//! | file | what |
//! |---|---|
//! | `request`, `error` | what the C interface passes, and why it fails |
//! | `target` | the steps that are the same for every target, and what a target adds |
//! | `image` | reads and checks an image, and extracts one kernel |
//! | `module` | a module, and passes over it as a whole |
//! | `kinds` | types of parameters |
//! | `entry_text` | text of the functions around a kernel |
//! | `inline`, `host_calls` | inlining decisions, the program's own functions |
//! | `precise_math` | multiplications and additions stay two operations |
//! | `clock`, `pause`, `row` | builtins for clocks, of work-items that wait, and of groups that have one item |
//! | `devicelib` | mathematics for devices without a library |
//! | `lines` | source locations |
//! | `settings` | what the environment asks for |
//! | `dump`, `times` | `SCHISM_DUMP_DIR`, `SCHISM_TIME_PASSES` |

pub mod clock;
pub mod devicelib;
pub mod dump;
pub mod entry_text;
pub mod error;
pub mod host_calls;
pub mod image;
pub mod inline;
pub mod kinds;
pub mod lines;
pub mod module;
pub mod pause;
pub mod precise_math;
pub mod request;
pub mod row;
pub mod settings;
pub mod target;
pub mod times;
