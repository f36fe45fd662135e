//! Random modules through all passes: no crash, valid IR, and the same results as before.

use schism_tests::random_ir;

#[test]
fn random_modules_do_after_the_passes_what_they_did_before() {
    // Of these, a pass once made invalid IR, or a kernel that does something else.
    let once_wrong = [135, 166, 253, 294];
    for seed in (0..60).chain(once_wrong) {
        if let Err(failure) = random_ir::check(seed) {
            panic!("{failure}");
        }
    }
}

#[test]
fn random_modules_become_valid_spirv() {
    let validator = schism_tests::spirv::validator();
    let mut modules = 0;
    for seed in 0..100 {
        match random_ir::spirv::check(seed, validator.as_deref()) {
            Ok(lowered) => modules += lowered,
            Err(failure) => panic!("{failure}"),
        }
    }
    assert!(modules >= 100, "{modules} modules of 100 seeds");
}

#[test]
fn a_wrong_result_would_be_seen() {
    let mut seen = 0;
    for seed in 0..20 {
        let module = random_ir::generate(seed).with_kernel;
        let damaged =
            module.replace(" = add i64 ", " = sub i64 ").replace("store i64 42", "store i64 43");
        seen += usize::from(random_ir::results(&module) != random_ir::results(&damaged));
    }
    assert!(seen >= 10, "{seen} of 20");
}

#[test]
fn a_seed_gives_one_module() {
    assert_eq!(random_ir::generate(7).source, random_ir::generate(7).source);
    assert_ne!(random_ir::generate(7).source, random_ir::generate(8).source);
}

#[test]
fn random_modules_have_what_passes_for_gpus_look_for() {
    let run = |source: &str, passes: &str| {
        let input = schism_passes::opt::read(source.as_bytes(), &[]).expect("a valid module");
        schism_passes::opt::run(&input, passes).expect("valid IR")
    };
    let (mut left, mut narrowed) = (0, 0);
    // What shows that a pass has done its work, and how often it is there more often than before.
    let mut others = [
        ("narrow-integers", "udiv i32", 0),
        ("demote-private-atomics", "icmp eq i64", 0),
        ("expand-mem-intrinsics", "llvm.loop.unroll.disable", 0),
    ];
    for seed in 0..60 {
        let module = random_ir::generate(seed).with_kernel;
        left +=
            usize::from(run(&module, "lower-unwind,simplify,superblocks").contains("freeze i1"));
        let comparisons = |passes| run(&module, passes).matches("icmp ult i32").count();
        narrowed +=
            usize::from(comparisons("lower-unwind,narrow-integers") > comparisons("lower-unwind"));
        for (pass, sign, count) in &mut others {
            let signs = |passes: &str| run(&module, passes).matches(*sign).count();
            *count += usize::from(signs(&format!("lower-unwind,{pass}")) != signs("lower-unwind"));
        }
    }
    assert!(left >= 5 && narrowed >= 5, "{left} and {narrowed} of 60");
    assert!(others.iter().all(|(.., count)| *count >= 5), "{others:?}");
}
