//! What has been so since rustc 1.97. The module above is the release's own: it implements
//! `ExtraBackendMethods`, and says what this one imports from it.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use rustc_codegen_ssa::back::lto::ThinModule;
use rustc_codegen_ssa::back::write::{
    CodegenContext, FatLtoInput, SharedEmitter, TargetMachineFactoryFn, ThinLtoInput,
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
use crate::rustc::common::{
    codegen_backend, fat_lto_inputs, target_machine_factory, write_backend_methods,
};
use crate::rustc::plugin::{Llvm, Ongoing, kept_by_thin_lto};

#[path = "since_1_96.rs"]
mod since_1_96;

pub(crate) use since_1_96::*;

codegen_backend! {
    more_of_codegen_backend!();

    fn has_mnemonic(&self, sess: &Session, mnemonic: &str) -> bool {
        self.llvm.has_mnemonic(sess, mnemonic)
    }

    fn target_cpu(&self, sess: &Session) -> String {
        self.llvm.target_cpu(sess)
    }

    fn codegen_crate<'tcx>(&self, tcx: TyCtxt<'tcx>) -> Box<dyn Any> {
        let host = rustc_codegen_ssa::base::codegen_crate(self.clone(), tcx);
        Box::new(Ongoing::<P> { host, plugin: P::begin(tcx) })
    }

    fn join_codegen(
        &self,
        ongoing_codegen: Box<dyn Any>,
        sess: &Session,
        outputs: &OutputFilenames,
        crate_info: &CrateInfo,
    ) -> (CompiledModules, WorkProducts) {
        let ongoing = ongoing_codegen
            .downcast::<Ongoing<P>>()
            .expect("codegen_crate of this backend returned it");
        let Ongoing { host, plugin } = *ongoing;
        P::report(&plugin, sess);
        self.keep_for_link(&plugin);
        let (mut compiled, mut work_products) = host.join(sess, crate_info);
        let (module, product) = P::finish(plugin, sess, outputs);
        work_products.extend(product);
        compiled.modules.extend(module);
        sess.dcx().abort_if_errors();
        (compiled, work_products)
    }

    fn print_pass_timings(&self) {
        self.llvm.print_pass_timings();
    }

    fn print_statistics(&self) {
        self.llvm.print_statistics();
    }

    fn print_statistics_json(&self) -> String {
        self.llvm.print_statistics_json()
    }

    fn link(
        &self,
        sess: &Session,
        compiled: CompiledModules,
        mut crate_info: CrateInfo,
        metadata: EncodedMetadata,
        outputs: &OutputFilenames,
    ) {
        self.add_to_link(&mut crate_info);
        self.llvm.link(sess, compiled, crate_info, metadata, outputs);
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
            &P::kept_by_lto(exported_symbols_for_lto, each_linked_rlib_for_lto),
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
            &kept_by_thin_lto::<P>(&cgcx.lto, exported_symbols_for_lto, each_linked_rlib_for_lto),
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
