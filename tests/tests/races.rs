//! `SCHISM_CHECK_RACES=1`: loops that a program says to be independent, and which of them are.

#![allow(clippy::needless_range_loop, reason = "loops over indices are what is tested")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use schism::directives::acc;

/// Iterations.
const N: usize = 100;

/// Whether iterations of a loop meet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Apart,
    Meet,
}
use Verdict::{Apart, Meet};

/// What loops are given: two arrays to change, a permutation of `0..N`, numbers of which two are the
/// same, and where rows begin.
struct Data {
    a: Vec<i64>,
    b: Vec<i64>,
    order: Vec<usize>,
    twice: Vec<usize>,
    rows: Vec<usize>,
}

macro_rules! loops {
    (
        [$a:ident $b:ident $order:ident $twice:ident $rows:ident]
        $($name:ident $verdict:ident { $($body:tt)* })*
    ) => {
        $(
            #[acc]
            fn $name(data: &mut Data) {
                let Data { a: $a, b: $b, order: $order, twice: $twice, rows: $rows } = data;
                let _ = (&$a, &$b, &$order, &$twice, &$rows);
                $($body)*
            }
        )*
        const LOOPS: &[(&str, Verdict, fn(&mut Data))] =
            &[$((stringify!($name), $verdict, $name)),*];
    };
}

loops! {
    [a b order twice rows]
    permuted Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[order[i]] = i as i64; }
    }
    duplicates Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[twice[i]] = i as i64; }
    }
    other_half Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[i] = a[N + i]; }
    }
    from_before Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 1..N { a[i] = a[i - 1]; }
    }
    neighbour_of_pair Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[2 * i] = a[2 * i + 1]; }
    }
    to_next Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[i + 1] = a[i]; }
    }
    backwards Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[N - 1 - i] = i as i64; }
    }
    halved Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[i / 2] = i as i64; }
    }
    blocks Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N / 4 { for j in 0..4 { a[4 * i + j] += j as i64; } }
    }
    one_sum Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[0] += i as i64; }
    }
    collapsed Apart {
        #[acc(parallel, loop, collapse(2), unsafe(independent))]
        for i in 0..10 { for j in 0..10 { a[i * 10 + j] += 1; } }
    }
    doubled_modulo Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[2 * i % N] = i as i64; }
    }
    transposed Apart {
        #[acc(parallel, loop, collapse(2), unsafe(independent))]
        for i in 0..10 { for j in 0..10 { a[j * 10 + i] = (i * j) as i64; } }
    }
    rows_too_long Meet {
        #[acc(parallel, loop, collapse(2), unsafe(independent))]
        for i in 0..10 { for j in 0..11 { a[i * 10 + j] = 1; } }
    }
    permuted_sums Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[order[i]] += 1; a[order[i]] *= 2; }
    }
    swapped_pairs Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[i ^ 1] = a[i]; }
    }
    every_second Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { if i % 2 == 0 { a[i] = a[i + 1]; } }
    }
    one_writes_what_all_read Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { if i == 50 { a[0] = 1; } else { b[i] = a[0]; } }
    }
    all_read_the_same Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[N + i] = a[0] + a[i] + a[N - 1]; }
    }
    blocks_that_overlap Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N / 4 { for j in 0..5 { a[4 * i + j] = 0; } }
    }
    again_and_again Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[i] = a[i] + 1; let own = &mut a[i]; *own *= 2; }
    }
    the_last_one_elsewhere Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[i] = 0; if i == N - 1 { a[3] = 1; } }
    }
    modulo Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[7 * i % N] = i as i64; }
    }
    stencil_in_place Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 1..N { a[i] = a[i - 1] + a[i + 1]; }
    }
    two_arrays Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[order[i]] = 3; b[order[i]] = a[order[i]]; }
    }
    second_array Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[order[i]] = 3; b[twice[i]] = a[order[i]]; }
    }
    with_a_sum Apart {
        let mut sum = 0;
        #[acc(parallel, loop, reduction(+: sum), unsafe(independent))]
        for i in 0..N { a[order[i]] = 1; sum += a[order[i]]; }
        assert_eq!(sum, N as i64);
    }
    duplicates_with_a_sum Meet {
        let mut sum = 0;
        #[acc(parallel, loop, reduction(+: sum), unsafe(independent))]
        for i in 0..N { a[twice[i]] = 1; sum += a[twice[i]]; }
        b[0] = sum;
    }
    three_steps Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in (0..N).step_by(3) { a[i] = a[i + 1] + a[i + 2]; }
    }
    two_steps Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in (0..N).step_by(2) { a[i + 2] = a[i]; }
    }
    reversed Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in (0..N).rev() { a[i] = a[i + N]; }
    }
    reversed_to_next Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in (0..N).rev() { a[i] = a[i + 1]; }
    }
    inner_while Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { let mut at = i; while at < 4 * N { a[at] += 1; at += N; } }
    }
    mirrored Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[N - 1 - i] = a[i]; }
    }
    flipped Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N as i32 { a[(i ^ 1) as usize + 3] = i64::from(i); }
    }
    transposed_in_place Meet {
        #[acc(parallel, loop, collapse(2), unsafe(independent))]
        for i in 0..10 { for j in 0..10 { a[i * 10 + j] = a[j * 10 + i]; } }
    }
    rows_by_their_begins Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { for k in rows[i]..rows[i + 1] { a[k] = i as i64; } }
    }
    rows_and_one_more Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { for k in rows[i]..rows[i + 1] + 1 { a[k] = i as i64; } }
    }
    element_and_place Apart {
        #[acc(parallel, loop, unsafe(independent))]
        for (i, own) in b.iter_mut().enumerate() { if i < N { *own = a[order[i]]; a[order[i]] = 1; } }
    }
    histogram Meet {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..N { a[i % 8] += 1; }
    }
}

