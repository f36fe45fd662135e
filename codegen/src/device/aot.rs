//! AOT code: the kernels of a container, compiled by stage 2 while the crate is compiled.
//!
//! `SCHISM_TARGETS` lists the targets; `cargo schism build --targets` sets it. Each kernel gets
//! some images for each target:
//!
//! | variant | what it serves |
//! |---|---|
//! | `plain` | launches that begin at zero, with less than 2³¹ work-items in each dimension on a GPU |
//! | `general` | any size, sub-grids, values of specialization constants; on the CPU only for kernels with such constants, in SPIR-V without them |
//! | `offset`, `general-offset` | the same for launches with an offset, for kernels that read it |
//! | `block-256`, `whole-256`, … | on NVIDIA's GPUs: what most launches satisfy, see [`versions`] |
//!
//! Stage 2 is the library that `SCHISM_JIT` names. It runs on the LLVM that this process has
//! already loaded. Each kernel is compiled separately, so the result depends neither on the number
//! of threads nor on the rest of the crate.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rustc_middle::ty::TyCtxt;
use rustc_session::Session;
use rustc_span::Symbol;
use schism_hcf::{
    Code, Container, IN_PROCESS, Image, ImageRef, KernelRef, Level, ParameterKind, RecordRef,
    Target, Targets,
};
use schism_jit_abi::library::{CompileRequest, CompiledKernel, LaunchAssumptions, Refused, Stage2};
use schism_jit_abi::ptxas::{self, Ptxas};
use schism_jit_abi::variables::{Effect, STAGE2};
use schism_jit_abi::{
    ABI_VERSION, ASSUME_DIVISIBLE, ASSUME_INDEX_32, BACKEND_FAILED, FLAG_BASE, FLAG_IN_PROCESS,
    FLAG_OFFSET, FLAG_OPEN_CONSTANTS, FLAG_PORTABLE_MATH, GPU_BLOCKS, INTERNAL, STACK_UNKNOWN,
    UNRESOLVED_SYMBOLS, UNSUPPORTED,
};

use crate::session;
use crate::variables::{JIT, TARGETS};

/// The maximum number of threads that compile kernels.
const MOST_THREADS: usize = 8;

/// The targets of the environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    targets: Vec<Target>,
    stage2: PathBuf,
    /// NVIDIA's assembler, if one of the targets needs it.
    ptxas: Option<Ptxas>,
}

/// A kernel that cannot be compiled for a target.
#[derive(Debug)]
pub(crate) struct Missing {
    /// The kernel's name.
    pub kernel: String,
    /// Why it is missing, for people.
    pub text: String,
    /// The consequence for launches.
    pub note: &'static str,
}

/// Whether some of the targets that a list names need NVIDIA's assembler.
fn needs_ptxas(list: &str) -> bool {
    list.split(',').any(|target| target.trim().starts_with("sass:"))
}

/// Adds the inputs to the crate's dependency information, so that cargo builds it again when they
/// change.
pub(crate) fn track(sess: &Session) {
    let note = |variable| session::variable(sess, variable).filter(|value| !value.is_empty());
    if let Some(targets) = note(TARGETS)
        && let Some(library) = note(JIT)
    {
        let file = |path: &str| crate::rustc::files(sess).borrow_mut().insert(Symbol::intern(path));
        file(&library);
        STAGE2.iter().filter(|it| it.effect == Effect::Code).for_each(|it| drop(note(it.name)));
        if needs_ptxas(&targets) {
            note(ptxas::VARIABLE);
            let found = Ptxas::find().ok();
            found.and_then(|found| found.path().to_str().map(&file));
        }
    }
}

