//! The backend for rustc: every method is forwarded to rustc's LLVM backend.
//!
//! This module contains all uses of the pinned compiler's backend traits. The types of the LLVM
//! backend are private to rustc; they are named by projection from its public traits, so its values
//! pass through unchanged, and containers with the backend in their type are rebuilt field by
//! field.

use std::any::Any;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use rustc_codegen_llvm::LlvmCodegenBackend;
use rustc_codegen_ssa::back::lto::{SerializedModule, ThinModule, ThinShared};
use rustc_codegen_ssa::back::write::{
    CodegenContext, FatLtoInput, ModuleConfig, OngoingCodegen, SharedEmitter,
    TargetMachineFactoryFn,
};
use rustc_codegen_ssa::traits::{
    CodegenBackend, ExtraBackendMethods, ModuleBufferMethods, WriteBackendMethods,
};
use rustc_codegen_ssa::{CodegenResults, CompiledModule, ModuleCodegen, TargetConfig};
use rustc_data_structures::fx::FxIndexMap;
use rustc_data_structures::profiling::SelfProfilerRef;
use rustc_data_structures::steal::Steal;
use rustc_errors::DiagCtxtHandle;
use rustc_metadata::EncodedMetadata;
use rustc_metadata::creader::MetadataLoaderDyn;
use rustc_middle::dep_graph::{WorkProduct, WorkProductId};
use rustc_middle::middle::exported_symbols::SymbolExportKind;
use rustc_middle::mir::Body;
use rustc_middle::mir::mono::CodegenUnit;
use rustc_middle::ty::TyCtxt;
use rustc_middle::util::Providers;
use rustc_session::Session;
use rustc_session::config::{CrateType, OptLevel, OutputFilenames, PrintRequest};
use rustc_span::Symbol;
use rustc_span::def_id::LocalDefId;

use crate::device::{self, DeviceHalf, Purpose};
use crate::{
    barrier_markers, check, diagnostics, encoded_mir, host, imports, object, stdpar, track,
    work_products as saved,
};

type Llvm = LlvmCodegenBackend;
type LlvmModule = <Llvm as WriteBackendMethods>::Module;
type LlvmBuffer = <Llvm as WriteBackendMethods>::ModuleBuffer;

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

#[derive(Clone)]
struct SchismBackend(Llvm);

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

impl CodegenBackend for SchismBackend {
    /// The name of the backend that generates the host's code: crates can see it.
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn init(&self, sess: &Session) {
        self.0.init(sess);
    }

    fn print(&self, request: &PrintRequest, out: &mut String, sess: &Session) {
        self.0.print(request, out, sess);
    }

    fn target_config(&self, sess: &Session) -> TargetConfig {
        self.0.target_config(sess)
    }

    fn supported_crate_types(&self, sess: &Session) -> Vec<CrateType> {
        self.0.supported_crate_types(sess)
    }

    fn print_passes(&self) {
        self.0.print_passes();
    }

    fn print_version(&self) {
        self.0.print_version();
    }

    fn replaced_intrinsics(&self) -> Vec<Symbol> {
        self.0.replaced_intrinsics()
    }

    fn thin_lto_supported(&self) -> bool {
        self.0.thin_lto_supported()
    }

    fn has_zstd(&self) -> bool {
        self.0.has_zstd()
    }

    fn metadata_loader(&self) -> Box<MetadataLoaderDyn> {
        self.0.metadata_loader()
    }

    fn provide(&self, providers: &mut Providers) {
        self.0.provide(providers);
        CODEGEN_UNIT.get_or_init(|| providers.queries.codegen_unit);
        providers.queries.codegen_unit = |tcx, name| match device::codegen_unit(tcx, name) {
            Some(unit) => unit,
            None => (CODEGEN_UNIT.get().expect("set when ours was"))(tcx, name),
        };
        encoded_mir::provide(providers);
        check::provide(providers);
        track::provide(providers);
        stdpar::provide(providers);
        MIR.get_or_init(|| providers.queries.mir_drops_elaborated_and_const_checked);
        providers.queries.mir_drops_elaborated_and_const_checked = |tcx, def_id| {
            barrier_markers::insert(
                tcx,
                def_id,
                (MIR.get().expect("set when ours was"))(tcx, def_id),
            )
        };
    }

