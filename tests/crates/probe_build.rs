//! A build script that looks for a nightly compiler in the ways that crates of the registry do: by
//! the version, and by compiling a program with an unstable feature.

use std::io::Write;
use std::process::{Command, Stdio};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(version_is_stable, probe_finds_nightly, bootstrap)");
    let rustc = std::env::var_os("RUSTC").unwrap();
    let version = Command::new(&rustc).arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    if !version.contains("nightly") && !version.contains("dev") {
        println!("cargo::rustc-cfg=version_is_stable");
    }
    let mut probe = Command::new(&rustc)
        .args(["--crate-type=rlib", "--crate-name=probe", "--emit=metadata", "-", "--out-dir"])
        .arg(std::env::var_os("OUT_DIR").unwrap())
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    probe.stdin.take().unwrap().write_all(b"#![feature(never_type)]\n").unwrap();
    if probe.wait().unwrap().success() {
        println!("cargo::rustc-cfg=probe_finds_nightly");
    }
    if std::env::var_os("RUSTC_BOOTSTRAP").is_some() {
        println!("cargo::rustc-cfg=bootstrap");
    }
}
