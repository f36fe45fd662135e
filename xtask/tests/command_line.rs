//! The developers' verbs, as the command line has them. Nothing is set up or measured.

use std::process::{Command, Output};

fn schism(words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(words.split_whitespace()).env("SCHISM_HOME", "/nonexistent/schism");
    command.output().expect("the program can be started")
}

fn said(words: &str) -> String {
    let output = schism(words);
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn bench_without_a_suite_lists_the_suites() {
    for words in ["bench", "schism bench", "bench --help", "help bench"] {
        let text = said(words);
        assert!(text.starts_with("usage: cargo schism bench SUITE"), "{words}: {text}");
        for suite in [
            "ablation",
            "algorithms",
            "compile",
            "cpu",
            "directives",
            "gpu",
            "launch",
            "opencl",
            "programs",
            "stdpar",
        ] {
            assert!(text.contains(&format!("  bench {suite} ")), "{words}: {text}");
        }
    }
}

#[test]
fn each_suite_says_how_it_is_used() {
    for (suite, option) in [
        ("ablation", "--suites cpu,stdpar,gpu,breadth"),
        ("algorithms", "--sizes LOG2"),
        ("compile", "--stdpar [PAIRS]"),
        ("cpu", "[ROUNDS] [NAME…]"),
        ("directives", "--device NAME"),
        ("launch", "[PROCESSES]"),
        ("gpu", "--clock device|host"),
        ("opencl", "--lowering [KERNEL]"),
        ("programs", "--sources DIR"),
        ("stdpar", "--explicit"),
    ] {
        let text = said(&format!("bench {suite} --help"));
        assert!(text.contains(option), "{suite}: {text}");
    }
}

#[test]
fn an_unknown_suite_is_refused_with_the_nearest() {
    let output = schism("bench gpus");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("there is no suite `gpus`; did you mean `gpu`?"), "{text}");
    assert!(text.contains("bench compile"), "{text}");
}

#[test]
fn help_has_the_users_verbs_and_the_developers() {
    for words in ["", "--help", "help", "schism --help"] {
        let text = said(words);
        for part in ["bundle PROGRAM", "SCHISM_HOME", "bench SUITE", "opt -p PASSES"] {
            assert!(text.contains(part), "`{words}`: {part}");
        }
    }
    assert!(said("help emit").contains("--kernel NAME"));
    let test = said("help test");
    assert!(test.contains("--rustc RELEASE") && test.contains("--targets LIST"), "{test}");
}
