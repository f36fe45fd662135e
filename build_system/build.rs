//! Packs the sources of the plugin and of stage 2, so that an installed `cargo schism` can build
//! them.

use std::path::PathBuf;

// The program has this as a module too; each uses a part of it.
#[allow(dead_code)]
#[path = "src/pack.rs"]
mod pack;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/pack.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"))
        .join("sources.pack");
    // Asked for when it runs: cargo may take the build script of the same package in another place.
    let own = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = own.parent().expect("a package is in a folder");
    let packed = own.join(pack::FILE);
    let block = if std::env::var_os("CARGO_FEATURE_EMBEDDED_SOURCES").is_none() {
        Vec::new()
    } else if !pack::is_workspace(root) {
        // This is the published package, away from the workspace.
        println!("cargo::rerun-if-changed={}", pack::FILE);
        std::fs::read(&packed).unwrap_or_else(|error| panic!("{}: {error}", packed.display()))
    } else {
        let files = pack::files(root).expect("the workspace's sources can be listed");
        for path in pack::DIRECTORIES.iter().chain(pack::ROOT_FILES) {
            // Of a directory cargo looks at every file below it.
            println!("cargo::rerun-if-changed=../{path}");
        }
        pack::pack(root, &files).expect("the workspace's sources can be read")
    };
    std::fs::write(out, block).expect("OUT_DIR can be written");
}
