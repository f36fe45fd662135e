//! The backend for rustc: every method is forwarded to rustc's LLVM backend.
//!
//! This module has what is the same for every release of rustc; the implementations of the
//! backend traits are in [`crate::rustc`], a module for each release. The types of the LLVM backend
//! are private to rustc; they are named by projection from its public traits, so its values pass
//! through unchanged.

use std::sync::{Mutex, OnceLock};

use rustc_codegen_llvm::LlvmCodegenBackend;
use rustc_codegen_ssa::traits::{
    CodegenBackend, ExtraBackendMethods, ModuleBufferMethods, WriteBackendMethods,
};
use rustc_codegen_ssa::{CompiledModule, ModuleCodegen};
use rustc_data_structures::steal::Steal;
use rustc_middle::dep_graph::{WorkProduct, WorkProductId};
use rustc_middle::middle::exported_symbols::SymbolExportKind;
use rustc_middle::mir::Body;
use rustc_middle::ty::TyCtxt;
use rustc_middle::util::Providers;
use rustc_session::Session;
use rustc_session::config::OutputFilenames;
use rustc_span::Symbol;
use rustc_span::def_id::LocalDefId;

use crate::collect::barrier_markers;
use crate::collect::check;
use crate::collect::encoded_mir;
use crate::collect::imports;
use crate::device::compose::{self as device, DeviceHalf, Purpose};
use crate::device::lto;
use crate::device::object;
use crate::device::track;
use crate::device::work_products as saved;
use crate::host::descriptors as host;
use crate::rayon;
use crate::report::diagnostics;
use crate::rustc::CodegenUnit;

/// rustc's LLVM backend.
pub(crate) type Llvm = LlvmCodegenBackend;
/// An LLVM module with what belongs to it.
pub(crate) type LlvmModule = <Llvm as WriteBackendMethods>::Module;
/// Bitcode.
pub(crate) type LlvmBuffer = <Llvm as WriteBackendMethods>::ModuleBuffer;

/// The device half of the crate that this process compiles, from `codegen_crate` to `join_codegen`.
/// rustc compiles one crate per process; rustdoc may compile many, one after the other, so it is
/// taken out again.
static DEVICE_HALF: Mutex<Option<DeviceHalf>> = Mutex::new(None);

/// Symbols of the containers that a program of the crate must link in any case: those with
/// functions for other crates' kernels.
static EXPORTERS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// rustc's own provider of `codegen_unit`, behind ours.
static CODEGEN_UNIT: OnceLock<for<'tcx> fn(TyCtxt<'tcx>, Symbol) -> &'tcx CodegenUnit<'tcx>> =
    OnceLock::new();

/// rustc's properties of a function's MIR before optimisation.
type MirProvider = for<'tcx> fn(TyCtxt<'tcx>, LocalDefId) -> &'tcx Steal<Body<'tcx>>;

/// rustc's own provider of `mir_drops_elaborated_and_const_checked`, behind ours.
static MIR: OnceLock<MirProvider> = OnceLock::new();

/// The backend that the plugin's entry point returns.
pub(crate) fn backend() -> Box<dyn CodegenBackend> {
    Box::new(SchismBackend(llvm()))
}

/// The plugin's backend, around rustc's.
#[derive(Clone)]
pub(crate) struct SchismBackend(pub(crate) Llvm);

/// A value of the LLVM backend, whose type has no public constructor.
fn llvm() -> Llvm {
    const { assert!(size_of::<Llvm>() == 0) };
    let boxed: *mut dyn CodegenBackend = Box::into_raw(Llvm::new());
    // SAFETY: `Llvm::new` returns a boxed `Llvm` as a trait object; this names its type again.
    *unsafe { Box::from_raw(boxed.cast::<Llvm>()) }
}

/// The unoptimised bitcode of a codegen unit.
fn lower(tcx: TyCtxt<'_>, unit: Symbol) -> Vec<u8> {
    let (mut module, _) = llvm().compile_codegen_unit(tcx, unit);
    host::keep_order_of_calls(tcx, &mut module.module_llvm);
    Llvm::serialize_module(module.module_llvm, false).data().to_vec()
}

