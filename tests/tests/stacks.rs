//! Stack use of kernels. However much stack a kernel takes, and however small the stack of the
//! launching thread is, one of these happens: the result is right, an error says what to do, or the
//! process ends with a message that names the kernel. It never ends without a message, and a kernel
//! never overwrites memory outside its stack. See `crates/stacks.rs`.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

use schism_tests::lab::{Compiler, Lab, clean_command, describe, output, source, text};

const SIGABRT: i32 = 6;
const SIGSEGV: i32 = 11;

/// The launching threads: the program's first, one of the standard library's, and others with so
/// many bytes of stack.
const THREADS: [&str; 5] = ["main", "std", "65536", "262144", "2097152"];

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// How the program is compiled, and the device that it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    /// Stage 2 when it is launched.
    Cpu,
    /// Stage 2 when it is built: where it runs there is none.
    Aot,
    /// The host half.
    Native,
    /// What plain rustc makes of it.
    Plain,
}

const VARIANTS: [Variant; 4] = [Variant::Cpu, Variant::Aot, Variant::Native, Variant::Plain];

/// The program by the driver, the same with code for the host, and by plain rustc.
fn programs(lab: &Lab) -> &'static [PathBuf; 3] {
    static PROGRAMS: OnceLock<[PathBuf; 3]> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let folder = lab.folder("stacks");
        let compile = |compiler, name: &str, targets| {
            let mut rustc = lab.rustc(compiler, &folder);
            lab.runtime_of(compiler).add_to(&mut rustc);
            let rustc = rustc.arg("-O").arg(source("crates/stacks.rs")).args(["-o", name]);
            text(rustc.env("SCHISM_TARGETS", targets));
            folder.join(name)
        };
        [
            compile(Compiler::Schism, "jit", ""),
            compile(Compiler::Schism, "aot", "host"),
            compile(Compiler::Stock, "plain", ""),
        ]
    })
}

impl Variant {
    fn command(self, lab: &Lab, thread: &str, cases: &[&str]) -> Command {
        let [jit, aot, plain] = programs(lab);
        let (program, device) = match self {
            Self::Cpu => (jit, "cpu"),
            Self::Aot => (aot, "cpu"),
            Self::Native => (jit, "native"),
            Self::Plain => (plain, "native"),
        };
        let mut command = clean_command(program);
        command.env("SCHISM_DEVICE", device).arg(thread).args(cases);
        // The first thread's kernels are compiled when they are launched; those of the others are
        // kept from an earlier launch, and what they need of the stack with them.
        if self == Self::Cpu && thread != "main" {
            lab.keep_kernels(&mut command);
        }
        if self == Self::Aot {
            command.env("SCHISM_JIT", "/nowhere/libschism_jit.so").env("SCHISM_HOME", "/nowhere");
        }
        command
    }

    fn device(self) -> &'static str {
        if matches!(self, Self::Cpu | Self::Aot) { "cpu" } else { "native" }
    }

    /// Whether what a kernel needs is known before it is launched.
    fn knows(self) -> bool {
        self.device() == "cpu"
    }
}

/// What the program says of each case.
fn outcomes(output: &Output) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines();
    let mut outcomes = Vec::new();
    while let Some(case) = lines.next() {
        let outcome = lines.next().unwrap_or_default().trim().to_owned();
        outcomes.push((case.trim_end_matches(':').to_owned(), outcome));
    }
    outcomes
}

/// Runs cases that end well.
fn all_right(lab: &Lab, variant: Variant, cases: &[&str]) {
    for thread in THREADS {
        let mut command = variant.command(lab, thread, cases);
        let output = output(&mut command);
        let expected: Vec<_> =
            cases.iter().map(|case| ((*case).to_owned(), "right".to_owned())).collect();
        assert!(
            output.status.success() && outcomes(&output) == expected,
            "{variant:?}, launched by the thread `{thread}`: {}",
            describe(&command, &output)
        );
    }
}

/// Runs one case that overflows any stack: the message names kernel and device, and the process
/// ends as after an overflow in Rust.
fn overflows(lab: &Lab, variant: Variant, case: &str, threads: &[&str]) {
    for thread in threads {
        let mut command = variant.command(lab, thread, &[case]);
        let output = output(&mut command);
        let errors = String::from_utf8_lossy(&output.stderr);
        // The container has the closure's place, of which a type's name has nothing.
        let name = match variant.device() {
            "native" => "kernel `stacks::run::{{closure}}`",
            _ => "kernel `run::{closure#",
        };
        let named = errors.contains(name)
            && errors.contains(&format!("device `{}`", variant.device()))
            && errors.contains("has overflowed its stack")
            && errors.contains("fatal runtime error: stack overflow");
        assert!(
            output.status.signal() == Some(SIGABRT) && named,
            "{variant:?}, launched by the thread `{thread}`: {}",
            describe(&command, &output)
        );
    }
}

