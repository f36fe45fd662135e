//! Small programs of the kinds that people show rayon with: simulations, searches, sorts by hand,
//! matrices, and several ways to collect. An ordinary program; what it prints is the same by any
//! number of threads.

use std::collections::{BTreeMap, BTreeSet, LinkedList, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn hash<T: std::fmt::Debug>(value: &T) -> u64 {
    let text = format!("{value:?}");
    text.bytes()
        .fold(1469, |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(1_099_511_628_211))
}

mod nbody {
    use super::{Random, hash};
    use rayon::prelude::*;

    #[derive(Clone, Debug)]
    struct Body {
        place: [f64; 3],
        speed: [f64; 3],
        mass: f64,
    }

    fn pull(on: &Body, all: &[Body]) -> [f64; 3] {
        let mut sum = [0.0; 3];
        for other in all {
            let way: [f64; 3] = std::array::from_fn(|i| other.place[i] - on.place[i]);
            let square = way.iter().map(|x| x * x).sum::<f64>() + 0.01;
            let strength = other.mass / (square * square.sqrt());
            for i in 0..3 {
                sum[i] += way[i] * strength;
            }
        }
        sum
    }

    fn moved(body: &Body, pull: [f64; 3]) -> Body {
        let mut next = body.clone();
        for i in 0..3 {
            next.speed[i] += pull[i] * 0.01;
            next.place[i] += next.speed[i] * 0.01;
        }
        next
    }

    pub fn run() {
        let mut random = Random(42);
        let mut body = || Body {
            place: std::array::from_fn(|_| random.unit() - 0.5),
            speed: [0.0; 3],
            mass: 0.5 + random.unit(),
        };
        let mut bodies: Vec<Body> = (0..300).map(|_| body()).collect();
        let mut pairs = bodies.clone();
        for _ in 0..5 {
            bodies = bodies.par_iter().map(|body| moved(body, pull(body, &bodies))).collect();
            // The same by forces first.
            let forces: Vec<[f64; 3]> = pairs.par_iter().map(|body| pull(body, &pairs)).collect();
            pairs.par_iter_mut().zip(&forces).for_each(|(body, force)| *body = moved(body, *force));
        }
        println!("nbody: {:x} {:x}", hash(&bodies), hash(&pairs));
    }
}

mod sorts {
    use super::{Random, hash};

    fn merge(left: &[u32], right: &[u32], to: &mut [u32]) {
        if left.len() + right.len() < 500 {
            let (mut i, mut j) = (0, 0);
            for slot in to {
                let takes_left = j == right.len() || (i < left.len() && left[i] <= right[j]);
                *slot = if takes_left { left[i] } else { right[j] };
                if takes_left { i += 1 } else { j += 1 }
            }
            return;
        }
        let (i, j) = if left.len() >= right.len() {
            let i = left.len() / 2;
            (i, right.partition_point(|x| *x < left[i]))
        } else {
            let j = right.len() / 2;
            (left.partition_point(|x| *x <= right[j]), j)
        };
        let (low, high) = to.split_at_mut(i + j);
        rayon::join(
            || merge(&left[..i], &right[..j], low),
            || merge(&left[i..], &right[j..], high),
        );
    }

    fn merge_sort(data: &mut [u32], spare: &mut [u32]) {
        if data.len() <= 64 {
            data.sort_unstable();
            return;
        }
        let middle = data.len() / 2;
        let (left, right) = data.split_at_mut(middle);
        let (left_spare, right_spare) = spare.split_at_mut(middle);
        rayon::join(|| merge_sort(left, left_spare), || merge_sort(right, right_spare));
        merge(left, right, spare);
        data.copy_from_slice(spare);
    }

    fn quick_sort(data: &mut [u32]) {
        if data.len() <= 16 {
            data.sort_unstable();
            return;
        }
        let last = data.len() - 1;
        data.swap(last / 2, last);
        let mut place = 0;
        for i in 0..last {
            if data[i] < data[last] {
                data.swap(i, place);
                place += 1;
            }
        }
        data.swap(place, last);
        let (low, high) = data.split_at_mut(place);
        rayon::join(|| quick_sort(low), || quick_sort(&mut high[1..]));
    }

    pub fn run() {
        let mut random = Random(7);
        let numbers: Vec<u32> = (0..50_000).map(|_| random.next() as u32).collect();
        let (mut merged, mut quick) = (numbers.clone(), numbers.clone());
        let mut spare = vec![0; numbers.len()];
        merge_sort(&mut merged, &mut spare);
        quick_sort(&mut quick);
        println!("sorts: {} {:x}", merged == quick, hash(&merged));
    }
}

mod matmul {
    use super::{Random, hash};
    use rayon::prelude::*;

    const N: usize = 128;

    /// A quarter of a matrix at a time.
    fn by_quarters(a: &[f32], b: &[f32], at: [usize; 3], n: usize) -> Vec<f32> {
        let [row, column, inner] = at;
        if n <= 16 {
            let cell = |i: usize, j: usize| {
                (0..n).map(|k| a[(row + i) * N + inner + k] * b[(inner + k) * N + column + j]).sum()
            };
            return (0..n * n).map(|place| cell(place / n, place % n)).collect();
        }
        let half = n / 2;
        let quarter = |i: usize, j: usize| {
            let at = |k: usize| [row + i * half, column + j * half, inner + k * half];
            let (left, right) =
                rayon::join(|| by_quarters(a, b, at(0), half), || by_quarters(a, b, at(1), half));
            left.iter().zip(&right).map(|(x, y)| x + y).collect::<Vec<f32>>()
        };
        let (top, bottom) = rayon::join(
            || rayon::join(|| quarter(0, 0), || quarter(0, 1)),
            || rayon::join(|| quarter(1, 0), || quarter(1, 1)),
        );
        let row = |i: usize| {
            let (left, right) = if i < half { &top } else { &bottom };
            let cells = (i % half) * half..(i % half + 1) * half;
            [&left[cells.clone()], &right[cells]].concat()
        };
        (0..n).flat_map(row).collect()
    }

    pub fn run() {
        let mut random = Random(99);
        let mut matrix = || (0..N * N).map(|_| (random.next() % 8) as f32).collect::<Vec<f32>>();
        let (a, b) = (matrix(), matrix());
        let mut rows = vec![0.0_f32; N * N];
        rows.par_chunks_mut(N).zip(a.par_chunks(N)).for_each(|(row, of_a)| {
            for (x, of_b) in of_a.iter().zip(b.chunks(N)) {
                row.iter_mut().zip(of_b).for_each(|(cell, y)| *cell += x * y);
            }
        });
        println!("matmul: {} {:x}", by_quarters(&a, &b, [0; 3], N) == rows, hash(&rows));
    }
}

mod life {
    use super::Random;
    use rayon::prelude::*;

    const WIDTH: usize = 150;
    const HEIGHT: usize = 90;

    fn next(cells: &[bool], place: usize) -> bool {
        let (x, y) = (place % WIDTH, place / WIDTH);
        let mut alive = 0;
        for dy in [HEIGHT - 1, 0, 1] {
            for dx in [WIDTH - 1, 0, 1] {
                let there = (y + dy) % HEIGHT * WIDTH + (x + dx) % WIDTH;
                alive += usize::from((dx, dy) != (0, 0) && cells[there]);
            }
        }
        alive == 3 || (alive == 2 && cells[place])
    }

    pub fn run() {
        let mut random = Random(3);
        let mut cells: Vec<bool> = (0..WIDTH * HEIGHT).map(|_| random.next() % 3 == 0).collect();
        let mut bridged = cells.clone();
        for _ in 0..20 {
            cells = (0..cells.len()).into_par_iter().map(|place| next(&cells, place)).collect();
            let mut after: Vec<(usize, bool)> = (0..bridged.len())
                .par_bridge()
                .map(|place| (place, next(&bridged, place)))
                .collect();
            after.par_sort_unstable();
            bridged = after.into_iter().map(|(_, cell)| cell).collect();
        }
        let alive = cells.par_iter().filter(|cell| **cell).count();
        println!("life: {alive} {}", cells == bridged);
    }
}

mod searches {
    use super::Random;
    use super::{AtomicU64, Relaxed};
    use rayon::prelude::*;

    fn queens(row: usize, taken: [u32; 3], n: usize) -> u64 {
        if row == n {
            return 1;
        }
        let free = (0..n).filter(|column| {
            let places = [*column, row + column, row + n - column];
            (0..3).all(|i| taken[i] & (1 << places[i]) == 0)
        });
        let tries: Vec<usize> = free.collect();
        let deeper = |column: &usize| {
            let places = [*column, row + column, row + n - column];
            queens(row + 1, std::array::from_fn(|i| taken[i] | 1 << places[i]), n)
        };
        if row < 3 { tries.par_iter().map(deeper).sum() } else { tries.iter().map(deeper).sum() }
    }

    struct Tour<'a> {
        distances: &'a [Vec<u64>],
        best: AtomicU64,
    }

    impl Tour<'_> {
        fn visit(&self, at: usize, seen: u32, length: u64) {
            if length >= self.best.load(Relaxed) {
                return;
            }
            let left: Vec<usize> =
                (0..self.distances.len()).filter(|city| seen & (1 << city) == 0).collect();
            if left.is_empty() {
                self.best.fetch_min(length + self.distances[at][0], Relaxed);
                return;
            }
            rayon::scope(|scope| {
                for city in left {
                    let go = move || {
                        self.visit(city, seen | 1 << city, length + self.distances[at][city]);
                    };
                    if seen.count_ones() < 3 { scope.spawn(move |_| go()) } else { go() }
                }
            });
        }
    }

    pub fn run() {
        println!("queens: {:?}", [6, 7, 8].map(|n| queens(0, [0; 3], n)));
        let mut random = Random(5);
        let distances: Vec<Vec<u64>> =
            (0..9).map(|_| (0..9).map(|_| 1 + random.next() % 100).collect()).collect();
        let tour = Tour { distances: &distances, best: AtomicU64::new(u64::MAX) };
        tour.visit(0, 1, 0);
        println!("tour: {}", tour.best.into_inner());
    }
}

