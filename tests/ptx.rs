//! All kernels of a program as PTX, assembled for real processors where NVIDIA's assembler is
//! found; as code objects of AMD's GPUs, see [`amdgcn`]; and as SPIR-V, see [`spirv`].
//!
//! `ptxas` comes with CUDA, or with the package `nvidia-cuda-nvcc` of PyPI. It is looked for in
//! `SCHISM_PTXAS` (the file), in the `PATH`, in `CUDA_HOME` and in `/usr/local/cuda`. No GPU is
//! needed.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use schism_hcf::{KernelRef, RecordRef};
use schism_jit::{GpuCode, GpuOptions, JitError, Request, compile_ptx};
use schism_jit_abi::Param;
use schism_jit_abi::ptxas::Ptxas;

use crate::container::records_of;
use crate::{amdgcn, skip, spirv};

/// The processors that kernels are lowered to and assembled for.
pub const PROCESSORS: [&str; 4] = ["sm_75", "sm_80", "sm_90", "sm_100"];

/// The assembler takes minutes for more text than this: kernels that format numbers for themselves.
/// They are left out, unless everything is asked for.
const LARGE: usize = 1 << 19;

/// Kernels whose PTX is longer are not lowered for AMD's processors, unless everything is asked for:
/// LLVM takes minutes for some.
const LARGE_FOR_AMD: usize = 1 << 16;

/// What takes longer is told.
const SLOW: Duration = Duration::from_secs(5);

/// What was done.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Kernels, their variants for launches with an offset included.
    pub kernels: usize,
    /// Modules that the assembler took.
    pub assembled: usize,
    /// Code objects of AMD's GPUs.
    pub code_objects: usize,
    /// Kernels that AMD's GPUs cannot run, and why.
    pub not_for_amd: Vec<String>,
    /// Code objects that were not linked, because there is no linker, and why there is none.
    pub no_linker: Vec<String>,
    /// Modules of SPIR-V.
    pub modules: usize,
    /// Kernels that OpenCL's devices cannot run, and why.
    pub not_for_opencl: Vec<String>,
    /// What could not be lowered or assembled, and why.
    pub failures: Vec<String>,
}

/// NVIDIA's assembler, if there is one; otherwise says how it could be had.
#[must_use]
pub fn assembler() -> Option<PathBuf> {
    let found = Ptxas::find().ok().map(|ptxas| ptxas.path().to_owned());
    if found.is_none() {
        skip::say(
            "no ptxas, so the PTX is not assembled; SCHISM_PTXAS may name one (PyPI: nvidia-cuda-nvcc)",
        );
    }
    found
}

/// Lowers every kernel of this very program, and expects the assembler, if there is one, to take
/// them all but those whose failure has one of these texts: what a GPU does not have.
///
/// # Panics
/// Another kernel cannot be lowered or assembled; or one of the texts stands in no failure.
pub fn expect(lacking: &[&str]) {
    if !skip::has_kernels() {
        return;
    }
    let path = std::env::current_exe().expect("this program has a path");
    let passed = Passed::of(&path);
    if passed.is_known() {
        return;
    }
    judge(&kernels_of(&path), lacking);
    passed.remember();
}

/// As [`expect`], for the kernels of a program or library, of which a GPU lacks nothing.
///
/// # Panics
/// The file has no kernels, or one cannot be lowered or assembled.
pub fn expect_of(file: &Path) {
    let passed = Passed::of(file);
    if passed.is_known() {
        return;
    }
    let outcome = kernels_of(file);
    assert!(outcome.kernels > 0, "no kernels in {}", file.display());
    judge(&outcome, &[]);
    passed.remember();
}

/// That all went well with the same kernels, the same stage 2 and the same assembler before. Then
/// it is not done again, unless `SCHISM_TEST_FULL=1` asks for it. Nothing else is remembered.
struct Passed(PathBuf);

