//! The device half of a crate: lowered, processed by the passes, and packed into a container.

use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use rustc_data_structures::fx::FxIndexSet;
use rustc_middle::ty::{Instance, TyCtxt};
use rustc_span::def_id::LOCAL_CRATE;
use rustc_span::{DUMMY_SP, Span, Symbol};
use schism_hcf::{
    Addresses, Container, GENERIC_IR, Groups, HcfError, IN_PROCESS, Image, Kernel, Parameter,
    ParameterKind,
};
use schism_passes::analysis::structural_hash;
use schism_passes::frontend::std_bodies::build_index;
use schism_passes::pass::PassContext;
use schism_passes::pipeline::{self, OptionsError};
use schism_passes::spec::image::KernelImage;
use schism_passes::spec::options::{SplitMode, Warnings};
use schism_passes::spec::report::{Lints, ViolationKind};
use schism_passes::stage1::{self, Begun, ProcessImage};
use schism_passes::{
    DeviceImage, DeviceSpec, Formatter, PanicFunction, Stage1Error, StdBodies, TypeDescription,
};

use crate::collect::call_map::{CallMap, Origin};
use crate::collect::imports;
use crate::collect::spec_constants;
use crate::collect::spec_constants::SpecConstant;
use crate::collect::std_bodies;
use crate::collect::walk as collect;
use crate::collect::walk::Place;
use crate::device::aot::{self, Missing};
use crate::device::times;
use crate::device::work_products::{self, SavedObject};
use crate::kernels;
use crate::kernels::KernelInfo;
use crate::kernels::runtime_items;
use crate::kernels::runtime_items::{IS_DEVICE, RuntimeItems};
use crate::rayon;
use crate::report::text as diagnostic_text;
use crate::rustc::{CodegenUnit, CodegenUnitNameBuilder};
use crate::stdpar::explain;
use crate::stdpar::refuse::{self, Pipelines};

/// The name of the image of a container that has one.
const IMAGE: &str = "llvm-ir.global";

/// The name of the image whose kernels run in the program's own process.
const PROCESS_IMAGE: &str = "llvm-ir.process";

/// The environment variable for the division of kernels into images.
pub(crate) const SPLIT: &str = "SCHISM_DEVICE_CODE_SPLIT";

/// The environment variable for warnings.
pub(crate) const WARN: &str = "SCHISM_WARN";

/// Requests source lines, for profilers of GPUs. They come from the debug information with which
/// the crate is compiled.
pub(crate) const LINES: &str = "SCHISM_LINES";

/// The device half's codegen unit, once the crate is known to have kernels: the compiler's query
/// for it stores it for the passes.
static UNIT: Mutex<Option<Unit>> = Mutex::new(None);

