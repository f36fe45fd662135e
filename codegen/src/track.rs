//! What a crate with kernels depends on besides its sources: variables of the environment, and stage 2.
//!
//! They go into the crate's dependency information, by which cargo builds it anew when one of them changes. Only crates that
//! see a runtime get them: those that come before it would be built anew for nothing. A crate sees a runtime by the
//! runtime's own name, by another that its manifest gives it, or through a crate that exports the runtime's items. The
//! compiler knows when it has resolved all names, which is before it writes the dependency information.

use std::sync::{Arc, OnceLock};

use rustc_ast as ast;
use rustc_data_structures::steal::Steal;
use rustc_middle::ty::{ResolverAstLowering, ResolverGlobalCtxt, TyCtxt};
use rustc_middle::util::Providers;
use rustc_session::Session;
use rustc_span::Symbol;

use crate::{ahead, device, runtime_items, stdpar};

/// What name resolution gives.
type Resolved<'tcx> =
    (&'tcx Steal<(ResolverAstLowering, Arc<ast::Crate>)>, &'tcx ResolverGlobalCtxt);

type Provider = for<'tcx> fn(TyCtxt<'tcx>, ()) -> Resolved<'tcx>;

/// rustc's own provider of `resolver_for_lowering_raw`, behind ours.
static RESOLVER: OnceLock<Provider> = OnceLock::new();

/// Puts ours in front.
pub(crate) fn provide(providers: &mut Providers) {
    RESOLVER.get_or_init(|| providers.queries.resolver_for_lowering_raw);
    providers.queries.resolver_for_lowering_raw = |tcx, ()| {
        let resolved = (RESOLVER.get().expect("set when ours was"))(tcx, ());
        if runtime_items::is_visible(tcx) {
            for name in [device::SPLIT, device::WARN, device::LINES] {
                variable(tcx.sess, name);
            }
            ahead::track(tcx.sess);
        }
        stdpar::track(tcx);
        resolved
    };
}

/// Notes that the crate depends on a variable of the environment, and gives its value.
pub(crate) fn variable(sess: &Session, name: &str) -> Option<String> {
    let value = std::env::var(name).ok();
    let symbol = value.as_deref().map(Symbol::intern);
    sess.psess.env_depinfo.borrow_mut().insert((Symbol::intern(name), symbol));
    value
}
