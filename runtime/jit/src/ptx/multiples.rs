//! Parameters of which the entry shows that they are multiples: it masks their low bits.
//!
//! ```llvm
//!   %p0.even = and i64 %p0, -16
//! ```

use schism_jit_abi::{ALIGNED, NARROW, PARAM_INTEGER};
use schism_llvm::{Opcode, Value};

use crate::Request;
use crate::common::module::Module;
use crate::gpu::options::GpuOptions;

/// After optimisation: replaces multiples of [`ALIGNED`] by the parameters themselves again,
/// without the mask that showed the zeros. To LLVM's code generator a masked number is sixteen
/// times something, and it keeps every multiple that a loop needs.
pub fn unmask(module: &Module<'_>, entry: &str, request: &Request, options: &GpuOptions) {
    let Some(outer) = module.function(entry) else { return };
    let zeros = ALIGNED.cast_signed() - 1;
    for ((param, value), index) in request.params.iter().zip(outer.params()).zip(0..) {
        if param.kind != PARAM_INTEGER || !options.is_aligned(index) {
            continue;
        }
        // Bits that the number may have, besides those.
        let all = if options.is_narrow(index) { NARROW.cast_signed() - 1 } else { -1 };
        let is_mask = |user: &Value| {
            user.opcode() == Some(Opcode::And)
                && user.get_operand(0) == Some(value)
                && user
                    .get_operand(1)
                    .and_then(Value::as_signed)
                    .is_some_and(|mask| (mask | zeros) & all == all)
        };
        for mask in value.users().into_iter().filter(is_mask) {
            mask.replace_uses(value);
            mask.erase();
        }
    }
}
