//! Links the compiler's own LLVM, so that no LLVM is downloaded or built, and compiles to
//! bitcode what stage 2 links to kernels: the device library, and the code that copies messages on
//! GPUs and has their heap.

mod library;
mod llvm;

use std::path::{Path, PathBuf};
use std::process::Command;

use llvm::Llvm;

fn main() {
    println!("cargo::rerun-if-changed=build");
    let [sysroot, library, major] = ["SYSROOT", "LIBRARY", "MAJOR"].map(|name| {
        let told = std::env::var_os(format!("DEP_SCHISM_PASSES_{name}"));
        PathBuf::from(told.expect("schism-passes tells it"))
    });
    let folder = library.parent().unwrap_or(Path::new("/"));
    let file = library.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=dylib:+verbatim={file}");
    // Identifies the compiler of kernels: cached kernels belong to one build of this library.
    println!("cargo::rustc-link-arg-cdylib=-Wl,--build-id=sha1");
    // An installation may put LLVM beside the library; otherwise it is where the toolchain has it.
    println!("cargo::rustc-link-arg=-Wl,-rpath,$ORIGIN");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{}", folder.display());
    // Code for AMD's GPUs is linked by the toolchain's own linker. A distribution has that of the
    // same LLVM in its own package.
    let host = std::env::var("TARGET").expect("cargo sets TARGET");
    let own = sysroot.join("lib/rustlib").join(host).join("bin/rust-lld");
    let major = major.display();
    let distributions = sysroot.join(format!("bin/lld-{major}"));
    println!("cargo::rustc-env=SCHISM_LLVM_MAJOR={major}");
    println!("cargo::rustc-env=SCHISM_TOOLCHAIN_LLD={}", own.display());
    println!("cargo::rustc-env=SCHISM_DISTRIBUTION_LLD={}", distributions.display());
    let llvm = Llvm::open(&library, &library::OPTIONS);
    device_library(&sysroot.join("bin/rustc"), &llvm);
    linked_to_kernels(&sysroot.join("bin/rustc"));
}

/// How the device library is compiled: for no processor in particular, in the form in which rustc
/// hands it to LLVM. Functions that are not inlined yet can still be replaced by a device's own.
/// The level of optimisation only makes the compiler emit the lengths of slices and so on; from 2
/// on it would inline by itself.
const BITCODE: [&str; 11] = [
    "--emit=llvm-bc",
    "-Cno-prepopulate-passes",
    "-Copt-level=1",
    "-Ccodegen-units=1",
    "-Cdebuginfo=0",
    "-Cdebug-assertions=no",
    "-Coverflow-checks=no",
    "-Cpanic=abort",
    "-Cforce-unwind-tables=no",
    "-Crelocation-model=static",
    "-Csymbol-mangling-version=v0",
];

/// Compiles `devicelib` and its dependencies to bitcode, and prepares that, in `OUT_DIR`.
fn device_library(rustc: &Path, llvm: &Llvm) {
    let variable = |name: &str| {
        PathBuf::from(std::env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}")))
    };
    let package = variable("CARGO_MANIFEST_DIR").join("../devicelib");
    println!("cargo::rerun-if-changed={}", package.join("src").display());
    println!("cargo::rerun-if-changed={}", package.join("Cargo.toml").display());
    let out = variable("OUT_DIR");
    // Output of an earlier compiler or dependency must not be confused with the new one.
    let target = out.join("devicelib");
    if target.exists() {
        std::fs::remove_dir_all(&target)
            .unwrap_or_else(|error| panic!("cannot remove {}: {error}", target.display()));
    }
    let host = variable("TARGET");
    let status = Command::new(variable("CARGO"))
        .args(["build", "--quiet", "--release", "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        // Flags then do not apply to build scripts.
        .arg("--target")
        .arg(&host)
        .env("RUSTC", rustc)
        .env("RUSTC_WRAPPER", "")
        .env("RUSTC_WORKSPACE_WRAPPER", "")
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_ENCODED_RUSTFLAGS", BITCODE.join("\x1f"))
        .env_remove("RUSTC_BOOTSTRAP")
        .status()
        .unwrap_or_else(|error| panic!("cannot run cargo: {error}"));
    assert!(status.success(), "the device library in {} cannot be compiled", package.display());
    let made = target.join(&host).join("release").join("deps");
    let parts = out.join("library");
    std::fs::create_dir_all(&parts)
        .unwrap_or_else(|error| panic!("cannot make {}: {error}", parts.display()));
    let [exports, libm] = ["schism_devicelib", "libm"].map(|name| only(&made, name));
    let table = library::prepare(llvm, &exports, &libm, &parts);
    let file = out.join("library.rs");
    std::fs::write(&file, table)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", file.display()));
}

/// The one file `NAME-….bc` of a folder.
fn only(folder: &Path, name: &str) -> PathBuf {
    let entries = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()));
    let found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
            file.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('-') && rest.ends_with(".bc"))
        })
        .collect();
    match &found[..] {
        [one] => one.clone(),
        _ => panic!("not one `{name}-….bc` in {}, but {found:?}", folder.display()),
    }
}

/// Compiles `recorder.rs` and `heap.rs` to bitcode for stage 2. Their dependencies only need to provide
/// types and inlined functions.
fn linked_to_kernels(rustc: &Path) {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let out = out.join("recorder");
    // Output of an earlier build must not be confused with the new one.
    if out.exists() {
        std::fs::remove_dir_all(&out)
            .unwrap_or_else(|error| panic!("cannot remove {}: {error}", out.display()));
    }
    let compile = |source: &str, arguments: &[&str]| {
        let status = Command::new(rustc)
            .args(["--edition=2024", "-Copt-level=s", "-Cpanic=abort", "-Cforce-unwind-tables=no"])
            .args([
                "-Coverflow-checks=off",
                "-Cdebug-assertions=off",
                "-Ccodegen-units=1",
                "-Cdebuginfo=0",
            ])
            .args(["-Cno-vectorize-loops", "-Cno-vectorize-slp", "--cap-lints=allow"])
            .arg("--out-dir")
            .arg(&out)
            .arg("-L")
            .arg(&out)
            .args(arguments)
            .arg(source)
            .status()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", rustc.display()));
        assert!(status.success(), "`{source}` does not compile");
    };
    let library = |name: &str, source: &str, arguments: &[&str]| {
        println!("cargo::rerun-if-changed={source}");
        let name = format!("--crate-name={name}");
        let library = ["--crate-type=lib", &name];
        compile(&format!("{source}/lib.rs"), &[&library, arguments].concat());
    };
    library("schism_jit_abi", "../abi/src", &[]);
    library("schism_message", "../../passes/message/src", &["--extern=schism_jit_abi"]);
    let externs = ["--extern=schism_jit_abi", "--extern=schism_message"];
    for source in ["recorder.rs", "heap.rs"] {
        println!("cargo::rerun-if-changed={source}");
        compile(source, &[&["--crate-type=lib", "--emit=llvm-bc"], &externs[..]].concat());
    }
}
