//! Specialization constants, and the floating-point precision of a launch, on every device.

use schism::prelude::*;
use schism::{DeviceKind, Math};
use schism_tests::constants::{SHARED, own, with_own};

/// Runs a test on every device.
fn on_every_device(test: impl Fn(&Queue)) {
    for device in schism_tests::devices::listed() {
        println!("on {device}");
        test(&Queue::on(&device).expect("a device that is listed"));
    }
}

/// What `f` returns in a kernel, which must be the same in each of many work-items.
fn value<T>(queue: &Queue, f: impl Fn() -> T + Send + Sync + Capture) -> T
where
    T: Element + Default + PartialEq + std::fmt::Debug,
{
    let mut out = Buffer::filled(queue, 1000, T::default()).expect("memory");
    queue.for_each(&mut out, move |out| *out = f()).expect("a launch");
    let out = out.to_vec();
    assert!(out.iter().all(|value| *value == out[0]), "{out:?}");
    out[0]
}

static TILE: SpecConst<u32> = SpecConst::new(16);
static SCALE: SpecConst<f64> = SpecConst::new(0.5);

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

#[test]
fn the_default_and_other_values() {
    on_every_device(|queue| {
        let read = |queue: &Queue| value(queue, || (TILE.get() * 3, SCALE.get()));
        assert_eq!(read(queue), (48, 0.5));
        let tile = queue.with_constant(&TILE, 32);
        assert_eq!(read(&tile), (96, 0.5));
        assert_eq!(read(&tile.with_constant(&SCALE, -1.25)), (96, -1.25));
        assert_eq!(read(&tile.with_constant(&TILE, 1)), (3, 0.5));
        // What was set for one handle is not for the others.
        assert_eq!(read(queue), (48, 0.5));
        for tile in [0, 1, 5, 1 << 30, 5] {
            assert_eq!(read(&queue.with_constant(&TILE, tile)).0, tile.wrapping_mul(3));
        }
        // The default, said aloud.
        assert_eq!(read(&queue.with_constant(&TILE, 16).with_constant(&SCALE, 0.5)), (48, 0.5));
        assert_eq!(TILE.get(), 16);
    });
}

#[test]
fn every_kind_of_value() {
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Filter {
        // With room between the fields.
        on: bool,
        weights: [f32; 3],
        shift: u8,
        name: char,
        wide: i128,
    }
    static FILTER: SpecConst<Filter> = SpecConst::new(Filter {
        on: true,
        weights: [0.25, 0.5, 0.25],
        shift: 3,
        name: 'ß',
        wide: -5,
    });
    static TABLE: SpecConst<[u16; 40]> = SpecConst::new([9; 40]);
    static FLAG: SpecConst<bool> = SpecConst::new(false);
    static LETTER: SpecConst<char> = SpecConst::new('a');
    static NARROW: SpecConst<i8> = SpecConst::new(-1);
    static PAIR: SpecConst<(u8, Option<u32>)> = SpecConst::new((1, None));
    static NOTHING: SpecConst<()> = SpecConst::new(());
    on_every_device(|queue| {
        let filter = |queue: &Queue| value(queue, || FILTER.get());
        assert_eq!(filter(queue), FILTER.get());
        let other =
            Filter { on: false, weights: [1.0, -0.0, f32::INFINITY], name: 'x', ..FILTER.get() };
        assert_eq!(filter(&queue.with_constant(&FILTER, other)), other);
        let sum =
            |queue: &Queue| value(queue, || TABLE.get().iter().map(|x| u32::from(*x)).sum::<u32>());
        assert_eq!(sum(queue), 360);
        let mut table = [0; 40];
        table[39] = 65535;
        assert_eq!(sum(&queue.with_constant(&TABLE, table)), 65535);
        let small = |queue: &Queue| {
            value(queue, || {
                let () = NOTHING.get();
                (FLAG.get(), LETTER.get(), NARROW.get(), PAIR.get())
            })
        };
        assert_eq!(small(queue), (false, 'a', -1, (1, None)));
        let queue = queue
            .with_constant(&FLAG, true)
            .with_constant(&LETTER, '🦀')
            .with_constant(&NARROW, i8::MIN);
        let queue = queue.with_constant(&PAIR, (2, Some(3))).with_constant(&NOTHING, ());
        assert_eq!(small(&queue), (true, '🦀', i8::MIN, (2, Some(3))));
    });
}