#[derive(Default)]
struct Unit {
    name: String,
    panics: Vec<PanicFunction>,
    formatters: Vec<Formatter>,
    types: Vec<TypeDescription>,
    spec_constants: Vec<SpecConstant>,
    imports: Vec<String>,
    /// For each kernel.
    no_thread_locals: Vec<bool>,
    /// Kernels of pipelines that are left out, by name, and why.
    left_out: Vec<(String, &'static str)>,
    /// Those of them that are left out of what devices have, but not of what the process has.
    not_for_devices: Vec<(String, &'static str)>,
}

/// Findings of the walk for the container, which the passes do not need.
#[derive(Clone, Debug)]
struct Found {
    spec_constants: Vec<SpecConstant>,
    /// For each kernel.
    no_thread_locals: Vec<bool>,
}

impl Unit {
    fn lock() -> MutexGuard<'static, Option<Unit>> {
        UNIT.lock().expect("nothing panics under the lock")
    }
}

/// The device half of a crate.
pub(crate) enum DeviceHalf {
    /// It has been made.
    Made {
        /// The container.
        record: Record,
        /// Warnings.
        slow: Option<Box<Slow>>,
        /// Which kernels are made of pipelines of rayon, and which are not.
        pipelines: Pipelines,
        /// The kernels in the container.
        kernels: Vec<KernelInfo>,
        /// Requested AOT code that cannot be compiled.
        missing: Vec<(String, &'static str, Span)>,
        /// The name under which its object is kept for the next session, if it is.
        keep_as: Option<String>,
    },
    /// The object of an earlier session is still valid.
    Saved {
        /// The object.
        object: SavedObject,
        /// Identifies the crate among all crates of a program.
        crate_id: String,
    },
    /// There is none.
    Failed(Box<Failure>),
}

/// A finished container and the crate it belongs to.
pub(crate) struct Record {
    /// The framed bytes.
    pub bytes: Vec<u8>,
    /// Identifies the crate among all crates of a program.
    pub crate_id: String,
    /// What kernels in the program's process need of it.
    pub host_symbols: Vec<String>,
    /// A symbol that each program has.
    pub everywhere: String,
}

/// What makes the kernels of a finished container slow, with the data for diagnostics.
pub(crate) struct Slow {
    /// The findings.
    pub lints: Lints,
    /// The crate's kernels.
    pub kernels: Vec<KernelInfo>,
    /// The call graph.
    pub map: CallMap,
}

/// Why there is no container, with the data for diagnostics.
pub(crate) struct Failure {
    /// The error.
    pub cause: Stage1Failure,
    /// The crate's kernels.
    pub kernels: Vec<KernelInfo>,
    /// The call graph.
    pub map: CallMap,
}

/// Errors on the path to a container.
pub(crate) enum Stage1Failure {
    /// An invalid value in the environment.
    Options(OptionsError),
    /// In the passes.
    Passes(Stage1Error),
    /// In the container.
    Container(HcfError),
    /// Kernels of pipelines, by their indices, that turned out to be unsuitable for devices, and why.
    Pipelines(Vec<(usize, &'static str)>),
    /// In the AOT code.
    Aot(String),
    /// The thread panicked.
    Panicked,
}

/// Identifies a crate among all crates of a program, in symbols.
pub(crate) fn crate_id(tcx: TyCtxt<'_>) -> String {
    format!("{:016x}", tcx.stable_crate_id(LOCAL_CRATE).as_u64())
}

/// The purpose of the device half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The container goes into the crate's objects.
    Build,
    /// The crate is only checked: no AOT code is compiled, and nothing is kept.
    Check,
}

/// Makes the device half of a crate; `None` if the crate launches no kernel. `lower` generates the
/// unoptimised bitcode of a codegen unit.
pub(crate) fn make<'tcx>(
    tcx: TyCtxt<'tcx>,
    purpose: Purpose,
    lower: impl FnOnce(Symbol) -> Vec<u8>,
) -> Option<DeviceHalf> {
    let runtime = runtime_items::find(tcx);
    if runtime.is_empty() {
        return None;
    }
    let kernels = kernels::of_crate(tcx, &runtime);
    let exports = imports::exports(tcx, &runtime);
    explain::tell_types(tcx, &runtime);
    if kernels.is_empty() && exports.is_empty() {
        return None;
    }
    let name = unit_name(tcx);
    let start = Instant::now();
    let note = |what, start: Instant| {
        if times::wanted() {
            times::print(tcx.crate_name(LOCAL_CRATE).as_str(), &[(what, start.elapsed())]);
        }
    };
    *Unit::lock() = Some(Unit { name: name.to_string(), ..Unit::default() });
    // For what it stores in `UNIT`, whether the answer is new or not.
    let _ = tcx.codegen_unit(name);
    let unit = Unit::lock().take().unwrap_or_default();
    let mut pipelines = Pipelines::among(tcx, &kernels);
    pipelines.refuse(&unit.left_out);
    pipelines.refuse(&unit.not_for_devices);
    let mut kernels = kernels;
    leave_out(&mut kernels, &unit.left_out);
    let in_process: Vec<KernelInfo> = kernels
        .iter()
        .filter(|kernel| rayon::is_in_process(tcx, kernel.entry.args.type_at(0)))
        .map(|kernel| kernel.info.clone())
        .collect();
    let all: Vec<KernelInfo> = kernels.iter().map(|kernel| kernel.info.clone()).collect();
    leave_out(&mut kernels, &unit.not_for_devices);
    let exported = exports.iter().map(|export| export.instance);
    let entries: Vec<Instance<'tcx>> =
        kernels.iter().map(|kernel| kernel.entry).chain(exported).collect();
    let mut kernels: Vec<KernelInfo> = kernels.into_iter().map(|kernel| kernel.info).collect();
    let exports: Vec<KernelInfo> = exports.into_iter().map(|export| export.info).collect();
    // Diagnostics say that findings are reached from these.
    let roots = |kernels: &[KernelInfo]| {
        kernels.iter().chain(&exports).cloned().collect::<Vec<KernelInfo>>()
    };
    let mut spec = DeviceSpec {
        kernels: kernels.iter().map(KernelInfo::spec).collect(),
        shares_module: !in_process.is_empty(),
        panics: unit.panics,
        formatters: unit.formatters,
        types: unit.types,
        ir_constants: vec![(IS_DEVICE.to_owned(), 1)],
        ir_constant_functions: constant_functions(tcx, &runtime, 0),
        spec_constants: unit
            .spec_constants
            .iter()
            .map(|constant| schism_passes::SpecConstant {
                symbol: constant.symbol.clone(),
                static_size: constant.static_size,
                align: constant.align,
                default: constant.default.clone(),
            })
            .collect(),
        exports: exports.iter().map(|export| export.name.clone()).collect(),
        host_memory: pipelines.names().map(str::to_owned).collect(),
        imports: unit.imports,
        split: split_mode(tcx),
        lines: std::env::var(LINES).is_ok_and(|value| !value.is_empty() && value != "0"),
        // Who wrote an ordinary iterator did not ask for a fast kernel.
        warnings: if pipelines.are_all(&kernels) { Warnings::Off } else { warnings(tcx) },
        ..DeviceSpec::default()
    };
    note("(collect the device half)", start);
    // A check reports problems of the plan, too.
    let plan = aot::plan(tcx);
    let aot = if purpose == Purpose::Build { plan } else { aot::Plan::default() };
    let process_spec = DeviceSpec {
        kernels: in_process.iter().map(KernelInfo::spec).collect(),
        in_process: true,
        ir_constants: vec![(IS_DEVICE.to_owned(), 2)],
        ir_constant_functions: constant_functions(tcx, &runtime, 1),
        ..DeviceSpec::default()
    };
    let crate_id = crate_id(tcx);
    let everywhere = tcx.lang_items().panic_fmt().map_or_else(String::new, |panic| {
        tcx.symbol_name(Instance::mono(tcx, panic)).name.to_owned()
    });
    let dump_to = std::env::var_os("SCHISM_DUMP_STAGE1");
    let names: Vec<_> = all
        .iter()
        .map(|kernel| (kernel.located_name(), kernel.dimensions, &kernel.closure.addresses))
        .collect();
    let found =
        Found { spec_constants: unit.spec_constants, no_thread_locals: unit.no_thread_locals };
    let ingredients =
        (&spec, &process_spec, names, &found, std_bodies::identity(tcx), aot.ingredients());
    let keeps = purpose == Purpose::Build && dump_to.is_none() && !explain::is_asked();
    let keep_as = keeps.then(|| work_products::name(tcx, name, &ingredients)).flatten();
    if let Some(object) =
        keep_as.as_deref().and_then(|keep_as| work_products::find(tcx, name, keep_as))
    {
        return Some(DeviceHalf::Saved { object, crate_id });
    }

    let start = Instant::now();
    // Of pipelines there may be none left.
    let is_empty = all.is_empty() && exports.is_empty();
    let bitcode = if is_empty { Vec::new() } else { lower(name) };
    note("(lower the device half)", start);
    // Errors of lowering have been reported.
    tcx.dcx().abort_if_errors();
    if let Some(directory) = dump_to {
        dump(&directory, &crate_id, &bitcode);
    }
    spec.std_bodies = std_bodies::load(tcx);
    let crate_name = tcx.crate_name(LOCAL_CRATE).to_string();
    // Where that fails, which is a defect of a pass, these pipelines stay with rayon.
    let process = (!process_spec.kernels.is_empty())
        .then(|| on_own_thread(|| shape_in_process(&crate_name, &bitcode, &process_spec)).ok())
        .flatten();
    let half = Half { crate_name: &crate_name, bitcode: &bitcode, all: &all, found: &found };
    let mut begun = None;
    let outcome = loop {
        let process = process.as_ref().map(|image| (image, in_process.as_slice()));
        let outcome = pass(&half, &spec, &kernels, &pipelines, process, &aot, &mut begun);
        let Err(cause) = outcome else { break outcome };
        // In descending order, so that what is left keeps its indices.
        let blamed = pipelines.blame(&cause, &kernels);
        let allocating = pipelines.allocating();
        if blamed.is_empty() && allocating.len() == spec.host_heap.len() {
            break Err(explained(&half, &spec, cause));
        }
        spec.host_heap = allocating;
        for &index in blamed.iter().rev() {
            kernels.remove(index);
            spec.kernels.remove(index);
        }
    };
    if process.is_some() {
        pipelines.run_in_process(in_process.iter().map(|kernel| kernel.name.clone()));
        let only = in_process.into_iter();
        let known: Vec<String> = kernels.iter().map(|kernel| kernel.name.clone()).collect();
        kernels.extend(only.filter(|kernel| !known.contains(&kernel.name)));
    }
    Some(match outcome {
        Ok((bytes, lints, missing)) => {
            let span_of = |name: &str| {
                kernels
                    .iter()
                    .find(|kernel| kernel.name == name)
                    .map_or(DUMMY_SP, |kernel| kernel.span)
            };
            let missing: Vec<_> = missing
                .into_iter()
                .map(|Missing { kernel, text, note }| (text, note, span_of(&kernel)))
                .collect();
            let slow = (!lints.findings.is_empty()).then(|| {
                let map = collect::call_map(tcx, entries.into_iter());
                Box::new(Slow { lints, kernels: roots(&kernels), map })
            });
            let keep_as = keep_as.filter(|_| slow.is_none() && missing.is_empty());
            let host_symbols = process.map(|image| image.host_symbols).unwrap_or_default();
            let record = Record { bytes, crate_id, host_symbols, everywhere };
            DeviceHalf::Made { record, slow, pipelines, kernels, missing, keep_as }
        }
        Err(cause) => {
            let mut map = collect::call_map(tcx, entries.into_iter());
            note_allocating(&cause, spec.std_bodies.as_deref(), &mut map);
            DeviceHalf::Failed(Box::new(Failure { cause, kernels: roots(&kernels), map }))
        }
    })
}

/// Records which functions without a body allocate, as far as they are the standard library's and
/// the compiler could not show one.
fn note_allocating(cause: &Stage1Failure, bodies: Option<&StdBodies>, map: &mut CallMap) {
    let Stage1Failure::Passes(cause) = cause else { return };
    let Some(report) = cause.report() else { return };
    let is_std = |symbol: &str| map.item(symbol).is_some_and(|item| item.origin == Origin::Std);
    let without_body = report.violations.iter().any(|violation| match &violation.what {
        ViolationKind::ExternalFunction(symbol) => {
            is_std(symbol) && !diagnostic_text::is_allocator(symbol)
        }
        _ => false,
    });
    let Some(bodies) = bodies.filter(|_| without_body) else { return };
    // Without it the message says less.
    if let Ok(index) = bodies.index()
        && let Ok(allocating) = build_index::reaching(index, &diagnostic_text::is_allocator)
    {
        map.allocating = allocating;
    }
}

/// What does not change while kernels are taken out.
struct Half<'a> {
    crate_name: &'a str,
    bitcode: &'a [u8],
    /// The kernels that there are for any device.
    all: &'a [KernelInfo],
    found: &'a Found,
}

/// Runs the passes for the program's process.
fn shape_in_process(
    crate_name: &str,
    bitcode: &[u8],
    spec: &DeviceSpec,
) -> Result<ProcessImage, Stage1Failure> {
    let mut cx = context(spec)?;
    let image = stage1::run_in_process(bitcode, &mut cx);
    times::print(crate_name, cx.times.as_deref().unwrap_or_default());
    image.map_err(Stage1Failure::Passes)
}

fn context(spec: &DeviceSpec) -> Result<PassContext<'_>, Stage1Failure> {
    let mut cx = PassContext::new(spec);
    cx.options =
        pipeline::options(|name| std::env::var(name).ok()).map_err(Stage1Failure::Options)?;
    cx.times = times::wanted().then(Vec::new);
    Ok(cx)
}

