//! Kernels that stage 2 cuts at their barriers for the device `cpu`: every form of control flow
//! around barriers, in groups of every size and shape, with what lives across them. The device
//! `native`, whose work-items wait on stacks, is the oracle.

use std::path::Path;
use std::process::Command;

use schism::local_array;
use schism::prelude::*;
use schism_tests::devices::queue_on;

/// Work-items of a group, in one, two and three dimensions.
const ONE: [usize; 6] = [1, 3, 31, 32, 256, 1000];
const TWO: [[usize; 2]; 4] = [[1, 1], [3, 5], [31, 2], [4, 64]];
const THREE: [[usize; 3]; 3] = [[1, 1, 1], [2, 3, 5], [4, 8, 16]];

/// Groups of a launch.
const GROUPS: usize = 3;

fn input(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 5).collect()
}

/// The type of the kernels below: they are given the work-item, local memory with an element for
/// each work-item of the group, and their own element of the input, and give the result.
fn kernel<K: Fn(&NdItem<'_, 1>, Local<'_, u32>, u32) -> u32>(kernel: K) -> K {
    kernel
}

/// Runs a kernel in groups of each size on `cpu` and on `native`, and compares. The results must
/// not all be the same.
macro_rules! same {
    ($kernel:expr) => {
        for size in ONE {
            let [cpu, native] = ["cpu", "native"].map(|device| {
                let queue = queue_on(device);
                let from = Buffer::from_slice(&queue, &input(size * GROUPS)).expect("memory");
                let mut out = Buffer::filled(&queue, size * GROUPS, 0_u32).expect("memory");
                let range = NdRange::new(size * GROUPS, size).expect("even groups");
                let sources = (local::<u32>(size), &from, &mut out);
                queue
                    .for_each_in(range, sources, |item, (tile, from, to)| {
                        *to = kernel($kernel)(&item, tile, *from);
                    })
                    .expect("it runs");
                out.to_vec()
            });
            assert_eq!(cpu, native, "groups of {size}");
            assert!(cpu.iter().any(|result| *result != cpu[0]), "groups of {size}: {}", cpu[0]);
        }
    };
}

/// What the neighbour in the group has left in local memory.
fn neighbour(item: &NdItem<'_, 1>, tile: Local<'_, u32>) -> u32 {
    tile.get((item.local_x() + 1) % item.group_size())
}

#[test]
fn accumulators_and_counters() {
    same!(|item, tile, own| {
        let (mut sum, mut product) = (own, own | 1);
        for round in 0..5 {
            tile.set(item.local_x(), sum ^ round);
            item.barrier();
            let other = neighbour(item, tile);
            item.barrier();
            // The two change places: both are read before one is written.
            (sum, product) = (product.wrapping_add(other), sum.wrapping_mul(31));
        }
        sum ^ product
    });
}

#[test]
fn loops_that_end_with_their_condition() {
    same!(|item, tile, own| {
        let mut value = own;
        let mut round = 0;
        loop {
            tile.set(item.local_x(), value);
            item.barrier();
            value = value.rotate_left(3).wrapping_add(neighbour(item, tile));
            item.barrier();
            round += 1;
            if round > item.group_x() + 2 {
                break;
            }
        }
        value
    });
}

#[test]
fn loops_with_several_ways_back() {
    same!(|item, tile, own| {
        let mut value = own;
        let mut round = 0_u32;
        while round < 9 {
            tile.set(item.local_x(), value);
            item.barrier();
            let other = neighbour(item, tile);
            if round.is_multiple_of(3) {
                round += 2;
                item.barrier();
                value = value.rotate_left(7) ^ other;
                continue;
            }
            item.barrier();
            value = value.wrapping_add(other);
            round += 1;
        }
        value
    });
}

#[test]
fn nested_loops_and_branches() {
    same!(|item, tile, own| {
        let mut value = own;
        for outer in 0..3_u32 {
            tile.set(item.local_x(), value);
            item.barrier();
            for inner in 0..=outer {
                let other = neighbour(item, tile);
                item.barrier();
                if (inner + item.group_x() as u32).is_multiple_of(2) {
                    tile.set(item.local_x(), other.wrapping_add(inner));
                    item.barrier();
                }
                // Work-items part here, and meet again.
                let steps = (own >> 3) % 4;
                for step in 0..steps {
                    value = value.wrapping_mul(5).wrapping_add(step ^ other);
                }
            }
            item.barrier();
        }
        value
    });
}

