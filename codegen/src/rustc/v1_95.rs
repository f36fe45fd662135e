//! What is so in rustc 1.95.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use rustc_codegen_ssa::back::lto::{SerializedModule, ThinModule, ThinShared};
use rustc_codegen_ssa::back::write::{
    CodegenContext, FatLtoInput, SharedEmitter, TargetMachineFactoryFn,
};
use rustc_codegen_ssa::traits::{CodegenBackend, ModuleBufferMethods};
use rustc_codegen_ssa::{CodegenResults, ModuleCodegen};
use rustc_data_structures::fx::{FxIndexMap, FxIndexSet};
use rustc_data_structures::profiling::SelfProfilerRef;
use rustc_data_structures::steal::Steal;
use rustc_data_structures::sync::Lock;
use rustc_errors::DiagCtxtHandle;
use rustc_metadata::EncodedMetadata;
use rustc_middle::dep_graph::{WorkProduct, WorkProductId};
pub(crate) use rustc_middle::mir::mono;
use rustc_middle::ty::{ResolverAstLowering, ResolverGlobalCtxt, TyCtxt};
use rustc_session::Session;
use rustc_session::config::OutputFilenames;
use rustc_span::Symbol;
use schism_llvm::host_cpu;

use super::common::{
    codegen_backend, extra_backend_methods, fat_lto_inputs, supports_parallel,
    target_machine_factory, write_backend_methods,
};
use super::plugin::{Llvm, LlvmBuffer, LlvmModule, Ongoing, kept_by_thin_lto};

#[path = "until_1_96.rs"]
mod until_1_96;

pub(crate) use until_1_96::*;

codegen_backend! {
    fn codegen_crate<'tcx>(&self, tcx: TyCtxt<'tcx>) -> Box<dyn Any> {
        let host =
            rustc_codegen_ssa::base::codegen_crate(self.clone(), tcx, target_cpu(tcx.sess));
        Box::new(Ongoing::<P> { host, plugin: P::begin(tcx) })
    }

    fn join_codegen(
        &self,
        ongoing_codegen: Box<dyn Any>,
        sess: &Session,
        outputs: &OutputFilenames,
    ) -> (CodegenResults, FxIndexMap<WorkProductId, WorkProduct>) {
        let ongoing = ongoing_codegen
            .downcast::<Ongoing<P>>()
            .expect("codegen_crate of this backend returned it");
        let Ongoing { host, plugin } = *ongoing;
        P::report(&plugin, sess);
        self.keep_for_link(&plugin);
        let (mut results, mut work_products) = host.join(sess);
        self.add_to_link(&mut results.crate_info);
        let (module, product) = P::finish(plugin, sess, outputs);
        work_products.extend(product);
        results.modules.extend(module);
        sess.dcx().abort_if_errors();
        (results, work_products)
    }

    fn link(
        &self,
        sess: &Session,
        results: CodegenResults,
        metadata: EncodedMetadata,
        outputs: &OutputFilenames,
    ) {
        self.llvm.link(sess, results, metadata, outputs);
    }
}

extra_backend_methods! {
    supports_parallel!();

    target_machine_factory!();

    fn spawn_named_thread<F, T>(
        time_trace: bool,
        name: String,
        f: F,
    ) -> std::io::Result<std::thread::JoinHandle<T>>
    where
        F: FnOnce() -> T,
        F: Send + 'static,
        T: Send + 'static,
    {
        Llvm::spawn_named_thread(time_trace, name, f)
    }
}

write_backend_methods! {
    fn run_and_optimize_fat_lto(
        cgcx: &CodegenContext,
        prof: &SelfProfilerRef,
        shared_emitter: &SharedEmitter,
        tm_factory: TargetMachineFactoryFn<Self>,
        exported_symbols_for_lto: &[String],
        each_linked_rlib_for_lto: &[PathBuf],
        modules: Vec<FatLtoInput<Self>>,
    ) -> ModuleCodegen<LlvmModule> {
        let modules = fat_lto_inputs!(modules, buffer);
        Llvm::run_and_optimize_fat_lto(
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
        modules: Vec<(String, LlvmBuffer)>,
        cached_modules: Vec<(SerializedModule<LlvmBuffer>, WorkProduct)>,
    ) -> (Vec<ThinModule<Self>>, Vec<WorkProduct>) {
        let (modules, products) = Llvm::run_thin_lto(
            cgcx,
            prof,
            dcx,
            &kept_by_thin_lto::<P>(&cgcx.lto, exported_symbols_for_lto, each_linked_rlib_for_lto),
            each_linked_rlib_for_lto,
            modules,
            cached_modules,
        );
        let Some(first) = modules.first() else { return (Vec::new(), products) };
        let inner = Arc::clone(&first.shared);
        // rustc asks the outer modules for their names, and for the length of their bitcode as an
        // estimate of cost. Untouched zero pages have that length and take no memory.
        let sizes = inner
            .thin_buffers
            .iter()
            .map(|buffer| buffer.data().len())
            .chain(inner.serialized_modules.iter().map(|module| module.data().len()));
        let shared = Arc::new(ThinShared::<Self> {
            thin_buffers: Vec::new(),
            serialized_modules: sizes
                .map(|size| SerializedModule::FromRlib(vec![0; size]))
                .collect(),
            module_names: inner.module_names.clone(),
            data: inner,
        });
        let modules = modules
            .into_iter()
            .map(|module| ThinModule { shared: Arc::clone(&shared), idx: module.idx })
            .collect();
        (modules, products)
    }

    fn print_pass_timings(&self) {
        self.llvm.print_pass_timings();
    }

    fn print_statistics(&self) {
        self.llvm.print_statistics();
    }

    fn optimize_thin(
        cgcx: &CodegenContext,
        prof: &SelfProfilerRef,
        shared_emitter: &SharedEmitter,
        tm_factory: TargetMachineFactoryFn<Self>,
        thin: ThinModule<Self>,
    ) -> ModuleCodegen<LlvmModule> {
        let thin = ThinModule { shared: Arc::clone(&thin.shared.data), idx: thin.idx };
        Llvm::optimize_thin(cgcx, prof, shared_emitter, tm_factory, thin)
    }
}

/// The CPU that rustc generates host code for, by LLVM's name.
fn target_cpu(sess: &Session) -> String {
    let name = sess.opts.cg.target_cpu.as_deref().unwrap_or(&sess.target.cpu);
    if name != "native" {
        return name.to_owned();
    }
    host_cpu().0
}

/// Variables of the environment that the crate depends on.
pub(crate) fn variables(sess: &Session) -> &Lock<FxIndexSet<(Symbol, Option<Symbol>)>> {
    &sess.psess.env_depinfo
}

/// Files besides the sources that the crate depends on.
pub(crate) fn files(sess: &Session) -> &Lock<FxIndexSet<Symbol>> {
    &sess.psess.file_depinfo
}

/// The provider of `resolver_for_lowering_raw`.
pub(crate) type ResolverProvider = for<'tcx> fn(
    TyCtxt<'tcx>,
    (),
) -> (
    &'tcx Steal<(ResolverAstLowering, Arc<rustc_ast::Crate>)>,
    &'tcx ResolverGlobalCtxt,
);

/// Has the compiler generate code with a backend.
pub(crate) fn use_backend(
    config: &mut rustc_interface::Config,
    backend: fn() -> Box<dyn CodegenBackend>,
) {
    config.make_codegen_backend = Some(Box::new(move |_, _| backend()));
}
