//! Directives for data on every device: regions that are left in every way, functions and threads that are
//! given parts of what a region keeps, and copies between the host and the device.

#![allow(
    clippy::needless_range_loop,
    clippy::manual_memcpy,
    clippy::ptr_arg,
    reason = "loops over indices and kinds of arrays are what is tested"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use schism::directives::{acc, with_queue};
use schism::prelude::*;
use schism::{DeviceKind, algorithms};
use schism_tests::devices::{self, with_copies};

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

/// Runs a test on every device, with a queue whose launches it can ask for.
fn on_every_device(test: impl Fn(&Queue)) {
    for device in with_copies() {
        println!("on {device}");
        let queue = Queue::on(&device).expect("a device that is listed");
        with_queue(&queue, || test(&queue));
    }
}

/// Whether a device copies slices of the host's.
fn copies(queue: &Queue) -> bool {
    devices::copies(queue.device())
}

/// Bytes that are copied to the device and from it, in all.
fn bytes(queue: &Queue, run: impl FnOnce()) -> (usize, usize) {
    let ((), reports) = queue.report(|queue| with_queue(queue, run));
    let sum = |of: fn(&schism::LaunchReport) -> u64| reports.iter().map(of).sum::<u64>() as usize;
    (sum(|report| report.bytes_to), sum(|report| report.bytes_from))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    Value,
    Return,
    QuestionMark,
    Break,
    Continue,
    Panic,
}

const WAYS: [Leave; 6] =
    [Leave::Value, Leave::Return, Leave::QuestionMark, Leave::Break, Leave::Continue, Leave::Panic];

#[acc]
fn jacobi(a: &mut [u64], new: &mut Vec<u64>, steps: usize, leave: Leave) -> Option<u64> {
    let n = a.len();
    let mut rounds = 0;
    'outer: loop {
        rounds += 1;
        if rounds == 3 {
            return Some(3);
        }
        #[acc(data, copy(a), create(new))]
        {
            for step in 0.. {
                #[acc(parallel, loop)]
                for i in 1..n - 1 {
                    new[i] = a[i - 1] / 2 + a[i + 1] / 2 + step;
                }
                #[acc(parallel, loop, present(a, new))]
                for i in 1..n - 1 {
                    a[i] = new[i];
                }
                if step as usize + 1 < steps {
                    continue;
                }
                match leave {
                    Leave::Value => break,
                    Leave::Return => return Some(1),
                    Leave::QuestionMark => None?,
                    Leave::Break => break 'outer,
                    Leave::Continue => continue 'outer,
                    Leave::Panic => panic!("as was to be"),
                }
            }
        }
        break;
    }
    Some(rounds)
}

fn plain_jacobi(a: &mut [u64], new: &mut [u64], steps: usize) {
    for step in 0..steps as u64 {
        for i in 1..a.len() - 1 {
            new[i] = a[i - 1] / 2 + a[i + 1] / 2 + step;
        }
        for i in 1..a.len() - 1 {
            a[i] = new[i];
        }
    }
}

/// There is one copy to the device and one back, for any number of steps.
#[test]
fn a_region_is_left_in_any_way() {
    on_every_device(|queue| {
        let is_copied = copies(queue);
        for leave in WAYS {
            for (n, steps) in [(3, 1), (50, 2), (1001, 7)] {
                let start: Vec<u64> = (0..n).map(|i| (i * i * 7919) % 1_000_003).collect();
                let (mut a, mut new) = (start.clone(), vec![5; n as usize]);
                let (mut b, mut new_b) = (start, vec![5; n as usize]);
                let copied = bytes(queue, || {
                    let result =
                        catch_unwind(AssertUnwindSafe(|| jacobi(&mut a, &mut new, steps, leave)));
                    match leave {
                        Leave::Panic => {
                            let payload = result.expect_err("a panic");
                            assert_eq!(payload.downcast_ref(), Some(&"as was to be"));
                        }
                        Leave::Return => assert_eq!(result.expect("no panic"), Some(1)),
                        Leave::QuestionMark => assert_eq!(result.expect("no panic"), None),
                        Leave::Continue => assert_eq!(result.expect("no panic"), Some(3)),
                        _ => assert_eq!(result.expect("no panic"), Some(1)),
                    }
                });
                let rounds = if leave == Leave::Continue { 2 } else { 1 };
                for _ in 0..rounds {
                    plain_jacobi(&mut b, &mut new_b, steps);
                }
                assert!(a == b && new == new_b, "{leave:?}");
                let once = if is_copied { rounds * 2 * n as usize * size_of::<u64>() } else { 0 };
                assert_eq!(copied, (once, once), "{leave:?}");
            }
        }
    });
}