impl Passed {
    /// Of the kernels in a file. Stage 2 is a part of this very program.
    fn of(file: &Path) -> Self {
        let own = std::env::current_exe().expect("this program has a path");
        let mut hasher = DefaultHasher::new();
        for path in [own.as_path(), file] {
            std::fs::read(path).expect("a program that can be read").hash(&mut hasher);
        }
        let assembler = assembler();
        let changed = assembler.as_ref().and_then(|path| path.metadata().ok()?.modified().ok());
        (assembler, changed, everything(), spirv::validator()).hash(&mut hasher);
        Self(own.with_file_name("ptx-passed").join(format!("{:016x}", hasher.finish())))
    }

    fn is_known(&self) -> bool {
        let known = self.0.exists() && !crate::lab::full();
        if known {
            println!("as in an earlier run: all kernels can be had");
        }
        known
    }

    fn remember(&self) {
        // Without it, it is done again.
        let _ = std::fs::create_dir_all(self.0.parent().expect("it is in a folder"));
        let _ = std::fs::write(&self.0, "");
    }
}

fn judge(outcome: &Outcome, lacking: &[&str]) {
    let (expected, failures): (Vec<&String>, Vec<&String>) = outcome
        .failures
        .iter()
        .partition(|failure| lacking.iter().any(|text| failure.contains(text)));
    println!(
        "{} kernels for {} processors: {} modules assembled, {} not possible",
        outcome.kernels,
        PROCESSORS.len(),
        outcome.assembled,
        expected.len()
    );
    println!(
        "{} code objects of {} AMD processors, {} not possible",
        outcome.code_objects,
        amdgcn::PROCESSORS.len(),
        outcome.not_for_amd.len()
    );
    println!(
        "{} modules of SPIR-V, {} not possible",
        outcome.modules,
        outcome.not_for_opencl.len()
    );
    if let Some(first) = outcome.no_linker.first() {
        println!("skipped: {} code objects are not linked: {first}", outcome.no_linker.len());
    }
    for failure in &failures {
        println!("{failure}");
    }
    assert!(failures.is_empty(), "{} failures", failures.len());
    for text in lacking {
        assert!(expected.iter().any(|failure| failure.contains(text)), "nothing lacks `{text}`");
    }
}

/// Lowers every kernel of a program or library, and assembles it.
fn kernels_of(path: &Path) -> Outcome {
    let contents = std::fs::read(path).expect("a program that can be read");
    let records = records_of(&contents);
    let mut work = Vec::new();
    let mut families = Families::default();
    for record in &records {
        for kernel in record.kernels() {
            if !families.takes(&kernel.display_name) {
                continue;
            }
            work.push((record, kernel, false));
            if kernel.offset_variant.is_some() {
                work.push((record, kernel, true));
            }
        }
    }
    let (assembler, validator) = (assembler(), spirv::validator());
    let (assembler, validator) = (assembler.as_deref(), validator.as_deref());
    let name = path.file_name().expect("a program has a name").to_string_lossy();
    // Two tests may look at programs of one name at once.
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{name}-{}-{count}", std::process::id());
    let folder = &std::env::temp_dir().join("schism-ptx").join(name);
    std::fs::create_dir_all(folder).expect("a folder for the PTX can be made");
    let outcome = Mutex::new(Outcome { kernels: work.len(), ..Outcome::default() });
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&(record, kernel, offset)) = work.get(index) else { break };
                    let is_large_for_amd = Cell::new(false);
                    let job = Job { record, kernel, offset, assembler, folder, is_large_for_amd };
                    let start = Instant::now();
                    let (assembled, failures) = job.run(&processors_of(index, &PROCESSORS));
                    let of_amd = if job.is_large_for_amd.get() && !everything() {
                        Vec::new()
                    } else {
                        job.run_amd(&amd_processors_of(index, work.len()))
                    };
                    // Where everything is inlined LLVM takes minutes for these, too.
                    let is_large = job.is_large_for_amd.get() && !everything();
                    let of_opencl = (!is_large).then(|| job.run_opencl(validator));
                    if start.elapsed() > SLOW {
                        println!("{} took {:.1?}", kernel.name, start.elapsed());
                    }
                    let mut outcome = outcome.lock().expect("no thread panicked");
                    outcome.assembled += assembled;
                    outcome.failures.extend(failures);
                    match of_opencl {
                        None => {}
                        Some(Ok(())) => outcome.modules += 1,
                        Some(Err(text))
                            if spirv::LACKING.iter().any(|lack| text.contains(lack)) =>
                        {
                            outcome.not_for_opencl.push(text);
                        }
                        Some(Err(text)) => outcome.failures.push(text),
                    }
                    for result in of_amd {
                        match result {
                            Ok(()) => outcome.code_objects += 1,
                            // What no GPU has is among the failures already.
                            Err(text) if amdgcn::LACKING.iter().any(|lack| text.contains(lack)) => {
                                outcome.not_for_amd.push(text);
                            }
                            Err(text) if text.contains(amdgcn::NO_LINKER) => {
                                outcome.no_linker.push(text);
                            }
                            Err(text) => outcome.failures.push(text),
                        }
                    }
                }
            });
        }
    });
    // What was not assembled stays there, to be looked at.
    let _ = std::fs::remove_dir(folder);
    outcome.into_inner().expect("no thread panicked")
}

