//! Links the compiler's own LLVM, and chooses the module of `src/rustc/` for its release.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the modules for the releases lie.
const RELEASES: &str = "src/rustc";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={RELEASES}");
    let [sysroot, library, compiler] = ["SYSROOT", "LIBRARY", "COMPILER"].map(|name| {
        let path = std::env::var_os(format!("DEP_SCHISM_LLVM_{name}"));
        PathBuf::from(path.expect("schism-llvm tells it"))
    });
    // Where `schism-rustdoc` finds the compiler's own.
    println!("cargo::rustc-env=SCHISM_SYSROOT={}", sysroot.display());
    link(&library, &compiler);
    choose_release(&sysroot.join("bin/rustc"));
}

/// Links LLVM and the compiler.
fn link(library: &Path, compiler: &Path) {
    let folder = library.parent().unwrap_or(Path::new("/"));
    let file = library.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=dylib:+verbatim={file}");
    for folder in [Some(folder), compiler.parent()].into_iter().flatten() {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", folder.display());
    }
    // A rebuilt rustc-dev is metadata only: its link stub has no symbols, so the linker must be
    // told that the plugin needs the compiler's shared library all the same.
    println!("cargo::rustc-link-arg=-Wl,--no-as-needed,{}", compiler.display());
}

/// Writes `mod release` with the path of the module that fits the compiler: its own, or for a
/// compiler newer than all of them the newest.
fn choose_release(rustc: &Path) {
    let output = Command::new(rustc).arg("-vV").output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {}: {error}", rustc.display()));
    let version = String::from_utf8_lossy(&output.stdout);
    let release = version.lines().find_map(|line| line.strip_prefix("release: "));
    let release = release.unwrap_or_else(|| panic!("{} says no release", rustc.display()));
    let minor = release.split('.').nth(1).and_then(|minor| minor.parse().ok());
    let minor: u32 = minor.unwrap_or_else(|| panic!("`{release}` is no release of rustc"));
    println!("cargo::rustc-env=SCHISM_RELEASE={release}");
    let known = known();
    let fits = known.iter().rev().find(|known| **known <= minor);
    let fits = fits.unwrap_or_else(|| panic!("rustc {release} is too old: 1.{} works", known[0]));
    let own = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let module = own.join(RELEASES).join(format!("v1_{fits}.rs"));
    let module = module.to_str().expect("a path in UTF-8");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    std::fs::write(out.join("release.rs"), format!("#[path = {module:?}]\nmod release;\n"))
        .expect("OUT_DIR can be written");
}

/// The releases that have a module, in order: `95` for `v1_95.rs`.
fn known() -> Vec<u32> {
    let entries = std::fs::read_dir(RELEASES)
        .unwrap_or_else(|error| panic!("cannot read {RELEASES}: {error}"));
    let mut known: Vec<u32> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            name.to_str()?.strip_prefix("v1_")?.strip_suffix(".rs")?.parse().ok()
        })
        .collect();
    known.sort_unstable();
    assert!(!known.is_empty(), "no v1_*.rs in {RELEASES}");
    known
}
