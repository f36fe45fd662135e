//! A ray tracer: spheres with shadows and mirrors over a chequered floor; structs and methods in a kernel.
//!
//! ```text
//! cargo schism run --release --example ray_tracer -- [OUT.png] [WIDTH] [HEIGHT] [--check]
//! ```

use std::ops::{Add, Mul, Sub};
use std::time::Instant;

use schism::prelude::*;
use schism_examples::arguments::Arguments;
use schism_examples::compare;
use schism_examples::picture::{Picture, Pixel};

#[derive(Clone, Copy)]
struct Vector(f32, f32, f32);

impl Vector {
    fn dot(self, other: Self) -> f32 {
        self.0 * other.0 + self.1 * other.1 + self.2 * other.2
    }

    fn normalized(self) -> Self {
        self * (1.0 / self.dot(self).sqrt())
    }

    /// As a mirror with this normal throws it back.
    fn reflected(self, normal: Self) -> Self {
        self - normal * (2.0 * self.dot(normal))
    }
}

impl Add for Vector {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0, self.1 + other.1, self.2 + other.2)
    }
}

impl Sub for Vector {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + other * -1.0
    }
}

impl Mul<f32> for Vector {
    type Output = Self;
    fn mul(self, by: f32) -> Self {
        Self(self.0 * by, self.1 * by, self.2 * by)
    }
}

#[derive(Clone, Copy)]
struct Sphere {
    centre: Vector,
    radius: f32,
    colour: Vector,
}

/// How far from a ray's origin something is, the normal there, and the colour.
type Hit = (f32, Vector, Vector);

const SPHERES: [Sphere; 4] = [
    Sphere { centre: Vector(0.0, 1.0, 0.0), radius: 1.0, colour: Vector(0.9, 0.3, 0.25) },
    Sphere { centre: Vector(-2.1, 0.7, 0.6), radius: 0.7, colour: Vector(0.3, 0.75, 0.4) },
    Sphere { centre: Vector(1.7, 0.6, -0.9), radius: 0.6, colour: Vector(0.95, 0.8, 0.3) },
    Sphere { centre: Vector(1.9, 0.9, 1.6), radius: 0.9, colour: Vector(0.35, 0.45, 0.95) },
];
const LIGHT: Vector = Vector(-0.55, 0.75, -0.367);

/// The nearest thing on a ray whose direction has the length 1.
fn nearest(from: Vector, direction: Vector) -> Option<Hit> {
    let mut hit: Option<Hit> = None;
    for sphere in SPHERES {
        let to = from - sphere.centre;
        let (b, c) = (to.dot(direction), to.dot(to) - sphere.radius * sphere.radius);
        let square = b * b - c;
        if square > 0.0 {
            let far = -b - square.sqrt();
            if far > 1e-3 && hit.is_none_or(|(nearest, ..)| far < nearest) {
                let normal = (from + direction * far - sphere.centre).normalized();
                hit = Some((far, normal, sphere.colour));
            }
        }
    }
    let floor = -from.1 / direction.1;
    if floor > 1e-3 && floor < 40.0 && hit.is_none_or(|(nearest, ..)| floor < nearest) {
        let at = from + direction * floor;
        let gray = if (at.0.floor() + at.2.floor()) % 2.0 == 0.0 { 0.25 } else { 0.8 };
        hit = Some((floor, Vector(0.0, 1.0, 0.0), Vector(gray, gray, gray)));
    }
    hit
}

/// The light that comes along a ray: of the first thing, and a third of what it mirrors.
fn light(mut from: Vector, mut direction: Vector) -> Vector {
    let (mut sum, mut part) = (Vector(0.0, 0.0, 0.0), 1.0);
    for _ in 0..4 {
        let Some((far, normal, colour)) = nearest(from, direction) else {
            let height = 0.5 * (direction.1 + 1.0);
            return sum + (Vector(1.0, 1.0, 1.0) - Vector(0.5, 0.3, 0.0) * height) * part;
        };
        from = from + direction * far;
        direction = direction.reflected(normal);
        let is_lit = nearest(from, LIGHT).is_none();
        let bright = if is_lit { normal.dot(LIGHT).max(0.0) } else { 0.0 };
        sum = sum + colour * (part * 0.67 * (0.2 + 0.8 * bright));
        part *= 0.33;
    }
    sum
}

/// A pixel: the mean of four rays.
pub fn pixel(column: usize, row: usize, width: usize, height: usize) -> Pixel {
    let mut sum = Vector(0.0, 0.0, 0.0);
    for part in 0..4 {
        let (x, y) = ((part % 2) as f32 * 0.5 + 0.25, (part / 2) as f32 * 0.5 + 0.25);
        let right = (column as f32 + x - 0.5 * width as f32) / height as f32;
        let up = (0.5 * height as f32 - row as f32 - y) / height as f32;
        let direction = Vector(right, up - 0.18, 1.0).normalized();
        sum = sum + light(Vector(0.0, 2.0, -6.0), direction) * 0.25;
    }
    [sum.0, sum.1, sum.2].map(|part| (255.0 * part.clamp(0.0, 1.0).sqrt()) as u8)
}

/// The picture, a work-item for each pixel.
pub fn render(queue: &Queue, width: usize, height: usize) -> Result<Vec<Pixel>, schism::Error> {
    let mut pixels = vec![[0; 3]; width * height];
    queue.for_each_in([height, width], out(&mut pixels), move |item, own| {
        let [row, column] = item.id();
        own.set(pixel(column, row, width, height));
    })?;
    Ok(pixels)
}

fn main() -> Result<(), Report> {
    let arguments = Arguments::read(0, 3, "ray_tracer [OUT.png] [WIDTH] [HEIGHT] [--check]")?;
    let (width, height) = (arguments.number(1, 480)?, arguments.number(2, 270)?);
    let (queue, start) = (Queue::new()?, Instant::now());
    let pixels = render(&queue, width, height)?;
    println!("{width} x {height} pixels on {}: {:.2?}", queue.device(), start.elapsed());
    if arguments.check() {
        let host = (0..width * height).map(|i| pixel(i % width, i / width, width, height));
        compare("ray_tracer", &pixels, &host.collect::<Vec<_>>())?;
    }
    let path = arguments.word(0).unwrap_or("ray_tracer.png");
    Picture { width, height, pixels }.write(path.as_ref())?;
    Ok(())
}