/// Reads the environment; invalid values are errors.
pub(crate) fn plan(tcx: TyCtxt<'_>) -> Plan {
    let sess = tcx.sess;
    let asked = std::env::var(TARGETS).unwrap_or_default();
    if asked.is_empty() {
        return Plan::default();
    }
    let has = |feature: &str| sess.unstable_target_features.contains(&Symbol::intern(feature));
    let targets =
        asked.parse::<Targets>().and_then(|targets| targets.for_host(Level::highest(has)));
    let targets = targets.unwrap_or_else(|error| {
        sess.dcx().err(format!("{TARGETS}: {error}"));
        Vec::new()
    });
    if targets.iter().any(|target| matches!(target, Target::Host(_)))
        && !sess.target.llvm_target.starts_with("x86_64-")
    {
        sess.dcx().err(format!(
            "{TARGETS}: `host` is for x86-64, and this crate is built for {}",
            sess.target.llvm_target
        ));
    }
    let stage2 = std::env::var_os(JIT).filter(|path| !path.is_empty());
    if stage2.is_none() {
        sess.dcx().err(format!(
            "{TARGETS} asks for code that is made ahead of time, and {JIT} does not name the library that makes it; use \
             `cargo schism build --targets`"
        ));
    }
    let mut ptxas = None;
    if targets.iter().any(|target| matches!(target, Target::Sass(_))) {
        match Ptxas::find() {
            Ok(found) => ptxas = Some(found),
            Err(error) => {
                sess.dcx().err(format!(
                    "{TARGETS} asks for machine code of NVIDIA's GPUs (`sass:`), which ptxas makes: {error}; `ptx:` needs none"
                ));
            }
        }
    }
    Plan { targets, ptxas, stage2: stage2.map(PathBuf::from).unwrap_or_default() }
}

impl Plan {
    /// What the object of an earlier session must have been made with. Empty without targets.
    pub(crate) fn ingredients(&self) -> String {
        if self.targets.is_empty() {
            return String::new();
        }
        let about = |path: &Path| {
            let about = path.metadata().ok();
            let changed = about.as_ref().and_then(|about| about.modified().ok());
            (about.map(|about| about.len()), changed)
        };
        let assembler = self.ptxas.as_ref().map(|ptxas| about(ptxas.path()));
        format!("{:?} {:?} {:?}", self, about(&self.stage2), assembler)
    }

    /// Adds code of its kernels to a container. Returns the kernels that cannot be compiled.
    ///
    /// # Errors
    /// A problem of stage 2, or of one of the kernels.
    pub(crate) fn add_to(&self, container: &mut Container) -> Result<Vec<Missing>, String> {
        if self.targets.is_empty() {
            return Ok(Vec::new());
        }
        let stage2 = Stage2::open(&self.stage2)
            .map_err(|error| format!("{} ({JIT}) {error}", self.stage2.display()))?;
        let bytes = container.to_record().map_err(|error| error.to_string())?;
        let record = RecordRef::parse(&bytes).map_err(|error| error.to_string())?;
        let mut jobs = Vec::new();
        let mut missing: Vec<Missing> = Vec::new();
        for (index, kernel) in record.kernels().iter().enumerate() {
            if let Some(import) = kernel.imports.first() {
                // The image that defines it may belong to a crate that this one does not know.
                missing.push(Missing {
                    kernel: kernel.name.to_string(),
                    text: format!(
                        "kernel `{}` has no code that is made ahead of time: it imports `{import}`, which the device code of another \
                         crate defines",
                        kernel.display_name
                    ),
                    note: "it is compiled when it is first launched, which needs schism's compiler where the program runs",
                });
                continue;
            }
            for &target in &self.targets {
                let Some(image) = source(&record, kernel, target) else { continue };
                let forms = forms(kernel, target, image).into_iter();
                let ptxas = self.ptxas.as_ref();
                let job =
                    |form| KernelJob { kernel, image: image.data, index, target, form, ptxas };
                jobs.extend(forms.map(job));
            }
        }
        let results = run_all(&jobs, |job| job.run(stage2));
        for (job, result) in jobs.iter().zip(results) {
            match result {
                Ok(made) => {
                    let image = job.image(made);
                    container.kernels[job.index].images.push(image.name.clone());
                    container.images.push(image);
                }
                Err(Refused {
                    code: UNSUPPORTED | UNRESOLVED_SYMBOLS | BACKEND_FAILED,
                    reason,
                }) => {
                    let KernelJob { kernel, target, .. } = job;
                    let text = format!(
                        "kernel `{}` has no code for {target}: {reason}",
                        kernel.display_name
                    );
                    // A kernel that cannot be compiled for a target lacks all its variants there.
                    if missing.last().is_none_or(|last| last.text != text) {
                        let note = "a launch of it on such a device is an error; on others it runs";
                        missing.push(Missing { kernel: kernel.name.to_string(), text, note });
                    }
                }
                Err(Refused { code, reason }) => {
                    let KernelJob { kernel, target, .. } = job;
                    return Err(format!(
                        "kernel `{}` cannot be compiled for {target} (code {code}): {reason}",
                        kernel.display_name
                    ));
                }
            }
        }
        Ok(missing)
    }
}