/// Runs work on a thread of its own: a pass that panics is reported as a defect of schism, not of
/// the compiler.
fn on_own_thread<R: Send>(
    work: impl FnOnce() -> Result<R, Stage1Failure> + Send,
) -> Result<R, Stage1Failure> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("schism device half".to_owned());
        let thread = thread
            .spawn_scoped(scope, work)
            .expect("the process can start a thread, as rustc itself must");
        thread.join().unwrap_or(Err(Stage1Failure::Panicked))
    })
}

/// Runs the passes for devices, and packs the result with that for the process. `begun` is what an
/// earlier call has left for those with fewer kernels.
fn pass(
    half: &Half<'_>,
    spec: &DeviceSpec,
    kernels: &[KernelInfo],
    pipelines: &Pipelines,
    process: Option<(&ProcessImage, &[KernelInfo])>,
    aot: &aot::Plan,
    begun: &mut Option<Begun>,
) -> Result<(Vec<u8>, Lints, Vec<Missing>), Stage1Failure> {
    on_own_thread(|| {
        let mut cx = context(spec)?;
        let image = shape(half, pipelines, &mut cx, begun);
        times::print(half.crate_name, cx.times.as_deref().unwrap_or_default());
        let mut image = image?;
        let unfit = pipelines.unfit(&image.kernels);
        if !unfit.is_empty() {
            return Err(Stage1Failure::Pipelines(unfit));
        }
        let lints = std::mem::take(&mut image.lints);
        let mut container = container(half, image, kernels, process);
        let missing = aot.add_to(&mut container).map_err(Stage1Failure::Aot)?;
        let bytes = container.to_record().map_err(Stage1Failure::Container)?;
        Ok((bytes, lints, missing))
    })
}

