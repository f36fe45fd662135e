//! Loops in which each work-item of a grid walks over the data in steps as long as the grid, which
//! stage 2 interchanges with the loops over work-items for the device `cpu`. The host's own loops,
//! and the device `native`, are the oracles.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;

use schism::local_array;
use schism::prelude::*;
use schism_tests::devices::queue_on;

/// Work-items of a group, and groups.
const GRIDS: [(usize, usize); 6] = [(1, 1), (3, 2), (31, 1), (32, 3), (256, 2), (64, 5)];

/// Elements: none, fewer than a grid has work-items, as many, one more, odd numbers.
const LENGTHS: [usize; 9] = [0, 1, 31, 32, 33, 512, 513, 1000, 4099];

const BINS: usize = 64;

fn input(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect()
}

/// Counts numbers below `limit` in local memory, each group its part.
fn counts(
    device: &str,
    grid: (usize, usize),
    words: &[u32],
    limit: usize,
) -> (Vec<u32>, Result<(), LaunchError>) {
    let queue = queue_on(device);
    let from = Buffer::from_slice(&queue, words).expect("memory");
    let mut counts = Buffer::filled(&queue, BINS, 0_u32).expect("memory");
    let (size, groups) = grid;
    let range = NdRange::new(size * groups, size).expect("even groups");
    let (words, to) = (from.view(), counts.atomic_view());
    let result = queue.parallel_for(range, move |item| {
        let bins = local_array!(item, u32; BINS).as_atomics();
        let mut bin = item.local_x();
        while bin < BINS {
            bins[bin].store(0, Relaxed);
            bin += item.group_size();
        }
        item.barrier();
        let [stride] = item.global_range();
        let mut place = item.x();
        while place < limit {
            let word = words[place] as usize;
            bins[word % BINS].fetch_add(1, Relaxed);
            bins[(word >> 9) % BINS].fetch_add(1, Relaxed);
            place += stride;
        }
        item.barrier();
        let mut bin = item.local_x();
        while bin < BINS {
            to[bin].fetch_add(bins[bin].load(Relaxed), Relaxed);
            bin += item.group_size();
        }
    });
    (counts.to_vec(), result)
}

#[test]
fn what_all_count_is_the_same() {
    for length in LENGTHS {
        let words = input(length);
        let mut expected = vec![0_u32; BINS];
        for word in words.iter().map(|word| *word as usize) {
            expected[word % BINS] += 1;
            expected[(word >> 9) % BINS] += 1;
        }
        for grid in GRIDS {
            let (found, result) = counts("cpu", grid, &words, words.len());
            result.expect("it runs");
            assert_eq!(found, expected, "{length} elements, {grid:?}");
        }
    }
}

#[test]
fn a_check_that_fails_fails_at_the_same_work_item() {
    for length in LENGTHS {
        let words = input(length);
        for limit in [length + 1, length + 100, usize::MAX - 2, usize::MAX] {
            // Of several groups, any may be the first to panic.
            for grid in [1, 3, 32, 256].map(|size| (size, 1)) {
                let [cpu, native] = ["cpu", "native"].map(|device| {
                    let (_, result) = counts(device, grid, &words, limit);
                    let Err(LaunchError::Panicked(panic)) = result else { panic!("{result:?}") };
                    (panic.message, panic.work_item, panic.local_id)
                });
                assert_eq!(cpu, native, "{length} elements, {limit}, {grid:?}");
            }
        }
    }
}

/// Runs a kernel on `cpu` and on `native`: it is given the work-item, local memory, the input and
/// where its numbers go, and may use elements of the grid's strides only.
macro_rules! same {
    ($kernel:expr) => {
        for length in LENGTHS {
            for (size, groups) in GRIDS {
                let [cpu, native] = ["cpu", "native"].map(|device| {
                    let queue = queue_on(device);
                    let from = Buffer::from_slice(&queue, &input(length)).expect("memory");
                    let mut out = Buffer::filled(&queue, length, 0_u32).expect("memory");
                    let range = NdRange::new(size * groups, size).expect("even groups");
                    let (from, to) = (from.view(), out.atomic_view());
                    queue
                        .parallel_for(range, move |item| {
                            let tile = local_array!(item, u32; 256);
                            tile.set(item.local_x(), item.x() as u32);
                            item.barrier();
                            kernel($kernel)(&item, tile, &from, &to);
                        })
                        .expect("it runs");
                    out.to_vec()
                });
                assert_eq!(cpu, native, "{length} elements, groups of {size}, {groups} of them");
                let differ = cpu.iter().any(|result| *result != cpu[0]);
                assert!(differ || length < 2, "{length} elements: all are {}", cpu[0]);
            }
        }
    };
}