/// Makes the device half of a crate that is only checked, for its diagnostics. Nothing is written.
pub(crate) fn check_device_half(tcx: TyCtxt<'_>) {
    if let Some(half) = device::make(tcx, Purpose::Check, |unit| lower(tcx, unit)) {
        report(tcx.sess, &half);
    }
}

/// Reports the diagnostics of a device half.
fn report(sess: &Session, half: &DeviceHalf) {
    match half {
        DeviceHalf::Made { slow, missing, pipelines, kernels, .. } => {
            pipelines.explain(sess, kernels);
            missing.iter().for_each(|missing| diagnostics::warn_of_missing(sess, missing));
            if let Some(slow) = slow {
                diagnostics::warn(sess, slow);
            }
        }
        DeviceHalf::Failed(failure) => diagnostics::report(sess, failure),
        DeviceHalf::Saved { .. } => {}
    }
}

/// Puts the plugin's queries in front of rustc's own.
pub(crate) fn provide(providers: &mut Providers) {
    CODEGEN_UNIT.get_or_init(|| providers.queries.codegen_unit);
    providers.queries.codegen_unit = |tcx, name| match device::codegen_unit(tcx, name) {
        Some(unit) => unit,
        None => (CODEGEN_UNIT.get().expect("set when ours was"))(tcx, name),
    };
    encoded_mir::provide(providers);
    check::provide(providers);
    track::provide(providers);
    rayon::provide(providers);
    MIR.get_or_init(|| providers.queries.mir_drops_elaborated_and_const_checked);
    providers.queries.mir_drops_elaborated_and_const_checked = |tcx, def_id| {
        barrier_markers::insert(tcx, def_id, (MIR.get().expect("set when ours was"))(tcx, def_id))
    };
}

/// Makes the device half. The host half is lowered by now, and other threads optimise it meanwhile.
pub(crate) fn make_device_half(tcx: TyCtxt<'_>) {
    let teller = lto::Teller;
    let half = device::make(tcx, Purpose::Build, |unit| lower(tcx, unit));
    teller.tell(half.as_ref());
    *DEVICE_HALF.lock().expect("no thread panics while it holds the lock") = half;
    *EXPORTERS.lock().expect("no thread panics while it holds the lock") = imports::exporters(tcx);
}

/// The device half of the crate, with its diagnostics reported. After an error, rustc ends before
/// it writes any output.
pub(crate) fn take_device_half(sess: &Session) -> Option<DeviceHalf> {
    let half = DEVICE_HALF.lock().expect("no thread panics while it holds the lock").take();
    if let Some(half) = &half {
        report(sess, half);
    }
    half
}

/// The symbols that a program of the crate must link besides rustc's.
pub(crate) fn take_exporters() -> Vec<(String, SymbolExportKind)> {
    let mut exporters = EXPORTERS.lock().expect("no thread panics while it holds the lock");
    let names = std::mem::take(&mut *exporters).into_iter();
    names.map(|name| (name, SymbolExportKind::Data)).collect()
}

/// Writes the object with the crate's container, and keeps it for the next incremental session.
pub(crate) fn write_device_half(
    sess: &Session,
    outputs: &OutputFilenames,
    half: Option<DeviceHalf>,
) -> (Option<CompiledModule>, Option<(WorkProductId, WorkProduct)>) {
    match half {
        None | Some(DeviceHalf::Failed(_)) => (None, None),
        Some(DeviceHalf::Made { record, keep_as, .. }) => {
            let module = object::write(sess, outputs, &record);
            let product = keep_as.zip(module.as_ref());
            let product = product.and_then(|(name, module)| saved::keep(sess, &name, module));
            (module, product)
        }
        Some(DeviceHalf::Saved { object: earlier, crate_id }) => {
            let module = object::copy(sess, outputs, &earlier, &crate_id);
            (module, Some(earlier.again()))
        }
    }
}

/// Lowers a codegen unit, and gives launch sites their descriptors.
pub(crate) fn compile_codegen_unit(
    tcx: TyCtxt<'_>,
    unit: Symbol,
) -> (ModuleCodegen<LlvmModule>, u64) {
    let (mut module, cost) = llvm().compile_codegen_unit(tcx, unit);
    host::patch(tcx, unit, &mut module.module_llvm);
    (module, cost)
}
