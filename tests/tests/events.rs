//! Events that own what their work uses, on every device: waited for, polled in executors, dropped, several at
//! once, with kernels and closures that panic between them.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::process::Command;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use schism::prelude::*;
use schism::{AnyEvent, BufferError, Device, Error, OwnedEvent, wait_all, wait_any};

/// Runs a test on every device.
fn on_every_device(test: impl Fn(&Device)) {
    for device in schism_tests::devices::with_copies() {
        println!("on {device}");
        test(&device);
    }
}

fn queue(device: &Device) -> Queue {
    Queue::on(device).expect("a device that is listed")
}

fn numbers(queue: &Queue, len: usize, value: u32) -> Buffer<u32> {
    Buffer::filled(queue, len, value).expect("memory")
}

/// Adds to all numbers.
fn add(queue: &Queue, numbers: Buffer<u32>, more: u32) -> OwnedEvent<Buffer<u32>> {
    let event = queue.submit(numbers, move |scope, numbers| {
        scope.for_each(numbers, move |x| *x += more)?;
        Ok(())
    });
    event.expect("it is submitted")
}

/// Ends the process if it does not end in time.
struct Watchdog(mpsc::Sender<()>);

impl Watchdog {
    fn new(seconds: u64) -> Self {
        let (end, has_ended) = mpsc::channel();
        thread::spawn(move || {
            let limit = Duration::from_secs(seconds);
            if has_ended.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("a deadlock: the test has not ended after {seconds} s");
                std::process::abort();
            }
        });
        Self(end)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // The thread may have ended.
        let _ = self.0.send(());
    }
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

#[test]
fn what_is_owned_comes_back() {
    on_every_device(|device| {
        let queue = queue(device);
        let event = add(&queue, numbers(&queue, 1000, 1), 2);
        assert_eq!(event.wait().expect("a launch").to_vec(), [3; 1000]);

        // Several launches over several buffers, one of which others have, too, and a vector.
        let shared = Arc::new(numbers(&queue, 100, 5));
        let owned = (Arc::clone(&shared), numbers(&queue, 100, 0), vec![7_u32; 100]);
        let event = queue.submit(owned, |scope, (shared, sums, vector)| {
            let shared = shared.view();
            let mut sums = scope.lend(sums);
            scope.for_each((0.., &mut sums), move |(i, sum)| *sum += shared[i])?;
            scope.for_each(&mut sums, |sum| *sum *= 10)?;
            scope.for_each((&mut sums, &*vector), |(sum, more)| *sum += more)?;
            Ok(())
        });
        let also = queue.submit(Arc::clone(&shared), |scope, shared| {
            scope.for_each(shared.chunks(10), |chunk| assert!(chunk[0] == 5))?;
            Ok(())
        });
        let (_, sums, vector) = event.expect("submitted").wait().expect("launches");
        assert_eq!((sums.to_vec(), vector), (vec![57; 100], vec![7; 100]));
        assert_eq!(also.expect("submitted").wait().expect("a launch").len(), 100);
        assert_eq!(Arc::strong_count(&shared), 1, "nothing keeps what was given back");

        // Nothing at all.
        let nothing = queue.submit("what is owned".to_owned(), |_, _| Ok(())).expect("submitted");
        assert!(nothing.is_done());
        assert_eq!(nothing.wait().expect("no launch fails"), "what is owned");
    });
}

#[test]
fn errors_arrive_and_buffers_are_kept() {
    on_every_device(|device| {
        let queue = queue(device);
        let event = queue.submit(numbers(&queue, 64, 1), |scope, numbers| {
            let mut numbers = scope.lend(numbers);
            scope.for_each((0.., &mut numbers), |(i, x)| {
                assert!(i != 17 || *x == 0, "as it was told")
            })?;
            scope.for_each(&mut numbers, |x| *x = 9)?;
            Ok(())
        });
        let event = event.expect("submitted");
        for _ in 0..2 {
            let Err(Error::Launch(LaunchError::Panicked(panic))) = event.result() else {
                panic!("a kernel panics")
            };
            assert_eq!(panic.message, "as it was told");
        }
        assert!(event.is_done());
        let numbers_again = event.reclaim().expect("it has ended");
        assert_eq!(numbers_again.to_vec(), [9; 64], "later launches run nevertheless");
        let event = queue.submit(numbers_again, |scope, numbers| {
            scope.for_each(numbers, |x| assert!(*x != 9))?;
            Ok(())
        });
        let error = event.expect("submitted").wait().expect_err("a kernel panics");
        assert!(matches!(error, Error::Launch(LaunchError::Panicked(_))));

        // Of the closure that submits: what it has submitted ends before.
        let count = Arc::new(());
        let failing = queue.submit(Arc::clone(&count), |scope, _| {
            scope.parallel_for(1000, |_| {})?;
            Err(BufferError::Length { buffer: 1, host: 2 }.into())
        });
        assert!(matches!(failing, Err(Error::Buffer(BufferError::Length { .. }))));
        let panicking = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let owned = Arc::clone(&count);
            queue.submit(owned, |scope, _| {
                scope.parallel_for(1000, |_| {})?;
                panic!("in the closure")
            })
        }));
        assert!(panicking.is_err());
        assert_eq!(Arc::strong_count(&count), 1);
    });
}