#[test]
fn an_index_that_is_not_known() {
    static TABLE: SpecConst<[u32; 8]> = SpecConst::new([1, 2, 3, 4, 5, 6, 7, 8]);
    on_every_device(|queue| {
        for table in [[1, 2, 3, 4, 5, 6, 7, 8], [80, 70, 60, 50, 40, 30, 20, 10]] {
            let mut out = Buffer::filled(queue, 100, 0).expect("memory");
            queue
                .with_constant(&TABLE, table)
                .for_each((0.., &mut out), |(i, out)| *out = TABLE.get()[i % 8])
                .expect("a launch");
            assert!(out.to_vec().iter().enumerate().all(|(i, out)| *out == table[i % 8]));
        }
    });
}

#[test]
fn constants_of_another_crate() {
    on_every_device(|queue| {
        let read = |queue: &Queue| value(queue, || (SHARED.get(), own()));
        assert_eq!(read(queue), (7, 6));
        assert_eq!(read(&queue.with_constant(&SHARED, 8)), (8, 6));
        assert_eq!(read(&with_own(queue, [10, 20, -5])), (7, 25));
        assert_eq!(read(&with_own(&queue.with_constant(&SHARED, 9), [0; 3])), (9, 0));
        assert_eq!((SHARED.get(), own()), (7, 6));
    });
}

#[test]
fn a_constant_that_the_kernel_does_not_read() {
    static UNUSED: SpecConst<u32> = SpecConst::new(1);
    static NEVER: SpecConst<u64> = SpecConst::new(2);
    on_every_device(|queue| {
        let queue = queue.with_constant(&UNUSED, 5).with_constant(&NEVER, 6);
        assert_eq!(value(&queue, || TILE.get()), 16);
        assert_eq!(value(&queue, || UNUSED.get()), 5);
    });
}

#[test]
fn constants_with_names() {
    macro_rules! two {
        ($first:ident $second:ident $new:expr) => {
            static $first: SpecConst<u32> = $new("first", 1);
            static $second: SpecConst<u32> = $new("second", 2);
        };
    }
    two!(A B SpecConst::named);
    on_every_device(|queue| {
        let read = |queue: &Queue| value(queue, || (A.get(), B.get()));
        assert_eq!(read(queue), (1, 2));
        assert_eq!(read(&queue.with_constant(&A, 10)), (10, 2));
        assert_eq!(read(&queue.with_constant(&B, 20)), (1, 20));
        assert_eq!(read(&queue.with_constant(&B, 20).with_constant(&A, 10)), (10, 20));
    });
}

/// One place for two constants: the value could be either's, so the launch is refused.
#[test]
fn constants_that_cannot_be_told_apart() {
    macro_rules! two {
        ($first:ident $second:ident) => {
            static $first: SpecConst<u32> = SpecConst::new(1);
            static $second: SpecConst<u32> = SpecConst::new(2);
        };
    }
    two!(C D);
    on_every_device(|queue| {
        assert_eq!(value(queue, || (C.get(), D.get())), (1, 2));
        let mut out = Buffer::filled(queue, 1, (0, 0)).expect("memory");
        let launched =
            queue.with_constant(&C, 10).for_each(&mut out, |out| *out = (C.get(), D.get()));
        if queue.device().name() == "native" {
            launched.expect("the host knows them by their address");
            assert_eq!(out.to_vec(), [(10, 2)]);
        } else {
            let error = launched.expect_err("they have one place").to_string();
            assert!(error.contains("::C`") && error.contains("SpecConst::named"), "{error}");
        }
    });
}

