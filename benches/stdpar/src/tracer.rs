//! A ray tracer: spheres above a plane, mirrors and shadows.

use rayon::prelude::*;

use crate::measure::{Bench, checksum};
use crate::random::Random;

#[derive(Clone, Copy)]
struct Vector([f64; 3]);

impl Vector {
    fn with(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([f(a, x), f(b, y), f(c, z)])
    }

    fn plus(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    fn minus(self, other: Self) -> Self {
        self.with(other, |a, b| a - b)
    }

    fn times(self, factor: f64) -> Self {
        self.with(self, |a, _| a * factor)
    }

    fn dot(self, other: Self) -> f64 {
        let [x, y, z] = self.with(other, |a, b| a * b).0;
        x + y + z
    }

    fn normal(self) -> Self {
        self.times(1.0 / self.dot(self).sqrt())
    }
}

struct Sphere {
    centre: Vector,
    radius: f64,
    colour: Vector,
    mirror: f64,
}

struct Ray {
    from: Vector,
    to: Vector,
}

struct Hit {
    distance: f64,
    normal: Vector,
    colour: Vector,
    mirror: f64,
}

struct Scene {
    spheres: Vec<Sphere>,
    light: Vector,
}

impl Scene {
    fn hit(&self, ray: &Ray) -> Option<Hit> {
        let mut best: Option<Hit> = None;
        let mut nearest = f64::INFINITY;
        for sphere in &self.spheres {
            let to_centre = sphere.centre.minus(ray.from);
            let along = to_centre.dot(ray.to);
            let squared = sphere.radius * sphere.radius - to_centre.dot(to_centre) + along * along;
            if squared < 0.0 {
                continue;
            }
            let distance = along - squared.sqrt();
            if distance > 1e-6 && distance < nearest {
                nearest = distance;
                let at = ray.from.plus(ray.to.times(distance));
                best = Some(Hit {
                    distance,
                    normal: at.minus(sphere.centre).normal(),
                    colour: sphere.colour,
                    mirror: sphere.mirror,
                });
            }
        }
        let down = -ray.from.0[1] / ray.to.0[1];
        if down > 1e-6 && down < nearest {
            let at = ray.from.plus(ray.to.times(down));
            let dark = (at.0[0].floor() as i64 + at.0[2].floor() as i64) % 2 == 0;
            let colour = Vector([if dark { 0.2 } else { 0.8 }; 3]);
            best =
                Some(Hit { distance: down, normal: Vector([0.0, 1.0, 0.0]), colour, mirror: 0.1 });
        }
        best
    }

    fn colour(&self, mut ray: Ray) -> Vector {
        let (mut colour, mut left) = (Vector([0.0; 3]), 1.0);
        for _ in 0..5 {
            let Some(hit) = self.hit(&ray) else {
                let sky = Vector([0.5, 0.7, 1.0]).times(0.5 + 0.5 * ray.to.0[1]);
                return colour.plus(sky.times(left));
            };
            let at = ray.from.plus(ray.to.times(hit.distance));
            let to_light = self.light.minus(at).normal();
            let shadow = self.hit(&Ray { from: at, to: to_light }).is_some();
            let bright = if shadow { 0.1 } else { 0.1 + hit.normal.dot(to_light).max(0.0) };
            colour = colour.plus(hit.colour.times(left * bright * (1.0 - hit.mirror)));
            left *= hit.mirror;
            if left < 0.01 {
                break;
            }
            let mirrored = ray.to.minus(hit.normal.times(2.0 * ray.to.dot(hit.normal)));
            ray = Ray { from: at, to: mirrored };
        }
        colour
    }
}

/// Measures it.
pub fn run(bench: &Bench) {
    let (width, height) = (bench.size(320, 31), bench.size(240, 23));
    let mut random = Random::new(6);
    let spheres = (0..24)
        .map(|_| {
            let radius = 0.2 + 0.4 * random.unit();
            let (x, z) = (8.0 * random.unit() - 4.0, 3.0 + 6.0 * random.unit());
            Sphere {
                centre: Vector([x, radius, z]),
                radius,
                colour: Vector([random.unit(), random.unit(), random.unit()]),
                mirror: 0.8 * random.unit(),
            }
        })
        .collect();
    let scene = Scene { spheres, light: Vector([5.0, 10.0, -5.0]) };
    let mut pixels = vec![[0_u8; 3]; width * height];
    bench.measure("ray_tracer", || {
        pixels.par_iter_mut().enumerate().for_each(|(index, pixel)| {
            let x = (index % width) as f64 / width as f64 - 0.5;
            let y = 0.5 - (index / width) as f64 / height as f64;
            let to = Vector([x * 4.0 / 3.0, y, 1.0]).normal();
            let colour = scene.colour(Ray { from: Vector([0.0, 1.5, -2.0]), to });
            *pixel = colour.0.map(|value| (255.0 * value.clamp(0.0, 1.0)) as u8);
        });
        checksum(pixels.iter().map(|&[r, g, b]| u64::from_le_bytes([r, g, b, 0, 0, 0, 0, 0])))
    });
}
