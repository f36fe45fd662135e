//! Iterators.

use super::{Case, Input, agrees, case};

pub const CASES: &[Case] = &[
    case("`map`, `filter`, `filter_map`, `sum`, `product`", map_filter),
    case("`zip`, `unzip` into arrays, `enumerate`, `rev`", zips),
    case("`fold`, `try_fold`, `reduce`, `scan`", folds),
    case("`take`, `skip`, `step_by`, `take_while`, `skip_while`, `map_while`", partial),
    case("`chain`, `cycle`, `flat_map`, `flatten`", chains),
    case("`peekable`, `inspect`, `by_ref`, `fuse`", peekable),
    case("`windows`, `chunks`, `chunks_exact`, `rchunks`, `split`", windows),
    case("`iter_mut`, `chunks_mut`, `split_at_mut`", mutable),
    case("`min`, `max`, `min_by`, `max_by_key`, `position`, `any`, `all`, `count`", searches),
    case("`eq`, `cmp`, `lt`, `is_sorted`", comparisons),
    case("`successors`, `from_fn`, `repeat`, `once`, `empty`", sources),
    case("ranges: inclusive, reversed, of chars, `nth`, `step_by`", ranges),
    case("own iterators", own),
    case("iterators behind `dyn`", dynamic),
    case("`array::IntoIter`, `array::from_fn`, `each_ref`", of_arrays),
];

fn numbers(input: &mut Input) -> [u32; 9] {
    std::array::from_fn(|_| input.bits() as u32 % 100)
}

fn map_filter() {
    agrees(|mut input| {
        let n = numbers(&mut input);
        (
            n.iter().map(|x| x * x).filter(|x| x % 3 != 0).sum::<u32>(),
            n.iter().filter_map(|x| x.checked_sub(50)).count(),
            n[..4].iter().map(|x| f64::from(*x)).product::<f64>(),
            n.iter().copied().map(Some).sum::<Option<u32>>(),
        )
    });
}

fn zips() {
    agrees(|mut input| {
        let (a, b) = (numbers(&mut input), numbers(&mut input));
        let dot: u32 = a.iter().zip(b.iter().rev()).map(|(x, y)| x * y).sum();
        let weighted: usize = a.iter().enumerate().map(|(i, x)| i * *x as usize).sum();
        let last = a.iter().zip(&b).zip(0..5).last().map(|((x, y), z)| (*x, *y, z));
        (dot, weighted, last)
    });
}

fn folds() {
    agrees(|mut input| {
        let n = numbers(&mut input);
        let running = n.iter().scan(0, |sum, x| {
            *sum += x;
            (*sum < 300).then_some(*sum)
        });
        (
            n.iter().fold(7_u32, |a, b| a.wrapping_mul(31) ^ b),
            n.iter().try_fold(0_u8, |sum, x| sum.checked_add(*x as u8)),
            n.into_iter().reduce(|a, b| a.max(b)),
            running.last(),
            n.iter().rfold(1_u32, |a, b| a.wrapping_mul(3).wrapping_add(*b)),
        )
    });
}

fn partial() {
    agrees(|mut input| {
        let n = numbers(&mut input);
        let k = 1 + input.below(4);
        (
            n.iter().skip(k).take(3).sum::<u32>(),
            n.iter().step_by(k).sum::<u32>(),
            n.iter().take_while(|x| **x < 70).count(),
            n.iter().skip_while(|x| **x < 70).count(),
            n.iter().map_while(|x| x.checked_sub(10)).sum::<u32>(),
            (0..input.index).rev().step_by(7).skip(1).nth(2),
        )
    });
}

fn chains() {
    agrees(|mut input| {
        let n = numbers(&mut input);
        let m = input.index % 4;
        (
            n.iter().chain(&n[..m]).rev().take(3).sum::<u32>(),
            n.iter().cycle().skip(m).take(25).sum::<u32>(),
            (0..m).flat_map(|i| (0..i).map(move |j| i * 10 + j)).sum::<usize>(),
            [Some(1), None, Some(m)].into_iter().flatten().sum::<usize>(),
            [[1, 2], [3, m]].as_flattened().iter().sum::<usize>(),
        )
    });
}

fn peekable() {
    agrees(|mut input| {
        let n = numbers(&mut input);
        let mut groups = 0;
        let mut iterator = n.iter().peekable();
        while let Some(x) = iterator.next() {
            while iterator.next_if(|y| *y % 2 == x % 2).is_some() {}
            groups += 1 + u32::from(iterator.peek().is_some_and(|y| **y > 50)) * 10;
        }
        let mut seen = 0;
        let mut all = n.iter().inspect(|_| seen += 1).fuse();
        let first: u32 = all.by_ref().take(3).sum();
        let rest: u32 = all.sum();
        (groups, first, rest, seen)
    });
}

