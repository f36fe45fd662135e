//! Links the compiler's own LLVM, whatever its name and wherever it lies, so that no LLVM is
//! downloaded or built. Tells the build scripts of the packages that depend on this one what it has
//! found out:
//!
//! - `DEP_SCHISM_LLVM_SYSROOT`, the root of the toolchain;
//! - `DEP_SCHISM_LLVM_MAJOR`, the major version of LLVM;
//! - `DEP_SCHISM_LLVM_LIBRARY`, the file of LLVM;
//! - `DEP_SCHISM_LLVM_COMPILER`, the shared library that holds the compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The major version of LLVM whose C interface `llvm-sys` declares.
const MAJOR: &str = "22";

fn main() {
    println!("cargo::rerun-if-env-changed=RUSTC");
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var_os("RUSTC").expect("cargo sets RUSTC for build scripts");
    let asked = Command::new(&rustc);
    let sysroot = PathBuf::from(said(asked, &["--print", "sysroot"]).trim());
    let rustc = sysroot.join("bin/rustc");
    let version = said(Command::new(&rustc), &["-vV"]);
    let llvm = version.lines().find_map(|line| line.strip_prefix("LLVM version: "));
    assert!(
        llvm.and_then(|llvm| llvm.split('.').next()) == Some(MAJOR),
        "{} has LLVM {}, and this crate is written for LLVM {MAJOR}",
        rustc.display(),
        llvm.unwrap_or("of no version that it tells"),
    );
    let loaded = loaded_by(&rustc);
    let library = named(&loaded, "libLLVM", &rustc);
    let compiler = named(&loaded, "librustc_driver-", &rustc);
    println!("cargo::metadata=sysroot={}", sysroot.display());
    println!("cargo::metadata=major={MAJOR}");
    println!("cargo::metadata=library={}", library.display());
    println!("cargo::metadata=compiler={}", compiler.display());
    let folder = library.parent().unwrap_or(Path::new("/"));
    let file = library.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=dylib:+verbatim={file}");
    // Only this package's own tests run from the build directory.
    println!("cargo::rustc-link-arg=-Wl,-rpath,{}", folder.display());
}

/// What a compiler prints.
fn said(mut rustc: Command, arguments: &[&str]) -> String {
    let output = rustc.args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {rustc:?}: {error}"));
    assert!(output.status.success(), "{rustc:?} failed");
    String::from_utf8(output.stdout).expect("rustc prints UTF-8")
}

/// The shared libraries that a program loads. The loader lists them and does not start it; that is
/// what `ldd` does.
fn loaded_by(program: &Path) -> Vec<PathBuf> {
    let mut traced = Command::new(program);
    traced.env("LD_TRACE_LOADED_OBJECTS", "1");
    let paths = said(traced, &[]);
    let paths = paths.lines().filter_map(|line| line.split_once(" => ")?.1.split(" (").next());
    paths.map(PathBuf::from).collect()
}

/// The one whose file's name starts so.
fn named(loaded: &[PathBuf], prefix: &str, rustc: &Path) -> PathBuf {
    let found = loaded.iter().find(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(prefix))
    });
    let found = found.unwrap_or_else(|| {
        panic!("{} loads no {prefix}*.so, but {loaded:?}: is LLVM part of it?", rustc.display())
    });
    // Without `bin/../lib`, but with the name that the program asks for.
    let folder = found.parent().and_then(|folder| folder.canonicalize().ok());
    folder.zip(found.file_name()).map_or_else(|| found.clone(), |(folder, name)| folder.join(name))
}
