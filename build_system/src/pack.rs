//! Which files the plugin, stage 2 and the runtime are built from, and how they travel inside the
//! binary.
//!
//! Shared by the build script, which packs them, and the program, which unpacks them.

use std::io;
use std::path::{Path, PathBuf};

/// What is needed of the checkout besides its root files.
pub const DIRECTORIES: &[&str] = &["codegen", "passes", "runtime"];
/// Of these, what the plugin and stage 2 are built from. The rest is for the runtime of programs
/// with parallel iterators.
const OF_SETUP: &[&str] = &[
    "codegen",
    "passes",
    "runtime/abi",
    "runtime/devicelib",
    "runtime/hcf",
    "runtime/jit",
    "runtime/loader",
    "runtime/trust",
];
/// What is packed for the published package, beside its `Cargo.toml`.
pub const FILE: &str = "sources.pack";
/// The root files.
pub const ROOT_FILES: &[&str] = &["Cargo.toml", "Cargo.lock"];
/// Directories that no build of the libraries reads.
const SKIPPED: &[&str] = &["target", "tests", "benches", "examples", "fuzz", "corpus", "docs"];

/// Whether the plugin and stage 2 are built from a file, among others.
pub fn is_of_setup(file: &Path) -> bool {
    let is_of_root = ROOT_FILES.iter().any(|root| file == Path::new(root));
    is_of_root || OF_SETUP.iter().any(|directory| file.starts_with(directory))
}

/// Whether a folder is the workspace.
pub fn is_workspace(root: &Path) -> bool {
    root.join("codegen/Cargo.toml").is_file()
}

/// The files, relative to the checkout's root, in a fixed order.
pub fn files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found: Vec<_> = ROOT_FILES.iter().map(PathBuf::from).collect();
    for directory in DIRECTORIES {
        walk(root, Path::new(directory), &mut found)?;
    }
    found.sort();
    Ok(found)
}

fn walk(root: &Path, relative: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(root.join(relative))? {
        let entry = entry?;
        let name = entry.file_name();
        let path = relative.join(&name);
        if name.as_encoded_bytes().starts_with(b".") {
            continue; // editors' files
        }
        if name.as_encoded_bytes().starts_with(b"LICENSE") {
            continue; // packages have them, and cargo-schism's own is one
        }
        // Follows links: what a link points to is what gets built.
        if root.join(&path).is_dir() {
            if !SKIPPED.iter().any(|skipped| name == *skipped) {
                walk(root, &path, found)?;
            }
        } else {
            found.push(path);
        }
    }
    Ok(())
}

/// Packs files into one block: per file the length of its path, the path, the length of its
/// contents, the contents.
pub fn pack(root: &Path, files: &[PathBuf]) -> io::Result<Vec<u8>> {
    let mut block = Vec::new();
    for file in files {
        let path = file.as_os_str().as_encoded_bytes();
        let contents = std::fs::read(root.join(file))?;
        for bytes in [path, &contents] {
            block.extend((bytes.len() as u64).to_le_bytes());
            block.extend(bytes);
        }
    }
    Ok(block)
}
