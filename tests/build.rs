//! The pinned toolchain's LLVM, for the tests that run passes.

fn main() {
    println!("cargo::rerun-if-env-changed=RUSTC");
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var_os("RUSTC").expect("cargo sets RUSTC for build scripts");
    let output = std::process::Command::new(&rustc)
        .args(["--print", "sysroot"])
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", rustc.display()));
    let sysroot = String::from_utf8(output.stdout).expect("rustc prints its sysroot as UTF-8");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{}/lib", sysroot.trim());
}
