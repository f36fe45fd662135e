//! What a session is asked for: variables of the environment, and whether it makes code.

use rustc_session::Session;
use rustc_span::Symbol;

use crate::rustc;

/// The name of the runtime crate.
pub(crate) const RUNTIME: &str = "schism";

/// Records that the crate depends on a variable of the environment, and returns its value.
pub(crate) fn variable(sess: &Session, name: &str) -> Option<String> {
    let value = std::env::var(name).ok();
    let symbol = value.as_deref().map(Symbol::intern);
    rustc::variables(sess).borrow_mut().insert((Symbol::intern(name), symbol));
    value
}

/// Whether a session emits metadata and no code.
pub(crate) fn is_check(sess: &Session) -> bool {
    !sess.opts.output_types.should_codegen()
}
