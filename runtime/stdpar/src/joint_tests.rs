//! Programs whose times are made up, on a device with its own memory.

use super::*;

const fn ms(time: Nanos) -> Nanos {
    time * 1_000_000
}

/// What a program does in one round, one after the other.
#[derive(Clone, Debug)]
struct Part {
    /// What it takes with rayon and as a kernel; what only the host does takes the first.
    times: [Nanos; 2],
    is_pipeline: bool,
    /// The arrays that it uses.
    arrays: Vec<usize>,
}

fn pipeline(times: [Nanos; 2], arrays: &[usize]) -> Part {
    Part { times, is_pipeline: true, arrays: arrays.to_vec() }
}

fn host(time: Nanos, arrays: &[usize]) -> Part {
    Part { times: [time; 2], is_pipeline: false, arrays: arrays.to_vec() }
}

#[derive(Clone, Debug)]
struct Program {
    parts: Vec<Part>,
    /// What each array takes to move.
    moving: Vec<Nanos>,
}

/// A run of a program.
struct Run<'a> {
    program: &'a Program,
    is_on_device: Vec<bool>,
    time: Nanos,
    kernels: usize,
}

impl<'a> Run<'a> {
    fn of(program: &'a Program) -> Self {
        Self { program, is_on_device: vec![false; program.moving.len()], time: 0, kernels: 0 }
    }

    /// Does a part, and gives what that took.
    fn part(&mut self, part: &Part, strategy: Strategy) -> Nanos {
        let is_kernel = part.is_pipeline && strategy == Strategy::Kernel;
        let mut time = part.times[usize::from(is_kernel)];
        for &array in &part.arrays {
            if std::mem::replace(&mut self.is_on_device[array], is_kernel) != is_kernel {
                time += self.program.moving[array];
            }
        }
        self.kernels += usize::from(is_kernel);
        self.time += time;
        time
    }

    /// Runs with strategies that do not change.
    fn fixed(mut self, rounds: usize, is_kernel: u32) -> Nanos {
        for _ in 0..rounds {
            for (number, part) in self.program.parts.iter().enumerate() {
                let strategies = [Strategy::Rayon, Strategy::Kernel];
                self.part(part, strategies[(is_kernel >> number & 1) as usize]);
            }
        }
        self.time
    }

    /// Runs under `auto`, with kernels that are there 30 ms after they were worth making.
    fn auto(mut self, rounds: usize) -> (Nanos, usize, Vec<Decision>) {
        #[derive(Default)]
        struct Site {
            id: Option<Id>,
            spent: Nanos,
            made: Option<Nanos>,
        }
        let site = |_: &Part| Site::default();
        let mut sites: Vec<Site> = self.program.parts.iter().map(site).collect();
        let mut joint = Joint::new();
        let mut decisions = Vec::new();
        let mut last: Option<(Id, Nanos)> = None;
        for _ in 0..rounds {
            for (number, part) in self.program.parts.iter().enumerate() {
                if !part.is_pipeline {
                    self.part(part, Strategy::Rayon);
                    continue;
                }
                let now = self.time;
                if let Some((id, end)) = last.take() {
                    joint.after(id, now - end);
                }
                let is_making = sites.iter().any(|site| site.made.is_some_and(|made| made > now));
                let site = &mut sites[number];
                let id = *site.id.get_or_insert_with(|| joint.add(None));
                let is_worth = site.spent >= WORTH_A_KERNEL || joint.is_worth_a_kernel(site.spent);
                if site.made.is_none() && is_worth {
                    site.made = Some(now + ms(30));
                }
                let is_ready = site.made.is_some_and(|made| made <= now);
                let kernel = if is_ready { Kernel::Ready } else { Kernel::Waiting };
                let step = joint.next(id, kernel, is_making);
                decisions.extend(joint.decision());
                let time = self.part(part, step.strategy);
                joint.end(id, step, time, 1, true);
                sites[number].spent += time;
                last = Some((id, self.time));
            }
        }
        (self.time, self.kernels, decisions)
    }
}

