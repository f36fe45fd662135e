//! A backend for rustc around its LLVM backend: every method is forwarded, and a [`Plugin`] adds to
//! some.
//!
//! This module has what is the same for every release of rustc; the implementations of the backend
//! traits are in the releases' modules. The types of the LLVM backend are private to rustc; they are
//! named by projection from its public traits, so its values pass through unchanged.

use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rustc_codegen_llvm::LlvmCodegenBackend;
use rustc_codegen_ssa::back::write::OngoingCodegen;
use rustc_codegen_ssa::traits::{
    CodegenBackend, ExtraBackendMethods, ModuleBufferMethods, WriteBackendMethods,
};
use rustc_codegen_ssa::{CompiledModule, CrateInfo, ModuleCodegen, NativeLib};
use rustc_hir::attrs::NativeLibKind;
use rustc_middle::dep_graph::{WorkProduct, WorkProductId};
use rustc_middle::middle::exported_symbols::SymbolExportKind;
use rustc_middle::ty::TyCtxt;
use rustc_middle::util::Providers;
use rustc_session::Session;
use rustc_session::config::{Lto, OutputFilenames};

use rustc_span::Symbol;

/// rustc's LLVM backend.
pub(crate) type Llvm = LlvmCodegenBackend;
/// An LLVM module with what belongs to it.
pub(crate) type LlvmModule = <Llvm as WriteBackendMethods>::Module;
/// Bitcode.
pub(crate) type LlvmBuffer = <Llvm as WriteBackendMethods>::ModuleBuffer;

/// What a plugin adds to the LLVM backend.
pub(crate) trait Plugin: Clone + Send + Sync + 'static {
    /// What it makes of a crate from `codegen_crate` to `join_codegen`.
    type Ongoing: 'static;

    /// Replaces providers of queries.
    fn provide(providers: &mut Providers);

    /// Changes the module of a codegen unit before it is optimised.
    fn patch_unit(tcx: TyCtxt<'_>, unit: Symbol, module: &mut ModuleCodegen<LlvmModule>);

    /// Changes the module with the allocator's functions.
    fn patch_allocator(tcx: TyCtxt<'_>, module: &mut LlvmModule);

    /// Begins its own work. All codegen units are lowered, and other threads optimise them
    /// meanwhile.
    fn begin(tcx: TyCtxt<'_>) -> Self::Ongoing;

    /// Reports what is to be told of the work.
    fn report(ongoing: &Self::Ongoing, sess: &Session);

    /// The symbols that a program of the crate must link besides rustc's.
    fn linked_symbols(ongoing: &Self::Ongoing) -> Vec<String>;

    /// Arguments for the linker of a program of the crate.
    fn linker_arguments(ongoing: &Self::Ongoing) -> Vec<String>;

    /// Finishes the work: an object of the crate, and what is kept for the next session.
    fn finish(
        ongoing: Self::Ongoing,
        sess: &Session,
        outputs: &OutputFilenames,
    ) -> (Option<CompiledModule>, Option<(WorkProductId, WorkProduct)>);

    /// What link-time optimisation must keep of a whole program, of which these are the libraries:
    /// the symbols that rustc keeps, and more.
    fn kept_by_lto(exported: &[String], libraries: &[PathBuf]) -> Vec<String>;
}

/// The LLVM backend with a plugin.
#[derive(Clone)]
pub(crate) struct Backend<P: Plugin> {
    pub(super) llvm: Llvm,
    /// What the plugin adds to a link: from `join_codegen`, or from there to `link`.
    linked: Arc<OnceLock<Linked>>,
    plugin: PhantomData<fn() -> P>,
}

/// What the plugin adds to a link.
struct Linked {
    /// Symbols that a program must link.
    symbols: Vec<(String, SymbolExportKind)>,
    /// Arguments for the linker.
    arguments: Vec<NativeLib>,
}

/// The value from `codegen_crate` to `join_codegen`.
pub(super) struct Ongoing<P: Plugin> {
    pub(super) host: OngoingCodegen<Backend<P>>,
    pub(super) plugin: P::Ongoing,
}

/// The LLVM backend with a plugin, for rustc.
pub(crate) fn backend<P: Plugin>() -> Box<dyn CodegenBackend> {
    Box::new(Backend::<P> { llvm: llvm(), linked: Arc::default(), plugin: PhantomData })
}

impl<P: Plugin> Backend<P> {
    /// Lowers a codegen unit of the host.
    pub(super) fn compile_unit(
        &self,
        tcx: TyCtxt<'_>,
        unit: Symbol,
    ) -> (ModuleCodegen<LlvmModule>, u64) {
        let (mut module, cost) = self.llvm.compile_codegen_unit(tcx, unit);
        P::patch_unit(tcx, unit, &mut module);
        (module, cost)
    }

    /// Keeps what the plugin adds to a link for [`Self::add_to_link`].
    pub(super) fn keep_for_link(&self, ongoing: &P::Ongoing) {
        let symbols = P::linked_symbols(ongoing).into_iter();
        let symbols = symbols.map(|name| (name, SymbolExportKind::Data)).collect();
        let argument = |text: String| NativeLib {
            kind: NativeLibKind::LinkArg,
            name: Symbol::intern(&text),
            filename: None,
            cfg: None,
            verbatim: false,
            dll_imports: Vec::new(),
        };
        let arguments = P::linker_arguments(ongoing).into_iter().map(argument).collect();
        // Set once: a backend compiles one crate.
        let _ = self.linked.set(Linked { symbols, arguments });
    }

    /// Adds the plugin's symbols to those of each kind of output, and its arguments.
    pub(super) fn add_to_link(&self, crate_info: &mut CrateInfo) {
        let Some(linked) = self.linked.get() else { return };
        for symbols in crate_info.linked_symbols.values_mut() {
            symbols.extend(linked.symbols.iter().cloned());
        }
        crate_info.used_libraries.extend(linked.arguments.iter().cloned());
    }
}

/// What a link of thin modules keeps. They may be those of the crate alone: then rustc keeps what
/// other objects may name.
pub(super) fn kept_by_thin_lto<P: Plugin>(
    lto: &Lto,
    exported: &[String],
    libraries: &[PathBuf],
) -> Vec<String> {
    match lto {
        Lto::ThinLocal => exported.to_vec(),
        _ => P::kept_by_lto(exported, libraries),
    }
}

/// A codegen unit, lowered and not optimised.
pub(crate) fn lower(tcx: TyCtxt<'_>, unit: Symbol) -> LlvmModule {
    llvm().compile_codegen_unit(tcx, unit).0.module_llvm
}

/// The bitcode of a module.
pub(crate) fn bitcode(module: LlvmModule) -> Vec<u8> {
    Llvm::serialize_module(module, false).data().to_vec()
}

/// A value of the LLVM backend, whose type has no public constructor.
fn llvm() -> Llvm {
    const { assert!(size_of::<Llvm>() == 0) };
    let boxed: *mut dyn CodegenBackend = Box::into_raw(Llvm::new());
    // SAFETY: `Llvm::new` returns a boxed `Llvm` as a trait object; this names its type again.
    *unsafe { Box::from_raw(boxed.cast::<Llvm>()) }
}
