//! Extends the columns of an execution trace, as a prover of computations does, and finds the
//! inverses of one.

#![forbid(unsafe_code)]

use winter_math::fields::f64::BaseElement;
use winter_math::{StarkField, batch_inversion, fft};
use workload::{Checksum, Random};

const ROWS: usize = 1 << 17;
const COLUMNS: usize = 40;
const BLOWUP: usize = 8;

fn main() {
    let mut random = Random::new(7);
    let (twiddles, inverse) = (fft::get_twiddles(ROWS), fft::get_inv_twiddles(ROWS));
    let mut checksum = Checksum::default();
    for _ in 0..COLUMNS {
        let mut column: Vec<BaseElement> =
            (0..ROWS).map(|_| BaseElement::new(random.bits())).collect();
        fft::interpolate_poly(&mut column, &inverse);
        let offset = BaseElement::GENERATOR;
        let extended = fft::evaluate_poly_with_offset(&column, &twiddles, offset, BLOWUP);
        for number in batch_inversion(&extended).iter().step_by(16) {
            checksum.number(number.as_int());
        }
    }
    checksum.print();
}