/// Counts its drops.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn wait_until(is_so: impl Fn() -> bool, what: &str) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn dropped_events_work_on_and_free_what_they_own() {
    on_every_device(|device| {
        let queue = queue(device);
        let (drops, sum) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        struct Tells(Option<Buffer<u32>>, Arc<Mutex<Vec<u32>>>);
        impl Drop for Tells {
            fn drop(&mut self) {
                let numbers = self.0.take().expect("it is there").to_vec();
                self.1.lock().expect("no panic").push(numbers.iter().sum());
            }
        }
        for _ in 0..20 {
            let tells = Tells(Some(numbers(&queue, 1000, 1)), Arc::clone(&sum));
            let event = queue.submit((tells, Dropped(Arc::clone(&drops))), |scope, (tells, _)| {
                let mut numbers = scope.lend(tells.0.as_mut().expect("it is there"));
                for _ in 0..4 {
                    scope.for_each(&mut numbers, |x| *x += 1)?;
                }
                Ok(())
            });
            drop(event.expect("submitted"));
        }
        wait_until(|| drops.load(SeqCst) == 20, "what dropped events own is dropped");
        assert_eq!(*sum.lock().expect("no panic"), [5000; 20], "after the launches");
    });
}

#[test]
fn timeouts_and_cancellation() {
    let device = Device::by_name("native").expect("every machine has it");
    let (queue, other) = (queue(&device), queue(&device));
    // The host's own code can wait for the test.
    let event = queue.submit((), move |scope, ()| {
        scope.parallel_for(1, gated(0))?;
        Ok(())
    });
    let event = event.expect("submitted");
    assert!(!event.wait_timeout(Duration::from_millis(20)));
    assert!(!event.wait_timeout(Duration::ZERO) && !event.is_done());
    let event = event.reclaim().expect_err("it has not ended");
    let later = |value: u32| {
        other.after([&event]).submit(vec![value], |scope, values| {
            scope.for_each(&mut **values, |x| *x += 1)?;
            Ok(())
        })
    };
    let (first, second) = (later(1).expect("submitted"), later(2).expect("submitted"));
    assert!(!first.is_done() && !first.wait_timeout(Duration::from_millis(5)));
    assert_eq!(first.cancel().expect("nothing of it was submitted"), [1]);
    open(0);
    assert_eq!(wait_any([&second]), Some(0));
    assert!(event.wait_timeout(Duration::from_secs(60)));
    let second = second.cancel().expect_err("it was submitted");
    assert_eq!(second.wait().expect("a launch"), [3]);
    event.wait().expect("a launch");
}

/// The end of work is told of although a thread was asked to wait for later work of the same queue first.
#[test]
fn events_are_told_of_in_order() {
    let _watchdog = Watchdog::new(60);
    let queue = queue(&Device::by_name("native").expect("every machine has it"));
    let submit = |gate| {
        let event = queue.submit((), move |scope, ()| {
            scope.parallel_for(1, gated(gate))?;
            Ok(())
        });
        event.expect("submitted")
    };
    let (first, second) = (submit(1), submit(2));
    drop(second);
    let task = thread::spawn(move || pollster::block_on(first));
    thread::sleep(Duration::from_millis(20));
    open(1);
    task.join().expect("no panic").expect("a launch");
    open(2);
}

/// What has ended keeps nothing: neither the queue, nor what comes after it.
#[test]
fn nothing_is_kept_after_the_end() {
    on_every_device(|device| {
        let queue = queue(device);
        let kept: Vec<_> = (0..10).map(|i| add(&queue, numbers(&queue, 10, 0), i)).collect();
        wait_until(|| kept.iter().all(OwnedEvent::is_done), "they end");
        let count = Arc::new(());
        for _ in 0..1000 {
            let event = queue.submit(Arc::clone(&count), |scope, _| {
                scope.parallel_for(1, |_| {})?;
                Ok(())
            });
            drop(event.expect("submitted").wait().expect("a launch"));
        }
        assert_eq!(Arc::strong_count(&count), 1);
        for (i, event) in kept.into_iter().enumerate() {
            assert_eq!(event.wait().expect("a launch").to_vec(), [i as u32; 10]);
        }
    });
}