#[acc]
fn add_to_all(numbers: &mut [u32], by: u32) {
    #[acc(parallel, loop)]
    for own in numbers.iter_mut() {
        *own += by;
    }
}

#[acc]
fn sum_of(numbers: &[u32]) -> u32 {
    let mut sum = 0;
    #[acc(parallel, loop, reduction(+: sum), present(numbers))]
    for own in numbers.iter() {
        sum += own;
    }
    sum
}

#[acc]
fn in_functions(numbers: &mut [u32], table: &[u32]) -> (u32, u32) {
    #[acc(data, copy(numbers), copyin(table))]
    {
        add_to_all(numbers, 1);
        let middle = numbers.len() / 2;
        let (left, right) = numbers.split_at_mut(middle);
        add_to_all(left, 10);
        add_to_all(right, 20);
        #[acc(data, copy(numbers))]
        {
            add_to_all(&mut numbers[1..], 100);
        }
        (sum_of(numbers), sum_of(&table[2..]))
    }
}

/// They find the copy by the addresses of what they are given.
#[test]
fn functions_use_what_a_region_keeps() {
    on_every_device(|queue| {
        for n in [4_usize, 1000] {
            let (mut numbers, table) = (vec![1_u32; n], vec![3; n]);
            let mut sums = (0, 0);
            let copied = bytes(queue, || sums = in_functions(&mut numbers, &table));
            let expected: Vec<u32> = (0..n)
                .map(|i| 2 + if i < n / 2 { 10 } else { 20 } + if i == 0 { 0 } else { 100 })
                .collect();
            assert_eq!(numbers, expected);
            assert_eq!(sums, (expected.iter().sum(), 3 * (n as u32 - 2)));
            // The values of reductions are few.
            let few = 4 * 8192;
            let size = if copies(queue) { 4 * n } else { 0 };
            assert!((2 * size..=2 * size + 4 * few).contains(&copied.0), "{copied:?}");
            assert!((size..=size + 4 * few).contains(&copied.1), "{copied:?}");
        }
    });
}

#[acc]
fn halves(numbers: &mut [u32], queues: [&Queue; 2]) {
    #[acc(data, copy(numbers))]
    {
        let (left, right) = numbers.split_at_mut(333);
        thread::scope(|scope| {
            scope.spawn(|| with_queue(queues[0], || (0..50).for_each(|i| add_to_all(left, i))));
            scope.spawn(|| {
                with_queue(queues[1], || {
                    for i in 0..50 {
                        add_to_all(right, 2 * i);
                        #[acc(update, self(right[..10]), if_present)]
                        right[0] += 1;
                        #[acc(update, device(right[..1]), if_present)]
                        {}
                    }
                });
            });
        });
        add_to_all(numbers, 1);
    }
}

/// On the device of the region, and on any other.
#[test]
fn threads_use_parts_of_what_a_region_keeps() {
    on_every_device(|queue| {
        for other in with_copies() {
            let second = Queue::on(&other).expect("a device that is listed");
            for queues in [[queue, queue], [queue, &second], [&second, queue]] {
                let mut numbers: Vec<u32> = (0..1000).collect();
                halves(&mut numbers, queues);
                for (i, own) in numbers.iter().enumerate() {
                    let more = if i < 333 { 49 * 25 } else { 49 * 50 };
                    let more = more + if i == 333 { 50 } else { 0 };
                    assert_eq!(*own, i as u32 + more + 1);
                }
            }
        }
    });
}