/// Runs the passes for devices.
fn shape(
    half: &Half<'_>,
    pipelines: &Pipelines,
    cx: &mut PassContext<'_>,
    begun: &mut Option<Begun>,
) -> Result<DeviceImage, Stage1Failure> {
    // All that there was are pipelines that no device can have; the host half names the container
    // all the same.
    if cx.spec.kernels.is_empty() && cx.spec.exports.is_empty() {
        let lints = Lints::default();
        return Ok(DeviceImage { parts: Vec::new(), kernels: Vec::new(), lints });
    }
    if cx.spec.host_memory.is_empty() {
        return stage1::run(half.bitcode, cx).map_err(Stage1Failure::Passes);
    }
    // Some of the kernels may have to go, and the rest then goes on from here.
    let begun = match begun {
        Some(begun) => begun,
        none => {
            let first = stage1::begin(half.bitcode, cx).map_err(Stage1Failure::Passes)?;
            let first = none.insert(first);
            let unfit = pipelines.unfit(&first.kernels);
            if !unfit.is_empty() {
                return Err(Stage1Failure::Pipelines(unfit));
            }
            first
        }
    };
    stage1::go_on(begun, half.bitcode, cx).map_err(Stage1Failure::Passes)
}

/// An error with the places in the source of what it is about.
fn explained(half: &Half<'_>, spec: &DeviceSpec, cause: Stage1Failure) -> Stage1Failure {
    let Stage1Failure::Passes(error) = cause else { return cause };
    on_own_thread(|| Ok(stage1::explain(half.bitcode, &context(spec)?, error)))
        .map_or_else(|failure| failure, Stage1Failure::Passes)
}

