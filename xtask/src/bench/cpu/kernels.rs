//! The workloads.

/// A workload.
pub struct Kernel {
    /// Its name; with [`OF_HOST`] at the end it is another one with the host's mathematics.
    pub name: &'static str,
    /// Bytes that it cannot but load and store, and floating-point operations, if it is known.
    pub work: Option<(f64, f64)>,
    /// The greatest relative difference between results, which have other mathematics libraries.
    pub tolerance: f32,
    pub kind: Kind,
}

/// Ends the names of workloads with `SCHISM_CPU_MATH=host`.
pub const OF_HOST: &str = "_host_math";

/// What a workload shows.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Items,
    Barriers,
    /// The same once more, as an option has it: not in the means either.
    Option,
    /// The cost of a launch, which is not in the means.
    Launch,
    /// The cost of waiting on a stack, so many times. No peer does.
    Stacks(f64),
}

const fn kernel(name: &'static str, bytes: f64, operations: f64) -> Kernel {
    Kernel { name, work: Some((bytes, operations)), tolerance: 0.0, kind: Kind::Items }
}

const fn barriers(name: &'static str, bytes: f64, operations: f64) -> Kernel {
    Kernel { kind: Kind::Barriers, ..kernel(name, bytes, operations) }
}

const fn of_host(name: &'static str, bytes: f64, operations: f64) -> Kernel {
    Kernel { kind: Kind::Option, ..kernel(name, bytes, operations) }
}

const fn launch(name: &'static str) -> Kernel {
    Kernel { name, work: None, tolerance: 0.0, kind: Kind::Launch }
}

const STREAM: f64 = (1 << 24) as f64;
const MILLION: f64 = (1 << 20) as f64;

/// All workloads. Work that depends on the data, or is not of floating-point numbers, has bytes
/// only.
pub const KERNELS: &[Kernel] = &[
    kernel("saxpy", 12.0 * STREAM, 2.0 * STREAM),
    kernel("triad", 12.0 * STREAM, 2.0 * STREAM),
    kernel("mandelbrot", 4.0 * 786_432.0, 0.0),
    kernel("nbody", 56.0 * 4096.0, 20.0 * 4096.0 * 4096.0),
    Kernel { tolerance: 2e-4, ..kernel("black_scholes", 20.0 * MILLION, 60.0 * MILLION) },
    Kernel {
        tolerance: 2e-4,
        ..of_host("black_scholes_host_math", 20.0 * MILLION, 60.0 * MILLION)
    },
    kernel("image_filter", 30.0 * 3_145_728.0, 60.0 * 3_145_728.0),
    kernel("convolution", 8.0 * 786_432.0, 50.0 * 786_432.0),
    kernel("ray_spheres", 4.0 * 786_432.0, 500.0 * 786_432.0),
    kernel("sha256", 4.0 * 65_536.0, 0.0),
    kernel("spmv", 8.0 * 2_097_152.0 + 1_572_864.0, 2.0 * 2_097_152.0),
    barriers("sgemm", 12.0 * 262_144.0, 2.0 * 134_217_728.0),
    barriers("reduction", 4.0 * MILLION, 0.0),
    barriers("scan", 8.0 * MILLION, 0.0),
    barriers("transpose", 8.0 * 262_144.0, 0.0),
    barriers("histogram", 4.0 * MILLION, 0.0),
    kernel("binary_search", 8.0 * MILLION, 0.0),
    launch("launch_1"),
    launch("launch_million"),
    // Work-items, and how often each waits.
    Kernel { kind: Kind::Stacks(16_384.0 * 200.0), ..launch("stacks") },
];
