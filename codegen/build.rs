//! Links the pinned toolchain's own LLVM, the one that the compiler itself uses.

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let sysroot = std::env::var_os("DEP_SCHISM_PASSES_SYSROOT").expect("schism-passes tells it");
    let sysroot = PathBuf::from(sysroot);
    // Where `schism-rustdoc` finds the compiler's own.
    println!("cargo::rustc-env=SCHISM_SYSROOT={}", sysroot.display());
    let lib = sysroot.join("lib");
    println!("cargo::rustc-link-search=native={}", lib.display());
    println!("cargo::rustc-link-lib=dylib=LLVM-22-rust-1.95.0-stable");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{}", lib.display());
    // A rebuilt rustc-dev is metadata only: its link stub has no symbols, so the linker must be
    // told that the plugin needs the compiler's shared library all the same.
    if let Some(compiler) = compiler_in(&lib) {
        println!("cargo::rustc-link-arg=-Wl,--no-as-needed,{}", compiler.display());
    }
}

/// The shared library that holds the compiler.
fn compiler_in(lib: &Path) -> Option<PathBuf> {
    let mut candidates = std::fs::read_dir(lib).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    candidates.find(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("librustc_driver-") && name.ends_with(".so")
    })
}