/// The codegen unit of the device half, if `name` is its name. Overrides rustc's query; for a crate
/// without kernels it queries nothing, so incremental compilation sees the same dependencies as
/// without the plugin.
pub(crate) fn codegen_unit<'tcx>(
    tcx: TyCtxt<'tcx>,
    name: Symbol,
) -> Option<&'tcx CodegenUnit<'tcx>> {
    if Unit::lock().as_ref().is_none_or(|unit| unit.name != name.as_str()) {
        return None;
    }
    let runtime = runtime_items::find(tcx);
    let mut kernels = kernels::of_crate(tcx, &runtime);
    let exports = imports::exports(tcx, &runtime);
    let exported = exports.iter().map(|export| export.instance);
    let reach = |place, kernels: &[kernels::Kernel<'tcx>]| {
        let entries = kernels.iter().map(|kernel| kernel.entry).chain(exported.clone());
        collect::reach(tcx, place, entries)
    };
    let mut reached = reach(Place::Device, &kernels);
    let left_out = refuse::for_all(tcx, &kernels, &reached.nested);
    if !left_out.is_empty() {
        leave_out(&mut kernels, &left_out);
        reached = reach(Place::Device, &kernels);
    }
    let no_thread_locals = std::mem::take(&mut reached.no_thread_locals);
    let of_process =
        |kernel: &kernels::Kernel<'tcx>| rayon::is_in_process(tcx, kernel.entry.args.type_at(0));
    let mut items = FxIndexSet::default();
    if kernels.iter().any(of_process) {
        items = reach(Place::Process, &kernels).items;
    }
    let not_for_devices = refuse::for_devices(tcx, &kernels, &reached);
    if !not_for_devices.is_empty() {
        leave_out(&mut kernels, &not_for_devices);
        reached = reach(Place::Device, &kernels);
    }
    items.extend(reached.items.iter().copied());
    let imports = imports::imported(tcx, &runtime, reached.without_body.iter().copied());
    let statics = reached.statics.iter();
    let mut spec_constants: Vec<SpecConstant> =
        statics.filter_map(|def_id| spec_constants::of_static(tcx, *def_id, &runtime)).collect();
    spec_constants.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    if let Some(unit) = Unit::lock().as_mut() {
        unit.spec_constants = spec_constants;
        unit.imports = imports;
        unit.panics = reached.panics;
        unit.formatters = reached.formatters;
        unit.types = reached.types;
        unit.no_thread_locals = no_thread_locals;
        unit.left_out = left_out;
        unit.not_for_devices = not_for_devices;
    }
    Some(tcx.arena.alloc(collect::unit(name, &items)))
}

