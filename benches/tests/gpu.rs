//! The kernels of `cargo schism bench gpu` compute on the default device what the host computes.

use std::process::Command;

/// Runs the program and returns its output.
fn run(options: &[&str]) -> (bool, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_gpu_schism"));
    let output = program.args(["--small", "--runs", "2"]).args(options).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn kernels_compute_what_the_host_does() {
    let (well, text) = run(&["--check"]);
    assert!(well, "{text}");
    let count = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    // 22 kernels and types, precise and relaxed, five of them with their sizes as constants too;
    // launches and copies in one variant; the prices of Black and Scholes are two results.
    assert_eq!((count("result "), count("check ")), (2 * 22 + 5 + 2 + 2, 2 * 23 + 5 + 2), "{text}");
    let keys = [
        "variant=precise",
        "variant=relaxed",
        "variant=specialised",
        "type=f64",
        "clock=device",
        "bits=",
        "first=",
    ];
    for key in keys {
        assert!(text.contains(key), "{key} in {text}");
    }
}

#[test]
fn kernels_that_no_pass_was_made_for_compute_what_the_host_does() {
    let (well, text) = run(&["--suite", "breadth", "--check"]);
    assert!(well, "{text}");
    let count = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    // 24 kernels, precise and relaxed.
    assert_eq!((count("result "), count("check ")), (48, 48), "{text}");
}

#[test]
fn kernels_can_be_chosen() {
    let (well, text) = run(&["--only", "triad,scan", "--elements", "512"]);
    assert!(well, "{text}");
    let results = text.lines().filter(|line| line.starts_with("result "));
    let names: Vec<_> = results.filter_map(|line| line.split_whitespace().nth(1)).collect();
    let expected = ["triad", "triad", "triad", "triad", "scan", "scan"];
    assert_eq!(names, expected.map(|name| format!("kernel={name}")));
    assert!(text.contains("kernel=triad variant=precise type=f64 size=512 bytes=12288"), "{text}");

    let (well, text) = run(&["--only", "triad", "--clock", "host"]);
    assert!(well && text.contains("clock=host") && !text.contains("clock=device"), "{text}");

    let (well, text) = run(&["--only", "triade"]);
    assert!(!well && text.contains("there is no kernel `triade`"), "{text}");

    let (well, text) = run(&["--suite", "all", "--only", "fnv,scan"]);
    assert!(well && text.contains("kernel=fnv") && text.contains("kernel=scan"), "{text}");
    let (well, text) = run(&["--suite", "deep"]);
    assert!(!well && text.contains("there is no suite `deep`"), "{text}");
}
