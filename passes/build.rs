//! Tells the build scripts of the packages that depend on this one where the toolchain is:
//! `DEP_SCHISM_PASSES_SYSROOT`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let sysroot = std::env::var("DEP_SCHISM_LLVM_SYSROOT").expect("schism-llvm tells it");
    println!("cargo::metadata=sysroot={sysroot}");
    // Only this package's own tests and tools run from the build directory.
    println!("cargo::rustc-link-arg=-Wl,-rpath,{sysroot}/lib");
}
