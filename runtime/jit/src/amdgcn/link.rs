//! Links the object of a kernel to a code object, as the driver loads it: an ELF shared object.
//!
//! The toolchain's own linker does it, `rust-lld`, which uses the LLVM that is loaded here anyway.
//! The object goes to its standard input and the code object comes from its standard output, so no
//! file is written. It is looked for
//!
//! 1. at the path in `SCHISM_LLD`;
//! 2. beside this library, where an installation may have put it together with LLVM;
//! 3. in the toolchain that this library was built with, as `rust-lld`;
//! 4. beside that toolchain's compiler, as `lld-22`: a distribution's compiler uses the system's
//!    LLVM, and its linker of the same version is a separate package.
//!
//! A linker in this process would need no program, but what the driver's loader expects of a code
//! object (the order of segments, both symbol tables, relocations that are left to it) is only
//! described by what this linker makes.

use schism_jit_abi::variables::LLD;
use std::ffi::CStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use crate::JitError;

/// The linker's file.
const FILE: &str = "rust-lld";

/// Where rust-lang's toolchains have it, and where a distribution has it.
const INSTALLED: [&str; 2] = [env!("SCHISM_TOOLCHAIN_LLD"), env!("SCHISM_DISTRIBUTION_LLD")];

/// Links one object, by the linker at the path `named` if there is one.
///
/// # Errors
/// There is no linker, it cannot be started, or it refuses the object.
pub fn link(object: &[u8], named: Option<PathBuf>) -> Result<Vec<u8>, JitError> {
    let linker = find(named)?;
    let mut command = Command::new(&linker);
    command
        .args(["-flavor", "gnu", "-m", "elf64_amdgpu", "-shared", "--no-undefined"])
        // The same bytes each time.
        .args(["--build-id=none", "--threads=1", "/dev/stdin", "-o", "-"])
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        JitError::Linker(format!("{} {what}: {error}", linker.display()))
    };
    let mut child = command.spawn().map_err(|error| failed("cannot be started", &error))?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    // All three at the same time, since each pipe has little room.
    let (written, read) = thread::scope(|scope| {
        let writer = scope.spawn(|| input.map_or(Ok(()), |mut input| input.write_all(object)));
        let reader = scope.spawn(|| {
            let mut bytes = Vec::new();
            output.map_or(Ok(0), |mut output| output.read_to_end(&mut bytes)).map(|_| bytes)
        });
        (writer.join(), reader.join())
    });
    let ended = child.wait_with_output().map_err(|error| failed("is gone", &error))?;
    if !ended.status.success() {
        let text = String::from_utf8_lossy(&ended.stderr);
        return Err(failed(&format!("ended with {}", ended.status), &text.trim()));
    }
    let panicked = |_| JitError::Internal("a thread of the linker's pipes panicked".to_owned());
    written.map_err(panicked)?.map_err(|error| failed("does not read", &error))?;
    read.map_err(panicked)?.map_err(|error| failed("does not write", &error))
}

/// The linker: a file that only trusted users can write.
fn find(named: Option<PathBuf>) -> Result<PathBuf, JitError> {
    if let Some(path) = named {
        return match schism_trust::open(&path) {
            Ok(_) => Ok(path),
            Err(error) => Err(JitError::NoLinker(format!("{LLD}: {}", error.about(&path)))),
        };
    }
    let beside = own_folder().map(|folder| folder.join(FILE));
    let places: Vec<PathBuf> = beside.into_iter().chain(INSTALLED.map(PathBuf::from)).collect();
    let mut reasons = Vec::new();
    for place in &places {
        match schism_trust::open(place) {
            Ok(_) => return Ok(place.clone()),
            Err(error) => reasons.push(error.about(place)),
        }
    }
    Err(JitError::NoLinker(reasons.join("; ")))
}

/// The folder of the file that this code is loaded from.
fn own_folder() -> Option<PathBuf> {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: an address of this library; the structure can be written.
    let is_found = unsafe { libc::dladdr(link as *const libc::c_void, found.as_mut_ptr()) } != 0;
    // SAFETY: zeros are valid, and more so what the loader wrote.
    let found = unsafe { found.assume_init() };
    if !is_found || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's text, which lives as long as the library.
    let name = unsafe { CStr::from_ptr(found.dli_fname) }.to_str().ok()?;
    let path = Path::new(name);
    path.is_absolute().then(|| path.parent().map(Path::to_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linker_says_what_it_does_not_take() {
        let error = link(b"no object", None).expect_err("it is no object");
        if matches!(&error, JitError::NoLinker(_)) {
            println!("skipped: {error}");
            return;
        }
        assert!(matches!(&error, JitError::Linker(_)), "{error}");
        assert!(error.to_string().contains("lld"), "{error}");
    }
}
