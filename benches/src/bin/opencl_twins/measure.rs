//! Timing, checksums, and the printed lines: those of `gpu_schism`.

use std::time::Instant;

use schism_bench::cpu::processor_time;
use schism_bench::gpu::settings::{Clock, Settings};
use schism_bench::opencl::{Buffer, Device, Kernel};

use crate::Outcome;

/// Untimed runs, as in `gpu_schism`.
const WARM_UP: usize = 3;

/// Elements of a result in its checksum, as in `gpu_schism`.
const SAMPLE: usize = 4096;

/// What all kernels need.
#[derive(Debug)]
pub struct Bench {
    /// The processor.
    pub device: Device,
    /// The options.
    pub settings: Settings,
}

/// The elements of a result.
#[derive(Clone, Copy, Debug)]
pub enum Element {
    U8,
    U32,
    F32,
    F64,
    /// Vectors of four, of which the first three count.
    F32x4,
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub kernel: &'static str,
    pub element: Element,
    pub size: usize,
    pub bytes: usize,
}

/// A kernel's launch.
#[derive(Debug)]
pub struct Stage {
    pub kernel: Kernel,
    /// Its work-items, across and down.
    pub global: [usize; 2],
    /// The work-items of a group, if the algorithm has groups.
    pub local: Option<[usize; 2]>,
}

impl Element {
    const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U32 => "u32",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F32x4 => "f32x4",
        }
    }

    const fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
            Self::F32x4 => 16,
        }
    }

    /// An element's part of a checksum, and its value.
    fn digest(self, bytes: &[u8]) -> (u64, f64) {
        let words = bytes.as_chunks::<4>().0;
        let word = |at: usize| u32::from_le_bytes(words[at]);
        let float = |at: usize| f64::from(f32::from_bits(word(at)));
        match self {
            Self::U8 => (u64::from(bytes[0]), f64::from(bytes[0])),
            Self::U32 => (u64::from(word(0)), f64::from(word(0))),
            Self::F32 => (u64::from(word(0)), float(0)),
            Self::F64 => {
                let bits = u64::from(word(0)) | u64::from(word(1)) << 32;
                (bits, f64::from_bits(bits))
            }
            Self::F32x4 => {
                let bits = (0..3).fold(0, |bits, at| bits ^ u64::from(word(at)) << (16 * at));
                (bits, float(0) + float(1) + float(2))
            }
        }
    }
}

impl Bench {
    pub const fn new(device: Device, settings: Settings) -> Self {
        Self { device, settings }
    }

    /// Memory with these numbers.
    pub fn floats(&self, numbers: &[f32]) -> Outcome<Buffer> {
        self.device.buffer(&numbers.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>())
    }

    /// Memory with these numbers.
    pub fn words(&self, numbers: &[u32]) -> Outcome<Buffer> {
        self.device.buffer(&numbers.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>())
    }

    /// Memory for so many bytes, all zero.
    pub fn zeros(&self, bytes: usize) -> Outcome<Buffer> {
        self.device.buffer(&vec![0; bytes])
    }

    /// Whether any of the kernels is selected.
    pub fn wants(&self, kernels: &[&str]) -> bool {
        kernels.iter().any(|kernel| self.settings.wants(kernel))
    }

    /// Times launches, and prints the line of the kernel, whose result is in a buffer.
    pub fn measure(&self, case: Case, stages: &[Stage], result: &Buffer) -> Outcome {
        self.measure_sum(case, stages, result, |bytes| bytes)
    }

    /// The same where the host makes the result of what is in the buffer.
    pub fn measure_sum(
        &self,
        case: Case,
        stages: &[Stage],
        result: &Buffer,
        finish: impl FnOnce(Vec<u8>) -> Vec<u8>,
    ) -> Outcome {
        if !self.settings.wants(case.kernel) {
            return Ok(());
        }
        let once = |clock| -> Outcome<f64> {
            let (start, used) = (Instant::now(), processor_time());
            let launch =
                |stage: &Stage| self.device.launch(&stage.kernel, stage.global, stage.local);
            let launches: Vec<_> = stages.iter().map(launch).collect::<Outcome<_>>()?;
            self.device.finish()?;
            match clock {
                Clock::Host => Ok(start.elapsed().as_secs_f64()),
                Clock::Processor => Ok(processor_time() - used),
                Clock::Device => launches.iter().map(|launch| launch.seconds()).sum(),
            }
        };
        let first = once(Clock::Host)?;
        let start = Instant::now();
        for _ in 1..WARM_UP {
            once(self.settings.clock)?;
        }
        while start.elapsed() < self.settings.warm_up {
            once(self.settings.clock)?;
        }
        let runs = 0..self.settings.runs;
        let mut times: Vec<f64> =
            runs.map(|_| once(self.settings.clock)).collect::<Outcome<_>>()?;
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
        let bytes = finish(self.device.read(result)?);
        let count = bytes.len() / case.element.bytes();
        let step = (count / SAMPLE).max(1);
        let sample = bytes.chunks_exact(case.element.bytes()).step_by(step).take(SAMPLE);
        let (mut bits, mut sum) = (0_u64, 0.0);
        for element in sample {
            let (own, value) = case.element.digest(element);
            bits = bits.wrapping_mul(31).wrapping_add(own);
            sum += value;
        }
        let Case { kernel, element, size, bytes } = case;
        let clock = self.settings.clock.name();
        let (median, min, p95) = (at(0.5), at(0.0), at(0.95));
        println!(
            "result kernel={kernel} variant=opencl type={} size={size} bytes={bytes} clock={clock} \
             median={median:.9} min={min:.9} p95={p95:.9} first={first:.9} runs={} bits={bits:016x} sum={sum:.9e}",
            element.name(),
            times.len()
        );
        Ok(())
    }
}
