//! What kernels of this program and those over buffers, in `stdpar_explicit`, compute for an element.

/// Iterations until a point leaves.
pub fn iterations(x: f64, y: f64, most: u32) -> u32 {
    let (mut a, mut b) = (0.0, 0.0);
    for count in 0..most {
        let (aa, bb) = (a * a, b * b);
        if aa + bb > 4.0 {
            return count;
        }
        b = 2.0 * a * b + y;
        a = aa - bb + x;
    }
    most
}

/// The normal distribution, by Abramowitz and Stegun's 26.2.17.
pub fn normal(x: f64) -> f64 {
    let k = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let series = k
        * (0.319_381_530
            + k * (-0.356_563_782
                + k * (1.781_477_937 + k * (-1.821_255_978 + k * 1.330_274_429))));
    let tail = 0.398_942_280_401 * (-0.5 * x * x).exp() * series;
    if x < 0.0 { tail } else { 1.0 - tail }
}