#[acc]
fn elsewhere(numbers: &mut [u32], other: &Queue) -> (u32, usize) {
    let mut result = (0, 0);
    #[acc(data, copy(numbers))]
    {
        add_to_all(numbers, 1);
        with_queue(other, || {
            add_to_all(numbers, 2);
            #[acc(data, copy(numbers))]
            {
                add_to_all(numbers, 4);
                result.1 = usize::from(acc::is_present(numbers).expect("a device"));
            }
            other
                .resident(&mut *numbers, |view| Ok(other.for_each(view, |own| *own += 8)?))
                .expect("it fits");
            other
                .scope(|scope| {
                    let mut lent = scope.lend(&mut *numbers);
                    scope.for_each(&mut lent, |own| *own += 16)?;
                    Ok(())
                })
                .expect("it fits");
        });
        add_to_all(numbers, 32);
        with_queue(other, || {
            algorithms::sort(other, numbers, u32::cmp).expect("it fits");
            result.0 = algorithms::reduce(other, &*numbers, 0, |a, b| a + b).expect("it fits");
        });
    }
    result
}

/// A launch, a region or an algorithm on another device than the region's.
#[test]
fn other_devices_use_the_values_that_count() {
    on_every_device(|_| {
        for other in with_copies() {
            let other = Queue::on(&other).expect("a device that is listed");
            let mut numbers: Vec<u32> = (0..777).rev().collect();
            let (sum, is_present) = elsewhere(&mut numbers, &other);
            assert!(numbers.iter().copied().eq(63..777 + 63));
            assert_eq!((sum, is_present), (numbers.iter().sum(), 1));
        }
    });
}

#[acc]
fn updates(numbers: &mut [u32], is_large: bool) -> Vec<u32> {
    let mut seen = Vec::new();
    #[acc(data, copy(numbers))]
    {
        for step in 0..4 {
            add_to_all(numbers, 1);
            #[acc(update, self(numbers[3..5]), if(is_large))]
            seen.extend_from_slice(&numbers[2..5]);
            numbers[7] = 100 * step;
            #[acc(update, device(numbers[7..8]))]
            {}
        }
        #[acc(update, host(numbers), wait(1), async(2))]
        let last = numbers[7];
        seen.push(last);
        numbers.fill(9);
        #[acc(update, device(numbers))]
        {}
        add_to_all(&mut numbers[..2], 1);
    }
    seen
}

#[test]
fn updates_copy_between_the_host_and_the_device() {
    on_every_device(|queue| {
        for is_large in [true, false] {
            let mut numbers = vec![5; 10];
            let seen = updates(&mut numbers, is_large);
            // The host has what it had before the region, or else what the device has.
            let old = if copies(queue) { 5 } else { 0 };
            for step in 0..4 {
                let new = 6 + step as u32;
                let (first, others) = match (old, is_large) {
                    (5, true) => (5, new),
                    (5, false) => (5, 5),
                    _ => (new, new),
                };
                assert_eq!(seen[3 * step..3 * step + 3], [first, others, others]);
            }
            assert_eq!(seen[12], 300);
            assert_eq!(numbers, [10, 10, 9, 9, 9, 9, 9, 9, 9, 9]);
        }
    });
}

#[acc]
fn update_alone(numbers: &mut [u32], others: &mut [u32], if_present: bool) {
    #[acc(data, copy(numbers))]
    {
        add_to_all(numbers, 1);
        if if_present {
            #[acc(update, self(others), device(others), if_present)]
            {}
        } else {
            #[acc(update, self(others))]
            {}
        }
    }
}

#[test]
fn what_is_not_present_is_an_error_that_says_what_is() {
    on_every_device(|queue| {
        // What is nearest is kept: it ends where the other one begins.
        let mut both = [1; 16];
        let (numbers, others) = both.split_at_mut(8);
        update_alone(numbers, others, true);
        let begin = numbers.as_ptr().addr();
        let failed = catch_unwind(AssertUnwindSafe(|| update_alone(numbers, others, false)));
        let absent = catch_unwind(AssertUnwindSafe(|| sum_of(others)));
        if copies(queue) {
            let text = *failed.expect_err("no copy").downcast::<String>().expect("a text");
            assert!(text.contains("are not on device"), "{text}");
            assert!(text.contains(&format!("{begin:#x}..")), "{text}");
            let text = *absent.expect_err("no copy").downcast::<String>().expect("a text");
            assert!(text.contains("are not on device"), "{text}");
        } else {
            failed.expect("memory is shared");
            assert_eq!(absent.expect("memory is shared"), 8);
        }
        assert_eq!(numbers, [3; 8]);
    });
}