/// One place, two types: a value of the one is none of the other, whatever its size.
#[test]
fn constants_of_two_types_at_one_place() {
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[repr(u8)]
    enum Mode {
        #[default]
        Slow,
        Fast,
    }
    macro_rules! at_one_place {
        ($letter:ident $number:ident $mode:ident $byte:ident) => {
            static $letter: SpecConst<char> = SpecConst::new('a');
            static $number: SpecConst<u32> = SpecConst::new(2);
            static $mode: SpecConst<Mode> = SpecConst::new(Mode::Slow);
            static $byte: SpecConst<u8> = SpecConst::new(3);
        };
    }
    at_one_place!(LETTER NUMBER MODE BYTE);
    static LETTERS: [char; 2] = ['x', 'y'];
    on_every_device(|queue| {
        // Kernels that read one of the two, and one that reads all.
        let other = queue.with_constant(&NUMBER, u32::MAX).with_constant(&BYTE, 200);
        assert_eq!(value(&other, || u32::from(LETTER.get())), u32::from('a'));
        assert_eq!(value(&other, || LETTERS[LETTER.get() as usize - 97]), 'x');
        assert_eq!(value(&other, || MODE.get()), Mode::Slow);
        let all = |queue: &Queue| {
            value(queue, || (LETTER.get(), NUMBER.get(), MODE.get() == Mode::Fast, BYTE.get()))
        };
        assert_eq!(all(queue), ('a', 2, false, 3));
        assert_eq!(all(&other), ('a', u32::MAX, false, 200));
        let queue = other.with_constant(&LETTER, 'ß').with_constant(&MODE, Mode::Fast);
        assert_eq!(all(&queue), ('ß', u32::MAX, true, 200));
    });
}

/// The same with a name in place of a place.
#[test]
fn constants_of_two_types_with_one_name() {
    static LETTER: SpecConst<char> = SpecConst::named("schism_tests::one name", 'b');
    static SIGNED: SpecConst<i32> = SpecConst::named("schism_tests::one name", -2);
    on_every_device(|queue| {
        let queue = queue.with_constant(&SIGNED, -1);
        assert_eq!(value(&queue, || u32::from(LETTER.get())), u32::from('b'));
        assert_eq!(value(&queue, || (LETTER.get(), SIGNED.get())), ('b', -1));
        let queue = queue.with_constant(&LETTER, 'c');
        assert_eq!(value(&queue, || (LETTER.get(), SIGNED.get())), ('c', -1));
    });
}

/// The container has one of them only, the launch has values of both.
#[test]
fn two_values_for_one_place_and_one_type() {
    macro_rules! two {
        ($first:ident $second:ident) => {
            static $first: SpecConst<i64> = SpecConst::new(1);
            static $second: SpecConst<i64> = SpecConst::new(2);
        };
    }
    two!(READ UNREAD);
    on_every_device(|queue| {
        let mut out = Buffer::filled(queue, 1, 0).expect("memory");
        let queue = queue.with_constant(&UNREAD, 20).with_constant(&READ, 10);
        let launched = queue.for_each(&mut out, |out| *out = READ.get());
        if queue.device().name() == "native" {
            launched.expect("the host knows them by their address");
            assert_eq!(out.to_vec(), [10]);
        } else {
            let error = launched.expect_err("they have one place").to_string();
            assert!(error.contains("::READ`") && error.contains("constants.rs:"), "{error}");
        }
    });
}

#[test]
fn constants_in_an_array() {
    static SIZES: [SpecConst<u32>; 3] =
        [SpecConst::new(1), SpecConst::new(20), SpecConst::new(300)];
    on_every_device(|queue| {
        let each = |queue: &Queue| {
            let mut out = Buffer::filled(queue, 9, 0).expect("memory");
            // The index is the kernel's own.
            let run = queue.for_each((0.., &mut out), |(i, out)| *out = SIZES[i % 3].get());
            run.expect("a launch");
            out.to_vec()[6..].to_vec()
        };
        assert_eq!(each(queue), [1, 20, 300]);
        assert_eq!(each(&queue.with_constant(&SIZES[1], 21)), [1, 21, 300]);
        let all = queue
            .with_constant(&SIZES[0], 7)
            .with_constant(&SIZES[2], 9)
            .with_constant(&SIZES[1], 8);
        assert_eq!(each(&all), [7, 8, 9]);
        assert_eq!(value(&all, || SIZES[2].get()), 9);
        // The defaults, said aloud.
        assert_eq!(
            each(&queue.with_constant(&SIZES[0], 1).with_constant(&SIZES[2], 300)),
            [1, 20, 300]
        );
        assert_eq!(SIZES.each_ref().map(SpecConst::get), [1, 20, 300]);
    });
}