/// What kernels of the host's wait for.
static GATES: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

fn open(gate: usize) {
    GATES[gate].store(true, SeqCst);
}

/// A kernel of the host's that waits.
fn gated(gate: usize) -> impl Fn(Item<1>) + Send + Sync + Capture {
    move |_| {
        if !schism::is_device() {
            while !GATES[gate].load(SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

#[test]
fn several_events() {
    on_every_device(|device| {
        let queues: Vec<_> = (0..3).map(|_| queue(device)).collect();
        let mut events: Vec<_> =
            (0..9).map(|i| add(&queues[i % 3], numbers(&queues[i % 3], 10, 0), i as u32)).collect();
        let mut seen = Vec::new();
        while let Some(first) = wait_any(&events) {
            seen.push(events.remove(first).wait().expect("a launch").to_vec()[9]);
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8]);

        let events = (0..9).map(|i| add(&queues[i % 3], numbers(&queues[i % 3], 10, 0), i as u32));
        let all = wait_all(events.collect::<Vec<_>>()).expect("launches");
        let firsts: Vec<_> = all.iter().map(|numbers| numbers.to_vec()[0]).collect();
        assert_eq!(firsts, [0, 1, 2, 3, 4, 5, 6, 7, 8]);

        // Chains between queues: each link is after the one before, over a buffer that both read.
        let (from, other) =
            (add(&queues[0], numbers(&queues[0], 10, 0), 1), queues[1].submit((), |_, ()| Ok(())));
        let other = other.expect("submitted");
        let before: [&dyn AnyEvent; 2] = [&from, &other];
        let joined =
            queues[2].after(before).submit(numbers(&queues[2], 10, 5), |scope, numbers| {
                scope.for_each(numbers, |x| *x += 1)?;
                Ok(())
            });
        let mut last = joined.expect("submitted");
        for link in 0..30 {
            let next = queues[link % 3].after(&[&last]).submit(vec![link], |_, links| {
                links.push(0);
                Ok(())
            });
            let next = next.expect("submitted");
            let empty = numbers(&queues[link % 3], 10, 0);
            last = queues[link % 3]
                .after(&[&next])
                .submit(empty, |scope, numbers| {
                    scope.for_each(numbers, |x| *x += 1)?;
                    Ok(())
                })
                .expect("submitted");
            drop(next);
        }
        assert_eq!(last.wait().expect("a launch").to_vec(), [1; 10]);
        assert!(from.is_done() && from.wait().is_ok());

        // Errors of what is submitted later.
        let before = [add(&queues[0], numbers(&queues[0], 10, 0), 1)];
        let panics = queues[1].after(&before).submit((), |_, ()| panic!("in the closure"));
        let error = panics.expect("submitted").wait().expect_err("it panics");
        assert!(error.to_string().contains("in the closure"), "{error}");
        let fails = queues[1]
            .after(&before)
            .submit((), |_, ()| Err(BufferError::Length { buffer: 1, host: 2 }.into()));
        let error = fails.expect("submitted").wait().expect_err("it fails");
        assert!(matches!(error, Error::Buffer(_)));
    });
}

/// How often a task is polled.
struct Polled<F>(F, Arc<AtomicUsize>);

impl<F: Future + Unpin> Future for Polled<F> {
    type Output = F::Output;

    fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.1.fetch_add(1, Relaxed);
        pin!(&mut self.0).poll(context)
    }
}

#[test]
fn futures_in_executors() {
    on_every_device(|device| {
        let queue = queue(device);
        let work = async |start: u32| {
            let mut numbers = numbers(&queue, 1000, start);
            for _ in 0..5 {
                numbers = add(&queue, numbers, 1).await?;
            }
            Ok::<_, Error>(numbers.to_vec()[999])
        };
        assert_eq!(pollster::block_on(work(1)).expect("launches"), 6);
        let one = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        assert_eq!(one.block_on(work(2)).expect("launches"), 7);
        let several = tokio::runtime::Builder::new_multi_thread().worker_threads(3).build();
        several.expect("a runtime").block_on(async {
            let tasks: Vec<_> = (0..20_u32)
                .map(|number| {
                    let queue = queue.clone();
                    tokio::spawn(async move {
                        let numbers = numbers(&queue, 100, number);
                        Ok::<_, Error>(add(&queue, numbers, 1).await?.to_vec()[0])
                    })
                })
                .collect();
            for (number, task) in tasks.into_iter().enumerate() {
                assert_eq!(task.await.expect("no panic").expect("a launch"), number as u32 + 1);
            }
        });

        // No busy loop: a poll when it begins, and one when it is woken.
        let polls = Arc::new(AtomicUsize::new(0));
        let event = queue.submit(numbers(&queue, 1 << 16, 0), |scope, numbers| {
            scope.for_each(numbers, |x| (0..2000).for_each(|i| *x = x.wrapping_mul(31) ^ i))?;
            Ok(())
        });
        let polled = Polled(event.expect("submitted"), Arc::clone(&polls));
        pollster::block_on(polled).expect("a launch");
        assert!((1..=2).contains(&polls.load(Relaxed)), "{polls:?}");

        // The last waker counts, as for all futures; and an error is the output.
        struct Flag(AtomicUsize);
        impl Wake for Flag {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        let flags = [(); 2].map(|()| Arc::new(Flag(AtomicUsize::new(0))));
        let event = queue.submit(numbers(&queue, 1 << 12, 0), |scope, numbers| {
            scope.for_each((0.., numbers), |(i, x)| {
                (0..500).for_each(|i| *x = x.wrapping_mul(31) ^ i);
                assert!(i != 7);
            })?;
            Ok(())
        });
        let mut event = pin!(event.expect("submitted"));
        let mut polled = Poll::Pending;
        for flag in &flags {
            let waker = Waker::from(Arc::clone(flag));
            if polled.is_pending() {
                polled = event.as_mut().poll(&mut Context::from_waker(&waker));
            }
        }
        if polled.is_pending() {
            wait_until(|| flags[1].0.load(SeqCst) == 1, "the task is woken");
            polled = event.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        let Poll::Ready(Err(Error::Launch(LaunchError::Panicked(_)))) = polled else {
            panic!("a kernel panics: {polled:?}")
        };
    });
}

/// The device of the program that [`the_program`] is.
const DEVICE: &str = "SCHISM_TEST_ENDING";

/// No test by itself: it ends while there is work.
#[test]
fn the_program() {
    let Ok(name) = std::env::var(DEVICE) else { return };
    let queue = queue(&Device::by_name(&name).expect("the test chooses one"));
    let mut kept = Vec::new();
    for number in 0..300 {
        let event = queue.submit(numbers(&queue, 1 << 12, 1), |scope, numbers| {
            scope.for_each(numbers, |x| (0..500).for_each(|i| *x = x.wrapping_mul(31) ^ i))?;
            Ok(())
        });
        let mut event = event.expect("submitted");
        if number % 3 == 0 {
            let _ = pin!(&mut event).poll(&mut Context::from_waker(Waker::noop()));
            kept.push(event);
        }
    }
    let last = queue.after(&kept[50..]).submit((), |_, ()| Ok(()));
    std::mem::forget((last.expect("submitted"), kept));
    std::process::exit(4);
}

#[test]
fn processes_end_while_there_is_work() {
    on_every_device(|device| {
        for _ in 0..5 {
            let begin = Instant::now();
            let mut program = Command::new(std::env::current_exe().expect("this program"));
            program.args(["--exact", "the_program", "--nocapture"]).env(DEVICE, device.name());
            let output = program.output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(4), "{device}: {} {said}", output.status);
            assert!(begin.elapsed() < Duration::from_secs(60), "{device}");
        }
    });
}

/// Memory of this process in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line =
        status.lines().find(|line| line.starts_with("VmRSS:")).expect("each process has some");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

/// Of a process that has one test alone.
const ALONE: &str = "SCHISM_TEST_ALONE";

/// 16 threads submit to 4 queues: events are waited for, polled and dropped, dropped in any order, cancelled,
/// and some kernels and closures panic. In a process without other tests, whose memory stays the same.
#[test]
fn many_threads_on_few_queues() {
    const THREADS: u64 = 16;
    if std::env::var_os(ALONE).is_none() {
        let mut program = Command::new(std::env::current_exe().expect("this program"));
        program.args(["--exact", "many_threads_on_few_queues", "--nocapture"]).env(ALONE, "1");
        let output = program.output().expect("it runs");
        let [said, errors] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        println!("{said}");
        assert!(output.status.success() && said.contains("1 passed"), "{said}{errors}");
        return;
    }
    for device in schism_tests::devices::with_copies() {
        let launches: u64 = if schism_tests::lab::full() { 1_000_000 } else { 100_000 };
        let _watchdog = Watchdog::new(300);
        let queues: Vec<_> = (0..4).map(|_| queue(&device)).collect();
        let live = AtomicUsize::new(0);
        let live = Arc::new(live);
        let round = |launches: u64, seed: u64| {
            thread::scope(|scope| {
                for number in 0..THREADS {
                    let (queues, live) = (&queues, &live);
                    scope
                        .spawn(move || one_thread(queues, live, launches / THREADS, seed + number));
                }
            });
            wait_until(|| live.load(SeqCst) == 0, "all that dropped events own is dropped");
        };
        round(launches / 5, 1);
        let (before, begin) = (resident(), Instant::now());
        round(launches, 100);
        let (after, took) = (resident(), begin.elapsed());
        println!(
            "{device}: {launches} launches took {took:?}; {before} KiB before, {after} KiB after"
        );
        assert!(after < before + before / 4 + (16 << 10), "{before} KiB, then {after} KiB");
    }
}

/// Counts what is alive.
struct Live(Arc<AtomicUsize>);

impl Live {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

fn one_thread(queues: &[Queue], live: &Arc<AtomicUsize>, launches: u64, seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    /// A buffer, what its numbers will be, and whether a kernel panics.
    type Owned = (Buffer<u32>, Live);
    let mut kept: Vec<(OwnedEvent<Owned>, u32, bool)> = Vec::new();
    let mut number = 0;
    while number < launches {
        let queue = &queues[random(queues.len() as u64) as usize];
        let (count, panics) = (1 + random(3) as u32, random(50) == 0);
        let buffer = numbers(queue, 16, number as u32);
        let owned = (buffer, Live::new(live));
        let event = if !kept.is_empty() && random(8) == 0 {
            let before = &kept[random(kept.len() as u64) as usize].0;
            queue
                .after([before])
                .submit(owned, move |scope, owned| submit_some(scope, &mut owned.0, count, panics))
        } else {
            queue.submit(owned, move |scope, owned| submit_some(scope, &mut owned.0, count, panics))
        };
        kept.push((event.expect("submitted"), number as u32 + count, panics));
        number += u64::from(count);
        while kept.len() as u64 > random(40) {
            let (event, value, panics) = kept.swap_remove(random(kept.len() as u64) as usize);
            check(event, value, panics, random(8));
        }
    }
    for (event, value, panics) in kept {
        check(event, value, panics, random(8));
    }
}

fn submit_some<'scope>(
    scope: &'scope Scope<'scope, 'static>,
    buffer: &'scope mut Buffer<u32>,
    count: u32,
    panics: bool,
) -> Result<(), Error> {
    let mut buffer = scope.lend(buffer);
    if panics {
        scope.for_each((0.., &mut buffer), |(i, _)| assert!(i != 3, "as it was told"))?;
    }
    for _ in 0..count {
        scope.for_each(&mut buffer, |x| *x += 1)?;
    }
    Ok(())
}

/// Ends an event in one of several ways.
fn check(event: OwnedEvent<(Buffer<u32>, Live)>, value: u32, panics: bool, way: u64) {
    let compare = |result: Result<(Buffer<u32>, Live), Error>| match result {
        Ok((buffer, _)) => {
            assert!(!panics);
            assert_eq!(buffer.to_vec(), [value; 16]);
        }
        Err(Error::Launch(LaunchError::Panicked(panic))) => {
            assert!(panics && panic.message == "as it was told", "{panic:?}");
        }
        Err(error) => panic!("{error}"),
    };
    match way {
        0 | 1 => drop(event),
        2 => compare(pollster::block_on(event)),
        3 => {
            // A task that ends half-way.
            let mut event = pin!(event);
            if let Poll::Ready(result) =
                event.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                compare(result);
            }
        }
        4 => {
            let _ = event.result();
            let (buffer, _) = event.reclaim().expect("it has ended");
            assert_eq!(buffer.to_vec(), [value; 16]);
        }
        5 => {
            if event.wait_timeout(Duration::from_micros(50)) {
                compare(event.wait());
            }
        }
        6 => match event.cancel() {
            Ok((buffer, _)) => assert!(buffer.to_vec()[0] <= value),
            Err(event) => compare(event.wait()),
        },
        _ => compare(event.wait()),
    }
}
