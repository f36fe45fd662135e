//! The environment variables of programs: a table, and the only place that reads them.
//!
//! Each is read once in a process, when it is first asked for. `docs/variables.md` is made of the
//! table.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::sync::OnceLock;

use schism_jit_abi::variables as stage2;

/// An environment variable.
#[derive(Debug)]
pub struct Variable {
    /// The name.
    pub name: &'static str,
    /// What it can be set to, for people.
    pub values: &'static str,
    /// What it is without a value, for people.
    pub default: &'static str,
    /// What it does.
    pub purpose: &'static str,
    value: OnceLock<Option<OsString>>,
}

impl Variable {
    const fn new(
        name: &'static str,
        values: &'static str,
        default: &'static str,
        purpose: &'static str,
    ) -> Self {
        Self { name, values, default, purpose, value: OnceLock::new() }
    }

    /// The value, which may be empty.
    pub fn get(&self) -> Option<&OsStr> {
        self.value.get_or_init(|| env::var_os(self.name)).as_deref()
    }

    /// The value, if it is not empty.
    pub fn set(&self) -> Option<&OsStr> {
        self.get().filter(|value| !value.is_empty())
    }

    /// Whether it is switched on: neither empty nor `0`.
    pub fn is_on(&self) -> bool {
        self.set().is_some_and(|value| value != "0")
    }

    /// The value of a variable that names code or a folder: `None` if it is empty, or in programs
    /// with rights that their users lack.
    pub(crate) fn trusted(&self) -> Option<&OsStr> {
        self.set().filter(|_| !schism_trust::is_privileged())
    }

    /// Whether it has a value that is not [`trusted`](Self::trusted).
    pub(crate) fn is_ignored(&self) -> bool {
        schism_trust::is_privileged() && self.set().is_some()
    }
}

/// The name.
impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The variables that stage 2 is told of, if they have a value, in the order of the interface's table.
pub(crate) fn of_stage2() -> impl Iterator<Item = (&'static stage2::Variable, &'static OsStr)> {
    stage2::STAGE2.iter().filter_map(|it| {
        let mut all = USERS.iter().chain(DEVELOPERS);
        Some((it, all.find(|variable| variable.name == it.name)?.trusted()?))
    })
}

/// The value of a variable by its name, for the crates that `schism` is made of: they also ask for
/// those of the system, such as `HOME`.
pub fn by_name(name: &str) -> Option<OsString> {
    let known = USERS.iter().chain(DEVELOPERS).find(|variable| variable.name == name);
    known.map_or_else(|| env::var_os(name), |variable| variable.get().map(OsStr::to_owned))
}

/// As [`by_name`], but `None` in programs with rights that their users lack.
pub(crate) fn trusted_by_name(name: &str) -> Option<OsString> {
    by_name(name).filter(|_| !schism_trust::is_privileged())
}