#[acc]
fn of_a_part(numbers: &mut [u32], is_all: bool) {
    #[acc(data, copy(numbers[10..20]))]
    {
        add_to_all(&mut numbers[10..20], 1);
        add_to_all(&mut numbers[12..15], 1);
        add_to_all(&mut numbers[..10], 5);
        if is_all {
            add_to_all(numbers, 1);
        }
    }
}

#[test]
fn a_part_of_an_array_is_kept() {
    on_every_device(|queue| {
        let mut numbers = vec![0; 30];
        let copied = bytes(queue, || of_a_part(&mut numbers, false));
        let expected: Vec<u32> = (0..30)
            .map(|i| match i {
                0..10 => 5,
                12..15 => 2,
                10..20 => 1,
                _ => 0,
            })
            .collect();
        assert_eq!(numbers, expected);
        assert_eq!(copied.0, if copies(queue) { 4 * (10 + 10) } else { 0 });
        let all = catch_unwind(AssertUnwindSafe(|| of_a_part(&mut numbers, true)));
        if copies(queue) {
            let text = *all.expect_err("a part").downcast::<String>().expect("a text");
            assert!(text.contains("keep all of the slice, or use the parts"), "{text}");
            assert_eq!(numbers[10], 2);
        } else {
            all.expect("memory is shared");
        }
    });
}

struct Grid {
    cells: Vec<f64>,
    next: Vec<f64>,
    factor: f64,
}

#[acc]
impl Grid {
    fn run(&mut self, steps: usize) -> f64 {
        #[acc(data, copy(self.cells), create(self.next))]
        for _ in 0..steps {
            #[acc(parallel, loop, present(self.cells, self.next))]
            for i in 1..self.cells.len() - 1 {
                self.next[i] = self.factor * (self.cells[i - 1] + self.cells[i + 1]);
            }
            #[acc(parallel, loop)]
            for (own, next) in self.cells.iter_mut().zip(&self.next) {
                *own = *next;
            }
        }
        self.cells[1]
    }
}

#[test]
fn fields_are_arrays_of_regions() {
    on_every_device(|queue| {
        let cells: Vec<f64> = (0..100).map(f64::from).collect();
        let mut grid = Grid { next: vec![1.0; 100], cells: cells.clone(), factor: 0.5 };
        let mut last = 0.0;
        let copied = bytes(queue, || last = grid.run(5));
        let (mut expected, mut next) = (cells, vec![1.0; 100]);
        for _ in 0..5 {
            for i in 1..99 {
                next[i] = 0.5 * (expected[i - 1] + expected[i + 1]);
            }
            expected.clone_from(&next);
        }
        assert_eq!((last, &grid.cells), (expected[1], &expected));
        let once = if copies(queue) { 2 * 8 * 100 } else { 0 };
        assert_eq!(copied, (once, once));
    });
}

#[acc]
fn entered(a: &mut Vec<u32>, b: &[u32], leave: bool) -> Option<u32> {
    #[acc(enter_data, copyin(a), copyin(b), async(1))]
    {}
    add_to_all(a, 1);
    #[acc(parallel, loop, present(a, b))]
    for i in 0..b.len() {
        a[i] += b[i];
    }
    if leave {
        return None;
    }
    #[acc(exit_data, copyout(a), delete(b), wait(1))]
    {}
    a[0] += 1;
    add_to_all(a, 1);
    Some(a[0])
}

#[acc]
fn declared(a: &mut [u32]) -> u32 {
    #[acc(declare, copy(a))]
    {}
    add_to_all(a, 1);
    add_to_all(a, 1);
    sum_of(a)
}

#[test]
fn data_is_entered_and_left_by_statements() {
    on_every_device(|queue| {
        let size = if copies(queue) { 4 * 50 } else { 0 };
        let (mut a, b) = (vec![1; 50], vec![10; 50]);
        let copied = bytes(queue, || assert_eq!(entered(&mut a, &b, true), None));
        assert_eq!((&a, copied), (&vec![12; 50], (2 * size, size)));
        let copied = bytes(queue, || assert_eq!(entered(&mut a, &b, false), Some(25)));
        // The last launch is outside.
        assert_eq!(copied, (3 * size, 2 * size));
        assert_eq!((a[0], &a[1..]), (25, &[24; 49][..]));
        assert_eq!(declared(&mut a), 24 * 50 + 1 + 100);
    });
}