fn data() -> Data {
    let order: Vec<usize> = (0..N).map(|i| (i * 37 + 5) % N).collect();
    let mut twice = order.clone();
    twice[70] = twice[20];
    let mut rows = vec![0];
    (0..N).for_each(|i| rows.push(rows[i] + i % 4));
    Data { a: vec![1; 4 * N], b: vec![2; 4 * N], order, twice, rows }
}

/// The text of a loop's panic.
fn said(run: fn(&mut Data)) -> Option<String> {
    let payload = catch_unwind(AssertUnwindSafe(|| run(&mut data()))).err()?;
    Some(payload.downcast::<String>().map_or_else(|_| "no text".to_owned(), |text| *text))
}

/// Run by the test below, in a process with the variable.
#[test]
#[ignore = "needs SCHISM_CHECK_RACES=1"]
fn checked() {
    for (name, verdict, run) in LOOPS {
        let said = said(*run);
        let found = match &said {
            None => Apart,
            Some(text) => {
                assert!(text.starts_with("a race at element "), "{name}: {text}");
                Meet
            }
        };
        assert!(found == *verdict, "{name}: {said:?}");
    }
    let text = |run| said(run).expect("a race").replace(" [", "[").replace("[ ", "[");
    assert_eq!(
        text(from_before),
        "a race at element 1 of `a`: iteration `i = 1` writes it at `a[i]`, and iteration `i = 2` reads it at `a[i - 1]`; so the loop is not \
         `unsafe(independent)`"
    );
    assert_eq!(
        text(second_array),
        "a race at element 45 of `b`: iteration `i = 20` writes it at `b[twice[i]]`, and iteration `i = 70` writes it at `b[twice[i]]`; so the \
         loop is not `unsafe(independent)`"
    );
    assert_eq!(
        text(transposed_in_place),
        "a race at element 1 of `a`: iteration `i = 0, j = 1` writes it at `a[i * 10 + j]`, and iteration `i = 1, j = 0` reads it at \
         `a[j * 10 + i]`; so the loop is not `unsafe(independent)`"
    );
    assert_eq!(
        text(reversed_to_next),
        "a race at element 99 of `a`: iteration `i = 99` writes it at `a[i]`, and iteration `i = 98` reads it at `a[i + 1]`; so the loop is not \
         `unsafe(independent)`"
    );
}

#[test]
fn loops_that_meet_are_told_from_those_that_do_not() {
    let meeting = LOOPS.iter().filter(|(_, verdict, _)| *verdict == Meet).count();
    assert_eq!((LOOPS.len(), meeting), (40, 20));
    let mut again = Command::new(std::env::current_exe().expect("this program"));
    again.args(["--exact", "checked", "--ignored"]).env("SCHISM_CHECK_RACES", "1");
    let output = again.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Nothing is checked unless that is asked for: loops that meet are let run, in any order, where that
/// does no harm.
#[test]
fn nothing_is_checked_unasked() {
    for (name, verdict, run) in LOOPS {
        if *verdict == Apart {
            assert_eq!(said(*run), None, "{name}");
        }
    }
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}
