//! Makes the device half of a crate: collected, lowered, processed by the passes, and packed into a
//! container.

use std::time::Instant;

use rustc_middle::ty::{Instance, TyCtxt};
use rustc_span::def_id::LOCAL_CRATE;
use rustc_span::{DUMMY_SP, Span, Symbol};
use schism_passes::analysis::call_sites;
use schism_passes::frontend::std_bodies::build_index;
use schism_passes::spec::options::{SplitMode, Warnings};
use schism_passes::spec::report::ViolationKind;
use schism_passes::{DeviceSpec, SpecConstant, StdBodies};

use crate::collect::call_map::{CallMap, Origin};
use crate::collect::imports::{self, Export};
use crate::collect::{std_bodies, walk};
use crate::device::aot::{self, Missing};
use crate::device::cgu::{DeviceCgu, Findings, leave_out};
use crate::device::container::CrateKernels;
use crate::device::half::{DeviceHalf, Record};
use crate::device::passes::{Packed, Stage1};
use crate::device::{times, work_products};
use crate::kernels::names::{crate_id, is_allocator};
use crate::kernels::runtime_items::{IS_DEVICE, RuntimeItems};
use crate::kernels::{self, Kernel, KernelInfo, runtime_items};
use crate::rayon::types::is_in_process;
use crate::report::failure::{Failure, PerformanceLints, Stage1Failure};
use crate::rustc;
use crate::stdpar::explain;
use crate::stdpar::refuse::Pipelines;
use crate::variables::{DEVICE_CODE_SPLIT, DUMP_STAGE1, LINES, WARN};

/// The purpose of the device half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The container goes into the crate's objects.
    Build,
    /// The crate is only checked: no AOT code is compiled, and nothing is kept.
    Check,
}

/// Makes the device half of a crate; `None` if the crate launches no kernel.
pub(crate) fn make(tcx: TyCtxt<'_>, purpose: Purpose) -> Option<DeviceHalf> {
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
    let crate_name = tcx.crate_name(LOCAL_CRATE).to_string();
    let start = Instant::now();
    let DeviceCgu { name: unit, findings } = DeviceCgu::collect(tcx);
    let mut pipelines = Pipelines::among(tcx, &kernels);
    pipelines.refuse(&findings.left_out);
    pipelines.refuse(&findings.not_for_devices);
    let mut roots = Roots::of(tcx, kernels, exports, &findings);
    let mut spec = device_spec(tcx, &runtime, &roots, &findings, &pipelines);
    times::note(&crate_name, "(collect the device half)", start);
    // A check reports problems of the plan, too.
    let plan = aot::plan(tcx);
    let aot = if purpose == Purpose::Build { plan } else { aot::Plan::default() };
    let process_spec = process_spec(tcx, &runtime, &roots);
    let crate_id = crate_id(tcx, LOCAL_CRATE);
    let dump_to = std::env::var_os(DUMP_STAGE1);
    let names: Vec<_> = roots
        .all
        .iter()
        .map(|kernel| (kernel.located_name(), kernel.dimensions, &kernel.closure.addresses))
        .collect();
    let Findings { spec_constants, no_thread_locals, .. } = &findings;
    let found = (spec_constants, no_thread_locals);
    let ingredients =
        (&spec, &process_spec, names, found, std_bodies::identity(tcx), aot.ingredients());
    let keeps = purpose == Purpose::Build && dump_to.is_none() && !explain::is_asked();
    let keep_as = keeps.then(|| work_products::name(tcx, unit, &ingredients)).flatten();
    if let Some(object) =
        keep_as.as_deref().and_then(|keep_as| work_products::find(tcx, unit, keep_as))
    {
        return Some(DeviceHalf::Saved { object, crate_id });
    }

    let start = Instant::now();
    // Of pipelines there may be none left.
    let is_empty = roots.all.is_empty() && roots.exports.is_empty();
    let bitcode = if is_empty { Vec::new() } else { lower(tcx, unit) };
    times::note(&crate_name, "(lower the device half)", start);
    // Errors of lowering have been reported.
    tcx.dcx().abort_if_errors();
    if let Some(directory) = dump_to {
        dump(&directory, &crate_id, &bitcode);
    }
    spec.std_bodies = std_bodies::load(tcx);
    let stage1 = Stage1 {
        bitcode: &bitcode,
        of_crate: CrateKernels {
            crate_name: &crate_name,
            kernels: &roots.all,
            spec_constants,
            no_thread_locals,
        },
        aot: &aot,
    };
    let process = stage1.process_image(&process_spec);
    let of_process = process.as_ref().map(|image| (image, roots.process.as_slice()));
    let outcome = stage1.run(&mut spec, &mut roots.devices, &mut pipelines, of_process);
    let mut kernels = roots.devices;
    if process.is_some() {
        pipelines.run_in_process(roots.process.iter().map(|kernel| kernel.name.clone()));
        let known: Vec<String> = kernels.iter().map(|kernel| kernel.name.clone()).collect();
        kernels.extend(roots.process.into_iter().filter(|kernel| !known.contains(&kernel.name)));
    }
    // Diagnostics say that findings are reached from these.
    let reported = || kernels.iter().chain(&roots.exports).cloned().collect::<Vec<KernelInfo>>();
    let Packed { bytes, lints, missing } = match outcome {
        Ok(packed) => packed,
        Err(cause) => {
            let mut map = walk::call_map(tcx, roots.entries.into_iter());
            note_allocating(&cause, spec.std_bodies.as_deref(), &mut map);
            let failure = Failure { cause, kernels: reported(), map };
            return Some(DeviceHalf::Failed(Box::new(failure)));
        }
    };
    let lints = (!lints.findings.is_empty()).then(|| {
        let map = walk::call_map(tcx, roots.entries.into_iter());
        Box::new(PerformanceLints { lints, kernels: reported(), map })
    });
    let missing = with_spans(missing, &kernels);
    let keep_as = keep_as.filter(|_| lints.is_none() && missing.is_empty());
    let host_symbols = process.map(|image| image.host_symbols).unwrap_or_default();
    let record = Record { bytes, crate_id, host_symbols, everywhere: symbol_everywhere(tcx) };
    let pipelines = Box::new(pipelines);
    Some(DeviceHalf::Made { record, lints, pipelines, kernels, missing, keep_as })
}