/// The functions of the runtime that only return an IR constant, and what they return in an image,
/// which is that for the program's process or not.
fn constant_functions(
    tcx: TyCtxt<'_>,
    runtime: &[RuntimeItems],
    in_process: u64,
) -> Vec<(String, u64)> {
    let functions =
        runtime.iter().flat_map(|items| [(items.is_device, 1), (items.is_in_process, in_process)]);
    let named = |function| tcx.symbol_name(Instance::mono(tcx, function)).name.to_owned();
    functions.map(|(function, value)| (named(function), value)).collect()
}

/// Takes out kernels by their names.
fn leave_out(kernels: &mut Vec<kernels::Kernel<'_>>, left_out: &[(String, &'static str)]) {
    kernels.retain(|kernel| left_out.iter().all(|(name, _)| *name != kernel.info.name));
}

fn unit_name(tcx: TyCtxt<'_>) -> Symbol {
    CodegenUnitNameBuilder::new(tcx).build_cgu_name(LOCAL_CRATE, ["schism"], Some("device"))
}

/// The division of kernels that the environment requests; an invalid word is an error.
fn split_mode(tcx: TyCtxt<'_>) -> SplitMode {
    let word = std::env::var(SPLIT).unwrap_or_default();
    word.parse().unwrap_or_else(|error| {
        tcx.sess.dcx().err(format!("{SPLIT}: {error}"));
        SplitMode::Off
    })
}

/// The warnings that the environment requests. An invalid word is a warning itself: warnings never
/// fail a build.
fn warnings(tcx: TyCtxt<'_>) -> Warnings {
    let word = std::env::var(WARN).unwrap_or_default();
    word.parse().unwrap_or_else(|error| {
        tcx.sess.dcx().warn(format!("{WARN}: {error}"));
        Warnings::default()
    })
}