#[test]
fn constants_in_structs_and_tuples() {
    struct Settings {
        scale: f32,
        radius: SpecConst<u8>,
        weights: (SpecConst<[i16; 3]>, u64),
        modes: [[SpecConst<bool>; 2]; 2],
        nothing: SpecConst<()>,
    }
    static SETTINGS: Settings = Settings {
        scale: 0.5,
        radius: SpecConst::new(3),
        weights: (SpecConst::named("schism_tests::weights", [1, -2, 3]), 1 << 40),
        modes: [
            [SpecConst::new(false), SpecConst::new(true)],
            [SpecConst::new(false), SpecConst::new(false)],
        ],
        nothing: SpecConst::new(()),
    };
    on_every_device(|queue| {
        let read = |queue: &Queue| {
            value(queue, || {
                let Settings { scale, radius, weights, modes, nothing } = &SETTINGS;
                let () = nothing.get();
                let bits =
                    modes.iter().flatten().fold(0, |bits, mode| bits * 2 + u32::from(mode.get()));
                (*scale, radius.get(), weights.0.get(), weights.1, bits)
            })
        };
        assert_eq!(read(queue), (0.5, 3, [1, -2, 3], 1 << 40, 0b0100));
        let queue = queue
            .with_constant(&SETTINGS.weights.0, [-1, 0, 9])
            .with_constant(&SETTINGS.modes[1][1], true);
        assert_eq!(read(&queue), (0.5, 3, [-1, 0, 9], 1 << 40, 0b0101));
        let queue = queue.with_constant(&SETTINGS.radius, 255).with_constant(&SETTINGS.nothing, ());
        assert_eq!(read(&queue), (0.5, 255, [-1, 0, 9], 1 << 40, 0b0101));
    });
}

/// Elements that one expression makes have one place.
#[test]
fn constants_of_an_array_that_cannot_be_told_apart() {
    static SAME: [SpecConst<u16>; 2] = [const { SpecConst::new(5) }; 2];
    on_every_device(|queue| {
        assert_eq!(value(queue, || SAME[0].get() + SAME[1].get()), 10);
        let mut out = Buffer::filled(queue, 1, 0).expect("memory");
        let launched = queue
            .with_constant(&SAME[1], 7)
            .for_each(&mut out, |out| *out = SAME[0].get() * 10 + SAME[1].get());
        if queue.device().name() == "native" {
            launched.expect("the host knows them by their address");
            assert_eq!(out.to_vec(), [57]);
        } else {
            let error = launched.expect_err("they have one place").to_string();
            assert!(error.contains("SAME[0]`") && error.contains("SAME[1]`"), "{error}");
        }
    });
}

#[test]
fn constants_and_scopes_and_offsets() {
    static STEP: SpecConst<usize> = SpecConst::new(1);
    on_every_device(|queue| {
        let mut out = Buffer::filled(queue, 10, 0).expect("memory");
        queue
            .with_constant(&STEP, 100)
            .scope(|scope| {
                let mut out = scope.lend(&mut out);
                scope.for_each_in(5..15, &mut out, |item, out| *out = item.x() * STEP.get())?;
                scope.for_each(&mut out, |out| *out += STEP.get())?;
                Ok(())
            })
            .expect("launches");
        assert_eq!(out.to_vec(), (5..15).map(|x| x * 100 + 100).collect::<Vec<_>>());
    });
}

/// A loop with a barrier in each round, as many rounds as a constant says.
#[test]
fn constants_in_work_groups() {
    static ROUNDS: SpecConst<usize> = SpecConst::new(3);
    on_every_device(|queue| {
        let rotated = |queue: &Queue| {
            let mut out = Buffer::filled(queue, 64, 0_usize).expect("memory");
            let to = out.view_mut();
            queue
                .for_each_in(
                    NdRange::new(64, 16).expect("whole groups"),
                    local::<usize>(16),
                    move |item, tile| {
                        let me = item.local_x();
                        tile.set(me, me);
                        for _ in 0..ROUNDS.get() {
                            item.barrier();
                            let next = tile.get((me + 1) % 16);
                            item.barrier();
                            tile.set(me, next);
                        }
                        // SAFETY: each work-item has its own element.
                        unsafe { to.set_unchecked(item.x(), tile.get(me)) };
                    },
                )
                .expect("a launch");
            out.to_vec()
        };
        for rounds in [3, 0, 5] {
            let expected: Vec<usize> = (0..64).map(|i| (i + rounds) % 16).collect();
            assert_eq!(rotated(&queue.with_constant(&ROUNDS, rounds)), expected);
        }
    });
}

