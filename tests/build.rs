//! The pinned toolchain's LLVM, for the tests that run passes.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let sysroot = std::env::var("DEP_SCHISM_PASSES_SYSROOT").expect("schism-passes tells it");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{sysroot}/lib");
}
