//! What is so in rustc 1.96.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use rustc_codegen_ssa::back::lto::ThinModule;
use rustc_codegen_ssa::back::write::{
    CodegenContext, FatLtoInput, SharedEmitter, TargetMachineFactoryFn, ThinLtoInput,
};
use rustc_codegen_ssa::{CompiledModule, CompiledModules, CrateInfo};
use rustc_data_structures::fx::FxIndexMap;
use rustc_data_structures::profiling::SelfProfilerRef;
use rustc_data_structures::steal::Steal;
use rustc_errors::DiagCtxtHandle;
use rustc_metadata::EncodedMetadata;
use rustc_middle::dep_graph::{WorkProduct, WorkProductId};
use rustc_middle::ty::{ResolverAstLowering, ResolverGlobalCtxt, TyCtxt};
use rustc_session::Session;
use rustc_session::config::OutputFilenames;

use super::common::{
    codegen_backend, extra_backend_methods, fat_lto_inputs, supports_parallel,
    target_machine_factory, write_backend_methods,
};
use crate::rustc::plugin::{Llvm, Ongoing, kept_by_thin_lto};

#[path = "since_1_96.rs"]
mod since_1_96;

#[path = "until_1_96.rs"]
mod until_1_96;

pub(crate) use since_1_96::*;
pub(crate) use until_1_96::*;

codegen_backend! {
    fn target_cpu(&self, sess: &Session) -> String {
        self.llvm.target_cpu(sess)
    }

    fn codegen_crate<'tcx>(&self, tcx: TyCtxt<'tcx>, crate_info: &CrateInfo) -> Box<dyn Any> {
        let host = rustc_codegen_ssa::base::codegen_crate(self.clone(), tcx, crate_info);
        Box::new(Ongoing::<P> { host, plugin: P::begin(tcx) })
    }

    fn join_codegen(
        &self,
        ongoing_codegen: Box<dyn Any>,
        sess: &Session,
        outputs: &OutputFilenames,
    ) -> (CompiledModules, FxIndexMap<WorkProductId, WorkProduct>) {
        let ongoing = ongoing_codegen
            .downcast::<Ongoing<P>>()
            .expect("codegen_crate of this backend returned it");
        let Ongoing { host, plugin } = *ongoing;
        P::report(&plugin, sess);
        self.keep_for_link(&plugin);
        let (mut compiled, mut work_products) = host.join(sess);
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

extra_backend_methods! {
    supports_parallel!();
}

write_backend_methods! {
    fn thread_profiler() -> Box<dyn Any> {
        Llvm::thread_profiler()
    }

    target_machine_factory!();

    fn optimize_and_codegen_fat_lto(
        cgcx: &CodegenContext,
        prof: &SelfProfilerRef,
        shared_emitter: &SharedEmitter,
        tm_factory: TargetMachineFactoryFn<Self>,
        exported_symbols_for_lto: &[String],
        each_linked_rlib_for_lto: &[PathBuf],
        modules: Vec<FatLtoInput<Self>>,
    ) -> CompiledModule {
        let modules = fat_lto_inputs!(modules, buffer);
        Llvm::optimize_and_codegen_fat_lto(
            cgcx,
            prof,
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
                ThinLtoInput::Green { wp, buffer } => ThinLtoInput::Green { wp, buffer },
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

/// The provider of `resolver_for_lowering_raw`.
pub(crate) type ResolverProvider = for<'tcx> fn(
    TyCtxt<'tcx>,
    (),
) -> (
    &'tcx Steal<(ResolverAstLowering<'tcx>, Arc<rustc_ast::Crate>)>,
    &'tcx ResolverGlobalCtxt,
);
