//! A separable Gaussian blur and Sobel's operator, value by value.

use crate::picture::Pixel;

/// Most taps to either side of a blur's centre.
pub const REACH: usize = 12;

/// The weights of a blur: the centre, then outwards.
#[derive(Clone, Copy, Debug)]
pub struct Blur {
    weights: [f32; REACH + 1],
    reach: usize,
}

impl Blur {
    /// A Gaussian of the given standard deviation, in pixels; its tails end after three of them
    /// or [`REACH`] pixels.
    #[inline]
    #[must_use]
    pub fn new(sigma: f32) -> Self {
        let reach = ((3.0 * sigma).ceil() as usize).min(REACH);
        let mut weights = [0.0; REACH + 1];
        for (distance, weight) in weights.iter_mut().enumerate().take(reach + 1) {
            *weight = (-((distance * distance) as f32) / (2.0 * sigma * sigma)).exp();
        }
        let sum = weights[0] + 2.0 * weights[1..].iter().sum::<f32>();
        Self { weights: weights.map(|weight| weight / sum), reach }
    }

    /// The weights: the centre, then outwards.
    #[must_use]
    pub fn weights(&self) -> &[f32] {
        &self.weights[..=self.reach]
    }

    /// One blurred value; `at` reads a neighbour at a signed distance.
    #[inline]
    fn apply(&self, at: impl Fn(isize) -> f32) -> f32 {
        let mut sum = self.weights[0] * at(0);
        for (distance, weight) in self.weights.iter().enumerate().take(self.reach + 1).skip(1) {
            let distance = distance as isize;
            sum += weight * (at(distance) + at(-distance));
        }
        sum
    }
}

/// How bright a pixel looks (ITU-R BT.709).
#[inline]
#[must_use]
pub fn luminance(pixel: Pixel) -> f32 {
    let [red, green, blue] = pixel.map(f32::from);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// A gray picture; what lies outside repeats the nearest edge.
#[derive(Clone, Copy, Debug)]
pub struct Gray<'a> {
    /// The rows, one after the other.
    pub values: &'a [f32],
    /// Values in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Gray<'_> {
    #[inline]
    fn at(&self, column: isize, row: isize) -> f32 {
        let column = column.clamp(0, self.width as isize - 1) as usize;
        let row = row.clamp(0, self.height as isize - 1) as usize;
        self.values[row * self.width + column]
    }

    /// One value, blurred along its row.
    #[inline]
    #[must_use]
    pub fn blur_along_x(&self, blur: &Blur, column: usize, row: usize) -> f32 {
        blur.apply(|distance| self.at(column as isize + distance, row as isize))
    }

    /// One value, blurred along its column.
    #[inline]
    #[must_use]
    pub fn blur_along_y(&self, blur: &Blur, column: usize, row: usize) -> f32 {
        blur.apply(|distance| self.at(column as isize, row as isize + distance))
    }

    /// The gradient by Sobel's operator, as a colour.
    #[inline]
    #[must_use]
    pub fn edge(&self, column: usize, row: usize) -> Pixel {
        let (column, row) = (column as isize, row as isize);
        let at = |dx, dy| self.at(column + dx, row + dy);
        let gx =
            (at(1, -1) + 2.0 * at(1, 0) + at(1, 1)) - (at(-1, -1) + 2.0 * at(-1, 0) + at(-1, 1));
        let gy =
            (at(-1, 1) + 2.0 * at(0, 1) + at(1, 1)) - (at(-1, -1) + 2.0 * at(0, -1) + at(1, -1));
        let strength = (gx * gx + gy * gy).sqrt();
        if strength == 0.0 {
            return [0, 0, 0];
        }
        // Three axes at 120 degrees: the edge's direction decides how much of each colour.
        let (x, y) = (gx / strength, gy / strength);
        let along = [x, -0.5 * x + 0.866 * y, -0.5 * x - 0.866 * y];
        along.map(|part| (strength * (0.55 + 0.45 * part)).min(255.0) as u8)
    }
}
