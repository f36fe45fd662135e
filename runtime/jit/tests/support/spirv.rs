//! Kernels from text, compiled to SPIR-V through the C interface, and the tools that check it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use schism_jit_abi::*;

use super::gpu::Gpu;
use super::{Source, api};

/// A kernel as SPIR-V.
#[derive(Debug)]
pub struct Spirv {
    pub bytes: Vec<u8>,
    pub entry: String,
    pub flags: u32,
}

/// What to compile for OpenCL.
pub fn source(source: Source) -> Gpu {
    let mut gpu = Gpu::new(source).arch("");
    gpu.target = TARGET_SPIRV;
    gpu
}

impl Gpu {
    /// Compiles, and gives SPIR-V or the code and the text of the error.
    pub fn spirv(&self) -> Result<Spirv, (u32, String)> {
        let out = self.request()?;
        // SAFETY: the library made the kernel, which is released once, after the copies.
        let code = unsafe {
            let code = Spirv {
                bytes: out.code.as_slice().to_vec(),
                entry: String::from_utf8_lossy(out.entry.as_slice()).into_owned(),
                flags: out.flags,
            };
            (api().release_gpu)(out.handle);
            code
        };
        Ok(code)
    }
}

/// A tool of the SPIR-V tools: in the folder that `SCHISM_SPIRV_TOOLS` names, or in the `PATH`.
/// Says so where there is none.
pub fn tool(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("SCHISM_SPIRV_TOOLS").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = named.into_iter().chain(std::env::split_paths(&path).collect::<Vec<_>>());
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    static SAID: OnceLock<()> = OnceLock::new();
    if found.is_none() && SAID.set(()).is_ok() {
        // On standard error itself: the output of tests that pass is not shown.
        let _ = writeln!(
            std::io::stderr(),
            "not checked: there is no {name}; SCHISM_SPIRV_TOOLS may name its folder (Debian: spirv-tools)"
        );
    }
    found
}

fn run(tool: &Path, arguments: &[&str], bytes: &[u8]) -> (bool, String, String) {
    let mut child = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", tool.display()));
    child.stdin.take().expect("a pipe").write_all(bytes).expect("the tool reads");
    let output = child.wait_with_output().expect("the tool ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

impl Spirv {
    /// The module as text; empty where there is no disassembler.
    pub fn text(&self) -> String {
        let Some(tool) = tool("spirv-dis") else { return String::new() };
        run(&tool, &["--raw-id", "-"], &self.bytes).1
    }

    /// Has the validator accept the module, if there is one.
    pub fn check(&self) {
        let Some(tool) = tool("spirv-val") else { return };
        // OpenCL has 64-bit atomics as an extension, of which the validator does not know.
        let int64_atomics: Vec<u8> = [17 | 2 << 16, 12_u32].map(u32::to_le_bytes).concat();
        let has = self.bytes.windows(8).any(|words| words == int64_atomics);
        // And of no newer version for OpenCL.
        let is_newer = self.bytes[4..8] != [0, 0, 2, 1];
        let environment = if has || is_newer { "spv1.3" } else { "opencl2.2" };
        let (good, out, error) = run(&tool, &["--target-env", environment, "-"], &self.bytes);
        assert!(good, "{out}{error}\n{}", self.text());
    }
}

/// Compiles a kernel to a module that the validator accepts.
pub fn build(source: Source) -> Spirv {
    let kernel = source.kernel.clone();
    let code = self::source(source).spirv();
    let code = code.unwrap_or_else(|(code, text)| panic!("`{kernel}`: error {code}: {text}"));
    code.check();
    code
}

/// The opcodes of a module, in order, with their operands.
pub fn instructions(code: &Spirv) -> Vec<(u16, Vec<u32>)> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("a word"));
    let words: Vec<u32> = code.bytes.chunks(4).map(word).collect();
    assert_eq!(words[0], 0x0723_0203, "the magic number");
    let mut at = 5;
    let mut all = Vec::new();
    while at < words.len() {
        let length = (words[at] >> 16) as usize;
        all.push((words[at] as u16, words[at + 1..at + length].to_vec()));
        at += length;
    }
    all
}

/// How many instructions have an opcode.
pub fn count(code: &Spirv, opcode: u16) -> usize {
    instructions(code).iter().filter(|(op, _)| *op == opcode).count()
}
