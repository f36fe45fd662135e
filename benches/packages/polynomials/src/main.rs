//! Multiplies and divides polynomials over the scalar field of BLS12-381, as a prover does.

#![forbid(unsafe_code)]

use ark_bls12_381::Fr;
use ark_ff::{BigInteger, PrimeField};
use ark_poly::univariate::DensePolynomial;
use ark_poly::{DenseUVPolynomial, EvaluationDomain, Polynomial, Radix2EvaluationDomain};
use workload::{Checksum, Random};

const DEGREE: usize = 1 << 18;
const PRODUCTS: usize = 7;

fn polynomial(random: &mut Random) -> DensePolynomial<Fr> {
    let coefficient = |_| {
        let bytes: Vec<u8> = (0..4).flat_map(|_| random.bits().to_le_bytes()).collect();
        Fr::from_le_bytes_mod_order(&bytes)
    };
    DensePolynomial::from_coefficients_vec((0..DEGREE).map(coefficient).collect())
}

fn add(checksum: &mut Checksum, number: &Fr) {
    checksum.bytes(&number.into_bigint().to_bytes_le());
}

fn main() {
    let mut random = Random::new(5);
    let mut checksum = Checksum::default();
    for _ in 0..PRODUCTS {
        let (a, b) = (polynomial(&mut random), polynomial(&mut random));
        let product = &a * &b;
        add(&mut checksum, &product.evaluate(&Fr::from(random.bits())));
        if let Some(domain) = Radix2EvaluationDomain::<Fr>::new(DEGREE) {
            let (quotient, rest) = product.divide_by_vanishing_poly(domain);
            quotient
                .coeffs
                .iter()
                .chain(&rest.coeffs)
                .for_each(|number| add(&mut checksum, number));
        }
    }
    checksum.print();
}
