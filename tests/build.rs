//! The toolchain's LLVM, for the tests that run passes.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let library = std::env::var("DEP_SCHISM_PASSES_LIBRARY").expect("schism-passes tells it");
    let folder = Path::new(&library).parent().unwrap_or(Path::new("/"));
    println!("cargo::rustc-link-arg=-Wl,-rpath,{}", folder.display());
}