/// The frame of a kernel without barriers steps over the guard page of a small stack, unless it is
/// touched page by page.
#[test]
fn private_arrays_stay_on_the_stack() {
    let Some(lab) = lab() else { return };
    for variant in [Variant::Cpu, Variant::Aot] {
        all_right(
            lab,
            variant,
            &[
                "touched-1K",
                "untouched-1K",
                "touched-60K",
                "untouched-60K",
                "touched-500K",
                "untouched-500K",
                "touched-3M",
                "untouched-3M",
                "touched-16M",
                "untouched-16M",
                "calls",
            ],
        );
    }
    for variant in [Variant::Native, Variant::Plain] {
        all_right(lab, variant, &["touched-1K", "untouched-60K", "touched-500K", "calls"]);
    }
}

/// Work-items that wait have stacks of the size that their kernel needs.
#[test]
fn private_arrays_with_barriers() {
    let Some(lab) = lab() else { return };
    for variant in [Variant::Cpu, Variant::Aot] {
        all_right(
            lab,
            variant,
            &[
                "barrier-touched-1K",
                "barrier-untouched-60K",
                "barrier-touched-500K",
                "barrier-untouched-3M",
                "barrier-touched-3M",
                "barrier-untouched-16M",
                "barrier-calls",
            ],
        );
    }
    for variant in [Variant::Native, Variant::Plain] {
        all_right(
            lab,
            variant,
            &[
                "barrier-touched-1K",
                "barrier-untouched-60K",
                "barrier-touched-500K",
                "barrier-calls",
            ],
        );
    }
}

/// Where it is not known how deep a kernel calls, there is as much as a thread of Rust's has.
#[test]
fn recursion_and_pointers() {
    let Some(lab) = lab() else { return };
    for variant in VARIANTS {
        all_right(
            lab,
            variant,
            &[
                "pointer",
                "barrier-pointer",
                "recursion-short",
                "barrier-recursion-short",
                "recursion-long",
                "barrier-recursion-long",
            ],
        );
    }
}

#[test]
fn an_overflow_names_the_kernel() {
    let Some(lab) = lab() else { return };
    for variant in VARIANTS {
        for case in ["recursion-endless", "recursion-endless-small", "barrier-recursion-endless"] {
            overflows(lab, variant, case, &THREADS);
        }
    }
}

/// What the host half takes is not known. The first thread has as much stack as the system
/// gives it, all others have what is said.
#[test]
fn large_arrays_of_the_host_half_overflow() {
    let Some(lab) = lab() else { return };
    for variant in [Variant::Native, Variant::Plain] {
        for case in ["untouched-3M", "barrier-untouched-16M"] {
            overflows(lab, variant, case, &THREADS[1..]);
        }
        let mut command = variant.command(lab, "65536", &["touched-3M", "barrier-touched-3M"]);
        let output = output(command.env("SCHISM_CPU_STACK", "8M"));
        assert!(
            output.status.success() && outcomes(&output).iter().all(|outcome| outcome.1 == "right"),
            "{}",
            describe(&command, &output)
        );
    }
}

/// Known needs beyond the limit are refused before anything runs.
#[test]
fn too_large_a_need_is_an_error() {
    let Some(lab) = lab() else { return };
    for variant in VARIANTS.into_iter().filter(|variant| variant.knows()) {
        let mut command = variant.command(lab, "65536", &["touched-1K"]);
        command.args(["untouched-300M", "barrier-untouched-300M", "touched-1K"]);
        let output = output(&mut command);
        let outcomes = outcomes(&output);
        let says = |place: usize, part: &str| outcomes[place].1.contains(part);
        assert!(
            output.status.success()
                && outcomes.len() == 4
                && says(0, "right")
                && [1, 2].into_iter().all(|place| {
                    says(place, "kernel `run::{closure#")
                        && says(place, "stacks.rs:")
                        && says(place, "device `cpu`")
                        && says(place, "bytes of stack")
                })
                && says(3, "right"),
            "{variant:?}: {}",
            describe(&command, &output)
        );
    }
}

/// Where the system has no memory for a stack there is an error.
#[test]
fn no_memory_for_a_stack_is_an_error() {
    let Some(lab) = lab() else { return };
    // Kernels that are cut at barriers keep no lifetimes of locals, so two arrays lie side by side.
    for (case, bytes) in [("untouched-16M", 32 << 20), ("barrier-untouched-16M", 64 << 20)] {
        let mut command = Variant::Aot.command(lab, "65536", &["untouched-1K", "limit", case]);
        let output = output(&mut command);
        let outcomes = outcomes(&output);
        let says = |text: &str| outcomes.get(2).is_some_and(|outcome| outcome.1.contains(text));
        assert!(
            output.status.success()
                && says("kernel `run::{closure#")
                && says(&format!(")` has no stack of {bytes} bytes"))
                && says("device `cpu`"),
            "{}",
            describe(&command, &output)
        );
    }
}

/// Faults that have nothing to do with the stack of a kernel stay what they were.
#[test]
fn other_faults_are_not_ours() {
    let Some(lab) = lab() else { return };
    for variant in [Variant::Cpu, Variant::Plain] {
        let mut command = variant.command(lab, "262144", &["barrier-touched-1K", "null"]);
        let output = output(&mut command);
        assert_eq!(output.status.signal(), Some(SIGSEGV), "{}", describe(&command, &output));
        assert!(!String::from_utf8_lossy(&output.stderr).contains("overflowed"));
    }
}