/// How many kernels of a family are lowered, if not all are.
const MOST_OF_A_FAMILY: usize = 3;

/// Kernels of the same closures and functions, which differ in their types, and how many of each were
/// taken: of generic code there are hundreds.
#[derive(Default)]
struct Families(BTreeMap<Vec<String>, usize>);

impl Families {
    /// Whether the kernel with this name for people is lowered.
    fn takes(&mut self, name: &str) -> bool {
        let words = name.split(|byte: char| byte.is_whitespace() || "(){}@<>,".contains(byte));
        let places = words.filter(|word| word.contains(".rs:")).map(str::to_owned).collect();
        let taken = self.0.entry(places).or_default();
        *taken += 1;
        *taken <= MOST_OF_A_FAMILY || everything() || crate::lab::full()
    }
}

/// How many of a program's kernels are lowered for AMD's processors, if not all are.
const MOST_FOR_AMD: usize = 100;

/// Whether `SCHISM_PTX_ALL` asks for everything: every kernel for every processor.
fn everything() -> bool {
    std::env::var_os("SCHISM_PTX_ALL").is_some_and(|value| !value.is_empty())
}

/// The processors for a kernel: all of them take long, so they take turns, unless everything is
/// asked for.
fn processors_of(index: usize, all: &[&'static str]) -> Vec<&'static str> {
    if everything() { all.to_vec() } else { vec![all[index % all.len()]] }
}

/// AMD's processors for a kernel. Of a program with many kernels only some are lowered for them,
/// unless everything is asked for.
fn amd_processors_of(index: usize, kernels: usize) -> Vec<&'static str> {
    let step = if everything() { 1 } else { kernels.div_ceil(MOST_FOR_AMD).max(1) };
    if index.is_multiple_of(step) {
        processors_of(index / step, &amdgcn::PROCESSORS)
    } else {
        Vec::new()
    }
}

/// A kernel to lower and assemble.
struct Job<'a> {
    record: &'a RecordRef<'a>,
    kernel: &'a KernelRef<'a>,
    /// The variant for launches that do not begin at zero.
    offset: bool,
    assembler: Option<&'a Path>,
    folder: &'a Path,
    /// Whether its PTX is longer than [`LARGE_FOR_AMD`].
    is_large_for_amd: Cell<bool>,
}