#[acc]
fn conditional(a: &mut [u32], is_kept: bool, is_on_device: bool) -> u32 {
    let mut sum = 0;
    #[acc(data, copy(a), if(is_kept))]
    {
        add_to_all(a, 1);
        #[acc(parallel, loop, if(is_on_device), reduction(+: sum))]
        for i in 0..a.len() {
            a[i] *= 2;
            sum += a[i];
        }
        #[acc(kernels, if(!is_on_device))]
        {
            for own in a.iter_mut() {
                *own += 1;
            }
        }
        add_to_all(a, 1);
    }
    sum
}

/// Inside of a region, the host fetches the values and the device gets them back.
#[test]
fn conditions_hold_inside_of_regions() {
    on_every_device(|queue| {
        let size = if copies(queue) { 4 * 1000 } else { 0 };
        for (is_kept, is_on_device) in [(true, true), (true, false), (false, true), (false, false)]
        {
            let mut a = vec![3; 1000];
            let mut sum = 0;
            let copied = bytes(queue, || sum = conditional(&mut a, is_kept, is_on_device));
            assert_eq!((sum, &a), (8000, &vec![10; 1000]), "{is_kept} {is_on_device}");
            if !is_kept {
                assert!(copied.1 >= 2 * size);
            }
        }
    });
}

#[acc]
fn addresses(a: &mut [u32], is_used: bool) -> (usize, usize) {
    let host = a.as_ptr().addr();
    #[acc(data, copy(a))]
    {
        add_to_all(a, 1);
        let found = acc::device_ptr(&mut a[3..]).expect("it is there");
        let back = acc::host_ptr(found).map_or(host + 12, |own| own.addr());
        assert_eq!(back, host + 12);
        #[acc(host_data, use_device(a), if(is_used))]
        {
            (host, a.addr())
        }
    }
}

/// What a foreign library would be given.
#[test]
fn the_host_has_addresses_of_the_device() {
    on_every_device(|queue| {
        let mut a = vec![1; 100];
        let (host, device) = addresses(&mut a, true);
        assert_eq!(host != device, copies(queue));
        let (host, device) = addresses(&mut a, false);
        assert_eq!(host, device);
        assert_eq!(a, [3; 100]);
    });
}

#[acc]
fn in_order(events: &mut Vec<u32>, a: &mut [u32]) {
    let mut next = |n: u32| {
        events.push(n);
        n
    };
    #[acc(parallel, loop, async(next(1)), wait(next(2), next(3)))]
    for own in a.iter_mut() {
        *own += 1;
    }
    #[acc(wait(next(4)), async(next(5)))]
    {}
    #[acc(update, self(a), if_present, async(next(6)))]
    {}
}

#[test]
fn queues_are_numbers_and_everything_is_waited_for() {
    on_every_device(|_| {
        let (mut events, mut a) = (Vec::new(), [1; 5]);
        in_order(&mut events, &mut a);
        assert_eq!((&events[..], a), (&[1, 2, 3, 4, 5, 6][..], [2; 5]));
        acc::wait(77);
        acc::wait_all();
        assert!(acc::async_test(1) && acc::async_test_all());
    });
}

fn enter(numbers: &mut Vec<u32>) -> acc::Entered<'_, u32> {
    let mut on_device = acc::copyin(numbers).expect("it fits");
    add_to_all(&mut on_device, 1);
    on_device
}

/// Handles are values that functions return, and that may be forgotten.
#[test]
fn vectors_are_entered_by_functions() {
    on_every_device(|queue| {
        let mut numbers = vec![1; 100];
        let copied = bytes(queue, || {
            let mut on_device = enter(&mut numbers);
            assert_eq!(acc::is_present(&on_device[3..]).ok(), Some(true));
            add_to_all(&mut on_device[50..], 1);
            acc::update_self(&mut on_device[..1]).expect("it is there");
            assert_eq!(on_device[0], 2);
            on_device[0] = 7;
            acc::update_device(&mut on_device[..1]).expect("it is there");
            add_to_all(&mut on_device, 1);
        });
        let size = if copies(queue) { 4 } else { 0 };
        assert_eq!(copied, (101 * size, 101 * size));
        assert_eq!((numbers[0], &numbers[1..50], &numbers[50..]), (8, &[3; 49][..], &[4; 50][..]));
        acc::create(&mut numbers).expect("it fits").copyout().expect("nothing is copied");
        assert_eq!(numbers[0], 8);
        let mut on_device = enter(&mut numbers);
        add_to_all(&mut on_device, 1);
        on_device.delete();
        assert_eq!(numbers[0], if copies(queue) { 8 } else { 10 });

        let mut lost = vec![1; 1000];
        let mut first = enter(&mut lost);
        let begin = first.as_mut_ptr();
        std::mem::forget(first);
        assert!(lost.is_empty());
        // Nothing else ever has its memory.
        for _ in 0..100 {
            let mut others = vec![5; 1000];
            assert_ne!(others.as_mut_ptr(), begin);
            add_to_all(&mut others, 1);
            assert_eq!(others, [6; 1000]);
        }
        assert_eq!(acc::is_present(&[1, 2, 3]).ok(), Some(!copies(queue)));
    });
}

