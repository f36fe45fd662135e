//! Prices of European options by the Black-Scholes formula, with a polynomial for the normal
//! distribution.

use schism::prelude::*;

use crate::Outcome;
use crate::data::between;
use crate::measure::{Bench, Case, submit};

/// The interest rate without risk, per year.
const INTEREST: f32 = 0.02;

/// The volatility, per year.
const VOLATILITY: f32 = 0.30;

/// The normal distribution up to `d`, to seven digits: a polynomial of fifth degree (Abramowitz and
/// Stegun, 26.2.17).
#[inline(always)]
fn normal(d: f32) -> f32 {
    const FACTORS: [f32; 5] = [1.330_274_4, -1.821_255_9, 1.781_477_9, -0.356_563_78, 0.319_381_54];
    const DENSITY: f32 = 0.398_942_3;
    let t = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let polynomial = FACTORS.iter().fold(0.0, |sum, factor| t * (factor + sum));
    let tail = DENSITY * (-0.5 * d * d).exp() * polynomial;
    if d > 0.0 { 1.0 - tail } else { tail }
}

/// The prices of the call option and of the put option.
#[inline(always)]
fn prices(price: f32, strike: f32, years: f32) -> (f32, f32) {
    let root = years.sqrt();
    let d1 = ((price / strike).ln() + (INTEREST + 0.5 * VOLATILITY * VOLATILITY) * years)
        / (VOLATILITY * root);
    let d2 = d1 - VOLATILITY * root;
    let (n1, n2) = (normal(d1), normal(d2));
    let discounted = strike * (-INTEREST * years).exp();
    let call = price * n1 - discounted * n2;
    let put = discounted * (1.0 - n2) - price * (1.0 - n1);
    (call, put)
}

/// Measures `black_scholes`.
pub fn run(bench: &Bench) -> Outcome {
    if !bench.wants(&["black_scholes"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 25, 1 << 14);
    let queue = bench.queue();
    let host_price = between(23 << 20, n, 5.0, 30.0);
    let host_strike = between(29 << 20, n, 1.0, 100.0);
    let host_years = between(31 << 20, n, 0.25, 10.0);
    let price = Buffer::from_slice(queue, &host_price)?;
    let strike = Buffer::from_slice(queue, &host_strike)?;
    let years = Buffer::from_slice(queue, &host_years)?;
    let mut call = Buffer::with_len(queue, n)?;
    let mut put = Buffer::with_len(queue, n)?;
    for run in bench.runs(Case { kernel: "black_scholes", element: "f32", size: n, bytes: 20 * n })
    {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                let sources = (&mut call, &mut put, &price, &strike, &years);
                scope.for_each(sources, |(call, put, price, strike, years)| {
                    (*call, *put) = prices(*price, *strike, *years);
                })
            })
        })?;
        run.report(&times, &call)?;
        for (result, second) in [(&call, false), (&put, true)] {
            // The library of mathematics is not the host's: last bits differ.
            run.check_near(&result.to_vec(), 1e-4, || {
                let options = host_price.iter().zip(&host_strike).zip(&host_years);
                let both = options.map(|((&price, &strike), &years)| prices(price, strike, years));
                both.map(|(call, put)| if second { put } else { call }).collect()
            });
        }
    }
    Ok(())
}
