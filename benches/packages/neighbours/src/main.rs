//! Indexes vectors as a search for similar texts does, and looks some of them up.
//!
//! Threads insert points in any order, so two indexes are never the same: what is printed is how
//! many lookups find the nearest point, in tenths.

#![forbid(unsafe_code)]

use instant_distance::{Builder, Search};
use workload::Random;

const POINTS: usize = 6_000;
const DIMENSIONS: usize = 32;
const LOOKUPS: usize = 200;

#[derive(Clone)]
struct Point([f32; DIMENSIONS]);

impl instant_distance::Point for Point {
    fn distance(&self, other: &Self) -> f32 {
        self.0.iter().zip(&other.0).map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt()
    }
}

fn main() {
    let mut random = Random::new(9);
    let mut point = |_| Point([(); DIMENSIONS].map(|()| random.normal() as f32));
    let points: Vec<Point> = (0..POINTS).map(&mut point).collect();
    let map = Builder::default().seed(10).build(points.clone(), (0..POINTS).collect());
    let mut search = Search::default();
    let mut right = 0;
    for wanted in (0..POINTS).step_by(POINTS / LOOKUPS) {
        let found = map.search(&points[wanted], &mut search).next();
        right += usize::from(found.is_some_and(|item| *item.value == wanted));
    }
    println!("{}", right * 10 / LOOKUPS);
}
