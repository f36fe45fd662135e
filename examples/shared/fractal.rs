//! The Mandelbrot set, point by point.

use crate::picture::Pixel;

/// Steps after which a point counts as a member of the set.
pub const LIMIT: u32 = 1000;

/// The part of the plane that the picture shows.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    left: f64,
    top: f64,
    step: f64,
}

impl Window {
    /// The whole set, in the middle of the picture.
    #[inline]
    #[must_use]
    pub fn new(width: usize, height: usize) -> Self {
        let step = (3.2 / width as f64).max(2.4 / height as f64);
        Self { left: -0.7 - step * width as f64 / 2.0, top: -step * height as f64 / 2.0, step }
    }

    /// The colour of one pixel.
    #[inline]
    #[must_use]
    pub fn pixel(self, column: usize, row: usize) -> Pixel {
        let (x, y) = (self.left + self.step * column as f64, self.top + self.step * row as f64);
        let (mut re, mut im) = (0.0, 0.0);
        let mut steps = 0;
        while steps < LIMIT && re * re + im * im <= 16.0 {
            (re, im) = (re * re - im * im + x, 2.0 * re * im + y);
            steps += 1;
        }
        if steps == LIMIT { [0, 0, 0] } else { colour(steps) }
    }
}

/// From dark blue over white and orange back to dark, again and again.
#[inline]
fn colour(steps: u32) -> Pixel {
    const STOPS: [[f32; 3]; 5] = [
        [0.0, 7.0, 100.0],
        [32.0, 107.0, 203.0],
        [237.0, 255.0, 255.0],
        [255.0, 170.0, 0.0],
        [0.0, 2.0, 20.0],
    ];
    let position = (steps as f32).sqrt() * 0.7 % STOPS.len() as f32;
    let index = position as usize % STOPS.len();
    let (from, to) = (STOPS[index], STOPS[(index + 1) % STOPS.len()]);
    let part = position - index as f32;
    [0, 1, 2].map(|channel| (from[channel] + (to[channel] - from[channel]) * part) as u8)
}
