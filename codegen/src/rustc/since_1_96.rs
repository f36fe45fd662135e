//! What has been so since rustc 1.96.

use std::sync::Arc;

use rustc_codegen_ssa::back::lto::{SerializedModule, ThinModule, ThinShared};
use rustc_codegen_ssa::traits::CodegenBackend;
use rustc_data_structures::fx::FxIndexSet;
use rustc_data_structures::sync::Lock;
pub(crate) use rustc_middle::mono;
use rustc_session::Session;
use rustc_span::Symbol;

use crate::rustc::plugin::{Backend, Llvm, Plugin};

/// The modules of a thin link as rustc sees them.
pub(crate) fn outer_thin_modules<P: Plugin>(
    modules: Vec<ThinModule<Llvm>>,
) -> Vec<ThinModule<Backend<P>>> {
    let Some(first) = modules.first() else { return Vec::new() };
    let inner = Arc::clone(&first.shared);
    // rustc asks the outer modules for their names, and for the length of their bitcode as an
    // estimate of cost. Untouched zero pages have that length and take no memory.
    let sizes = inner.modules.iter().map(|module| module.data().len());
    let shared = Arc::new(ThinShared {
        modules: sizes.map(|size| SerializedModule::FromRlib(vec![0; size])).collect(),
        module_names: inner.module_names.clone(),
        data: inner,
    });
    modules
        .into_iter()
        .map(|module| ThinModule { shared: Arc::clone(&shared), idx: module.idx })
        .collect()
}

/// Variables of the environment that the crate depends on.
pub(crate) fn variables(sess: &Session) -> &Lock<FxIndexSet<(Symbol, Option<Symbol>)>> {
    &sess.env_depinfo
}

/// Files besides the sources that the crate depends on.
pub(crate) fn files(sess: &Session) -> &Lock<FxIndexSet<Symbol>> {
    &sess.file_depinfo
}

/// Has the compiler generate code with a backend.
pub(crate) fn use_backend(
    config: &mut rustc_interface::Config,
    backend: fn() -> Box<dyn CodegenBackend>,
) {
    config.make_codegen_backend = Some(Box::new(move |_| backend()));
}