#[test]
fn conditions_that_are_read_from_local_memory() {
    same!(|item, tile, own| {
        let mut value = own;
        let mut rounds = 0;
        loop {
            // One work-item decides for all.
            if item.local_x() == 0 {
                tile.set(0, u32::from(rounds < 2 + item.group_x()));
            }
            item.barrier();
            let go_on = tile.get(0) != 0;
            item.barrier();
            if !go_on {
                break;
            }
            tile.set(item.local_x(), value);
            item.barrier();
            value = value.wrapping_mul(3) ^ neighbour(item, tile);
            item.barrier();
            rounds += 1;
        }
        value
    });
}

#[test]
fn whole_groups_that_end_early() {
    same!(|item, tile, own| {
        if item.group_x() == 1 {
            return own ^ 77;
        }
        tile.set(item.local_x(), own);
        item.barrier();
        if item.group_x() == 2 {
            return neighbour(item, tile).wrapping_add(own);
        }
        item.barrier();
        own
    });
}

#[test]
fn private_arrays() {
    same!(|item, tile, own| {
        let mut kept = [own; 12];
        for round in 0..6_usize {
            // Has no contents behind the barrier.
            let mut brief = [round as u32; 8];
            brief[own as usize % 8] = own;
            kept[(round * 5 + own as usize) % 12] ^= brief[(own as usize >> 3) % 8];
            tile.set(item.local_x(), kept[round]);
            item.barrier();
            kept[(own as usize >> 4) % 12] = kept[round].wrapping_add(neighbour(item, tile));
            item.barrier();
        }
        kept.iter().fold(0, |sum, value| sum.wrapping_mul(7).wrapping_add(*value))
    });
}

fn generic<F: Fn(u32, u32) -> u32>(
    item: &NdItem<'_, 1>,
    tile: Local<'_, u32>,
    own: u32,
    combine: F,
) -> u32 {
    tile.set(item.local_x(), own);
    item.barrier();
    let result = combine(own, neighbour(item, tile));
    item.barrier();
    result
}

#[inline(never)]
fn not_inlined(item: &NdItem<'_, 1>, tile: Local<'_, u32>, own: u32) -> u32 {
    generic(item, tile, own, |a, b| a.wrapping_mul(3) ^ b)
}

#[test]
fn barriers_in_functions_and_closures() {
    same!(|item, tile, own| {
        let round = |value: u32| {
            let value = generic(item, tile, value, |a, b| a.max(b).wrapping_add(own));
            not_inlined(item, tile, value)
        };
        round(round(own)) ^ not_inlined(item, tile, own)
    });
}

#[test]
fn values_of_every_type() {
    same!(|item, tile, own| {
        let is_odd = own % 2 == 1;
        let (byte, wide) = (own as u8, u128::from(own) << 70 | 5);
        let (float, double) = (own as f32 * 0.37, f64::from(own) / 3.0);
        let pair = (own as i16, own as f32 > 1e6);
        let place = &tile;
        tile.set(item.local_x(), own);
        item.barrier();
        let other = place.get((item.local_x() + 1) % item.group_size());
        let mut result = other ^ u32::from(is_odd) ^ u32::from(byte) ^ (wide >> 60) as u32;
        result ^= float.to_bits() ^ double.to_bits() as u32;
        result ^ pair.0 as u32 ^ u32::from(pair.1)
    });
}

/// The same in more dimensions: the position in the group counts.
macro_rules! same_in_more_dimensions {
    ($sizes:expr) => {
        for size in $sizes {
            let [cpu, native] = ["cpu", "native"].map(|device| {
                let queue = queue_on(device);
                let range = NdRange::new(size.map(|size| size * 2), size).expect("even groups");
                let items = size.iter().map(|size| size * 2).product();
                let mut out = Buffer::filled(&queue, items, 0_u32).expect("memory");
                let to = out.view_mut();
                queue
                    .parallel_for(range, move |item| {
                        let tile = local_array!(item, u32; 1024);
                        let own = item.local_linear_id();
                        let mut value = own as u32 + 1;
                        for round in 0..3 {
                            tile.set(own, value.wrapping_mul(41) ^ round);
                            item.barrier();
                            value = value.wrapping_add(tile.get(item.group_size() - 1 - own));
                            item.barrier();
                        }
                        // Sub-groups go through the group in the order of its linear ids.
                        let other = item.sub_group().shuffle_xor(value, 5);
                        value = value.wrapping_mul(3).wrapping_add(other);
                        // SAFETY: each work-item writes its own element.
                        unsafe { to.set_unchecked(item.global_linear_id(), value) }
                    })
                    .expect("it runs");
                out.to_vec()
            });
            assert_eq!(cpu, native, "{size:?}");
            assert!(cpu.iter().all(|result| *result != 0), "{size:?}");
        }
    };
}

