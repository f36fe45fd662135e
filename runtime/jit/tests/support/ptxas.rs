//! NVIDIA's assembler, if there is one.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The assembler: the file that `SCHISM_PTXAS` names, or one in the `PATH` or in `CUDA_HOME`. Says
/// so where there is none.
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::var_os("SCHISM_PTXAS").map(PathBuf::from);
    let cuda = std::env::var_os("CUDA_HOME").map(PathBuf::from);
    let folders: Vec<PathBuf> = std::env::split_paths(&path)
        .chain(cuda.into_iter().chain([PathBuf::from("/usr/local/cuda")]).map(|c| c.join("bin")))
        .collect();
    let found = named
        .into_iter()
        .chain(folders.into_iter().map(|folder| folder.join("ptxas")))
        .find(|file| file.is_file());
    if found.is_none() {
        // On standard error itself: the output of tests that pass is not shown.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: there is no ptxas; SCHISM_PTXAS may name one (PyPI: nvidia-cuda-nvcc)"
        );
    }
    found
}

/// Assembles a text that must be good.
pub fn assemble(ptxas: &Path, processor: &str, text: &str) {
    // Not `/dev/null`: the assembler may remove its output, and root can remove that.
    let code = tempfile::Builder::new().suffix(".cubin").tempfile().expect("a file");
    let mut child = Command::new(ptxas)
        .arg(format!("--gpu-name={processor}"))
        .args([OsStr::new("--output-file"), code.path().as_os_str(), OsStr::new("-")])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", ptxas.display()));
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("ptxas reads");
    let output = child.wait_with_output().expect("ptxas ends");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "for {processor}: {words}\n{text}");
}
