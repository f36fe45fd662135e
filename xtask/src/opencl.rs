//! What tests for OpenCL need: a driver that takes SPIR-V, and the validator of SPIR-V.
//!
//! Intel's driver for processors runs without a GPU, and PyPI has it, so it is fetched into a folder
//! of schism's home by those who ask for it; no root is needed, and nothing else finds it there. The
//! validator comes from the distribution's package in the same way.
//!
//! `SCHISM_TEST_OPENCL` says what `cargo schism test` does: `install` fetches what is not there,
//! `all` also has every test run on OpenCL's devices that runs on all devices, and a path names a
//! driver or a loader instead. Tests get the path of the driver in the same variable.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_schism::command;
use cargo_schism::error::{Error, FileContext, Result};
use cargo_schism::home::Home;
use cargo_schism::progress;
use cargo_schism::publish::{Draft, create_parent};
use cargo_schism::rustc_dev::system_mirrors;

use crate::debian::unpack;

/// What tests use.
const VARIABLE: &str = "SCHISM_TEST_OPENCL";

/// The driver or loader that programs use.
const DRIVER: &str = "SCHISM_OPENCL";

/// The folder of the SPIR-V tools.
const TOOLS: &str = "SCHISM_SPIRV_TOOLS";

/// The packages of Intel's driver, and of what it is linked with, as pip's file of requirements has
/// them: pip refuses what has another digest.
const PACKAGES: &str = "\
intel-opencl-rt==2026.2.0 --hash=sha256:6b6215a420598b4999ee01caca6d5cbe106aa4155c46c52377619c5aafce9f67
intel-cmplr-lib-rt==2026.2.0 --hash=sha256:9f713083073a820d2496a6da8e8d4f3482aba6640f74521d25ea48dcebe72748
tbb==2023.2.0 --hash=sha256:7d80615b6e970f11671fa05b6eaa9483ac864fbfe525ac280271a78b37870b7c
";

/// Large files in these packages that the driver does not need.
const NEEDLESS: [&str; 1] = ["icx-lto.so"];

/// The driver's library.
const LIBRARY: &str = "libintelocl.so";

const INSTALL_PIP: &str = "Install it as root: apt install python3-pip.";

/// Intel's driver in schism's home, if it was fetched.
pub fn driver(home: &Home) -> Option<PathBuf> {
    Some(folder(home).join(LIBRARY)).filter(|path| path.is_file())
}

fn folder(home: &Home) -> PathBuf {
    home.root().join("opencl")
}

/// Tells the tests of a cargo where the driver is.
pub fn apply(cargo: &mut Command, home: &Home) -> Result<()> {
    let wish = std::env::var_os(VARIABLE).unwrap_or_default();
    let all = wish == "all";
    if (all || wish == "install") && driver(home).is_none() {
        install(home)?;
    }
    let found = match wish.to_str() {
        Some("" | "install" | "all") => driver(home),
        _ => Some(PathBuf::from(&wish)),
    };
    if all || wish == "install" {
        tools(cargo, home)?;
    }
    match &found {
        Some(path) => cargo.env(VARIABLE, path),
        None => cargo.env_remove(VARIABLE),
    };
    if let Some(path) = found.filter(|_| all && std::env::var_os(DRIVER).is_none()) {
        cargo.env(DRIVER, path);
    }
    Ok(())
}

/// Fetches the driver.
fn install(home: &Home) -> Result<()> {
    let folder = folder(home);
    progress::step("Fetching", &format!("Intel's OpenCL driver for tests to {}", folder.display()));
    create_parent(&folder)?;
    let draft = Draft::new(&folder)?;
    let wheels = draft.path().join("wheels");
    let list = draft.path().join("requirements.txt");
    std::fs::write(&list, PACKAGES).at("write", &list)?;
    command::capture(download(&list, &wheels), "to fetch a driver", INSTALL_PIP)?;
    std::fs::remove_file(&list).at("remove", &list)?;
    for wheel in files(&wheels)? {
        let mut unzip = Command::new("python3");
        unzip.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&wheels);
        command::capture(unzip, "to unpack a driver", INSTALL_PIP)?;
    }
    // A wheel has libraries in `NAME-VERSION.data/data/lib`.
    for package in files(&wheels)? {
        let libraries = package.join("data").join("lib");
        if !libraries.is_dir() {
            continue;
        }
        for file in files(&libraries)? {
            let name = file.file_name().unwrap_or_default();
            if file.is_file() && !NEEDLESS.iter().any(|needless| name == OsStr::new(needless)) {
                let place = draft.path().join(name);
                std::fs::rename(&file, &place).at("move", &file)?;
            }
        }
    }
    std::fs::remove_dir_all(&wheels).at("remove", &wheels)?;
    if !draft.path().join(LIBRARY).is_file() {
        return Err(Error::Usage(format!(
            "these packages have no {LIBRARY}; {VARIABLE} can name a driver instead:\n{PACKAGES}"
        )));
    }
    draft.publish()
}

