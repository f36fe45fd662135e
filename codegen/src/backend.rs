//! The plugin as rustc's backend: what it adds to the LLVM backend.

use std::path::PathBuf;

use rustc_codegen_ssa::traits::CodegenBackend;
use rustc_codegen_ssa::{CompiledModule, ModuleCodegen};
use rustc_middle::dep_graph::{WorkProduct, WorkProductId};
use rustc_middle::ty::TyCtxt;
use rustc_middle::util::Providers;
use rustc_session::Session;
use rustc_session::config::OutputFilenames;
use rustc_span::Symbol;

use crate::collect::{barrier_markers, check, encoded_mir, imports};
use crate::device::compose::{self, Purpose};
use crate::device::half::DeviceHalf;
use crate::device::{cgu, lto, object, track, work_products};
use crate::host::{descriptors, heap};
use crate::rayon;
use crate::rustc::{self, LlvmModule, Plugin};

/// The backend that the plugin's entry point returns.
pub(crate) fn backend() -> Box<dyn CodegenBackend> {
    rustc::backend::<Schism>()
}

/// The plugin.
#[derive(Clone, Copy)]
struct Schism;

/// What is made of a crate from `codegen_crate` to `join_codegen`.
struct OngoingDeviceHalf {
    half: Option<DeviceHalf>,
    /// Symbols of the containers that a program of the crate must link in any case: those with
    /// functions for other crates' kernels.
    exporters: Vec<String>,
    /// Arguments for the linker of a program of the crate.
    linker_arguments: Vec<String>,
}

impl Plugin for Schism {
    type Ongoing = OngoingDeviceHalf;

    fn provide(providers: &mut Providers) {
        cgu::provide(providers);
        encoded_mir::provide(providers);
        check::provide(providers);
        track::provide(providers);
        rayon::provide(providers);
        barrier_markers::provide(providers);
    }

    fn patch_unit(tcx: TyCtxt<'_>, unit: Symbol, module: &mut ModuleCodegen<LlvmModule>) {
        descriptors::patch(tcx, unit, &mut module.module_llvm);
        heap::put_before_programs_allocator(tcx, &mut module.module_llvm);
    }

    fn patch_allocator(tcx: TyCtxt<'_>, module: &mut LlvmModule) {
        heap::put_behind_allocator(tcx, module);
    }

    fn begin(tcx: TyCtxt<'_>) -> OngoingDeviceHalf {
        let teller = lto::Teller;
        let half = compose::make(tcx, Purpose::Build);
        teller.tell(half.as_ref());
        OngoingDeviceHalf {
            half,
            exporters: imports::exporters(tcx),
            linker_arguments: heap::linker_arguments(tcx),
        }
    }

    fn report(ongoing: &OngoingDeviceHalf, sess: &Session) {
        if let Some(half) = &ongoing.half {
            half.report(sess);
        }
    }

    fn linked_symbols(ongoing: &OngoingDeviceHalf) -> Vec<String> {
        ongoing.exporters.clone()
    }

    fn linker_arguments(ongoing: &OngoingDeviceHalf) -> Vec<String> {
        ongoing.linker_arguments.clone()
    }

    fn finish(
        ongoing: OngoingDeviceHalf,
        sess: &Session,
        outputs: &OutputFilenames,
    ) -> (Option<CompiledModule>, Option<(WorkProductId, WorkProduct)>) {
        match ongoing.half {
            None | Some(DeviceHalf::Failed(_)) => (None, None),
            Some(DeviceHalf::Made { record, keep_as, .. }) => {
                let module = object::write(sess, outputs, &record);
                let product = keep_as.zip(module.as_ref());
                let product =
                    product.and_then(|(name, module)| work_products::keep(sess, &name, module));
                (module, product)
            }
            Some(DeviceHalf::Saved { object: earlier, crate_id }) => {
                let module = object::copy(sess, outputs, &earlier, &crate_id);
                (module, Some(earlier.again()))
            }
        }
    }

    fn kept_by_lto(exported: &[String], libraries: &[PathBuf]) -> Vec<String> {
        lto::kept(exported, libraries)
    }
}