fn windows() {
    agrees(|mut input| {
        let n = numbers(&mut input);
        let k = 1 + input.below(5);
        (
            n.windows(2).map(|w| w[0].abs_diff(w[1])).max(),
            n.chunks(k).map(|c| c.iter().sum::<u32>()).fold(0, |a, b| a * 2 + b),
            n.chunks_exact(k).map(|c| c[0]).sum::<u32>(),
            n.chunks_exact(k).remainder().len(),
            n.rchunks(k).next().map(<[u32]>::len),
            n.split(|x| x % 3 == 0).map(<[u32]>::len).max(),
        )
    });
}

fn mutable() {
    agrees(|mut input| {
        let mut n = numbers(&mut input);
        n.iter_mut().rev().zip(0..).for_each(|(x, i)| *x += i);
        for chunk in n.chunks_mut(1 + input.below(4)) {
            chunk.reverse();
        }
        let (a, b) = n.split_at_mut(4);
        a.iter_mut().zip(b).for_each(|(x, y)| std::mem::swap(x, y));
        if let Some(last) = n.last_mut() {
            *last = 1;
        }
        n
    });
}

fn searches() {
    agrees(|mut input| {
        let n = numbers(&mut input);
        let real = n.map(|x| f64::from(x) - 50.0);
        (
            (n.iter().min().copied(), n.iter().max().copied()),
            real.iter().copied().min_by(f64::total_cmp),
            n.iter().max_by_key(|x| *x % 10).copied(),
            n.iter().position(|x| *x > 80),
            n.iter().rposition(|x| *x > 80),
            (
                n.iter().any(|x| *x == 7),
                n.iter().all(|x| *x < 99),
                n.iter().find(|x| **x % 7 == 0).copied(),
            ),
            real.iter().copied().fold(f64::INFINITY, f64::min),
        )
    });
}

fn comparisons() {
    agrees(|mut input| {
        let n = numbers(&mut input);
        let m = n.map(|x| x / 2 * 2);
        (
            n.iter().eq(&m),
            n.iter().cmp(&m) as i8,
            n.iter().lt(m.iter().skip(1)),
            n[..2].is_sorted(),
            n == m,
        )
    });
}

fn sources() {
    agrees(|mut input| {
        let start = input.bits() % 1000;
        let powers = std::iter::successors(Some(start), |x| (*x < 10_000).then_some(x * 3 + 1));
        let mut state = start;
        let made = std::iter::from_fn(|| {
            state = state.wrapping_mul(5) + 3;
            (state % 17 != 0).then_some(state % 100)
        });
        let rest = std::iter::once(4).chain(std::iter::repeat_n(2, 3)).chain(std::iter::empty());
        (powers.count(), made.take(50).sum::<u64>(), rest.product::<u64>())
    });
}

fn ranges() {
    agrees(|mut input| {
        let (a, b) = (input.below(20) as i32 - 10, input.below(20) as i32 - 10);
        (
            (a..=b).map(i64::from).sum::<i64>(),
            (a..b).rev().step_by(3).last(),
            ('a'..='z').nth(input.below(30)),
            (a..=b).contains(&0),
            (250..=255_u8).rev().count() + (0..=u8::MAX).len_hint(),
            (a..b).is_empty(),
        )
    });
}

trait LenHint {
    fn len_hint(&self) -> usize;
}
impl<I: Iterator> LenHint for I {
    fn len_hint(&self) -> usize {
        self.size_hint().0
    }
}

fn own() {
    struct Fibonacci(u64, u64);
    impl Iterator for Fibonacci {
        type Item = u64;
        fn next(&mut self) -> Option<u64> {
            let next = self.0;
            (self.0, self.1) = (self.1, self.0.checked_add(self.1)?);
            Some(next)
        }
    }
    agrees(|mut input| {
        let start = Fibonacci(input.bits() % 9, 1);
        (
            start.skip(3).step_by(2).take(input.index % 12).sum::<u64>(),
            Fibonacci(1, 1).into_iter().take_while(|x| x % 13 != 0).count(),
            Fibonacci(0, 1).count(),
        )
    });
}

fn dynamic() {
    fn total(numbers: &mut dyn Iterator<Item = u32>) -> u32 {
        numbers.fold(0, |a, b| a.wrapping_mul(7) ^ b)
    }
    agrees(|mut input| {
        let n = numbers(&mut input);
        let (mut one, mut other) = (n.into_iter().rev(), (0..7).filter(|x| x % 2 == 0));
        let chosen: &mut dyn Iterator<Item = u32> =
            if input.index % 2 == 0 { &mut one } else { &mut other };
        total(chosen)
    });
}

fn of_arrays() {
    agrees(|mut input| {
        let n = numbers(&mut input);
        let mut iterator = n.into_iter();
        let (first, last) = (iterator.next(), iterator.next_back());
        (first, last, iterator.len(), n.each_ref().map(|x| x % 10), iterator.as_slice()[0])
    });
}