fn container(
    half: &Half<'_>,
    image: DeviceImage,
    of_devices: &[KernelInfo],
    process: Option<(&ProcessImage, &[KernelInfo])>,
) -> Container {
    let Found { spec_constants, no_thread_locals } = half.found;
    let is_read = |constant: &&SpecConstant| {
        image.kernels.iter().any(|kernel| kernel.spec_constants.contains(&constant.symbol))
    };
    let spec_constants = spec_constants
        .iter()
        .filter(is_read)
        .cloned()
        .map(|constant| schism_hcf::SpecConstant {
            symbol: constant.symbol,
            path: constant.path,
            align: constant.align,
            default: constant.default,
            parts: constant.parts,
        })
        .collect();
    let single = image.parts.len() == 1;
    let name_of_part =
        |number: usize| if single { IMAGE.to_owned() } else { format!("llvm-ir.part{number}") };
    let image_of = |kernel: usize| {
        let part = image.parts.iter().position(|part| part.kernels.contains(&kernel));
        name_of_part(part.expect("every kernel is in a part"))
    };
    let kernel_of = |(index, kernel): (usize, &KernelInfo)| {
        let on_devices = of_devices.iter().position(|other| other.name == kernel.name);
        let in_process = process.and_then(|(image, kernels)| {
            let at = kernels.iter().position(|other| other.name == kernel.name)?;
            Some(image.structural_hashes[at])
        });
        if on_devices.is_none() && in_process.is_none() {
            return None;
        }
        let nothing = KernelImage::new(&kernel.name);
        let shaped = on_devices.map_or(&nothing, |at| &image.kernels[at]);
        let images = in_process.map(|_| PROCESS_IMAGE.to_owned()).into_iter();
        Some(Kernel {
            name: kernel.name.clone(),
            display_name: kernel.located_name(),
            dimensions: kernel.dimensions,
            closure_size: kernel.closure.size,
            closure_align: kernel.closure.align,
            parameters: kernel
                .closure
                .parameters
                .iter()
                .zip(&kernel.closure.addresses)
                .map(parameter)
                .collect(),
            images: images.chain(on_devices.map(image_of)).collect(),
            can_panic: shaped.can_panic,
            groups: shaped.groups.map(|groups| Groups {
                local_size: groups.local_size,
                local_align: groups.local_align,
            }),
            offset_variant: shaped.offset_variant.clone(),
            spec_constants: shaped.spec_constants.clone(),
            imports: shaped.imports.clone(),
            capabilities: shaped.capabilities.iter().map(ToString::to_string).collect(),
            content: match in_process {
                None => shaped.structural_hash,
                Some(own) => structural_hash::joined([own, shaped.structural_hash]),
            },
            no_thread_locals: no_thread_locals.get(index).copied().unwrap_or_default(),
        })
    };
    let kernels = half.all.iter().enumerate().filter_map(kernel_of).collect();
    let in_process = process.map(|(image, _)| Image {
        name: PROCESS_IMAGE.to_owned(),
        format: GENERIC_IR.to_owned(),
        variant: IN_PROCESS.to_owned(),
        code: None,
        exported_symbols: Vec::new(),
        imported_symbols: image.host_symbols.clone(),
        data: image.bitcode.clone(),
    });
    let images = image.parts.iter().enumerate().map(|(number, part)| Image {
        name: name_of_part(number),
        format: GENERIC_IR.to_owned(),
        variant: if single { "global-module" } else { "module-part" }.to_owned(),
        code: None,
        exported_symbols: part.exported_symbols.clone(),
        imported_symbols: part.imported_symbols.clone(),
        data: part.bitcode.clone(),
    });
    Container {
        generator: concat!(
            "schism ",
            env!("CARGO_PKG_VERSION"),
            " for rustc ",
            env!("SCHISM_RELEASE")
        )
        .to_owned(),
        llvm_version: llvm_version(),
        crate_name: half.crate_name.to_owned(),
        images: in_process.into_iter().chain(images).collect(),
        spec_constants,
        kernels,
    }
}

/// The version of the compiler's LLVM, which wrote the bitcode: releases of rustc differ in it.
fn llvm_version() -> String {
    let (major, minor, patch) = schism_llvm::version();
    format!("{major}.{minor}.{patch}")
}

fn parameter((parameter, addresses): (&schism_passes::Parameter, &Addresses)) -> Parameter {
    Parameter {
        offset: parameter.offset,
        size: parameter.size,
        align: parameter.align,
        kind: match parameter.kind {
            schism_passes::ParameterKind::Integer => ParameterKind::Integer,
            schism_passes::ParameterKind::Float => ParameterKind::Float,
            schism_passes::ParameterKind::Pointer { .. } => ParameterKind::Pointer,
            schism_passes::ParameterKind::Bytes => ParameterKind::Bytes,
        },
        read_only: matches!(
            parameter.kind,
            schism_passes::ParameterKind::Pointer { readonly: true, .. }
        ),
        specialized: parameter.specialized,
        addresses: addresses.clone(),
    }
}

/// Writes the input of the passes, for debugging.
fn dump(directory: &std::ffi::OsStr, crate_id: &str, bitcode: &[u8]) {
    let path = std::path::Path::new(directory).join(format!("{crate_id}.device.bc"));
    if let Err(error) =
        std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&path, bitcode))
    {
        eprintln!("warning: SCHISM_DUMP_STAGE1: cannot write {}: {error}", path.display());
    }
}
