//! What tests share that run a copy of themselves as another process.

// Each test uses a part of it.
#![allow(dead_code)]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use schism::prelude::*;

/// Set in the children: what they do.
pub const ROLE: &str = "SCHISM_TEST_ROLE";

/// No child takes so long that is well.
const LIMIT: Duration = Duration::from_secs(120);

/// The variables that the runtime reads.
pub const VARIABLES: [&str; 15] = [
    "SCHISM_ADAPTIVITY",
    "SCHISM_CACHE",
    "SCHISM_CACHE_DIR",
    "SCHISM_CACHE_SIZE",
    "SCHISM_CPU_LANES",
    "SCHISM_CPU_MATH",
    "SCHISM_CPU_STACK",
    "SCHISM_CPU_THREADS",
    "SCHISM_CUDA",
    "SCHISM_DEVICE",
    "SCHISM_HOME",
    "SCHISM_JIT",
    "SCHISM_LIBDEVICE",
    "SCHISM_TRACE",
    "XDG_CACHE_HOME",
];

/// A test cannot run for want of something that every machine can have. The caller returns.
///
/// # Panics
/// Unless `SCHISM_TEST_SKIP=1` allows to leave the test out.
#[track_caller]
pub fn lacks(reason: &str) {
    let allowed = std::env::var_os("SCHISM_TEST_SKIP").is_some_and(|value| value == "1");
    assert!(allowed, "this test cannot run: {reason}\nSCHISM_TEST_SKIP=1 leaves such tests out");
    eprintln!("skipped: {reason}");
}

/// An empty folder, which is the caller's alone.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("a folder of an earlier run can be removed");
    }
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

/// A copy of this program in a folder: where cargo puts it, it may have a stage 2 beside it.
pub fn program_in(folder: &Path) -> PathBuf {
    let copy = folder.join("program");
    std::fs::copy(std::env::current_exe().expect("a test has a program"), &copy)
        .expect("a copy of the program");
    copy
}

/// A command that runs the test `child` of a copy of this program.
pub fn child(program: &Path, role: &str, variables: &[(&str, &Path)]) -> Command {
    let mut command = Command::new(program);
    command.args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"]);
    for variable in ["CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH"].iter().chain(&VARIABLES) {
        command.env_remove(variable);
    }
    // No stage 2 and no kernels of the machine that runs the tests.
    command.env("SCHISM_HOME", "/nonexistent/schism").env("SCHISM_CACHE", "0");
    command.env(ROLE, role).envs(variables.iter().copied());
    command
}

/// Launches groups whose work-items wait for each other.
///
/// # Errors
/// Those of the launch.
pub fn launch_groups(queue: &Queue) -> Result<(), schism::Error> {
    let mut sums = Buffer::with_len(queue, 4)?;
    let range = NdRange::new(256, 64)?;
    let (tile, sources) = (local::<u32>(64), per_group(&mut sums));
    queue.for_each_in(range, (tile, sources), |item, (tile, sum)| {
        tile.set(item.local_x(), 1);
        item.barrier();
        if let Some(sum) = sum {
            *sum = (0..64).map(|index| tile.get(index)).sum::<u32>();
        }
    })?;
    assert_eq!(sums.to_vec(), [64; 4]);
    Ok(())
}

/// Runs a command to its end, or ends it.
///
/// # Panics
/// If it hangs.
pub fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let begin = Instant::now();
    let mut child = loop {
        match command.spawn() {
            Ok(child) => break child,
            // Another test's child has inherited the descriptor by which the program was written.
            Err(error)
                if error.kind() == std::io::ErrorKind::ExecutableFileBusy
                    && begin.elapsed() < LIMIT =>
            {
                thread::sleep(Duration::from_millis(10));
            }
            Err(error) => panic!("cannot start {command:?}: {error}"),
        }
    };
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let status = wait(&mut child, begin);
    let output = |reader: thread::JoinHandle<Vec<u8>>| reader.join().expect("a pipe can be read");
    let (stdout, stderr) = (output(stdout), output(stderr));
    let Some(status) = status else {
        panic!("{command:?} hangs:\n{}", String::from_utf8_lossy(&stderr));
    };
    Output { status, stdout, stderr }
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    let mut pipe = pipe.expect("it was asked for");
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe can be read");
        bytes
    })
}

/// Its status; `None` if it had to be ended.
fn wait(child: &mut Child, begin: Instant) -> Option<std::process::ExitStatus> {
    loop {
        if let Some(status) = child.try_wait().expect("our own child") {
            return Some(status);
        }
        if begin.elapsed() > LIMIT {
            child.kill().expect("our own child");
            child.wait().expect("our own child");
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// What a command prints, and what it says on standard error. It must end well.
///
/// # Panics
/// If it does not.
pub fn run(command: &mut Command) -> (String, String) {
    let output = output(command);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{stdout}\n{stderr}", output.status);
    (stdout, stderr)
}

/// Whether the tests run as root, who can give files away; if not, that is said.
pub fn is_root() -> bool {
    // SAFETY: it only reads a number.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        println!("skipped: only root can give files to another user");
    }
    root
}
