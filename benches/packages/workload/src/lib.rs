//! What all programs share: numbers for their input, and a checksum of their result.

#![forbid(unsafe_code)]

/// A xorshift generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// One with a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        (self.bits() >> 11) % end
    }

    /// A number from 0 to 1, without 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number of the normal distribution, as the sum of twelve others.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// A hash of numbers in their order (FNV-1a).
#[derive(Clone, Copy, Debug)]
pub struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Checksum {
    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    /// Adds a whole number.
    pub fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    /// Adds all bits of a number.
    pub fn exact(&mut self, number: f64) {
        self.number(number.to_bits());
    }

    /// Prints it.
    pub fn print(self) {
        println!("{:016x}", self.0);
    }
}

/// A photograph of a kind: smooth areas, edges, and some noise.
pub fn picture(width: usize, height: usize, noise: u64, random: &mut Random) -> Vec<[u8; 3]> {
    let waves: Vec<[f32; 4]> = (0..6).map(|_| [(); 4].map(|()| random.unit() as f32)).collect();
    let mut pixels = Vec::with_capacity(width * height);
    for y in 0..height {
        for x in 0..width {
            let (u, v) = (x as f32 / width as f32, y as f32 / height as f32);
            let mut light = [90.0, 110.0, 128.0];
            for (index, [a, b, c, d]) in waves.iter().enumerate() {
                let phase = (u * a + v * b) * 6.0 + c;
                light[index % 3] += ((phase - phase.floor() - 0.5).abs() - 0.25) * 120.0 * d;
                if (u - a) * (u - a) + (v - b) * (v - b) < 0.02 * c {
                    light[(index + 1) % 3] += 50.0;
                }
            }
            pixels.push(light.map(|light| {
                let noise = random.below(noise + 1) as f32;
                (light + noise).clamp(0.0, 255.0) as u8
            }));
        }
    }
    pixels
}