/// More values than are kept.
#[test]
fn many_values() {
    static SEED: SpecConst<u32> = SpecConst::new(0);
    on_every_device(|queue| {
        for seed in (0..300).chain([0, 1, 299]) {
            assert_eq!(value(&queue.with_constant(&SEED, seed), || SEED.get() ^ 0x55), seed ^ 0x55);
        }
    });
}

#[test]
fn sums_in_any_order() {
    on_every_device(|queue| {
        let numbers: Vec<f32> = (0..100_003).map(|i| (i % 1000) as f32 * 0.37 + 0.1).collect();
        let input = Buffer::from_slice(queue, &numbers).expect("memory");
        let sum = |queue: &Queue| {
            let mut sum = Buffer::filled(queue, 1, 0.0_f32).expect("memory");
            queue
                .for_each((&mut sum, whole(&input)), |(sum, numbers)| {
                    *sum = numbers.iter().map(|x| x * x).sum();
                })
                .expect("a launch");
            sum.to_vec()[0]
        };
        let host: f32 = numbers.iter().map(|x| x * x).sum();
        let truth: f64 = numbers.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        assert_eq!(sum(queue).to_bits(), host.to_bits());
        assert_eq!(sum(&queue.with_math(Math::Precise)).to_bits(), host.to_bits());
        for math in [Math::Relaxed, Math::RelaxedFinite] {
            let relaxed = sum(&queue.with_math(math));
            assert!((f64::from(relaxed) / truth - 1.0).abs() < 1e-3, "{relaxed} for {truth}");
            // The order did change, or on the host did not; what a GPU makes of its freedom is its
            // own.
            let same = relaxed.to_bits() == host.to_bits();
            match queue.device().kind() {
                DeviceKind::Native => assert!(same),
                DeviceKind::Cpu => assert!(!same),
                _ => {}
            }
        }
        assert_eq!(sum(queue).to_bits(), host.to_bits());
    });
}

/// A NaN is some number to a kernel whose mathematics is `finite`: its
/// branches go one way or the other, and its indices are checked.
#[test]
fn a_nan_in_finite_mathematics_is_no_undefined_behaviour() {
    static SCALE: SpecConst<f32> = SpecConst::new(1.0);
    on_every_device(|queue| {
        let table = Buffer::from_slice(queue, &[5_u32, 6, 7]).expect("memory");
        let view = table.view();
        for scale in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0] {
            let queue = &queue.with_constant(&SCALE, scale).with_math(Math::RelaxedFinite);
            let numbers =
                Buffer::from_slice(queue, &[0.5_f32, f32::NAN, -1.0, 0.0]).expect("memory");
            let mut branches = Buffer::filled(queue, 4, 0_u32).expect("memory");
            queue
                .for_each((&mut branches, &numbers), |(branch, x)| {
                    let product = x * SCALE.get();
                    if product > 0.25 {
                        *branch = 1;
                    } else if product - product == 0.0 {
                        *branch = 2;
                    } else {
                        *branch = 3;
                    }
                })
                .expect("a launch");
            let branches = branches.to_vec();
            assert!(
                branches.iter().all(|branch| (1..=3).contains(branch)),
                "{scale}: {branches:?}"
            );
            let mut found = Buffer::filled(queue, 4, 0_u32).expect("memory");
            let status = queue.for_each((&mut found, &numbers), move |(found, x)| {
                let index = (x * SCALE.get() * 4.0).abs() as usize;
                *found = view[index];
            });
            // A panic or an element, and none if another one has panicked.
            let found = found.to_vec();
            let fits = |one: &u32| (5..8).contains(one) || status.is_err() && *one == 0;
            assert!(found.iter().all(fits), "{scale}: {found:?}, {status:?}");
        }
    });
}