/// Under `auto`, and with strategies that do not change: rayon, kernels, the best of all.
fn times(program: &Program, rounds: usize) -> [Nanos; 4] {
    let auto = Run::of(program).auto(rounds).0;
    let fixed = |is_kernel| Run::of(program).fixed(rounds, is_kernel);
    let all = (1 << program.parts.len()) - 1;
    let best = (0..=all).map(fixed).min().expect("there is rayon");
    [auto, fixed(0), fixed(all), best]
}

/// Whether kernels are taken in the end.
fn ends_with_kernels(program: &Program, rounds: usize) -> bool {
    let before = Run::of(program).auto(rounds).1;
    Run::of(program).auto(rounds + 10).1 > before
}

#[test]
fn pipelines_that_share_arrays_change_together() {
    // BabelStream's five: each alone would have its arrays moved there and back.
    let parts = [[0, 2].as_slice(), &[1, 2], &[0, 1, 2], &[0, 1, 2], &[0, 1]];
    let parts = parts.map(|arrays| pipeline([ms(8), ms(1) / 5], arrays)).to_vec();
    let program = Program { parts, moving: vec![ms(10); 3] };
    let [auto, rayon, ..] = times(&program, 100);
    assert!(auto * 4 < rayon, "{auto} {rayon}");
}

#[test]
fn what_the_host_reads_stays_with_rayon() {
    let parts = vec![pipeline([ms(5), ms(1)], &[0]), host(ms(1), &[0])];
    let program = Program { parts, moving: vec![ms(20)] };
    let [auto, rayon, ..] = times(&program, 1000);
    assert!(auto * 100 < rayon * 106, "{auto} {rayon}");
    // And what it does not read does not.
    let parts = vec![pipeline([ms(5), ms(1)], &[0]), host(ms(1), &[1])];
    assert!(ends_with_kernels(&Program { parts, moving: vec![ms(20); 2] }, 200));
}

#[test]
fn a_pipeline_that_is_slow_on_the_device_stays_with_rayon() {
    let slow = pipeline([ms(3), ms(27)], &[1]);
    let parts = vec![pipeline([ms(10), ms(1)], &[0]), slow, pipeline([ms(6), ms(1)], &[0])];
    let program = Program { parts, moving: vec![ms(5); 2] };
    let [auto, _, _, best] = times(&program, 1000);
    assert!(auto * 100 < best * 120, "{auto} {best}");
}

#[test]
fn a_kernel_that_is_hardly_better_is_not_taken() {
    let program =
        |kernel| Program { parts: vec![pipeline([ms(100), kernel], &[0])], moving: vec![ms(20)] };
    assert!(!ends_with_kernels(&program(ms(95)), 300));
    assert!(ends_with_kernels(&program(ms(80)), 300));
}

#[test]
fn a_first_trial_that_costs_too_much_ends() {
    let program = Program { parts: vec![pipeline([ms(1), ms(1)], &[0])], moving: vec![ms(500)] };
    let (_, kernels, decisions) = Run::of(&program).auto(150);
    assert_eq!(kernels, 1, "{decisions:?}");
    assert_eq!(decisions[0].times, None);
    // The second one is a whole one.
    let program = Program { parts: vec![pipeline([ms(20), ms(1)], &[0])], moving: vec![ms(500)] };
    assert!(ends_with_kernels(&program, 1000));
}

#[test]
fn phases_of_a_program_are_noticed() {
    let mut program =
        Program { parts: vec![pipeline([ms(30), ms(3)], &[0])], moving: vec![ms(20)] };
    let mut joint = Joint::new();
    let id = joint.add(None);
    let mut calls = |program: &Program, calls| {
        let mut run = Run::of(program);
        for _ in 0..calls {
            let step = joint.next(id, Kernel::Ready, false);
            let time = run.part(&program.parts[0], step.strategy);
            joint.end(id, step, time, 1, true);
        }
        run.kernels
    };
    assert!(calls(&program, 200) > 180);
    program.parts[0].times = [ms(15), ms(60)];
    let kernels = calls(&program, 400);
    assert!(kernels < 120, "{kernels}");
    program.parts[0].times = [ms(30), ms(3)];
    assert!(calls(&program, 2000) > 1200);
}

