//! Finds the surface of a fluid of which particles are known, for the picture of a simulation.

#![forbid(unsafe_code)]

use splashsurf_lib::nalgebra::Vector3;
use splashsurf_lib::{Parameters, reconstruct_surface};
use workload::{Checksum, Random};

const RADIUS: f32 = 0.025;
const SIDE: usize = 80;

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
    let mut checksum = Checksum::default();
    checksum.number(surface.mesh.triangles.len() as u64);
    // Subdomains are done in any order, so the mesh's vertices are in any order.
    let mut vertices: Vec<[u32; 3]> = surface
        .mesh
        .vertices
        .iter()
        .map(|vertex| [0, 1, 2].map(|axis| vertex[axis].to_bits()))
        .collect();
    vertices.sort_unstable();
    vertices.iter().flatten().for_each(|bits| checksum.number(u64::from(*bits)));
    checksum.print();
    Ok(())
}
