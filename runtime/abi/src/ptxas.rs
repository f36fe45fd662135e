//! NVIDIA's assembler, `ptxas`, which makes machine code of PTX where no GPU is.
//!
//! It comes with CUDA, and with the package `nvidia-cuda-nvcc` for Python.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::string::{String, ToString};
use std::vec::Vec;

/// The variable that names the assembler.
pub use crate::variables::PTXAS as VARIABLE;

/// Where CUDA usually is.
const USUAL: &str = "/usr/local/cuda";

/// The directive of a line of the source in PTX.
const LINE: &[u8] = b"\t.loc\t";

/// NVIDIA's assembler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptxas(PathBuf);

/// There is no assembler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PtxasError {
    /// The variable names no file.
    #[error("{VARIABLE} is `{}`, which is no file; name NVIDIA's assembler, ptxas, or unset it", .0.display())]
    Named(PathBuf),
    /// It is nowhere.
    #[error(
        "there is no `ptxas` in PATH, in $CUDA_HOME/bin or in {USUAL}/bin; install CUDA's tools (or Python's package \
         nvidia-cuda-nvcc), or name the file in {VARIABLE}"
    )]
    Missing,
    /// It cannot be started, or its files cannot be written or read.
    #[error("{path}: {reason}", path = .0.display(), reason = .1)]
    Unusable(PathBuf, String),
    /// It rejects the text.
    #[error("ptxas for {processor}: {said}")]
    Refused {
        /// The processor that machine code was requested for.
        processor: String,
        /// What it printed.
        said: String,
    },
}

impl Ptxas {
    /// Finds it: the file that `SCHISM_PTXAS` names, or else in the `PATH`, in `CUDA_HOME` or in
    /// `/usr/local/cuda`.
    ///
    /// # Errors
    /// [`PtxasError::Named`] or [`PtxasError::Missing`].
    pub fn find() -> Result<Self, PtxasError> {
        Self::find_by(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
    }

    fn find_by(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, PtxasError> {
        if let Some(named) = variable(VARIABLE).map(PathBuf::from) {
            return if named.is_file() { Ok(Self(named)) } else { Err(PtxasError::Named(named)) };
        }
        let path = variable("PATH").unwrap_or_default();
        let cuda = variable("CUDA_HOME").map(PathBuf::from).into_iter();
        let cuda = cuda.chain([PathBuf::from(USUAL)]).map(|folder| folder.join("bin"));
        let mut files = std::env::split_paths(&path).chain(cuda).map(|folder| folder.join("ptxas"));
        files.find(|file| file.is_file()).map(Self).ok_or(PtxasError::Missing)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The machine code of a PTX text for a processor such as `sm_90`: a cubin. The same text gives
    /// the same bytes.
    ///
    /// # Errors
    /// [`PtxasError::Unusable`] or [`PtxasError::Refused`].
    pub fn assemble(&self, ptx: &[u8], processor: &str) -> Result<Vec<u8>, PtxasError> {
        let unusable = |error: io::Error| PtxasError::Unusable(self.0.clone(), error.to_string());
        let folder = tempfile::tempdir().map_err(unusable)?;
        let file = |name: &str| folder.path().join(name);
        std::fs::write(file("kernel.ptx"), ptx).map_err(unusable)?;
        // The names that it is told may be in its output: they are always the same.
        let mut run = Command::new(&self.0);
        run.current_dir(folder.path()).arg(std::format!("--gpu-name={processor}"));
        if ptx.windows(LINE.len()).any(|bytes| bytes == LINE) {
            run.arg("--generate-line-info");
        }
        let run = run.args(["--output-file", "kernel.cubin", "kernel.ptx"]).output();
        let run = run.map_err(unusable)?;
        if !run.status.success() {
            let said = [run.stderr, run.stdout].concat();
            let said = String::from_utf8_lossy(&said).trim().to_string();
            return Err(PtxasError::Refused { processor: processor.to_string(), said });
        }
        std::fs::read(file("kernel.cubin")).map_err(unusable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_looked_for_where_it_may_be() {
        let folder = tempfile::tempdir().expect("a folder");
        let (bin, cuda) = (folder.path().join("bin"), folder.path().join("cuda"));
        for folder in [&bin, &cuda.join("bin")] {
            std::fs::create_dir_all(folder).expect("a folder");
            std::fs::write(folder.join("ptxas"), "").expect("a file");
        }
        let find = |variables: &[(&str, &Path)]| {
            Ptxas::find_by(|name| {
                let found = variables.iter().find(|(variable, _)| *variable == name);
                found.map(|(_, value)| OsString::from(value.as_os_str()))
            })
        };
        let named = cuda.join("bin/ptxas");
        let all = [("SCHISM_PTXAS", &*named), ("PATH", &*bin), ("CUDA_HOME", &*cuda)];
        assert_eq!(find(&all), Ok(Ptxas(named.clone())));
        assert_eq!(find(&all[1..]), Ok(Ptxas(bin.join("ptxas"))));
        assert_eq!(find(&all[2..]), Ok(Ptxas(named)));
        let wrong = find(&[("SCHISM_PTXAS", &cuda), ("PATH", &bin)]);
        assert_eq!(wrong, Err(PtxasError::Named(cuda)));
    }

    #[test]
    fn what_it_says_is_told() {
        let Ok(ptxas) = Ptxas::find() else { return std::eprintln!("skipped: no ptxas") };
        let refused = ptxas.assemble(b".version 7.8\n.target sm_90\nnonsense\n", "sm_90");
        let said = refused.expect_err("it is no PTX").to_string();
        assert!(said.starts_with("ptxas for sm_90: ") && said.contains("kernel.ptx"), "{said}");
        let good = b".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry f() { ret; }\n";
        let code = ptxas.assemble(good, "sm_90").expect("it is PTX");
        assert!(code.starts_with(b"\x7fELF"));
        assert_eq!(ptxas.assemble(good, "sm_90"), Ok(code));
    }
}