#[test]
fn devices_have_numbers() {
    #[acc]
    fn number(n: usize) {
        #[acc(init, device_num(n))]
        {}
        #[acc(set, device_num(n))]
        {}
    }
    assert!(acc::device_count() >= 1);
    acc::init().expect("the default device");
    number(acc::device_count());
    assert_eq!(acc::get_device().expect("a device"), Some(0));
    acc::shutdown();
    assert!(!acc::on_device());
    let mut on_device = [false; 10];
    let queue = Queue::new().expect("the default device");
    queue.for_each(&mut on_device, |own| *own = acc::on_device()).expect("a launch");
    assert_eq!(on_device, [queue.device().kind() != DeviceKind::Native; 10]);
}

/// The buffer's values count for the elements as long as they are mapped.
#[test]
fn memory_of_the_device_is_mapped() {
    on_every_device(|queue| {
        if !copies(queue) {
            return;
        }
        let mut numbers = vec![1_u32; 64];
        let buffer = Buffer::filled(queue, 64, 10).expect("it fits");
        let all: *mut [u32] = &raw mut numbers[..];
        // SAFETY: the vector lives as long, and what borrows it is to use the buffer.
        let mapped = unsafe { acc::map_data(all, buffer) }.expect("it is as long");
        assert_eq!(mapped.len(), 64);
        add_to_all(&mut numbers, 1);
        acc::update_self(&mut numbers[..2]).expect("it is there");
        mapped.unmap();
        add_to_all(&mut numbers, 1);
        assert_eq!((&numbers[..2], &numbers[2..]), (&[12; 2][..], &[2; 62][..]));
    });
}