mod sieve {
    use rayon::prelude::*;

    const CHUNK: usize = 10_000;

    pub fn run() {
        let limit = 300_000;
        let mut is_prime = vec![true; limit];
        is_prime[..2].fill(false);
        let mut small = 2;
        while small * small < 1000 {
            if is_prime[small] {
                let multiples = is_prime[small * small..].iter_mut().step_by(small);
                multiples.for_each(|prime| *prime = false);
            }
            small += 1;
        }
        let known: Vec<usize> = (2..1000).filter(|i| is_prime[*i]).collect();
        is_prime.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, flags)| {
            let begin = chunk * CHUNK;
            for &prime in known.iter().take_while(|prime| *prime * *prime < begin + CHUNK) {
                let first = begin.div_ceil(prime).max(prime) * prime;
                let mut multiple = first;
                while multiple < begin + flags.len() {
                    flags[multiple - begin] = false;
                    multiple += prime;
                }
            }
        });
        let last = is_prime.par_iter().position_last(|prime| *prime);
        println!("sieve: {} {}", is_prime.par_iter().filter(|p| **p).count(), last.is_some());
    }
}

fn fibonacci(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = rayon::join(|| fibonacci(n - 1), || fibonacci(n - 2));
    a + b
}

/// Tasks that do next to nothing.
fn joins(data: &mut [u32]) {
    if data.len() > 1 {
        let middle = data.len() / 2;
        let (left, right) = data.split_at_mut(middle);
        rayon::join(|| joins(left), || joins(right));
    } else {
        data.iter_mut().for_each(|x| *x += 1);
    }
}

