//! Extends the columns of an execution trace over the field BabyBear, as a prover of computations
//! does.

#![forbid(unsafe_code)]

use p3_baby_bear::BabyBear;
use p3_dft::{Radix2DFTSmallBatch, Radix2DitParallel, TwoAdicSubgroupDft};
use p3_field::integers::QuotientMap;
use p3_field::{Field, PrimeField32};
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use workload::{Checksum, Random};

const ROWS: usize = 1 << 18;
const COLUMNS: usize = 48;
const FEW: usize = 4;
const TURNS: usize = 7;

fn trace(columns: usize, random: &mut Random) -> RowMajorMatrix<BabyBear> {
    let values = (0..ROWS * columns).map(|_| BabyBear::from_int(random.bits() as u32)).collect();
    RowMajorMatrix::new(values, columns)
}

fn add(checksum: &mut Checksum, matrix: impl Matrix<BabyBear>) {
    let matrix = matrix.to_row_major_matrix();
    for number in matrix.values.iter().step_by(64) {
        checksum.number(u64::from(number.as_canonical_u32()));
    }
}

fn main() {
    let mut random = Random::new(16);
    let mut checksum = Checksum::default();
    let wide = Radix2DitParallel::<BabyBear>::default();
    let narrow = Radix2DFTSmallBatch::<BabyBear>::default();
    for _ in 0..TURNS {
        let shift = BabyBear::GENERATOR;
        add(&mut checksum, wide.coset_lde_batch(trace(COLUMNS, &mut random), 1, shift));
        add(&mut checksum, narrow.coset_lde_batch(trace(FEW, &mut random), 2, shift));
    }
    checksum.print();
}
