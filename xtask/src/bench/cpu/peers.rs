//! The programs that are measured: finding what they need, and talking to them.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use cargo_schism::command;
use cargo_schism::error::{Error, FileContext, Result};

/// The program ISPC, if it is not in `PATH`, and the target that it compiles for.
const ISPC: &str = "SCHISM_BENCH_ISPC";
const ISPC_TARGET: &str = "SCHISM_BENCH_ISPC_TARGET";
/// OpenCL's libraries, separated by colons.
const OPENCL: &str = "SCHISM_BENCH_OPENCL";

/// A running program that waits for commands.
pub struct Peer {
    /// What the table calls it.
    pub name: String,
    child: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts a program that says nothing by itself.
    pub fn start(mut program: Command, name: &str) -> Result<Self> {
        program.stdin(Stdio::piped()).stdout(Stdio::piped());
        let path = PathBuf::from(program.get_program());
        let mut child = program.spawn().at("start", &path)?;
        let (Some(commands), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both are pipes")
        };
        let answers = BufReader::new(answers);
        Ok(Self { name: name.to_owned(), child, commands: Some(commands), answers })
    }

    /// Starts a program whose first line is its name; `None` if it ends before.
    fn named(mut program: Command) -> Result<Option<Self>> {
        program.stderr(Stdio::inherit());
        let mut peer = Self::start(program, "")?;
        let mut line = String::new();
        let read = peer.answers.read_line(&mut line).unwrap_or(0);
        peer.name = line.trim().to_owned();
        Ok((read > 0).then_some(peer))
    }

    fn ask(&mut self, command: &str) -> Result<String> {
        let gone =
            |detail: &str| Error::Usage(format!("{} stopped at `{command}`{detail}", self.name));
        let mut answer = String::new();
        let Some(commands) = &mut self.commands else { return Err(gone("")) };
        let sent = writeln!(commands, "{command}").and_then(|()| commands.flush());
        let read = sent.and_then(|()| self.answers.read_line(&mut answer));
        match read {
            Ok(0) => Err(gone("; it says above why")),
            Ok(_) => Ok(answer.trim().to_owned()),
            Err(error) => Err(gone(&format!(": {error}"))),
        }
    }

    /// Makes a workload's inputs; whether the program has it.
    pub fn open(&mut self, kernel: &str) -> Result<bool> {
        Ok(self.ask(&format!("open {kernel}"))? == "ok")
    }

    /// Runs the workload so many times, and gives the processor time of one.
    pub fn run(&mut self, count: u32) -> Result<f64> {
        let answer = self.ask(&format!("run {count}"))?;
        let times: Vec<f64> = answer.split(' ').filter_map(|word| word.parse().ok()).collect();
        match times[..] {
            [_, used] => Ok(used),
            _ => Err(Error::Usage(format!("{} answered `{answer}`", self.name))),
        }
    }

    /// The bytes of the workload's result.
    pub fn save(&mut self, path: &Path) -> Result<Vec<u8>> {
        self.ask(&format!("save {}", path.display()))?;
        let bytes = std::fs::read(path).at("read", path)?;
        std::fs::remove_file(path).at("remove", path)?;
        Ok(bytes)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.commands.take());
        // It ends because its input does. There is nothing to do if it does not.
        let _ended = self.child.wait();
    }
}

/// Starts all peers that are there, rayon first, and says what is not.
pub fn start(program: &Path, sources: &Path, work: &Path) -> Result<Vec<Peer>> {
    let with = |arguments: &[&Path]| {
        let mut command = Command::new(program);
        command.args(arguments);
        command
    };
    let mut peers = Vec::new();
    peers.extend(Peer::named(with(&[Path::new("rayon")]))?);
    match ispc(&sources.join("kernels.ispc"), work) {
        Ok(library) => peers.extend(Peer::named(with(&[Path::new("ispc"), &library]))?),
        Err(reason) => println!("without ISPC: {reason}"),
    }
    let libraries = std::env::var(OPENCL).unwrap_or_else(|_| "libOpenCL.so.1".to_owned());
    for library in libraries.split(':').filter(|library| !library.is_empty()) {
        let source = sources.join("kernels.cl");
        let command = with(&[Path::new("opencl"), Path::new(library), &source]);
        match Peer::named(command)? {
            Some(mut peer) => {
                // The first word is enough beside the others: `Intel(R)`, `Portable`.
                println!("OpenCL: {}, {library}", peer.name);
                let word = peer.name.split(['(', ' ']).next().unwrap_or_default().to_owned();
                peer.name = word;
                peers.push(peer);
            }
            None => println!(
                "without OpenCL: `{library}` is no runtime with a processor, see above; {OPENCL} names others"
            ),
        }
    }
    Ok(peers)
}

/// Compiles the kernels of ISPC.
fn ispc(source: &Path, work: &Path) -> Result<PathBuf, String> {
    let program = match std::env::var_os(ISPC) {
        Some(program) => PathBuf::from(program),
        None => std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
            .map(|folder| folder.join("ispc"))
            .find(|program| program.is_file())
            .ok_or(format!("`ispc` is not in PATH; {ISPC} names it"))?,
    };
    let target = std::env::var(ISPC_TARGET).unwrap_or_else(|_| target().to_owned());
    let (object, library) = (work.join("kernels.o"), work.join("libkernels.so"));
    let mut compile = Command::new(program);
    compile.args(["-O3", "--opt=disable-fma", "--pic", "--woff"]);
    compile.arg(format!("--target={target}")).arg(source).arg("-o").arg(&object);
    let mut link = Command::new("cc");
    link.arg("-shared").arg(&object).arg("-o").arg(&library);
    for step in [compile, link] {
        command::capture(step, "needed to compare with ISPC", "install it")
            .map_err(|error| error.to_string())?;
    }
    println!("ISPC: {target}");
    Ok(library)
}

/// The widest target of the processor.
#[cfg(target_arch = "x86_64")]
fn target() -> &'static str {
    if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
        "avx512skx-x16"
    } else if is_x86_feature_detected!("avx2") {
        "avx2-i32x8"
    } else {
        "sse4-i32x4"
    }
}

/// The widest target of the processor.
#[cfg(not(target_arch = "x86_64"))]
fn target() -> &'static str {
    "neon-i32x4"
}