macro_rules! variables {
    (
        users: { $($User:ident = ($user:literal, $values:literal, $default:literal, $purpose:literal);)* }
        developers: { $($Other:ident = ($other:literal, $other_values:literal, $other_default:literal, $other_purpose:literal);)* }
    ) => {
        $(
            #[doc = concat!("`", $user, "`: ", $purpose, ".")]
            pub static $User: Variable = Variable::new($user, $values, $default, $purpose);
        )*
        $(
            #[doc = concat!("`", $other, "`: ", $other_purpose, ".")]
            pub static $Other: Variable =
                Variable::new($other, $other_values, $other_default, $other_purpose);
        )*

        /// Those for users.
        pub(crate) static USERS: &[&Variable] = &[$(&$User),*];
        /// Those for people who work on schism or look for a fault in it, and for tests.
        pub(crate) static DEVELOPERS: &[&Variable] = &[$(&$Other),*];

        /// The environment variables that programs read. There is nothing in this module.
        ///
        /// | variable | values | default | what it does |
        /// |---|---|---|---|
        $(#[doc = concat!("| `", $user, "` | ", $values, " | ", $default, " | ", $purpose, " |")])*
        ///
        /// Variables that name code or folders take absolute paths. schism loads a file, named or
        /// found elsewhere, only if root, the user and the program's owner alone can have changed
        /// it. Programs with rights that their users lack (setuid) ignore these variables.
        pub mod environment {}
    };
}

variables! {
    users: {
        DEVICE = (
            "SCHISM_DEVICE",
            "`cpu`, `native`, or a GPU: `cuda:0`, `cuda:1`, `hip:0`, `opencl:0` and so on; or several of them, separated by commas",
            "`cuda,hip,opencl,cpu,native`; for parallel iterators of `--stdpar`, `cpu`",
            "the device of programs that choose none. One name is a demand: what the device cannot do is an error. Several are a wish: the first \
             that can be used, where `opencl` is a GPU. What it refuses runs on the first of `cpu` and `native` after it; the last of them is \
             demanded. `cpu:copies`, for tests, is `cpu` with its own memory: it copies what a GPU would"
        );
        CPU_THREADS = (
            "SCHISM_CPU_THREADS", "a number", "one for each core", "threads of the host devices"
        );
        CPU_STACK = (
            "SCHISM_CPU_STACK",
            "bytes, or a number with `K`, `M`",
            "`2M`",
            "the stack of a work-item on the host devices where the need of its kernel is unknown: on `native`, and on `cpu` for kernels with \
             recursion or calls through pointers. A thread that has more stack left, such as the main thread, runs work-items on its own"
        );
        CPU_LANES = (
            "SCHISM_CPU_LANES",
            "`auto`; `4`, `8`, `16`, `32`, wherever that is possible; `off`",
            "`auto`, where and as many as seem to pay",
            "how many work-items kernels on `cpu` compute at once, in the lanes of vectors. With `off`, LLVM may still vectorise loops of one \
             block. Results do not depend on it"
        );
        CPU_MATH = (
            "SCHISM_CPU_MATH",
            "`portable`, schism's own, which is computed in vectors and gives the same bits on all devices and machines; `host`, the library \
             that the host half calls, one call for each work-item",
            "`portable`; `host` for parallel iterators of `--stdpar`",
            "the mathematics library of kernels on `cpu`"
        );
        LIBDEVICE = (
            "SCHISM_LIBDEVICE",
            "`1` for that of the toolkit in `CUDA_HOME`, `CUDA_PATH` or `/usr/local/cuda`; the path of its file",
            "schism's own library",
            "kernels on GPUs use NVIDIA's libdevice for `sin`, `exp` and so on. Results are then those of CUDA and differ from other devices"
        );
        CUDA = (
            "SCHISM_CUDA", "a path; empty: no GPUs", "the system's `libcuda.so.1`", "NVIDIA's driver library"
        );
        HIP = (
            "SCHISM_HIP", "a path; empty: no GPUs of AMD's", "the system's `libamdhip64.so`", "AMD's HIP"
        );
        OPENCL = (
            "SCHISM_OPENCL",
            "a path; empty: no devices of OpenCL",
            "the system's `libOpenCL.so.1`",
            "OpenCL's loader, or a driver"
        );
        LLD = (
            "SCHISM_LLD", "a path", "the toolchain's", "`rust-lld`, with which stage 2 links code for AMD's GPUs"
        );
        ADAPTIVITY = (
            "SCHISM_ADAPTIVITY",
            "`off`, `basic`, `full`",
            "`basic`",
            "how far kernels are specialized for the launches that occur: see `Adaptivity`"
        );
        CHECK_RACES = (
            "SCHISM_CHECK_RACES",
            "`0`, `1`",
            "`0`",
            "with `1`, the loops of directives run in order on the host, and iterations of `unsafe(independent)` ones that meet are an error"
        );
        ALGORITHMS = (
            "SCHISM_ALGORITHMS",
            "`auto`, by the device; `chunks`, without work-groups; `groups`, with them, except on `native`",
            "`auto`",
            "how `algorithms` divide their work"
        );
        STDPAR = (
            "SCHISM_STDPAR",
            "`always`, what can be a kernel is one; `never`, all is rayon's; `auto`, the faster way, by measurement",
            "`auto`",
            "where parallel iterators of `--stdpar` run"
        );
        STDPAR_EXCLUDE = (
            "SCHISM_STDPAR_EXCLUDE",
            "parts of names, separated by commas: `solver::,my_crate::io`",
            "none",
            "parallel iterators of `--stdpar` that stay with rayon: those whose names, as `SCHISM_STDPAR_REPORT` tells them, have one of these \
             parts. The names are of types, in which those of closures tell the module and the function"
        );
        STDPAR_HISTORY = (
            "SCHISM_STDPAR_HISTORY",
            "`0`, no; `1`",
            "`1`",
            "whether parallel iterators of `--stdpar` begin where earlier runs of the program on the same GPU have found them best. What they have \
             found is beside the compiled kernels"
        );
        DEVICE_HEAP = (
            "SCHISM_DEVICE_HEAP",
            "MiB",
            "4,096, or a quarter of the host's memory",
            "the heap of kernels that allocate on a GPU: addresses, whose memory is taken when it is used. Where it is too small for a parallel \
             iterator of `--stdpar`, that runs with rayon"
        );
        STDPAR_REPORT = (
            "SCHISM_STDPAR_REPORT",
            "`1`, on standard error; a path, to the end of that file",
            "none",
            "a summary when the program ends: where its parallel iterators ran, and for how long"
        );
        TRACE = (
            "SCHISM_TRACE",
            "`1`, or `error`, `warn`, `info`, `debug`, `trace`",
            "none",
            "shows each step on standard error"
        );
        TIMELINE = (
            "SCHISM_TIMELINE",
            "a path, in which `%p` is the number of the process",
            "none",
            "a file of launches, kernels, copies, compilations and waits, each with its time, for Perfetto (ui.perfetto.dev) or Chrome"
        );
        OFFLOAD_REPORT = (
            "SCHISM_OFFLOAD_REPORT",
            "`1`, a line for each; `2`, with the bytes that went there and back; `3`, and a line for each step",
            "none",
            "what became of the statements of `#[offload]`, on standard error"
        );
        CACHE = (
            "SCHISM_CACHE", "`0`, `1`", "`1`", "whether compiled kernels are kept on disk"
        );
        CACHE_DIR = (
            "SCHISM_CACHE_DIR", "a path", "`kernels` in schism's home", "where compiled kernels are kept"
        );
        CACHE_SIZE = (
            "SCHISM_CACHE_SIZE", "bytes, or a number with `K`, `M`, `G`", "`512M`", "the most that is kept on disk"
        );
        JIT = (
            "SCHISM_JIT",
            "a path",
            "beside the program, or in schism's home",
            "`libschism_jit.so`, the compiler for kernels"
        );
        HOME = (
            "SCHISM_HOME",
            "a path",
            "`schism` in the user's cache folder",
            "where `cargo schism setup` has installed its files"
        );
    }
    developers: {
        TIME_PASSES = (
            "SCHISM_TIME_PASSES",
            "`1`",
            "none",
            "how long each pass of stage 2 took, on standard error; the compiler reads it for stage 1"
        );
        DISABLE_PASSES = (
            "SCHISM_DISABLE_PASSES",
            "names of passes, separated by commas",
            "none",
            "optional passes of stage 2 that do not run: to find the one that miscompiles a kernel. `strip-mine` reads past slices on GPUs, \
             within a page: disable it for tools that check each access. Without `split-at-barriers` work-items of `cpu` wait on stacks. AOT \
             code does not change"
        );
        PRINT_AFTER = (
            "SCHISM_PRINT_AFTER",
            "names of passes, separated by commas, or `all`",
            "none",
            "the kernel's LLVM IR after them, on standard error; the compiler reads it for stage 1"
        );
        VERIFY_PASSES = (
            "SCHISM_VERIFY_PASSES", "`0`, `1`", "`0`; `1` in debug builds of stage 2", "the LLVM IR is verified after each pass"
        );
        DUMP_DIR = (
            "SCHISM_DUMP_DIR", "a folder", "none", "stage 2 writes each step of a kernel's compilation to it"
        );
        FAIL_PASSES = (
            "SCHISM_FAIL_PASSES",
            "names of passes, separated by commas",
            "none",
            "for tests: these passes of stage 2 panic instead of running"
        );
        STDPAR_CUT = (
            "SCHISM_STDPAR_CUT",
            "`auto`, by the device; `device`",
            "`auto`",
            "for tests: where work-items cut their own pieces out of a parallel iterator. With `device` they do so on `cpu`, too, as on a GPU"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn page() -> String {
        let row = |variable: &&Variable| {
            let Variable { name, values, default, purpose, .. } = variable;
            format!("| `{name}` | {values} | {default} | {purpose} |\n")
        };
        let table = |variables: &[&Variable]| {
            let head = "| variable | values | default | what it does |\n|---|---|---|---|\n";
            head.to_owned() + &variables.iter().map(row).collect::<String>()
        };
        format!(
            "# Environment variables\n\n\
             What programs read. The runtime reads each once in a process, and tells stage 2 what it is to know. This page is made from the table in\n\
             `runtime/src/util/variables.rs`: `BLESS=1 cargo test -p schism --lib variables` writes it.\n\n{}\n\
             Variables that name code or folders take absolute paths. schism loads a file, named or found elsewhere, only if root, \
             the\nuser and the program's owner alone can have changed it. Programs with rights that their users lack (setuid) ignore these variables.\n\n\
             ## For work on schism, and for tests\n\n{}",
            table(USERS),
            table(DEVELOPERS)
        )
    }

    #[test]
    fn variables_of_stage_2_are_variables_of_programs() {
        for it in stage2::STAGE2 {
            let mut all = USERS.iter().chain(DEVELOPERS);
            assert!(all.any(|variable| variable.name == it.name), "{}", it.name);
        }
    }

    #[test]
    fn the_page_is_of_the_table() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/variables.md");
        if env::var_os("BLESS").is_some_and(|bless| bless == "1") {
            std::fs::write(&file, page()).expect("the page can be written");
        }
        let text = std::fs::read_to_string(&file).expect("the page is there");
        assert!(
            text == page(),
            "{} is not of the table: run this test with BLESS=1",
            file.display()
        );
    }
}