#[acc]
fn kinds_of_arrays(
    vector: &mut Vec<u32>,
    boxed: &mut Box<[u32]>,
    mut buffer: Buffer<u32>,
    mut view: ViewMut<'_, u32>,
    reads: (View<'_, u32>, &Buffer<u32>),
) -> (Buffer<u32>, [u32; 9]) {
    let (read_view, read_buffer) = reads;
    let mut array = [1; 9];
    #[acc(data, copy(vector, boxed, array, buffer, view), copyin(read_view, read_buffer))]
    for _ in 0..3 {
        #[acc(parallel, loop, present(vector, boxed, buffer, view, read_view, read_buffer))]
        for i in 0..9 {
            vector[i] += read_view[i];
            boxed[i] += vector[i];
            array[i] += boxed[i];
            buffer[i] += array[i];
            view[i] += buffer[i] + read_buffer[i];
        }
    }
    (buffer, array)
}

#[test]
fn every_kind_of_array_is_kept() {
    on_every_device(|queue| {
        let (mut vector, mut boxed) = (vec![1; 9], vec![2; 9].into_boxed_slice());
        let (mut slice, reads) = ([3; 9], [4; 9]);
        let buffer = |value| Buffer::filled(queue, 9, value).expect("it fits");
        let (mut viewed, read, read_buffer) = (buffer(3), buffer(4), buffer(5));
        for is_host in [true, false] {
            let view = if is_host { ViewMut::from(&mut slice[..]) } else { viewed.view_mut() };
            let read_view = if is_host { View::from(&reads[..]) } else { read.view() };
            let all = buffer(6);
            let reads = (read_view, &read_buffer);
            let (all, array) = kinds_of_arrays(&mut vector, &mut boxed, all, view, reads);
            let (mut a, mut b, mut c, mut d, mut e) = (1, 2, 1, 6, 3);
            for _ in 0..if is_host { 3 } else { 6 } {
                a += 4;
                b += a;
                c += b;
                d += c;
                e += d + 5;
            }
            if is_host {
                assert_eq!((array, all.to_vec(), slice), ([c; 9], vec![d; 9], [e; 9]));
            }
            assert_eq!((&vector[..], &boxed[..]), (&[a; 9][..], &[b; 9][..]));
        }
        let (mut b, mut c, mut d, mut e) = (2 + 5 + 9 + 13, 1, 6, 3);
        for a in [17, 21, 25] {
            b += a;
            c += b;
            d += c;
            e += d + 5;
        }
        assert_eq!(viewed.to_vec(), [e; 9]);
    });
}

#[acc]
fn entered_twice(a: &mut [u32], is_final: bool) {
    #[acc(enter_data, copyin(a))]
    {}
    add_to_all(a, 1);
    if is_final {
        #[acc(exit_data, copyout(a), finalize)]
        {}
    } else {
        #[acc(exit_data, copyout(a))]
        {}
    }
}

#[acc]
fn counted(a: &mut [u32], is_structured: bool, is_final: bool) -> (bool, u32) {
    let is_present = |a: &[u32]| acc::is_present(a).expect("a device");
    if is_structured {
        #[acc(data, copy(a))]
        {
            entered_twice(a, is_final);
            let is_there = is_present(a);
            #[acc(update, self(a[..1]), if_present)]
            let first = a[0];
            (is_there, first)
        }
    } else {
        #[acc(enter_data, copyin(a))]
        {}
        for _ in 0..if is_final { 1 } else { 3 } {
            entered_twice(a, is_final);
        }
        let is_there = is_present(a);
        #[acc(update, self(a[..1]), if_present)]
        let first = a[0];
        #[acc(exit_data, copyout(a))]
        {}
        (is_there, first)
    }
}

/// What was entered several times is left as often, or by `finalize`; but not before its region ends.
#[test]
fn what_is_present_is_counted() {
    on_every_device(|queue| {
        for (is_structured, is_final) in
            [(true, true), (true, false), (false, true), (false, false)]
        {
            let mut a = vec![5; 100];
            let mut found = (false, 0);
            let copied = bytes(queue, || found = counted(&mut a, is_structured, is_final));
            let is_there = is_structured || !is_final || !copies(queue);
            let sum = if is_structured || is_final { 6 } else { 8 };
            assert_eq!((found, &a), ((is_there, sum), &vec![sum; 100]));
            let size = if copies(queue) { 400 } else { 0 };
            let updated = if is_there && copies(queue) { 4 } else { 0 };
            assert_eq!(copied, (size, size + updated), "{is_structured} {is_final}");
            assert_eq!(acc::is_present(&a).ok(), Some(!copies(queue)));
        }
    });
}

#[acc]
fn histogram(text: &[u8], counts: &mut [u32], rounds: usize) -> u32 {
    let mut most = 0;
    #[acc(data, copy(counts), copyin(text))]
    for _ in 0..rounds {
        #[acc(parallel, loop, present(text, counts))]
        for i in 0..text.len() {
            #[acc(atomic)]
            counts[text[i] as usize] += 1;
        }
        #[acc(parallel, loop, reduction(max: most))]
        for own in counts.iter() {
            most = most.max(*own);
        }
    }
    most
}

/// Atomic statements and reductions use what a region keeps.
#[test]
fn atomic_statements_change_what_a_region_keeps() {
    on_every_device(|queue| {
        let text: Vec<u8> = (0..5000_u32).map(|i| (i * i % 251) as u8).collect();
        let (mut counts, mut expected) = (vec![0; 256], vec![0; 256]);
        text.iter().for_each(|byte| expected[usize::from(*byte)] += 3);
        let copied = bytes(queue, || {
            let most = histogram(&text, &mut counts, 3);
            assert_eq!(Some(&most), expected.iter().max());
        });
        assert_eq!(counts, expected);
        // The values of reductions are few.
        let few = 3 * 4 * 8192;
        let sent = if copies(queue) { 5000 + 4 * 256 } else { 0 };
        assert!((sent..=sent + few).contains(&copied.0), "{copied:?}");
    });
}
