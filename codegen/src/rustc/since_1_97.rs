//! What has been so since rustc 1.97. The module above is the release's own: it implements
//! `ExtraBackendMethods`, and says what this one imports from it.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use rustc_codegen_ssa::back::lto::ThinModule;
use rustc_codegen_ssa::back::write::{
    CodegenContext, FatLtoInput, OngoingCodegen, SharedEmitter, TargetMachineFactoryFn,
    ThinLtoInput,
};
use rustc_codegen_ssa::{CompiledModule, CompiledModules, CrateInfo};
use rustc_data_structures::profiling::SelfProfilerRef;
pub(crate) use rustc_data_structures::stable_hash as stable_hasher;
use rustc_errors::DiagCtxtHandle;
use rustc_metadata::EncodedMetadata;
use rustc_middle::dep_graph::WorkProduct;
use rustc_middle::ty::{Instance, Ty, TyCtxt, Unnormalized};
use rustc_session::Session;
use rustc_session::config::OutputFilenames;

use super::{WorkProducts, more_of_codegen_backend, more_of_write_backend};
use crate::backend::{self, Llvm, SchismBackend};
use crate::device::lto;
use crate::rustc::common::{
    codegen_backend, fat_lto_inputs, target_machine_factory, write_backend_methods,
};

#[path = "since_1_96.rs"]
mod since_1_96;

pub(crate) use since_1_96::*;

codegen_backend! {
    more_of_codegen_backend!();

    fn has_mnemonic(&self, sess: &Session, mnemonic: &str) -> bool {
        self.0.has_mnemonic(sess, mnemonic)
    }

    fn target_cpu(&self, sess: &Session) -> String {
        self.0.target_cpu(sess)
    }

    fn codegen_crate<'tcx>(&self, tcx: TyCtxt<'tcx>) -> Box<dyn Any> {
        let ongoing = rustc_codegen_ssa::base::codegen_crate(self.clone(), tcx);
        backend::make_device_half(tcx);
        Box::new(ongoing)
    }

    fn join_codegen(
        &self,
        ongoing_codegen: Box<dyn Any>,
        sess: &Session,
        outputs: &OutputFilenames,
        crate_info: &CrateInfo,
    ) -> (CompiledModules, WorkProducts) {
        let ongoing = ongoing_codegen
            .downcast::<OngoingCodegen<SchismBackend>>()
            .expect("codegen_crate of this backend returned it");
        let half = backend::take_device_half(sess);
        let (mut compiled, mut work_products) = ongoing.join(sess, crate_info);
        let (module, product) = backend::write_device_half(sess, outputs, half);
        work_products.extend(product);
        compiled.modules.extend(module);
        sess.dcx().abort_if_errors();
        (compiled, work_products)
    }

    fn print_pass_timings(&self) {
        self.0.print_pass_timings();
    }

    fn print_statistics(&self) {
        self.0.print_statistics();
    }

    fn print_statistics_json(&self) -> String {
        self.0.print_statistics_json()
    }

    fn link(
        &self,
        sess: &Session,
        compiled: CompiledModules,
        mut crate_info: CrateInfo,
        metadata: EncodedMetadata,
        outputs: &OutputFilenames,
    ) {
        let exporters = backend::take_exporters();
        for symbols in crate_info.linked_symbols.values_mut() {
            symbols.extend(exporters.iter().cloned());
        }
        self.0.link(sess, compiled, crate_info, metadata, outputs);
    }
}

write_backend_methods! {
    more_of_write_backend!();

    fn thread_profiler() -> Box<dyn Any> {
        Llvm::thread_profiler()
    }

    target_machine_factory!();

    fn optimize_and_codegen_fat_lto(
        sess: &Session,
        cgcx: &CodegenContext,
        shared_emitter: &SharedEmitter,
        tm_factory: TargetMachineFactoryFn<Self>,
        exported_symbols_for_lto: &[String],
        each_linked_rlib_for_lto: &[PathBuf],
        modules: Vec<FatLtoInput<Self>>,
    ) -> CompiledModule {
        let modules = fat_lto_inputs!(modules, bitcode_path);
        Llvm::optimize_and_codegen_fat_lto(
            sess,
            cgcx,
            shared_emitter,
            tm_factory,
            &lto::kept(exported_symbols_for_lto, each_linked_rlib_for_lto),
            each_linked_rlib_for_lto,
            modules,
        )
    }

    fn run_thin_lto(
        cgcx: &CodegenContext,
        prof: &SelfProfilerRef,
        dcx: DiagCtxtHandle<'_>,
        exported_symbols_for_lto: &[String],
        each_linked_rlib_for_lto: &[PathBuf],
        modules: Vec<ThinLtoInput<Self>>,
    ) -> (Vec<ThinModule<Self>>, Vec<WorkProduct>) {
        let modules = modules
            .into_iter()
            .map(|input| match input {
                ThinLtoInput::Red { name, buffer } => ThinLtoInput::Red { name, buffer },
                ThinLtoInput::Green { wp, bitcode_path } => {
                    ThinLtoInput::Green { wp, bitcode_path }
                }
            })
            .collect();
        let (modules, products) = Llvm::run_thin_lto(
            cgcx,
            prof,
            dcx,
            &lto::kept_by(&cgcx.lto, exported_symbols_for_lto, each_linked_rlib_for_lto),
            each_linked_rlib_for_lto,
            modules,
        );
        (outer_thin_modules(modules), products)
    }

    fn optimize_and_codegen_thin(
        cgcx: &CodegenContext,
        prof: &SelfProfilerRef,
        shared_emitter: &SharedEmitter,
        tm_factory: TargetMachineFactoryFn<Self>,
        thin: ThinModule<Self>,
    ) -> CompiledModule {
        let thin = ThinModule { shared: Arc::clone(&thin.shared.data), idx: thin.idx };
        Llvm::optimize_and_codegen_thin(cgcx, prof, shared_emitter, tm_factory, thin)
    }
}

/// The function that drops a value of a type.
pub(crate) fn drop_glue<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>) -> Instance<'tcx> {
    Instance::resolve_drop_glue(tcx, ty)
}

/// Where the object of a codegen unit goes.
pub(crate) fn object_path(_: &Session, outputs: &OutputFilenames, unit: &str) -> PathBuf {
    outputs.temp_path_ext_for_cgu("hcf.o", unit)
}

/// What a definition says after its parameters are replaced, as it says it.
pub(crate) fn as_written<'tcx, T>(value: Unnormalized<'tcx, T>) -> T {
    value.skip_norm_wip()
}

/// What is to be normalised.
pub(crate) fn to_normalize<'tcx, T>(value: T) -> Unnormalized<'tcx, T> {
    Unnormalized::new_wip(value)
}
