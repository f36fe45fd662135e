//! Links the pinned toolchain's own LLVM, the one that the compiler itself uses.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=RUSTC");
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var_os("RUSTC").expect("cargo sets RUSTC for build scripts");
    let output = Command::new(&rustc)
        .args(["--print", "sysroot"])
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", rustc.display()));
    let sysroot = PathBuf::from(
        String::from_utf8(output.stdout).expect("rustc prints its sysroot as UTF-8").trim(),
    );
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
