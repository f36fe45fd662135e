//! Links the pinned toolchain's own LLVM, so that no LLVM is downloaded or built, and tells the
//! build scripts of the packages that depend on this one where the toolchain is:
//! `DEP_SCHISM_LLVM_SYSROOT`.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=RUSTC");
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var_os("RUSTC").expect("cargo sets RUSTC for build scripts");
    let output = Command::new(&rustc)
        .args(["--print", "sysroot"])
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", rustc.display()));
    assert!(output.status.success(), "`{} --print sysroot` failed", rustc.display());
    let sysroot = PathBuf::from(
        String::from_utf8(output.stdout).expect("rustc prints its sysroot as UTF-8").trim(),
    );
    let lib = sysroot.join("lib");
    let llvm = lib.join("libLLVM-22-rust-1.95.0-stable.so");
    assert!(
        llvm.exists(),
        "{} does not exist: this crate needs the LLVM of Rust 1.95.0, as rust-toolchain.toml asks for; \
         RUSTC is {}",
        llvm.display(),
        rustc.display()
    );
    println!("cargo::metadata=sysroot={}", sysroot.display());
    println!("cargo::rustc-link-search=native={}", lib.display());
    println!("cargo::rustc-link-lib=dylib=LLVM-22-rust-1.95.0-stable");
    // Only this package's own tests run from the build directory.
    println!("cargo::rustc-link-arg=-Wl,-rpath,{}", lib.display());
}
