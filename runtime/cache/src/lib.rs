//! Compiled kernels, kept in memory and on disk.
//!
//! A [`Cache`] answers one question: are there bytes for this [`Key`], and if not, who makes them? However many threads and
//! processes ask at once, one of them compiles and the others get what it made.
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
//! # What can be relied on
//! - **An entry is what its key says, or it is not there.** A [`Key`] is a hash over everything that makes a difference to the
//!   code. Each entry carries its key and a checksum over all its bytes, looked at whenever it is read; one that is damaged,
//!   cut off or not [trusted](schism_trust) is reported, compiled again and replaced.
//! - **A cache that does not work is no error.** A folder that cannot be written, a full disk, no home: the caller is told once
//!   ([`Problem`]), and the program goes on and compiles. Writing is tried again, by the rule of [`Failures`].
//! - **It is bounded.** What was not used for the longest time goes first.
//!
//! # The folder
//! ```text
//! kernels/                mode 0700; one that others may write to is not used, see [`schism_trust`]
//!   <key>.kernel          an entry, see [`entry`]; its time of modification says when it was last used
//!   writing-<…>           an entry that is being written; those of processes that died are removed with the next clearing out
//!   lock                  locks of entries that are being made, and how much there is, see `lock`
//! ```
//! Entries are written beside their place and renamed, so a reader sees a whole one or none. They are not synced: after a loss of
//! power a checksum may not fit, and the entry is made again.

mod cache;
pub mod entry;
mod failures;
mod folder;
mod key;
mod lock;
mod problem;
mod settings;

pub use cache::{Cache, Found, Source};
pub use entry::Value;
pub use failures::Failures;
pub use folder::{Checked, Folder, Usage};
pub use key::{Key, KeyBuilder};
pub use problem::Problem;
pub use settings::{DEFAULT_LIMIT, Settings};
