//! The builtin that says which item of a pipeline a work-item of a group runs: `i64 @__schism_row(i64 group,
//! i64 lanes, i64 lane)`.
//!
//! It is what is left where the pass `vectorize` does not have all lanes run an item together.

use crate::JitError;
use crate::common::image::{self, ROW};
use crate::common::module::Module;
use schism_llvm::Context;

/// Gives the builtin a body, which is inlined at once where `attribute` says so.
pub fn define<'c>(
    context: &'c Context,
    module: &Module<'c>,
    attribute: &str,
) -> Result<(), JitError> {
    let text = format!(
        "define i64 @{ROW}(i64 %group, i64 %lanes, i64 %lane) {attribute} nounwind {{
           %first = mul i64 %group, %lanes
           %item = add i64 %first, %lane
           ret i64 %item
         }}\n"
    );
    image::define_builtin(context, module, ROW, &text)
}
