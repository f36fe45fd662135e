//! The three programs that stand in for others while rustc-dev is rebuilt. They are this program
//! under other names.
//!
//! - in rustc's place, for the crates of the compiler: stops after the metadata, and leaves the
//!   system's libraries out of it. The installed compiler is linked with them; a program that uses
//!   the metadata would be linked with them once more (`-lstdc++`), which takes packages that
//!   nothing else needs;
//! - in llvm-config's: answers for the LLVM inside the toolchain, which comes without an
//!   llvm-config;
//! - in the C++ compiler's: compiles to empty objects. The C++ that belongs to rustc_llvm is in the
//!   installed compiler already; only what its build script says to rustc is wanted.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::error::{FileContext, Result};
use crate::toolchain::Toolchain;
use crate::variables::{SHIM_LLVM_LIBDIR, SHIM_LLVM_LIBRARY, SHIM_LLVM_VERSION};

const RUSTC: &str = "schism-shim-rustc";
const LLVM_CONFIG: &str = "schism-shim-llvm-config";
const CXX: &str = "schism-shim-cxx";

/// What llvm-config calls the parts that the toolchain's LLVM has.
const COMPONENTS: &str = "x86 arm aarch64 amdgpu avr loongarch m68k csky mips powerpc systemz webassembly msp430 sparc \
    nvptx hexagon riscv bpf xtensa ipo bitreader bitwriter linker asmparser lto coverage instrumentation";

/// The stand-ins, made in a directory.
pub struct Shims {
    directory: PathBuf,
}

impl Shims {
    /// Copies this program there: the original may be replaced by a newer one while they are in
    /// use.
    pub fn make(directory: &Path) -> Result<Shims> {
        std::fs::create_dir_all(directory).at("create", directory)?;
        let own = std::env::current_exe().at("find", "this program")?;
        let copy = directory.join(format!("cargo-schism.{}", std::process::id()));
        std::fs::copy(&own, &copy).at("write", &copy)?;
        let program = directory.join("cargo-schism");
        std::fs::rename(&copy, &program).at("write", &program)?;
        for name in [RUSTC, LLVM_CONFIG, CXX] {
            crate::publish::link(&directory.join(name), Path::new("cargo-schism"))?;
        }
        Ok(Shims { directory: directory.to_owned() })
    }

    /// Puts them in the place of the originals.
    pub fn install(&self, command: &mut Command, toolchain: &Toolchain) {
        let version = &toolchain.version;
        let major = version.llvm.split('.').next().unwrap_or_default();
        // rust-lang's toolchains have their own; a distribution's compiler has the system's.
        let own = format!("LLVM-{major}-rust-{}-stable", version.release);
        let is_there = toolchain.libraries.join(format!("lib{own}.so")).is_file();
        let llvm = if is_there { own } else { format!("LLVM-{major}") };
        command
            .env("RUSTC_WRAPPER", self.directory.join(RUSTC))
            .env("LLVM_CONFIG", self.directory.join(LLVM_CONFIG))
            .env(format!("CXX_{}", version.host.replace('-', "_")), self.directory.join(CXX))
            .env("LLVM_LINK_SHARED", "1")
            .env(SHIM_LLVM_VERSION, &version.llvm)
            .env(SHIM_LLVM_LIBRARY, format!("-l{llvm}"))
            .env(SHIM_LLVM_LIBDIR, &toolchain.libraries);
    }
}

/// If this process was started under a stand-in's name, does its work.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os();
    let name = PathBuf::from(arguments.next()?);
    let run: fn(Vec<OsString>) -> ExitCode = match name.file_name()?.to_str()? {
        RUSTC => rustc,
        LLVM_CONFIG => llvm_config,
        CXX => cxx,
        _ => return None,
    };
    Some(run(arguments.collect()))
}

fn rustc(arguments: Vec<OsString>) -> ExitCode {
    match metadata_only(arguments) {
        Some(command) => exec(command),
        None => ExitCode::SUCCESS,
    }
}

/// The command line that compiles to metadata what is for the target (build scripts and procedural
/// macros are for the host: cargo gives them no `--target`). `None` for the compiler's `main`,
/// which is not needed.
fn metadata_only(arguments: Vec<OsString>) -> Option<Vec<OsString>> {
    let after = |option: &str| {
        arguments
            .iter()
            .position(|argument| argument == option)
            .and_then(|index| arguments.get(index + 1))
            .and_then(|value| value.to_str())
    };
    let crate_name = after("--crate-name").unwrap_or("___");
    if after("--target").is_none() || crate_name == "___" {
        return Some(arguments); // for the host, or one of cargo's questions to rustc
    }
    let arguments = without_shared_libraries(&arguments);
    let mut command = Vec::with_capacity(arguments.len() + 3);
    match after("--crate-type") {
        Some("bin") => return None,
        Some("dylib") => {
            // rustc_driver holds std itself: without cargo's `-C prefer-dynamic`, as the release is
            // built.
            for argument in &arguments {
                if argument == "prefer-dynamic" {
                    command.pop();
                } else if argument.to_str().is_some_and(|argument| argument.starts_with("--emit="))
                {
                    command.push("--emit=metadata,link".into());
                } else {
                    command.push(argument.clone());
                }
            }
            command.push("-Zno-link".into());
        }
        // `--emit=…,link` stays: without it the metadata has no MIR of what is not generic.
        _ => command.extend(arguments.iter().cloned()),
    }
    command.push("-Zforce-unstable-if-unmarked".into());
    command.push("-Zno-codegen".into());
    Some(command)
}

