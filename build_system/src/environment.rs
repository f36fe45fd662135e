//! The environment of the programs that are started.
//!
//! Two things come in from outside. `cargo run` (the alias inside the checkout) describes *this*
//! program's package to its child in variables that the inner cargo, and the build scripts under it, must not
//! take for theirs. And a user's own settings for their builds (flags, target directories,
//! profiles) must not change how the plugin is built.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use crate::toolchain::Toolchain;

/// Whether this process was started by `cargo run`: the package that is described is that of this
/// program, which has the package's name.
pub fn under_cargo_run() -> bool {
    let Ok(program) = std::env::current_exe() else { return false };
    std::env::var_os("CARGO_PKG_NAME").is_some_and(|name| program.ends_with(name))
}

/// Gives a command the environment that the user's shell had, without what an outer cargo has added.
pub fn restore(command: &mut Command, toolchain: &Toolchain) {
    // A cargo believes what $CARGO says of itself, and this may be another one.
    command
        .env_remove("CARGO")
        .env_remove("RUST_RECURSION_COUNT")
        .env_remove("RUSTUP_TOOLCHAIN_SOURCE");
    // For the tools that cargo finds in PATH and that are rustup's proxies, such as cargo-clippy.
    if let Some(name) = toolchain.rustup_name() {
        command.env("RUSTUP_TOOLCHAIN", name);
    }
    if !under_cargo_run() {
        return;
    }
    forget_package(command);
    for_libraries(command, toolchain);
}

/// Takes away what `cargo run` has said of this program's package.
pub fn undo_cargo_run(command: &mut Command) {
    command.env_remove("CARGO");
    if under_cargo_run() {
        forget_package(command);
    }
}

fn forget_package(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(describes_this_package) {
            command.env_remove(name);
        }
    }
}

fn for_libraries(command: &mut Command, toolchain: &Toolchain) {
    if let Some(value) = std::env::var_os("LD_LIBRARY_PATH") {
        let mut own = vec![toolchain.sysroot.clone()];
        // From target/release/cargo-schism: cargo added target/release/deps and the like.
        own.extend(std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned())));
        match without(&value, &own) {
            Some(rest) => command.env("LD_LIBRARY_PATH", rest),
            None => command.env_remove("LD_LIBRARY_PATH"),
        };
    }
}

/// Gives a command an environment in which nothing but the toolchain decides what is built.
pub fn isolate(command: &mut Command, toolchain: &Toolchain) {
    restore(command, toolchain);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(changes_builds) {
            command.env_remove(name);
        }
    }
    command.env("RUSTC", &toolchain.rustc);
}

/// Variables by which `cargo run` describes a package to the program it starts.
fn describes_this_package(name: &str) -> bool {
    name.starts_with("CARGO_PKG_")
        || name.starts_with("CARGO_BIN_EXE_")
        || matches!(
            name,
            "CARGO_MANIFEST_DIR"
                | "CARGO_MANIFEST_PATH"
                | "CARGO_BIN_NAME"
                | "CARGO_CRATE_NAME"
                | "CARGO_PRIMARY_PACKAGE"
                | "OUT_DIR"
        )
}

/// Variables by which a user tells cargo and rustc how to build.
fn changes_builds(name: &str) -> bool {
    const PREFIXES: &[&str] =
        &["CARGO_BUILD_", "CARGO_PROFILE_", "CARGO_TARGET_", "CARGO_UNSTABLE_", "CFG_", "RUSTC_"];
    if name.starts_with("CARGO_TARGET_") && (name.ends_with("_LINKER") || name.ends_with("_AR")) {
        return false; // the machine's tools, not a wish about the result
    }
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || matches!(
            name,
            "RUSTC"
                | "RUSTDOC"
                | "RUSTFLAGS"
                | "RUSTDOCFLAGS"
                | "CARGO_ENCODED_RUSTFLAGS"
                | "CARGO_INCREMENTAL"
                | "LLVM_CONFIG"
        )
}

/// A search path without the directories that lie in one of these; `None` if nothing is left.
fn without(path: &OsStr, own: &[impl AsRef<Path>]) -> Option<OsString> {
    let kept: Vec<_> = std::env::split_paths(path)
        .filter(|entry| {
            // rustup's toolchains may be links to others.
            let resolved = entry.canonicalize();
            let inside = |own: &Path| {
                entry.starts_with(own)
                    || resolved.as_ref().is_ok_and(|entry| entry.starts_with(own))
            };
            !entry.as_os_str().is_empty() && !own.iter().any(|own| inside(own.as_ref()))
        })
        .collect();
    (!kept.is_empty()).then(|| std::env::join_paths(kept).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outer_cargos_library_directories_go() {
        let own = ["/work/target/release", "/toolchain"];
        let path = OsStr::new("/work/target/release/deps:/opt/lib:/toolchain/lib:/toolchain2/lib");
        assert_eq!(without(path, &own), Some("/opt/lib:/toolchain2/lib".into()));
        assert_eq!(without(OsStr::new("/toolchain/lib:/work/target/release"), &own), None);
    }

    #[test]
    fn a_users_own_variables_are_told_apart() {
        assert!(
            describes_this_package("CARGO_PKG_VERSION_MAJOR")
                && describes_this_package("CARGO_MANIFEST_DIR")
        );
        for kept in
            ["CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_TERM_COLOR", "CARGO_NET_OFFLINE", "RUSTFLAGS"]
        {
            assert!(!describes_this_package(kept), "{kept}");
        }
        for changing in [
            "CARGO_TARGET_DIR",
            "CARGO_PROFILE_RELEASE_LTO",
            "RUSTFLAGS",
            "RUSTC_WRAPPER",
            "RUSTC_BOOTSTRAP",
        ] {
            assert!(changes_builds(changing), "{changing}");
        }
        for neutral in [
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "CARGO_HTTP_PROXY",
            "PATH",
            "CC",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
        ] {
            assert!(!changes_builds(neutral), "{neutral}");
        }
    }
}