#[test]
fn groups_of_two_and_three_dimensions() {
    same_in_more_dimensions!(TWO);
    same_in_more_dimensions!(THREE);
}

// Kernels with operations of sub-groups that have index checks on both sides of one are not cut.
// So the indices below are seen to be inside.

#[test]
fn sub_groups_exchange_values() {
    same!(|item, _, own| {
        let tile = local_array!(item, u32; 1024);
        let sub_group = item.sub_group();
        let (lane, size) = (sub_group.local_id(), sub_group.size());
        let neighbour = sub_group.shuffle_xor(own, 1);
        let far = sub_group.shuffle_up(own ^ neighbour, lane % 5);
        let near = sub_group.shuffle_down(far, 7);
        let any_lane = sub_group.shuffle(near.wrapping_add(own), (lane * 7 + 3) % size.max(1));
        let votes = sub_group.ballot(any_lane.is_multiple_of(3));
        tile.set(item.local_x() % 1024, votes ^ any_lane);
        sub_group.barrier();
        let first = tile.get((item.local_x() - lane) % 1024);
        first ^ neighbour ^ far.rotate_left(7) ^ near.rotate_left(13)
    });
}

#[test]
fn sub_groups_exchange_and_reduce_between_barriers() {
    same!(|item, _, own| {
        let tile = local_array!(item, u32; 1024);
        let sub_group = item.sub_group();
        let mut own = own;
        for round in 0..4 {
            tile.set(item.local_x() % 1024, own);
            item.barrier();
            let other = tile.get((item.local_x() + 1) % item.group_size().max(1) % 1024);
            item.barrier();
            let least = sub_group.shuffle_xor(own.min(other), 16);
            // A result of an operation is an operand of the same one in the next iteration.
            own = sub_group.shuffle_xor(own.rotate_left(3) ^ least.wrapping_add(round), 3);
        }
        let bits = own as i32;
        let all = [
            sub_group.reduce_add(own),
            sub_group.reduce_min(own),
            sub_group.reduce_max(own),
            sub_group.reduce_min(bits) as u32,
            sub_group.reduce_max(bits) as u32,
        ];
        all.into_iter().fold(own, |sum, next| sum.rotate_left(5) ^ next)
    });
}

#[test]
fn groups_reduce_and_scan() {
    same!(|item, _, own| {
        let sum = item.reduce_add(own);
        let before = item.exclusive_scan_add(own % 1000);
        sum ^ before.rotate_left(9)
    });
}

#[test]
fn the_first_panic_is_the_one_reported() {
    for size in ONE {
        let [cpu, native] = ["cpu", "native"].map(|device| {
            let queue = queue_on(device);
            let mut out = Buffer::filled(&queue, size, 0_usize).expect("memory");
            let to = out.view_mut();
            let limit = size / 2;
            let range = NdRange::new(size, size).expect("one group");
            let result = queue.parallel_for(range, move |item| {
                let i = item.local_x();
                // SAFETY: each work-item writes its own element.
                unsafe { to.set_unchecked(i, 1) }
                item.barrier();
                // SAFETY: as above.
                unsafe { to.set_unchecked(i, 2) }
                assert!(i < limit, "{i} of {limit}");
                item.barrier();
                // SAFETY: as above.
                unsafe { to.set_unchecked(i, 3) }
            });
            let Err(LaunchError::Panicked(panic)) = result else { panic!("{result:?}") };
            (panic.message, panic.work_item, panic.local_id, out.to_vec())
        });
        assert_eq!(cpu, native, "a group of {size}");
        assert_eq!(cpu.0, format!("{limit} of {limit}", limit = size / 2));
    }
}

/// What this program finds out about itself: the kernels of these tests are cut, and give the same
/// where they are not.
#[test]
fn kernels_are_cut_unless_that_is_disabled() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cut-kernels");
    for disabled in [false, true] {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut again = Command::new(std::env::current_exe().expect("this program"));
        again.args(["--skip", "kernels_are_cut_unless_that_is_disabled"]);
        again.env("SCHISM_DUMP_DIR", &folder).env("SCHISM_CACHE", "0");
        if disabled {
            again.env("SCHISM_DISABLE_PASSES", "split-at-barriers");
        }
        let output = again.output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let (mut cut, mut all) = (0, 0);
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.to_string_lossy().ends_with(".2-legalized.ll") {
                let text = std::fs::read_to_string(&path).expect("a file");
                all += 1;
                cut += usize::from(text.contains("\"schism-cut\""));
                assert_eq!(text.contains("\"schism-cut\""), !disabled, "{}", path.display());
            }
        }
        assert!(all > 10, "{all} kernels, {cut} cut");
    }
    let _ = std::fs::remove_dir_all(&folder);
}
