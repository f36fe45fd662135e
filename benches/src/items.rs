//! What one work-item does in the workloads of `cargo schism bench cpu`: functions that kernels and
//! rayon call.

/// How often a point's sequence stays near zero.
#[must_use]
pub fn escape(x: f32, y: f32) -> u32 {
    let (mut a, mut b) = (x, y);
    for n in 0..256 {
        if a * a + b * b > 4.0 {
            return n;
        }
        (a, b) = (a * a - b * b + x, 2.0 * a * b + y);
    }
    256
}

/// The cumulative distribution function of the normal distribution.
fn normal(d: f32) -> f32 {
    let k = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let poly = k
        * (0.319_381_54
            + k * (-0.356_563_78 + k * (1.781_477_9 + k * (-1.821_256 + k * 1.330_274_5))));
    let tail = 0.398_942_3 * (-0.5 * d * d).exp() * poly;
    if d > 0.0 { 1.0 - tail } else { tail }
}

/// The prices of a call and a put.
#[must_use]
pub fn black_scholes(price: f32, strike: f32, years: f32) -> [f32; 2] {
    let (rate, volatility) = (0.02, 0.3);
    let root = years.sqrt();
    let d1 = ((price / strike).ln() + (rate + 0.5 * volatility * volatility) * years)
        / (volatility * root);
    let d2 = d1 - volatility * root;
    let (n1, n2) = (normal(d1), normal(d2));
    let discounted = strike * (-rate * years).exp();
    [price * n1 - discounted * n2, discounted * (1.0 - n2) - price * (1.0 - n1)]
}

/// The brightness that a ray through a pixel sees: spheres of centre and radius, and light.
#[must_use]
pub fn trace(x: f32, y: f32, spheres: &[[f32; 4]]) -> f32 {
    let length = (x * x + y * y + 1.0).sqrt();
    let ray = [x / length, y / length, 1.0 / length];
    let mut nearest = f32::MAX;
    let mut hit = [0.0; 4];
    for &sphere in spheres {
        let [cx, cy, cz, radius] = sphere;
        let along = cx * ray[0] + cy * ray[1] + cz * ray[2];
        let apart = cx * cx + cy * cy + cz * cz - along * along;
        let inside = radius * radius - apart;
        if inside > 0.0 {
            let t = along - inside.sqrt();
            if t > 0.001 && t < nearest {
                nearest = t;
                hit = sphere;
            }
        }
    }
    if nearest == f32::MAX {
        return 0.1 + 0.2 * y;
    }
    let at = [ray[0] * nearest, ray[1] * nearest, ray[2] * nearest];
    let normal = [(at[0] - hit[0]) / hit[3], (at[1] - hit[1]) / hit[3], (at[2] - hit[2]) / hit[3]];
    let light = normal[0] * 0.57 + normal[1] * -0.57 + normal[2] * -0.57;
    if light > 0.0 { light } else { 0.0 }
}

const ROUNDS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// The first word of the SHA-256 of a block that begins with a number.
#[must_use]
pub fn sha256(number: u32) -> u32 {
    let mut words = [0_u32; 64];
    words[0] = number;
    words[1] = 0x8000_0000;
    words[15] = 32;
    for t in 16..64 {
        let (a, b) = (words[t - 15], words[t - 2]);
        let s0 = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
        let s1 = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
        words[t] = words[t - 16].wrapping_add(s0).wrapping_add(words[t - 7]).wrapping_add(s1);
    }
    let mut s = [
        0x6a09e667_u32,
        0xbb67ae85,
        0x3c6ef372,
        0xa54ff53a,
        0x510e527f,
        0x9b05688c,
        0x1f83d9ab,
        0x5be0cd19,
    ];
    for t in 0..64 {
        let s1 = s[4].rotate_right(6) ^ s[4].rotate_right(11) ^ s[4].rotate_right(25);
        let choice = (s[4] & s[5]) ^ (!s[4] & s[6]);
        let t1 = s[7]
            .wrapping_add(s1)
            .wrapping_add(choice)
            .wrapping_add(ROUNDS[t])
            .wrapping_add(words[t]);
        let s0 = s[0].rotate_right(2) ^ s[0].rotate_right(13) ^ s[0].rotate_right(22);
        let majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        let t2 = s0.wrapping_add(majority);
        s = [t1.wrapping_add(t2), s[0], s[1], s[2], s[3].wrapping_add(t1), s[4], s[5], s[6]];
    }
    s[0].wrapping_add(0x6a09_e667)
}

/// Where a key is in a sorted table, or would be.
#[must_use]
pub fn search(table: &[u32], key: u32) -> u32 {
    let (mut low, mut high) = (0, table.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if table[middle] < key {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low as u32
}

/// A row of a sparse matrix by a vector.
#[must_use]
pub fn sparse_row(row: usize, starts: &[u32], columns: &[u32], values: &[f32], x: &[f32]) -> f32 {
    let mut sum = 0.0;
    for k in starts[row] as usize..starts[row + 1] as usize {
        sum += values[k] * x[columns[k] as usize];
    }
    sum
}

/// One of four operations, by a number.
#[must_use]
pub fn operation(kind: u8, a: f32) -> f32 {
    match kind {
        0 => a * a + 1.0,
        1 => (a + 2.0).sqrt(),
        2 => 1.0 / (a + 3.0),
        _ => a - 0.5,
    }
}

/// A picture smoothed by 5 by 5 weights, whose edge is repeated.
#[must_use]
pub fn smooth(
    index: usize,
    width: usize,
    height: usize,
    picture: &[f32],
    weights: &[f32; 25],
) -> f32 {
    let (x, y) = (index % width, index / width);
    let mut sum = 0.0;
    for dy in 0..5 {
        let row = (y + dy).saturating_sub(2).min(height - 1);
        for dx in 0..5 {
            let column = (x + dx).saturating_sub(2).min(width - 1);
            sum += weights[dy * 5 + dx] * picture[row * width + column];
        }
    }
    sum
}