/// What stage 1 begins with.
struct Roots<'tcx> {
    /// The kernels that there are for any device.
    all: Vec<KernelInfo>,
    /// Those for devices other than the process.
    devices: Vec<KernelInfo>,
    /// Those for the program's process.
    process: Vec<KernelInfo>,
    /// The functions for kernels of other crates.
    exports: Vec<KernelInfo>,
    /// The entry functions of what devices have.
    entries: Vec<Instance<'tcx>>,
}

impl<'tcx> Roots<'tcx> {
    fn of(
        tcx: TyCtxt<'tcx>,
        mut kernels: Vec<Kernel<'tcx>>,
        exports: Vec<Export<'tcx>>,
        findings: &Findings,
    ) -> Self {
        leave_out(&mut kernels, &findings.left_out);
        let process = kernels
            .iter()
            .filter(|kernel| is_in_process(tcx, kernel.entry.args.type_at(0)))
            .map(|kernel| kernel.info.clone())
            .collect();
        let all = kernels.iter().map(|kernel| kernel.info.clone()).collect();
        leave_out(&mut kernels, &findings.not_for_devices);
        let exported = exports.iter().map(|export| export.instance);
        let entries = kernels.iter().map(|kernel| kernel.entry).chain(exported).collect();
        let devices = kernels.into_iter().map(|kernel| kernel.info).collect();
        let exports = exports.into_iter().map(|export| export.info).collect();
        Self { all, devices, process, exports, entries }
    }
}