/// pip, which fetches what a file lists, with the digests that it lists, and nothing else.
fn download(list: &Path, to: &Path) -> Command {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]);
    pip.arg("--require-hashes").arg("--dest").arg(to).arg("--requirement").arg(list);
    pip
}

/// Tells the tests where the SPIR-V tools are, if it is not in the `PATH`, and fetches them where
/// that can be.
fn tools(cargo: &mut Command, home: &Home) -> Result<()> {
    const NAME: &str = "spirv-val";
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |folder: PathBuf| folder.join(NAME).is_file();
    if std::env::var_os(TOOLS).is_some() || std::env::split_paths(&path).any(is_there) {
        return Ok(());
    }
    let folder = home.apt().join("spirv-tools");
    let programs = folder.join("usr/bin");
    if !programs.join(NAME).is_file() {
        let mirrors = system_mirrors();
        // Tests say what they leave out where there is no validator.
        let Some(mirror) = mirrors.into_iter().find(|it| it.uri.contains("debian")) else {
            return Ok(());
        };
        unpack(home, &mirror, "spirv-tools", &folder)?;
    }
    cargo.env(TOOLS, programs);
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).at("read", folder)?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// pip takes a wheel with the listed digest, and refuses it with another.
    #[test]
    fn what_pip_fetches_has_the_listed_digest() {
        assert!(PACKAGES.lines().all(|line| line.contains("--hash=sha256:")));
        let scratch = tempfile::tempdir().expect("a folder");
        let make = "import zipfile\nwith zipfile.ZipFile('own-1.0-py3-none-any.whl', 'w') as w:\n \
                    w.writestr('own-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: own\\nVersion: 1.0\\n')\n \
                    w.writestr('own-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nTag: py3-none-any\\n')\n \
                    w.writestr('own-1.0.dist-info/RECORD', '')\n\
                    import hashlib\n\
                    print(hashlib.sha256(open('own-1.0-py3-none-any.whl', 'rb').read()).hexdigest())";
        let mut python = Command::new("python3");
        python.arg("-c").arg(make).current_dir(scratch.path());
        let Ok(output) = python.output() else {
            println!("skipped: there is no python3");
            return;
        };
        let digest = String::from_utf8(output.stdout).expect("a digest").trim().to_owned();
        assert_eq!(digest.len(), 64, "{}", String::from_utf8_lossy(&output.stderr));
        let (list, wheels) = (scratch.path().join("list"), scratch.path().join("wheels"));
        let wrong = "0".repeat(64);
        for (digest, is_taken) in [(&wrong, false), (&digest, true)] {
            std::fs::write(&list, format!("own==1.0 --hash=sha256:{digest}\n")).expect("a file");
            let mut pip = download(&list, &wheels);
            pip.args(["--no-index", "--find-links"]).arg(scratch.path());
            let output = pip.output().expect("pip");
            let said = String::from_utf8_lossy(&output.stderr);
            if said.contains("No module named pip") {
                println!("skipped: there is no pip");
                return;
            }
            assert_eq!(output.status.success(), is_taken, "{said}");
            assert!(is_taken || said.contains("THESE PACKAGES DO NOT MATCH THE HASHES"), "{said}");
        }
        assert!(wheels.join("own-1.0-py3-none-any.whl").is_file());
    }

    #[test]
    fn a_driver_is_one_that_is_there() {
        let scratch = tempfile::tempdir().expect("a folder");
        let home = Home::at(scratch.path());
        assert_eq!(driver(&home), None);
        let place = scratch.path().join("opencl");
        std::fs::create_dir(&place).expect("a folder");
        std::fs::write(place.join(LIBRARY), "").expect("a file");
        assert_eq!(driver(&home), Some(place.join(LIBRARY)));
    }
}
