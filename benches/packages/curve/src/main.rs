//! Commits to vectors with points of BLS12-381: many multiples of one point, and the sum of
//! multiples of many.

#![forbid(unsafe_code)]

use ark_bls12_381::{Fr, G1Projective};
use ark_ec::scalar_mul::ScalarMul;
use ark_ec::{AffineRepr, CurveGroup, PrimeGroup, VariableBaseMSM};
use ark_ff::{BigInteger, PrimeField};
use workload::{Checksum, Random};

const POINTS: usize = 1 << 15;
const COMMITMENTS: usize = 10;

fn scalars(random: &mut Random) -> Vec<Fr> {
    let scalar = |_| {
        let bytes: Vec<u8> = (0..4).flat_map(|_| random.bits().to_le_bytes()).collect();
        Fr::from_le_bytes_mod_order(&bytes)
    };
    (0..POINTS).map(scalar).collect()
}

fn main() {
    let mut random = Random::new(6);
    let bases = G1Projective::generator().batch_mul(&scalars(&mut random));
    let mut checksum = Checksum::default();
    for _ in 0..COMMITMENTS {
        let Ok(sum) = G1Projective::msm(&bases, &scalars(&mut random)) else { return };
        if let Some((x, y)) = sum.into_affine().xy() {
            [x, y].iter().for_each(|number| checksum.bytes(&number.into_bigint().to_bytes_le()));
        }
    }
    checksum.print();
}
