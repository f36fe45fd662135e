//! What a crate with kernels depends on besides its sources: variables of the environment, and
//! stage 2.
//!
//! They go into the crate's dependency information, so that cargo builds it again when one of them
//! changes. Only crates that see a runtime get them: those before it would be rebuilt for nothing.
//! A crate sees a runtime by the runtime's own name, by another that its manifest gives it, or
//! through a crate that reexports the runtime's items. The compiler knows this after name
//! resolution, which is before it writes the dependency information.

use std::sync::OnceLock;

use rustc_middle::util::Providers;

use crate::device::aot;
use crate::kernels::runtime_items;
use crate::session;
use crate::variables::{DEVICE_CODE_SPLIT, LINES, WARN};
use crate::{rayon, rustc};

/// rustc's own provider of `resolver_for_lowering_raw`, which ours calls.
static RESOLVER: OnceLock<rustc::ResolverProvider> = OnceLock::new();

/// Installs the provider of this module.
pub(crate) fn provide(providers: &mut Providers) {
    RESOLVER.get_or_init(|| providers.queries.resolver_for_lowering_raw);
    providers.queries.resolver_for_lowering_raw = |tcx, ()| {
        let resolved = (RESOLVER.get().expect("set when ours was"))(tcx, ());
        if runtime_items::is_visible(tcx) {
            for name in [DEVICE_CODE_SPLIT, WARN, LINES] {
                session::variable(tcx.sess, name);
            }
            aot::track(tcx.sess);
        }
        rayon::track(tcx);
        resolved
    };
}
