//! Ranges at which arithmetic goes wrong: there is a launch or a typed error, and never an
//! overflow, in release builds either.

use proptest::prelude::*;
use schism::{LaunchError, prelude::*};

/// The numbers at which arithmetic goes wrong.
fn extremes() -> impl Strategy<Value = usize> {
    static EDGES: [usize; 13] = [
        0,
        1,
        2,
        3,
        64,
        1 << 31,
        1 << 32,
        isize::MAX as usize - 1,
        isize::MAX as usize,
        1 << 63,
        (1 << 63) + 1,
        usize::MAX - 1,
        usize::MAX,
    ];
    prop_oneof![prop::sample::select(&EDGES[..]), any::<usize>(), 0_usize..100]
}

/// Either there is such a range, and all that it says of itself fits, or a typed error.
fn check_groups<const D: usize, O: schism::range::Origin>(
    range: Result<NdRange<D, O>, LaunchError>,
    global: [usize; D],
    local: [usize; D],
) {
    match range {
        Ok(range) => {
            assert_eq!((range.global(), range.local()), (global, local));
            let groups = range.groups();
            for dimension in 0..D {
                assert_eq!(groups[dimension] * local[dimension], global[dimension]);
            }
        }
        Err(LaunchError::EmptyGroup { .. }) => assert!(local.contains(&0)),
        Err(LaunchError::UnevenGroups { rounded, dividing, .. }) => {
            for dimension in 0..D {
                let (global, local) = (global[dimension], local[dimension]);
                assert!(dividing[dimension] <= local && global % dividing[dimension] == 0);
                assert_eq!(global.checked_next_multiple_of(local), Some(rounded[dimension]));
            }
        }
        Err(LaunchError::RangeOverflow { .. }) => {}
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_range_of_groups_that_cannot_be_rounded_up_is_an_error() {
    let range = NdRange::new([0, usize::MAX], [1, 2]);
    assert!(matches!(range, Err(LaunchError::RangeOverflow { .. })), "{range:?}");
    check_groups(NdRange::new([0, usize::MAX], [1, 5]), [0, usize::MAX], [1, 5]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ranges_of_groups_never_overflow(
        global in prop::array::uniform3(extremes()),
        local in prop::array::uniform3(extremes()),
    ) {
        let [_, y, x] = global;
        let [_, v, u] = local;
        check_groups(NdRange::new(global, local), global, local);
        check_groups(NdRange::new([y, x], [v, u]), [y, x], [v, u]);
        check_groups(NdRange::new(x, u), [x], [u]);
    }

    /// Ranges from one extreme to another: they run nothing, run, or are refused. What runs is
    /// small or ends at once.
    #[test]
    fn launches_over_extreme_ranges_never_overflow(
        first in prop::array::uniform3(extremes()),
        last in prop::array::uniform3(extremes()),
    ) {
        static QUEUE: std::sync::LazyLock<Queue> = std::sync::LazyLock::new(|| {
            Queue::on(&Device::by_name("native").expect("always there")).expect("threads")
        });
        let refused = |result: Result<(), LaunchError>| match result {
            Ok(()) | Err(LaunchError::Panicked(_)) => {}
            Err(LaunchError::RangeOverflow { .. }) => {}
            Err(other) => panic!("{other}"),
        };
        let kernel = |id: &[usize]| assert!(id.iter().all(|id| *id < 64), "far away");
        refused(QUEUE.parallel_for(first, move |item| kernel(&item.id())));
        let [a, b, c] = first;
        let [d, e, f] = last;
        refused(QUEUE.parallel_for([a..d, b..e, c..f], move |item| kernel(&item.id())));
        refused(QUEUE.parallel_for([b..=e, c..=f], move |item| kernel(&item.id())));
        refused(QUEUE.parallel_for(c..=f, move |item| kernel(&item.id())));
    }
}

/// A kernel of which nothing is left takes no time, however large the range is: sizes of intervals
/// grow without end.
#[test]
fn an_empty_kernel_over_the_largest_range() {
    let queue = Queue::on(&Device::by_name("native").expect("always there")).expect("threads");
    let loops_are_gone = !cfg!(debug_assertions);
    if loops_are_gone {
        queue.parallel_for(isize::MAX as usize, |_| ()).expect("nothing to do");
        queue.parallel_for([3, isize::MAX as usize / 3], |_| ()).expect("nothing to do");
    }
}
