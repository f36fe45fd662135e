//! The workloads by ISPC's kernels, whose ranges rayon divides among its threads.

use libloading::Library;
use rayon::prelude::*;
use schism_bench::cpu::{Ask, Workload};

use crate::twins::{Stage, twin};

/// Parts of a range for each thread.
const PARTS: usize = 8;

/// A cache line: what ISPC's memory is aligned to.
#[derive(Clone)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// The kernels, which stay loaded.
pub(crate) struct Kernels(&'static Library);

impl Kernels {
    /// Loads a library that `ispc` has compiled.
    pub fn load(path: &str) -> Result<Self, libloading::Error> {
        // SAFETY: the library has functions only, and runs nothing when it is loaded.
        let library = unsafe { Library::new(path) }?;
        Ok(Self(Box::leak(Box::new(library))))
    }

    /// Makes a workload's memory.
    pub fn open(&self, name: &str) -> Option<Workload> {
        let twin = twin(name)?;
        let mut memory: Vec<Vec<Line>> = twin.inputs.iter().map(|input| lines(input)).collect();
        let sizes = twin.outputs.iter().map(|size| vec![Line([0; 64]); size.div_ceil(64)]);
        memory.extend(sizes);
        let size = *twin.outputs.last()?;
        let library = self.0;
        let functions: Option<Vec<Function>> =
            twin.stages.iter().map(|stage| Function::find(library, stage, memory.len())).collect();
        let functions = functions?;
        Some(Box::new(move |ask| {
            if ask == Ask::Result {
                let all = memory.last().into_iter().flatten();
                return all.flat_map(|line| line.0).take(size).collect();
            }
            let places: Vec<usize> =
                memory.iter_mut().map(|memory| memory.as_mut_ptr() as usize).collect();
            for (function, stage) in functions.iter().zip(&twin.stages) {
                let count = stage.global[0] * stage.global[1];
                let parts = PARTS * rayon::current_num_threads();
                let part = count.div_ceil(parts).next_multiple_of(stage.grain);
                (0..count.div_ceil(part)).into_par_iter().for_each(|at| {
                    let end = ((at + 1) * part).min(count);
                    // SAFETY: the memory is as large as the kernels expect, and parts of a range
                    // store to elements of their own, or by atomic operations.
                    unsafe { function.call((at * part) as i32, end as i32, &places) };
                });
            }
            Vec::new()
        }))
    }
}

/// Bytes in aligned memory.
fn lines(bytes: &[u8]) -> Vec<Line> {
    let line = |chunk: &[u8]| {
        let mut line = Line([0; 64]);
        line.0[..chunk.len()].copy_from_slice(chunk);
        line
    };
    bytes.chunks(64).map(line).collect()
}

/// A kernel by the number of its arrays: a part of the range, and their addresses.
enum Function {
    One(unsafe extern "C" fn(i32, i32, usize)),
    Two(unsafe extern "C" fn(i32, i32, usize, usize)),
    Three(unsafe extern "C" fn(i32, i32, usize, usize, usize)),
    Four(unsafe extern "C" fn(i32, i32, usize, usize, usize, usize)),
    Five(unsafe extern "C" fn(i32, i32, usize, usize, usize, usize, usize)),
}

impl Function {
    fn find(library: &'static Library, stage: &Stage, arrays: usize) -> Option<Self> {
        let name = stage.kernel;
        // SAFETY: kernels.ispc has functions with so many arrays behind the range, as `twins` has
        // it, and the library stays.
        unsafe {
            Some(match arrays {
                1 => Self::One(*library.get(name).ok()?),
                2 => Self::Two(*library.get(name).ok()?),
                3 => Self::Three(*library.get(name).ok()?),
                4 => Self::Four(*library.get(name).ok()?),
                5 => Self::Five(*library.get(name).ok()?),
                _ => return None,
            })
        }
    }

    /// # Safety
    /// The arrays are those of the kernel, and no other code stores to its part of them.
    unsafe fn call(&self, begin: i32, end: i32, arrays: &[usize]) {
        // SAFETY: the caller's promise.
        unsafe {
            match (self, arrays) {
                (Self::One(f), &[a]) => f(begin, end, a),
                (Self::Two(f), &[a, b]) => f(begin, end, a, b),
                (Self::Three(f), &[a, b, c]) => f(begin, end, a, b, c),
                (Self::Four(f), &[a, b, c, d]) => f(begin, end, a, b, c, d),
                (Self::Five(f), &[a, b, c, d, e]) => f(begin, end, a, b, c, d, e),
                _ => unreachable!("a kernel was found by the number of its arrays"),
            }
        }
    }
}