impl Job<'_> {
    /// How many modules were assembled, and what failed.
    fn run(&self, processors: &[&str]) -> (usize, Vec<String>) {
        let mut assembled = 0;
        let mut failures = Vec::new();
        for processor in processors {
            match self.for_processor(processor) {
                Ok(is_assembled) => assembled += usize::from(is_assembled),
                Err(words) => {
                    failures.push(format!("{} for {processor}: {words}", self.kernel.name));
                }
            }
        }
        (assembled, failures)
    }

    /// The results for AMD's processors.
    fn run_amd(&self, processors: &[&str]) -> Vec<Result<(), String>> {
        let lower = |processor: &&str| {
            let lowered = amdgcn::lower(self.request(), self.kernel, processor);
            lowered.map_err(|words| format!("{} for {processor}: {words}", self.kernel.name))
        };
        processors.iter().map(lower).collect()
    }

    /// The result for OpenCL's devices.
    fn run_opencl(&self, validator: Option<&Path>) -> Result<(), String> {
        let named = |words| format!("{} for OpenCL: {words}", self.kernel.name);
        let local_align = self.kernel.groups.map_or(0, |groups| groups.local_align);
        let module = spirv::lower(self.request(), local_align).map_err(named)?;
        validator.map_or(Ok(()), |tool| spirv::validate(tool, &module).map_err(named))
    }

    fn for_processor(&self, processor: &str) -> Result<bool, String> {
        let code = self.lower(processor).map_err(|error| error.to_string())?;
        if code.bytes().len() > LARGE_FOR_AMD {
            self.is_large_for_amd.set(true);
        }
        let Some(assembler) = self.assembler else { return Ok(false) };
        if code.bytes().len() > LARGE && !everything() {
            println!("{} is too large to be assembled here", self.kernel.name);
            return Ok(false);
        }
        let name: String = code.entry().to_string_lossy().chars().take(150).collect();
        let file = self.folder.join(format!("{name}.{processor}.ptx"));
        std::fs::write(&file, code.bytes()).expect("the PTX can be written");
        assemble(assembler, processor, &file)
            .map_err(|words| format!("{words}\n  in {}", file.display()))?;
        std::fs::remove_file(&file).expect("the PTX is there");
        Ok(true)
    }

    /// The kernel, as for a launch about which nothing is known.
    fn request(&self) -> Request {
        let kernel = self.kernel;
        let image = kernel.images.first().map_or("", |image| image);
        let image = self.record.image(image).expect("a kernel is in an image");
        let variant = kernel.offset_variant.as_deref().filter(|_| self.offset);
        Request {
            image: image.data.to_vec(),
            kernel: variant.unwrap_or(&kernel.name).to_string(),
            params: kernel.parameters.iter().map(Param::from).collect(),
            closure_size: kernel.closure_size,
            closure_align: kernel.closure_align,
            dimensions: kernel.dimensions,
            offset: self.offset,
            ..Request::default()
        }
    }

    fn lower(&self, processor: &str) -> Result<GpuCode, JitError> {
        let options = GpuOptions {
            arch: processor.to_owned(),
            local_align: self.kernel.groups.map_or(0, |groups| groups.local_align),
            ..GpuOptions::default()
        };
        compile_ptx(self.request(), options)
    }
}

/// Runs the assembler, without optimisation: whether the code is PTX is the same.
fn assemble(assembler: &Path, processor: &str, file: &Path) -> Result<(), String> {
    // Not `/dev/null`: the assembler may remove its output, and root can remove that.
    let output = Command::new(assembler)
        .arg(format!("--gpu-name={processor}"))
        .args(["--opt-level", "0", "--output-file"])
        .arg(file.with_extension("cubin"))
        .arg(file)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} cannot be run: {error}", assembler.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let mut words = String::new();
    for line in String::from_utf8_lossy(&output.stderr).lines().take(6) {
        writeln!(words, "{line}").expect("writing to a string");
    }
    Err(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_kernels_that_differ_in_their_types_some_are_taken() {
        if everything() || crate::lab::full() {
            return;
        }
        let mut families = Families::default();
        let mut taken = |closure: usize| {
            let name = |of: &str| {
                format!(
                    "collect::<{of}, {{closure@src/fold.rs:{closure}}}>::{{closure#0}} (src/collect.rs:17)"
                )
            };
            let types = ["u8", "i32", "f32", "f64", "Record"];
            types.iter().filter(|of| families.takes(&name(of))).count()
        };
        assert_eq!([taken(33), taken(34), taken(33)], [MOST_OF_A_FAMILY, MOST_OF_A_FAMILY, 0]);
    }
}