/// Without `-l NAME`, where that is a shared library.
fn without_shared_libraries(arguments: &[OsString]) -> Vec<OsString> {
    let mut kept = Vec::with_capacity(arguments.len());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument != "-l" {
            kept.push(argument.clone());
            continue;
        }
        let Some(library) = rest.next() else { break };
        if library.to_str().is_some_and(|library| library.starts_with("static")) {
            kept.extend([argument.clone(), library.clone()]);
        }
    }
    kept
}

fn llvm_config(arguments: Vec<OsString>) -> ExitCode {
    let variable = |name| std::env::var(name).unwrap_or_default();
    for argument in arguments {
        match argument.to_str().unwrap_or_default() {
            "--version" => println!("{}", variable(SHIM_LLVM_VERSION)),
            "--shared-mode" => println!("shared"),
            "--has-rtti" => println!("NO"),
            "--libdir" => println!("{}", variable(SHIM_LLVM_LIBDIR)),
            "--ldflags" => println!("-L{}", variable(SHIM_LLVM_LIBDIR)),
            "--libs" => println!("{}", variable(SHIM_LLVM_LIBRARY)),
            "--cxxflags" => println!("-std=c++17"),
            "--components" => println!("{COMPONENTS}"),
            _ => {}
        }
    }
    ExitCode::SUCCESS
}

fn cxx(arguments: Vec<OsString>) -> ExitCode {
    let mut command = vec![OsString::from("cc")];
    if arguments.iter().any(|argument| argument == "-c") {
        let output = arguments
            .iter()
            .position(|argument| argument == "-o")
            .and_then(|index| arguments.get(index + 1));
        command.extend(["-c", "-x", "c", "/dev/null", "-o"].map(OsString::from));
        command.push(output.cloned().unwrap_or_else(|| "a.o".into()));
    } else {
        command.extend(arguments);
    }
    exec(command)
}

fn exec(command: Vec<OsString>) -> ExitCode {
    let Some((program, arguments)) = command.split_first() else { return ExitCode::FAILURE };
    let error = Command::new::<&OsStr>(program).args(arguments).exec();
    eprintln!("cannot start {}: {error}", program.display());
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(line: &str) -> Option<String> {
        let command = metadata_only(line.split(' ').map(OsString::from).collect())?;
        Some(command.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn host_crates_and_questions_pass_unchanged() {
        for line in [
            "rustc --crate-name syn --crate-type lib --emit=dep-info,metadata,link",
            "rustc -vV",
            "rustc - --crate-name ___ --print=file-names --crate-type bin --target x86_64-unknown-linux-gnu",
        ] {
            assert_eq!(rewritten(line).as_deref(), Some(line));
        }
    }

    #[test]
    fn libraries_stop_after_metadata() {
        assert_eq!(
            rewritten("rustc --crate-name rustc_span --crate-type lib --emit=dep-info,metadata,link --target t").unwrap(),
            "rustc --crate-name rustc_span --crate-type lib --emit=dep-info,metadata,link --target t -Zforce-unstable-if-unmarked -Zno-codegen"
        );
    }

    #[test]
    fn the_metadata_asks_for_no_shared_library() {
        assert_eq!(
            rewritten("rustc --crate-name rustc_llvm --crate-type lib -L native=/x -l dylib=LLVM-22 -l static=llvm-wrapper -l stdc++ --target t").unwrap(),
            "rustc --crate-name rustc_llvm --crate-type lib -L native=/x -l static=llvm-wrapper --target t -Zforce-unstable-if-unmarked -Zno-codegen"
        );
        // A build script is a program of the host's.
        let host = "rustc --crate-name build_script_build --crate-type bin -l stdc++";
        assert_eq!(rewritten(host).as_deref(), Some(host));
    }

    #[test]
    fn the_driver_holds_std_and_the_program_is_left_out() {
        assert_eq!(
            rewritten("rustc --crate-name rustc_driver --crate-type dylib --emit=dep-info,link -C prefer-dynamic -C opt-level=3 --target t").unwrap(),
            "rustc --crate-name rustc_driver --crate-type dylib --emit=metadata,link -C opt-level=3 --target t -Zno-link -Zforce-unstable-if-unmarked -Zno-codegen"
        );
        assert_eq!(rewritten("rustc --crate-name rustc_main --crate-type bin --target t"), None);
    }
}
