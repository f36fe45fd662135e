//! `SCHISM_DUMP_DIR`: writes a kernel's intermediate forms to files, for people.
//!
//! For each kernel: `1-image.ll` (as it came, reduced to the kernel), `2-legalized.ll` (made for
//! the device), `3-optimized.ll`, and the output of the code generator. If a directory cannot be
//! written, that is reported once for a kernel and does not fail the compile.

use schism_jit_abi::variables::DUMP_DIR;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::Request;
use crate::common::module::Module;

/// Reports a problem; errors of standard error are ignored.
fn report(what: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "schism: {DUMP_DIR}: {what}");
}

/// Where one kernel's files go, if anywhere.
pub struct Dump {
    prefix: Option<PathBuf>,
}

impl Dump {
    /// Makes the directory, if there is to be one. `target` identifies the other inputs of the code.
    pub fn new(
        directory: Option<&Path>,
        request: &Request,
        target: impl FnOnce() -> String,
    ) -> Self {
        let Some(directory) = directory else { return Self { prefix: None } };
        if let Err(error) = std::fs::create_dir_all(directory) {
            report(format_args!("cannot make {}: {error}", directory.display()));
            return Self { prefix: None };
        }
        Self { prefix: Some(directory.join(file_name(request, &target()))) }
    }

    /// Whether anything is written.
    pub fn is_on(&self) -> bool {
        self.prefix.is_some()
    }

    /// Writes a module's text.
    pub fn module(&self, step: &str, module: &Module<'_>) {
        if self.is_on() {
            self.bytes(step, module.print().as_bytes());
        }
    }

    /// Writes anything else.
    pub fn bytes(&self, step: &str, bytes: &[u8]) {
        let Some(prefix) = &self.prefix else { return };
        let mut path = prefix.clone().into_os_string();
        path.push(".");
        path.push(step);
        if let Err(error) = std::fs::write(&path, bytes) {
            report(format_args!("cannot write {}: {error}", PathBuf::from(path).display()));
        }
    }
}

/// The kernel's name, restricted to what a file name allows, and a hash of everything that the code
/// depends on.
fn file_name(request: &Request, target: &str) -> String {
    let readable: String = request
        .kernel
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' })
        .take(100)
        .collect();
    let mut hasher = DefaultHasher::new();
    request.image.hash(&mut hasher);
    request.kernel.hash(&mut hasher);
    request.dimensions.hash(&mut hasher);
    request.offset.hash(&mut hasher);
    request.math.hash(&mut hasher);
    request.values.hash(&mut hasher);
    target.hash(&mut hasher);
    request.constants.hash(&mut hasher);
    format!("{readable}.{:08x}", hasher.finish() as u32)
}