/// One of the variants of a kernel's code for a target.
#[derive(Clone, Debug)]
struct CodeVariant {
    name: String,
    flags: u32,
    assumptions: LaunchAssumptions,
}

/// The image that a kernel is compiled from for a target: that for the program's own process, if there
/// is one, and otherwise that for all devices. A pipeline that no device has has no code for one.
fn source<'r>(
    record: &'r RecordRef<'_>,
    kernel: &KernelRef<'_>,
    target: Target,
) -> Option<&'r ImageRef<'r>> {
    let image = |in_process: bool| record.generic_ir(kernel, in_process);
    match target {
        Target::Host(_) => image(true).or_else(|| image(false)),
        _ => image(false),
    }
}

fn forms(kernel: &KernelRef<'_>, target: Target, image: &ImageRef<'_>) -> Vec<CodeVariant> {
    let in_process = if image.variant == IN_PROCESS { FLAG_IN_PROCESS } else { 0 };
    let constants = if kernel.spec_constants.is_empty() { 0 } else { FLAG_OPEN_CONSTANTS };
    let nothing = LaunchAssumptions::default();
    let small = LaunchAssumptions { flags: ASSUME_INDEX_32, ..nothing };
    let (plain, general, always) = match target {
        // As the runtime has it where the environment names no library.
        Target::Host(_) if in_process != 0 => (nothing, constants, 0),
        Target::Host(_) => (nothing, constants, FLAG_PORTABLE_MATH),
        Target::Ptx(_) | Target::Sass(_) => {
            let narrow = params(kernel, ParameterKind::Integer);
            (LaunchAssumptions { narrow, ..small }, constants | FLAG_BASE, 0)
        }
        Target::Amdgcn(_) => (small, constants | FLAG_BASE, 0),
        // No variable of a program that a driver has built can be set.
        Target::Spirv => (nothing, FLAG_BASE, 0),
    };
    let form = |name: &str, flags, assumptions| {
        let name = name.to_owned();
        CodeVariant { name, flags: flags | always | in_process, assumptions }
    };
    let mut forms = vec![form("plain", 0, plain)];
    if general != 0 {
        forms.push(form("general", general, nothing));
    }
    if kernel.offset_variant.is_some() {
        forms.push(form("offset", FLAG_OFFSET, plain));
        if general != 0 {
            forms.push(form("general-offset", general | FLAG_OFFSET, nothing));
        }
    }
    if let Target::Ptx(_) | Target::Sass(_) = target {
        let versions = versions(kernel, plain).into_iter();
        forms.extend(versions.map(|(name, assumptions)| form(&name, 0, assumptions)));
    }
    forms
}

