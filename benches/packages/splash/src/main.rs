//! Finds the surface of a fluid of which particles are known, for the picture of a simulation.

#![forbid(unsafe_code)]

use splashsurf_lib::nalgebra::Vector3;
use splashsurf_lib::{Parameters, reconstruct_surface};
use workload::Random;

const RADIUS: f32 = 0.025;
const SIDE: usize = 190;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = Random::new(14);
    let mut particles = Vec::new();
    for x in 0..SIDE {
        for y in 0..SIDE {
            for z in 0..SIDE {
                let jitter = [(); 3].map(|()| 0.5 * RADIUS * random.unit() as f32);
                let place = Vector3::new(x as f32, y as f32, z as f32) * (2.0 * RADIUS);
                let height = ((x as f32 * 0.3).sin() + (z as f32 * 0.2).cos()) * 0.2 + 1.2;
                if place.y < height {
                    particles.push(place + Vector3::from(jitter));
                }
            }
        }
    }
    let parameters = Parameters::new_relative(RADIUS, 4.0, 0.75);
    let surface = reconstruct_surface::<i64, f32>(&particles, &parameters)?;
    // Subdomains are done in any order, and so are sums in them: places are exact to some digits.
    let (vertices, triangles) = (&surface.mesh.vertices, &surface.mesh.triangles);
    let mut middle = [0.0; 3];
    for vertex in vertices {
        for axis in 0..3 {
            middle[axis] += f64::from(vertex[axis]) / vertices.len() as f64;
        }
    }
    let [x, y, z] = middle;
    println!("{} vertices, {} triangles, {x:.3} {y:.3} {z:.3}", vertices.len(), triangles.len());
    Ok(())
}