/// What the passes are told of the image for devices.
fn device_spec(
    tcx: TyCtxt<'_>,
    runtime: &[RuntimeItems],
    roots: &Roots<'_>,
    findings: &Findings,
    pipelines: &Pipelines,
) -> DeviceSpec {
    DeviceSpec {
        kernels: roots.devices.iter().map(KernelInfo::spec).collect(),
        shares_module: !roots.process.is_empty(),
        panics: findings.panics.clone(),
        formatters: findings.formatters.clone(),
        types: findings.types.clone(),
        ir_constants: vec![(IS_DEVICE.to_owned(), 1)],
        ir_constant_functions: constant_functions(tcx, runtime, 0),
        spec_constants: findings
            .spec_constants
            .iter()
            .map(|constant| SpecConstant {
                symbol: constant.symbol.clone(),
                static_size: constant.static_size,
                align: constant.align,
                default: constant.default.clone(),
            })
            .collect(),
        exports: roots.exports.iter().map(|export| export.name.clone()).collect(),
        host_memory: pipelines.names().map(str::to_owned).collect(),
        without_effects: pipelines.without_effects(),
        restored: pipelines.restored(),
        imports: findings.imports.clone(),
        split: split_mode(tcx),
        lines: std::env::var(LINES).is_ok_and(|value| !value.is_empty() && value != "0"),
        // Who wrote an ordinary iterator did not ask for a fast kernel.
        warnings: if pipelines.are_all(&roots.devices) { Warnings::Off } else { warnings(tcx) },
        ..DeviceSpec::default()
    }
}

/// What the passes are told of the image for the program's process.
fn process_spec(tcx: TyCtxt<'_>, runtime: &[RuntimeItems], roots: &Roots<'_>) -> DeviceSpec {
    DeviceSpec {
        kernels: roots.process.iter().map(KernelInfo::spec).collect(),
        in_process: true,
        ir_constants: vec![(IS_DEVICE.to_owned(), 2)],
        ir_constant_functions: constant_functions(tcx, runtime, 1),
        ..DeviceSpec::default()
    }
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

/// The division of kernels that the environment requests; an invalid word is an error.
fn split_mode(tcx: TyCtxt<'_>) -> SplitMode {
    let word = std::env::var(DEVICE_CODE_SPLIT).unwrap_or_default();
    word.parse().unwrap_or_else(|error| {
        tcx.sess.dcx().err(format!("{DEVICE_CODE_SPLIT}: {error}"));
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

/// The unoptimised bitcode of a codegen unit. Its calls are tagged with their ordinal among the
/// calls of the same function.
fn lower(tcx: TyCtxt<'_>, unit: Symbol) -> Vec<u8> {
    let mut module = rustc::lower(tcx, unit);
    call_sites::tag(rustc::live_module(tcx, &mut module));
    rustc::bitcode(module)
}

/// A symbol that each program has.
fn symbol_everywhere(tcx: TyCtxt<'_>) -> String {
    tcx.lang_items().panic_fmt().map_or_else(String::new, |panic| {
        tcx.symbol_name(Instance::mono(tcx, panic)).name.to_owned()
    })
}

/// Kernels without AOT code, with their places in the source.
fn with_spans(missing: Vec<Missing>, kernels: &[KernelInfo]) -> Vec<(String, &'static str, Span)> {
    let span_of = |name: &str| {
        kernels.iter().find(|kernel| kernel.name == name).map_or(DUMMY_SP, |kernel| kernel.span)
    };
    let missing = missing.into_iter();
    missing.map(|Missing { kernel, text, note }| (text, note, span_of(&kernel))).collect()
}

/// Records which functions of the standard library allocate, if a report names one without a body.
fn note_allocating(cause: &Stage1Failure, bodies: Option<&StdBodies>, map: &mut CallMap) {
    let Stage1Failure::Passes(cause) = cause else { return };
    let Some(report) = cause.report() else { return };
    let is_std = |symbol: &str| map.item(symbol).is_some_and(|item| item.origin == Origin::Std);
    let without_body = report.violations.iter().any(|violation| match &violation.what {
        ViolationKind::ExternalFunction(symbol) => is_std(symbol) && !is_allocator(symbol),
        _ => false,
    });
    let Some(bodies) = bodies.filter(|_| without_body) else { return };
    // Without it the message says less.
    if let Ok(index) = bodies.index()
        && let Ok(allocating) = build_index::reaching(index, &is_allocator)
    {
        map.allocating = allocating;
    }
}

/// Writes the input of the passes, for debugging.
fn dump(directory: &std::ffi::OsStr, crate_id: &str, bitcode: &[u8]) {
    let path = std::path::Path::new(directory).join(format!("{crate_id}.device.bc"));
    if let Err(error) =
        std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&path, bitcode))
    {
        eprintln!("warning: {DUMP_STAGE1}: cannot write {}: {error}", path.display());
    }
}