/// Random numbers below `end`.
fn random(state: &mut u64, end: u64) -> u64 {
    *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    (*state >> 33) % end
}

fn random_program(seed: u64) -> Program {
    let mut state = seed;
    let mut below = |end| random(&mut state, end);
    let arrays = 1 + below(4);
    // A first pass of a kernel over an array takes about three to ten times as long as rayon's passes.
    let moving: Vec<Nanos> = (0..arrays).map(|_| (ms(1) / 2) << below(7)).collect();
    let count = 1 + below(6);
    let parts = (0..count).map(|_| {
        let mut used: Vec<usize> = (0..=below(3)).map(|_| below(arrays) as usize).collect();
        used.sort_unstable();
        used.dedup();
        let pass: Nanos = used.iter().map(|&array| moving[array]).sum::<Nanos>() / (3 + below(8));
        if below(4) == 0 {
            return host(pass / (1 + below(10)), &used);
        }
        let rayon = pass.max(10_000) * (1 + below(4));
        let kernel = rayon * [1, 2, 5, 10, 30, 80, 150, 400][below(8) as usize] / 100;
        pipeline([rayon, kernel.max(10_000)], &used)
    });
    Program { parts: parts.collect(), moving: moving.clone() }
}

#[test]
fn random_programs_lose_little_and_gain_most() {
    let (mut programs, mut far, mut lost, mut logarithms) = (0, 0, 0, 0.0);
    for seed in 0..300 {
        let program = random_program(seed);
        if !program.parts.iter().any(|part| part.is_pipeline) {
            continue;
        }
        // Ten seconds.
        let round = Run::of(&program).fixed(1, 0).max(1);
        let rounds = (ms(10_000) / round).clamp(20, 20_000) as usize;
        let [auto, rayon, _, best] = times(&program, rounds);
        assert!(auto * 100 < rayon * 125, "{seed}: {auto} {rayon} {program:?}");
        programs += 1;
        lost += usize::from(auto * 100 > rayon * 105);
        far += usize::from(auto * 2 > best * 3);
        logarithms += (auto as f64 / best as f64).ln();
    }
    let mean = (logarithms / programs as f64).exp();
    assert!(mean < 1.1, "{mean}");
    assert!(lost * 10 < programs && far * 20 < programs, "{lost} {far} of {programs}");
}

#[test]
fn later_runs_begin_as_the_first_has_ended() {
    // What the calls of one run do: with rayon until the kernel is there, after three calls.
    let run = |joint: &mut Joint, id, calls| {
        let program =
            Program { parts: vec![pipeline([ms(12), ms(1) / 2], &[0])], moving: vec![ms(40)] };
        let mut run = Run::of(&program);
        for call in 0..calls {
            let is_making = call < 3;
            let kernel = if is_making { Kernel::Waiting } else { Kernel::Ready };
            let step = joint.next(id, kernel, is_making);
            let time = run.part(&program.parts[0], step.strategy);
            joint.end(id, step, time, 1, true);
        }
        run.kernels
    };
    let mut first = Joint::new();
    let id = first.add(None);
    run(&mut first, id, 100);
    assert_eq!(first.assignment(), Some(Assignment::Kernels));
    let mut known = first.known(id);
    for _ in 0..3 {
        let mut later = Joint::new();
        later.resume(Assignment::Kernels);
        let id = later.add(Some(known));
        assert!(later.is_wanted(id));
        assert_eq!(run(&mut later, id, 100), 97, "{known:?}");
        assert_eq!(later.assignment(), Some(Assignment::Kernels));
        known = later.known(id);
        assert!(known.times.into_iter().take(2).all(|time| time != 0), "{known:?}");
    }
}
