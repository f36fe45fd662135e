//! Keeps what kernels need of the program from link-time optimisation, which makes local what no
//! other object file names: those that name it are not seen by it.
//!
//! Each container lists what its kernels need. Those of other crates are in the libraries that are
//! optimised; the crate's own is made while other threads optimise the host half, and these wait for
//! it before they begin with the whole program.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use schism_hcf::{IN_PROCESS, records, sections_of_file};
use schism_passes::frontend::import_host_symbols::THREAD_LOCAL;

use crate::device::half::DeviceHalf;

/// What the crate's own kernels need, once that is known. rustc's functions for link-time
/// optimisation have no value that could bring it along.
static OWN: Mutex<Option<Vec<String>>> = Mutex::new(None);
static IS_KNOWN: Condvar = Condvar::new();

fn own() -> MutexGuard<'static, Option<Vec<String>>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells those that wait, at the latest when it is dropped: making the device half may unwind.
pub(crate) struct Teller;

impl Teller {
    /// The crate's device half is made, or it has none.
    pub(crate) fn tell(self, half: Option<&DeviceHalf>) {
        let mut symbols = Vec::new();
        match half {
            Some(DeviceHalf::Made { record, .. }) if !record.host_symbols.is_empty() => {
                symbols.push(record.everywhere.clone());
                symbols.extend(record.host_symbols.iter().map(|symbol| named(symbol)));
            }
            Some(DeviceHalf::Saved { object, .. }) => symbols = needed_by(&object.object),
            _ => {}
        }
        *own() = Some(symbols);
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        own().get_or_insert_default();
        IS_KNOWN.notify_all();
    }
}

/// What to keep of a program: what the compiler keeps, and what kernels need.
pub(crate) fn kept(exported: &[String], libraries: &[PathBuf]) -> Vec<String> {
    let mut all = exported.to_vec();
    all.extend(libraries.iter().flat_map(|library| needed_by(library)));
    let known = IS_KNOWN.wait_while(own(), |symbols| symbols.is_none());
    let known = known.unwrap_or_else(PoisonError::into_inner);
    all.extend(known.iter().flatten().cloned());
    all.sort();
    all.dedup();
    all
}

/// What the kernels in a library or an object need. A file that cannot be read has none.
fn needed_by(file: &Path) -> Vec<String> {
    let Ok(bytes) = std::fs::read(file) else { return Vec::new() };
    let Ok(sections) = sections_of_file(&bytes) else { return Vec::new() };
    let mut symbols = Vec::new();
    for section in sections {
        for record in records(section.data).flatten() {
            let images = record.images().iter().filter(|image| image.variant == IN_PROCESS);
            symbols.extend(images.flat_map(|image| &image.imported_symbols).map(|it| named(it)));
        }
    }
    symbols
}

/// The symbol of an entry of the list.
fn named(entry: &str) -> String {
    entry.strip_prefix(THREAD_LOCAL).unwrap_or(entry).to_owned()
}