    fn codegen_crate<'tcx>(&self, tcx: TyCtxt<'tcx>) -> Box<dyn Any> {
        let ongoing =
            rustc_codegen_ssa::base::codegen_crate(self.clone(), tcx, host::target_cpu(tcx.sess));
        // The host half is lowered by now, and other threads optimise it while this one makes the
        // device half.
        let half = device::make(tcx, Purpose::Build, |unit| lower(tcx, unit));
        *DEVICE_HALF.lock().expect("no thread panics while it holds the lock") = half;
        *EXPORTERS.lock().expect("no thread panics while it holds the lock") =
            imports::exporters(tcx);
        Box::new(ongoing)
    }

    fn join_codegen(
        &self,
        ongoing_codegen: Box<dyn Any>,
        sess: &Session,
        outputs: &OutputFilenames,
    ) -> (CodegenResults, FxIndexMap<WorkProductId, WorkProduct>) {
        let ongoing = ongoing_codegen
            .downcast::<OngoingCodegen<SchismBackend>>()
            .expect("codegen_crate of this backend returned it");
        let half = DEVICE_HALF.lock().expect("no thread panics while it holds the lock").take();
        // Errors first: after an error, rustc ends before it writes any output.
        if let Some(half) = &half {
            report(sess, half);
        }
        let (mut results, mut work_products) = ongoing.join(sess);
        let exporters = std::mem::take(
            &mut *EXPORTERS.lock().expect("no thread panics while it holds the lock"),
        );
        for symbols in results.crate_info.linked_symbols.values_mut() {
            let exporters = exporters.iter().map(|name| (name.clone(), SymbolExportKind::Data));
            symbols.extend(exporters);
        }
        let module = match half {
            None | Some(DeviceHalf::Failed(_)) => return (results, work_products),
            Some(DeviceHalf::Made { record, keep_as, .. }) => {
                let module = object::write(sess, outputs, &record);
                let product = keep_as.zip(module.as_ref());
                let product = product.and_then(|(name, module)| saved::keep(sess, &name, module));
                work_products.extend(product);
                module
            }
            Some(DeviceHalf::Saved { object: earlier, crate_id }) => {
                let module = object::copy(sess, outputs, &earlier, &crate_id);
                work_products.extend([earlier.again()]);
                module
            }
        };
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
        self.0.link(sess, results, metadata, outputs);
    }
}

impl ExtraBackendMethods for SchismBackend {
    fn codegen_allocator<'tcx>(
        &self,
        tcx: TyCtxt<'tcx>,
        module_name: &str,
        methods: &[rustc_ast::expand::allocator::AllocatorMethod],
    ) -> LlvmModule {
        let mut module = self.0.codegen_allocator(tcx, module_name, methods);
        stdpar::heap::put_behind_allocator(tcx, &mut module);
        module
    }

    fn compile_codegen_unit(
        &self,
        tcx: TyCtxt<'_>,
        cgu_name: Symbol,
    ) -> (ModuleCodegen<LlvmModule>, u64) {
        let (mut module, cost) = self.0.compile_codegen_unit(tcx, cgu_name);
        host::patch(tcx, cgu_name, &mut module.module_llvm);
        (module, cost)
    }

    fn target_machine_factory(
        &self,
        sess: &Session,
        opt_level: OptLevel,
        target_features: &[String],
    ) -> TargetMachineFactoryFn<Self> {
        self.0.target_machine_factory(sess, opt_level, target_features)
    }

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

    fn supports_parallel(&self) -> bool {
        self.0.supports_parallel()
    }
}

impl WriteBackendMethods for SchismBackend {
    type Module = LlvmModule;
    type TargetMachine = <Llvm as WriteBackendMethods>::TargetMachine;
    type ModuleBuffer = LlvmBuffer;
    /// The LLVM backend's own shared data; the outer copy only carries names and sizes.
    type ThinData = Arc<ThinShared<Llvm>>;

    fn run_and_optimize_fat_lto(
        cgcx: &CodegenContext,
        prof: &SelfProfilerRef,
        shared_emitter: &SharedEmitter,
        tm_factory: TargetMachineFactoryFn<Self>,
        exported_symbols_for_lto: &[String],
        each_linked_rlib_for_lto: &[PathBuf],
        modules: Vec<FatLtoInput<Self>>,
    ) -> ModuleCodegen<LlvmModule> {
        let modules = modules
            .into_iter()
            .map(|input| match input {
                FatLtoInput::Serialized { name, buffer } => {
                    FatLtoInput::Serialized { name, buffer }
                }
                FatLtoInput::InMemory(module) => FatLtoInput::InMemory(module),
            })
            .collect();
        Llvm::run_and_optimize_fat_lto(
            cgcx,
            prof,
            shared_emitter,
            tm_factory,
            exported_symbols_for_lto,
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
            exported_symbols_for_lto,
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
        self.0.print_pass_timings();
    }

    fn print_statistics(&self) {
        self.0.print_statistics();
    }

    fn optimize(
        cgcx: &CodegenContext,
        prof: &SelfProfilerRef,
        shared_emitter: &SharedEmitter,
        module: &mut ModuleCodegen<LlvmModule>,
        config: &ModuleConfig,
    ) {
        Llvm::optimize(cgcx, prof, shared_emitter, module, config);
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

    fn codegen(
        cgcx: &CodegenContext,
        prof: &SelfProfilerRef,
        shared_emitter: &SharedEmitter,
        module: ModuleCodegen<LlvmModule>,
        config: &ModuleConfig,
    ) -> CompiledModule {
        Llvm::codegen(cgcx, prof, shared_emitter, module, config)
    }

    fn serialize_module(module: LlvmModule, is_thin: bool) -> LlvmBuffer {
        Llvm::serialize_module(module, is_thin)
    }
}