/// The type of the kernels below.
fn kernel<K>(kernel: K) -> K
where
    K: Fn(&NdItem<'_, 1>, Local<'_, u32>, &[u32], &[std::sync::atomic::AtomicU32]),
{
    kernel
}

#[test]
fn elements_are_written_once() {
    same!(|item, tile, from, to| {
        let [stride] = item.global_range();
        let mut place = item.x();
        while place < from.len() {
            to[place].store(from[place] ^ tile.get(item.local_x()), Relaxed);
            place += stride;
        }
        item.barrier();
    });
}

#[test]
fn loops_and_branches_inside() {
    same!(|item, tile, from, to| {
        let [stride] = item.global_range();
        let mut place = item.x();
        while place < from.len() {
            let (mut value, mut rounds) = (from[place], 0_u32);
            while value > 3 && rounds < 9 {
                value = if value % 3 == 0 { value / 3 } else { value.wrapping_mul(5) >> 1 };
                rounds += 1;
            }
            if rounds % 2 == 0 {
                to[place].store(rounds + tile.get(0), Relaxed);
            } else {
                to[place].fetch_add(value | 1, Relaxed);
            }
            place += stride;
        }
        item.barrier();
    });
}

#[test]
fn arrays_of_a_work_item() {
    same!(|item, _, from, to| {
        let mut last = [0_u32; 4];
        let [stride] = item.global_range();
        let mut place = item.x();
        while place < from.len() {
            last[place % 4] = last[(place + 1) % 4].wrapping_add(from[place]);
            to[place].store(last[place % 4], Relaxed);
            place += stride;
        }
        item.barrier();
    });
}

#[test]
fn what_goes_from_step_to_step() {
    same!(|item, tile, from, to| {
        let [stride] = item.global_range();
        let (mut place, mut sum) = (item.x(), 7_u32);
        while place < from.len() {
            sum = sum.rotate_left(3) ^ from[place];
            to[place].store(sum, Relaxed);
            place += stride;
        }
        tile.set(item.local_x(), sum);
        item.barrier();
        let mut place = item.x();
        while place < from.len() {
            to[place].fetch_add(tile.get(0) | 1, Relaxed);
            place += stride;
        }
    });
}

#[test]
fn loops_that_only_some_come_to() {
    same!(|item, tile, from, to| {
        let [stride] = item.global_range();
        if tile.get(item.local_x()) % 2 == 0 {
            let mut place = item.x();
            while place < from.len() {
                to[place].store(from[place] + 1, Relaxed);
                place += stride;
            }
        }
        item.barrier();
        let mut place = item.x();
        while place < from.len() {
            to[place].fetch_add(place as u32, Relaxed);
            place += stride;
        }
        item.barrier();
    });
}

#[test]
fn loops_in_loops_of_a_group() {
    same!(|item, _, from, to| {
        let [stride] = item.global_range();
        for round in 0..3_u32 {
            let mut place = item.x();
            while place < from.len() {
                let before = to[place].load(Relaxed);
                to[place].store(before.wrapping_mul(3) ^ from[place] ^ round, Relaxed);
                place += stride;
            }
            item.barrier();
            let mut place = item.x();
            while place < from.len() {
                to[place].fetch_add(round + place as u32, Relaxed);
                place += stride;
            }
        }
    });
}

#[test]
fn steps_that_differ_and_loops_that_break() {
    same!(|item, tile, from, to| {
        let [stride] = item.global_range();
        let mut place = item.x();
        while place < from.len() {
            to[place].fetch_add(from[place] | 1, Relaxed);
            place += stride * (1 + place % 2);
        }
        item.barrier();
        let mut place = item.x();
        while place < from.len() {
            if from[place] % 5 == 4 {
                break;
            }
            to[place].fetch_add(tile.get(0) + 1, Relaxed);
            place += stride;
        }
        item.barrier();
    });
}

/// What this program finds out about itself: loops of these tests are interchanged.
#[test]
fn loops_are_interchanged() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("grid-strides");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut again = Command::new(std::env::current_exe().expect("this program"));
    again.args(["--skip", "loops_are_interchanged"]);
    again.env("SCHISM_DUMP_DIR", &folder).env("SCHISM_CACHE", "0");
    let output = again.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let mut interchanged = 0;
    for entry in std::fs::read_dir(&folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.to_string_lossy().ends_with(".2-legalized.ll") {
            let text = std::fs::read_to_string(&path).expect("a file");
            interchanged += usize::from(text.contains("\"schism-interchanged\""));
        }
    }
    // Each for groups of a known size, at least.
    assert!(interchanged >= 5, "{interchanged}");
    let _ = std::fs::remove_dir_all(&folder);
}