fn noop() {
    let calls = AtomicUsize::new(0);
    for _ in 0..10 {
        rayon::scope(|scope| {
            for _ in 0..50 {
                scope.spawn(|_| {
                    calls.fetch_add(1, Relaxed);
                });
            }
        });
        (0..50).into_par_iter().for_each(|_| {
            calls.fetch_add(1, Relaxed);
        });
    }
    println!("noop: {}", calls.into_inner());
}

fn strings() {
    let mut text = String::new();
    let mut random = Random(17);
    for _ in 0..20_000 {
        let c = ["the ", "Of", "\n", "à", "--", " ", "rust", "7"][random.next() as usize % 8];
        text.push_str(c);
    }
    println!(
        "strings: {} {} {} {:?}",
        text.par_split(' ').count(),
        text.par_lines().map(|line| line.chars().count()).sum::<usize>(),
        text.par_split_whitespace().filter(|word| word.len() > 4).count(),
        text.par_split(char::is_uppercase).map(str::len).max(),
    );
}

fn collections() {
    let n = 20_000_u32;
    let evens = || (0..n).into_par_iter().filter(|i| i % 2 == 0);
    let in_order: Vec<u32> = evens().collect();
    let lists: LinkedList<Vec<u32>> = evens()
        .fold(Vec::new, |mut part, i| {
            part.push(i);
            part
        })
        .map(|part| LinkedList::from([part]))
        .reduce(LinkedList::new, |mut left, mut right| {
            left.append(&mut right);
            left
        });
    let joined: Vec<u32> = lists.into_iter().flatten().collect();
    let queue: VecDeque<u32> = evens().collect();
    let map: BTreeMap<u32, u32> = evens().map(|i| (i % 100, 1)).collect();
    let set: BTreeSet<u32> = evens().map(|i| i / 3).collect();
    let text: String = evens().map(|i| char::from(b'a' + (i % 26) as u8)).collect();
    let mut into = Vec::new();
    (0..n).into_par_iter().map(|i| i * 2).collect_into_vec(&mut into);
    let (small, large): (Vec<u32>, Vec<u32>) = (0..n).into_par_iter().partition(|i| *i < n / 3);
    println!(
        "collections: {} {} {} {} {:x} {} {:?}",
        in_order == joined,
        queue.iter().eq(&in_order),
        map.len(),
        set.len(),
        hash(&text),
        into.iter().step_by(2).count(),
        (small.len(), large.len()),
    );
}

fn main() {
    nbody::run();
    sorts::run();
    matmul::run();
    life::run();
    searches::run();
    sieve::run();
    println!("fibonacci: {}", fibonacci(20));
    let mut counters = vec![0_u32; 3000];
    joins(&mut counters);
    println!("joins: {}", counters.par_iter().all(|x| *x == 1));
    noop();
    strings();
    collections();
}