/// The versions of a kernel for NVIDIA's GPUs that assume what holds for most launches: what the
/// runtime has stage 2 assume at a first launch, see `docs/design/launches.md`.
///
/// Machine code of the kernels of `cargo schism bench gpu` shows which assumptions matter:
///
/// - **Narrow integers** save a third of the instructions of some kernels and hold nearly always, so
///   `plain` assumes them, too.
/// - **Aligned addresses** make one access of up to four, where elements have several fields.
/// - **The block** lets kernels with groups unroll their loops: they have up to half as many
///   instructions. Kernels without groups get as many registers as such blocks can have.
/// - **A range that the block divides**, and integers that are multiples of 16, save up to a
///   quarter where rows of a matrix are read. Both hold for sizes that are powers of two, and each
///   alone saves little, so one version has both. Kernels with groups gain nothing by them.
fn versions(kernel: &KernelRef<'_>, plain: LaunchAssumptions) -> Vec<(String, LaunchAssumptions)> {
    /// Groups that programs often choose, by their dimensions.
    const GROUPS: [[[u32; 3]; 2]; 3] =
        [[[256, 1, 1], [128, 1, 1]], [[16, 16, 1], [32, 8, 1]], [[8, 8, 4], [8, 8, 8]]];
    let Some(dimension) = (kernel.dimensions as usize).checked_sub(1) else { return Vec::new() };
    let aligned = params(kernel, ParameterKind::Pointer);
    let of_block = |block| LaunchAssumptions { block, aligned, ..plain };
    let named = |kind: &str, assumptions: LaunchAssumptions| {
        let [x, y, z] = assumptions.block;
        let block = [x, y, z].map(|items| items.to_string());
        let dimensions = block.len().min(dimension + 1);
        (format!("{kind}-{}", block[..dimensions].join("x")), assumptions)
    };
    if kernel.groups.is_some() {
        let sizes = GROUPS.get(dimension).into_iter().flatten();
        return sizes.map(|&size| named("block", of_block(size))).collect();
    }
    let Some(&block) = GPU_BLOCKS.get(dimension) else { return Vec::new() };
    let block = of_block(block);
    let whole = LaunchAssumptions {
        flags: block.flags | ASSUME_DIVISIBLE,
        aligned: aligned | params(kernel, ParameterKind::Integer),
        ..block
    };
    vec![named("block", block), named("whole", whole)]
}

/// The parameters of a kind that code can make assumptions about: those of 64 bits among the first.
fn params(kernel: &KernelRef<'_>, kind: ParameterKind) -> u64 {
    let params = kernel.parameters.iter().zip(0..u64::BITS);
    let wanted = params.filter(|(param, _)| param.kind == kind && param.size == 8);
    wanted.fold(0, |mask, (_, index)| mask | 1 << index)
}

/// A compilation of one kernel.
struct KernelJob<'a> {
    kernel: &'a KernelRef<'a>,
    image: &'a [u8],
    /// The kernel's index in the container.
    index: usize,
    target: Target,
    form: CodeVariant,
    ptxas: Option<&'a Ptxas>,
}

impl KernelJob<'_> {
    fn run(&self, stage2: Stage2) -> Result<CompiledKernel, Refused> {
        let wanted = CompileRequest {
            image: self.image,
            kernel: self.kernel,
            flags: self.form.flags,
            links: &[],
        };
        let assumptions = self.form.assumptions;
        match self.target {
            Target::Host(level) => stage2.compile_cpu(wanted, level.as_str(), [0; 3]),
            Target::Ptx(processor) => {
                stage2.compile_ptx(wanted, &processor.to_string(), assumptions)
            }
            Target::Sass(processor) => {
                let ptxas = self.ptxas.ok_or_else(|| Refused {
                    code: INTERNAL,
                    reason: "there is no ptxas".to_owned(),
                })?;
                stage2.compile_sass(wanted, &processor.to_string(), assumptions, ptxas)
            }
            Target::Amdgcn(processor) => {
                stage2.compile_code_object(wanted, processor.as_str(), assumptions)
            }
            Target::Spirv => stage2.compile_spirv(wanted),
        }
    }

    fn image(&self, made: CompiledKernel) -> Image {
        let CodeVariant { name: form, flags, assumptions } = &self.form;
        let target = self.target.to_string().replacen(':', ".", 1);
        Image {
            name: format!("{target}.{}.{form}", self.kernel.name),
            format: self.target.format().to_owned(),
            variant: form.clone(),
            code: Some(Code {
                target: self.target,
                interface: ABI_VERSION,
                entry: made.entry,
                flags: *flags,
                assumptions: assumptions.flags,
                block: assumptions.block,
                aligned: assumptions.aligned,
                narrow: assumptions.narrow,
                needs: made.needs,
                stack: Some(made.stack).filter(|stack| *stack != STACK_UNKNOWN),
            }),
            exported_symbols: Vec::new(),
            imported_symbols: Vec::new(),
            data: made.code,
        }
    }
}

/// Runs all jobs on some threads. The results are in the jobs' order.
fn run_all<J: Sync, R: Send>(jobs: &[J], run: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(MOST_THREADS).min(jobs.len());
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::default();
    let work = || {
        while let Some((index, job)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(index).map(|job| (index, job))
        } {
            let result = run(job);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // If no thread can be started, this one does the work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
