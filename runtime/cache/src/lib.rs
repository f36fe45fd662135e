//! A cache of compiled kernels, in memory and on disk.
//!
//! A [`Cache`] answers one question: are there bytes for this [`Key`], and if not, who compiles
//! them? However many threads and processes ask at once, one of them compiles and the others get
//! its result.
//!
//! ```
//! use schism_cache::{Cache, Key, Source, Value};
//!
//! let cache = Cache::in_memory();
//! let key = Key::builder("an example").part("kernel", b"saxpy").finish();
//! let compile = || Ok::<_, std::fmt::Error>(Value { meta: vec![1], bytes: b"machine code".to_vec() });
//! assert_eq!(cache.get_or_compile(&key, compile)?.source, Source::Compiled);
//! assert_eq!(cache.get_or_compile(&key, compile)?.source, Source::Memory);
//! # Ok::<(), std::fmt::Error>(())
//! ```
//!
//! # Guarantees
//! - **An entry is valid or absent.** A [`Key`] is a hash over everything that the code depends on.
//!   Each entry contains its key and a checksum over all its bytes, which every read verifies; an
//!   entry that is damaged, truncated or not [trusted](schism_trust) is reported, compiled again
//!   and replaced.
//! - **A cache that does not work is no error.** If the folder cannot be written, the disk is full,
//!   or there is no home, the caller is told once ([`Problem`]), and the program continues without
//!   it. Writing is retried by the rule of [`Failures`].
//! - **It is bounded.** The least recently used entries are removed first.
//!
//! # The folder
//! ```text
//! kernels/                mode 0700; one that others may write to is not used, see [`schism_trust`]
//!   <key>.kernel          an entry, see [`entry`]; its time of modification says when it was last used
//!   writing-<…>           an entry that is being written; those of processes that died are removed with the next clearing out
//!   lock                  locks of entries that are being made, and how much there is, see `lock`
//! ```
//! Entries are written to another name and renamed, so a reader sees a complete one or none. They
//! are not synced: after a power failure a checksum may not match, and the entry is compiled again.

mod cache;
pub mod entry;
mod failures;
mod folder;
mod key;
mod lock;
mod problem;
mod settings;
mod variables;

pub use cache::{Cache, Found, Source};
pub use entry::Value;
pub use failures::Failures;
pub use folder::{Checked, Folder, Usage};
pub use key::{Key, KeyBuilder};
pub use problem::Problem;
pub use settings::{DEFAULT_LIMIT, Settings};
