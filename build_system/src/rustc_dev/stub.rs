//! The link stub: an empty shared library with the soname of the installed `librustc_driver` and
//! our metadata of it.
//!
//! The plugin links to the stub; at run time the loader finds the installed library by that soname.

use std::path::Path;
use std::process::Command;

use crate::command;
use crate::error::{FileContext, Result};

/// What to do where no C compiler is.
pub const INSTALL_CC: &str =
    "Install a C compiler and linker, as every Rust program needs one (apt install gcc libc6-dev).";

/// Writes the stub for the library named `soname` with the metadata in the file `metadata`.
pub fn write(metadata: &Path, soname: &str, work: &Path, stub: &Path) -> Result<()> {
    let blob = std::fs::read(metadata).at("read", metadata)?;
    let section = work.join("stub.section");
    std::fs::write(&section, section_of(&blob)).at("write", &section)?;
    let assembly = work.join("stub.s");
    // No flags: not loaded, and kept by the linker.
    let text = ".section .rustc,\"\",@progbits\n.incbin \"stub.section\"\n.section .note.GNU-stack,\"\",@progbits\n";
    std::fs::write(&assembly, text).at("write", &assembly)?;
    let mut cc = Command::new("cc");
    cc.current_dir(work)
        .args(["-shared", "-nostdlib", "stub.s"])
        .arg(format!("-Wl,-soname,{soname}"))
        .arg("-o")
        .arg(stub);
    command::capture(cc, "to link", INSTALL_CC).map(drop)
}

/// The section's contents: as a file, with the length between the header and the rest.
fn section_of(metadata: &[u8]) -> Vec<u8> {
    let header = &metadata[..metadata.len().min(8)];
    let mut section = header.to_vec();
    section.extend((metadata.len() as u64).to_le_bytes());
    section.extend(metadata);
    section
}
