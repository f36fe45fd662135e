//! C++'s parallel algorithms as functions over slices and device data.
//!
//! ```
//! # fn main() -> Result<(), schism::Error> {
//! use schism::algorithms;
//! use schism::prelude::*;
//!
//! let queue = Queue::new()?;
//! let mut numbers = Buffer::from_slice(&queue, &[3.5_f32, 1.0, 2.5, 1.0])?;
//! algorithms::sort(&queue, &mut numbers, f32::total_cmp)?;
//! let count = algorithms::unique(&queue, &mut numbers, PartialEq::eq)?;
//! assert_eq!(numbers.to_vec()[..count], [1.0, 2.5, 3.5]);
//!
//! let lengths = [3, 1, 4];
//! let mut ends = [0; 3];
//! algorithms::inclusive_scan(&queue, &lengths, &mut ends, |a, b| a + b)?;
//! assert_eq!(ends, [3, 4, 8]);
//! # Ok(())
//! # }
//! ```
//!
//! Each function runs kernels on a [`Queue`](crate::Queue) and returns when they have ended.
//! [`Input`] and [`Output`] list what it reads and changes, [`Function`] what it may call: closures
//! are kernel code. Elements are `Copy` ([`Element`](crate::Element)); for others there are the
//! methods of slices and of [rayon](https://docs.rs/rayon). `docs/algorithms.md` has all of C++'s
//! names, and says which have a better spelling in Rust.
//!
//! - **Order**: orders are closures `Fn(&T, &T) -> Ordering`, such as `u32::cmp`, `f32::total_cmp`
//!   or `|a, b| b.cmp(a)`; equalities are `Fn(&T, &T) -> bool`, such as `PartialEq::eq`.
//! - **Calls**: how often a closure is called for an element, and in which order, is unspecified.
//! - **Places** are indices; `None` stands for C++'s end of the range.
//! - **Memory**: functions that change the order of elements in place take a copy of them on the
//!   device.
//! - **Failures**: if a launch fails, for example since a closure panics, an output has any mixture
//!   of old and new elements; slices of the host that had been copied to a GPU are unchanged.
//!
//! # For readers of the source
//! | file | algorithms |
//! |---|---|
//! | `transform` | each element by itself |
//! | `reduce`, `scan` | reductions, prefix sums |
//! | `search`, `compare` | searches; comparisons, and whether something is sorted or a heap |
//! | `select`, `partition` | filters, runs of equal elements, partitions |
//! | `permute` | reversals, rotations, shifts |
//! | `sort`, `radix`, `radix_key`, `nth`, `merge`, `set` | sorts, selections, merges, operations on sorted sequences |
//!
//! They are made of few steps: `fold` (all elements to one value), `first` (the first index at which
//! something holds), `emit` (outputs of unknown size), `merge_path` (where a part of a merge
//! begins), `collect` (new buffers). `chunks` says how many elements a work-item has, and `operand`
//! where the elements are. `groups` has other versions of some for GPUs, and says where they run.

pub(crate) mod chunks;
mod collect;
mod compare;
mod emit;
mod first;
mod fold;
mod groups;
mod merge;
mod merge_path;
mod nth;
mod operand;
mod partition;
mod permute;
mod radix;
mod radix_key;
mod reduce;
mod scan;
mod search;
mod select;
mod set;
mod sort;
mod transform;

pub use compare::{
    equal, is_heap, is_heap_until, is_sorted, is_sorted_until, lexicographical_compare, mismatch,
};
pub use merge::{inplace_merge, merge};
pub use nth::{nth_element, partial_sort, partial_sort_copy};
pub use operand::Function;

pub use crate::data::operand::{Input, Output};
pub use partition::{is_partitioned, partition, partition_copy, stable_partition};
pub use permute::{reverse, reverse_copy, rotate, rotate_copy, shift_left, shift_right};
pub use radix::{radix_sort, radix_sort_pairs};
pub use radix_key::RadixKey;
pub use reduce::{
    count, count_if, max_element, min_element, minmax_element, reduce, transform_reduce,
    transform_reduce_zip,
};
pub use scan::{
    adjacent_difference, exclusive_scan, inclusive_scan, inclusive_scan_from,
    transform_exclusive_scan, transform_inclusive_scan, transform_inclusive_scan_from,
};
pub use search::{
    adjacent_find, all_of, any_of, find, find_end, find_first_of, find_if, find_if_not, none_of,
    search, search_n,
};
pub use select::{copy_if, remove, remove_copy, remove_copy_if, remove_if, unique, unique_copy};
pub use set::{includes, set_difference, set_intersection, set_symmetric_difference, set_union};
pub use sort::{sort, sort_pairs, stable_sort};
pub use transform::{
    copy, fill, for_each, generate, replace, replace_copy, replace_copy_if, replace_if,
    swap_ranges, transform, transform_zip,
};
