//! Tells the build scripts of the packages that depend on this one what `schism-llvm`'s has found
//! out, under the same names: `DEP_SCHISM_PASSES_SYSROOT`, `DEP_SCHISM_PASSES_MAJOR`,
//! `DEP_SCHISM_PASSES_LIBRARY`.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let [sysroot, major, library] = ["SYSROOT", "MAJOR", "LIBRARY"].map(|name| {
        std::env::var(format!("DEP_SCHISM_LLVM_{name}")).expect("schism-llvm tells it")
    });
    println!("cargo::metadata=sysroot={sysroot}");
    println!("cargo::metadata=major={major}");
    println!("cargo::metadata=library={library}");
    // Only this package's own tests and tools run from the build directory.
    let folder = Path::new(&library).parent().unwrap_or(Path::new("/"));
    println!("cargo::rustc-link-arg=-Wl,-rpath,{}", folder.display());
}
