//! Negation of floating-point numbers in kernels whose work-items wait for each other.
//!
//! Intel's compiler for processors computes the work-items of a group one after the other, from one
//! barrier to the next, and keeps what each has computed, unless that is the same for all. Of a
//! negation it always believes so: after a barrier each work-item has the last one's number, of
//! OpenCL C too. So there only the sign's bit is changed, by a number of which that compiler does
//! not know that it is the sign's bit. Otherwise it makes a negation of the change.
//!
//! ```text
//!   %r = OpFNegate %float %x
//! ```
//! becomes
//! ```text
//!   %offset = OpLoad %v3ulong %GlobalOffset
//!     %zero = OpCompositeExtract %ulong %offset 0
//!     %none = OpUConvert %uint %zero
//!     %sign = OpBitwiseOr %uint %none %uint_2147483648
//!     %bits = OpBitcast %uint %x
//!  %changed = OpBitwiseXor %uint %bits %sign
//!        %r = OpBitcast %float %changed
//! ```
//! Launches have no offset of OpenCL's.

use rspirv::spirv::{BuiltIn, Op, Word};
use schism_llvm::Value;

use super::types::bits_of;
use super::{Lowered, Lowering};

impl<'m> Lowering<'m> {
    /// A number, or a vector of numbers, with the other sign.
    pub fn negate(&mut self, it: Value<'m>) -> Lowered<Word> {
        let (ty, value) = (self.ty(it.ty())?, self.value(it.operand(0))?);
        if !self.waits {
            return Ok(self.emit_of(Op::FNegate, ty, &[value]));
        }
        let bits = bits_of(it.ty())?;
        let int = self.int(bits);
        let mut zero = self.axis_of(BuiltIn::GlobalOffset, 0)?;
        if bits != 64 {
            zero = self.emit_of(Op::UConvert, int, &[zero]);
        }
        let sign = self.number(bits, 1 << (bits - 1));
        let mut sign = self.emit_of(Op::BitwiseOr, int, &[zero, sign]);
        let mut ints = int;
        if it.ty().is_vector() {
            let length = it.ty().vector_size();
            ints = self.vector(int, length)?;
            sign = self.emit_of(Op::CompositeConstruct, ints, &vec![sign; length as usize]);
        }
        let number = self.emit_of(Op::Bitcast, ints, &[value]);
        let changed = self.emit_of(Op::BitwiseXor, ints, &[number, sign]);
        Ok(self.emit_of(Op::Bitcast, ty, &[changed]))
    }
}
