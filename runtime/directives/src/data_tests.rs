//! What is refused of directives for data, each beside a twin that is not.

use crate::refusal_tests::of_function;

const LAUNCH: &str = "#[acc(parallel, loop)] for i in 0..n { y[i] += 1; }";
const TO_HOST: &str = "#[acc(update, self(y))] {}";
const TO_DEVICE: &str = "#[acc(update, device(y))] {}";
const PART_TO_DEVICE: &str = "#[acc(update, device(y[0..1]))] {}";

/// A body with an error, what the error says, and a body without. `@L` is a launch that changes `y`; `@S` and
/// `@D` are updates.
const CASES: &[(&str, &str, &str)] = &[
    // Directives and clauses.
    (
        "#[acc(data, copy(y), copyin(y))] { @L }",
        "a clause names `y` already",
        "#[acc(data, copy(y), copyin(x))] { @L }",
    ),
    (
        "#[acc(data, copy(y[0..=5]))] { @L }",
        "or a part of such",
        "#[acc(data, copy(y[0..6]))] { g(y); }",
    ),
    ("#[acc(data, copy(f(y)))] { @L }", "or a part of such", "#[acc(data, copy(self.y))] { @L }"),
    ("#[acc(update, copy(y))] {}", "`update` takes no clause `copy`", "#[acc(update, host(y))] {}"),
    ("#[acc(data, self(y))] {}", "`data` takes no clause `self`", "#[acc(update, self(y))] {}"),
    (
        "#[acc(exit_data, copyin(y))] {}",
        "`exit_data` takes no clause",
        "#[acc(enter_data, copyin(y))] {}",
    ),
    (
        "#[acc(enter_data, copyout(y))] {}",
        "`enter_data` takes no clause",
        "#[acc(exit_data, copyout(y))] {}",
    ),
    ("#[acc(update_(y))] {}", "did you mean `update`?", "#[acc(update)] {}"),
    ("#[acc(update(y))] {}", "`update` takes nothing in parentheses", "#[acc(wait(1))] {}"),
    ("#[acc(data, attach(y))] {}", "elements hold no pointers", "#[acc(data, create(y))] {}"),
    ("#[acc(data, deviceptr(y))] {}", "is a `Buffer`", "#[acc(data, present(y))] {}"),
    ("#[acc(set)] {}", "`set` needs `device_num(n)`", "#[acc(set, device_num(1))] {}"),
    (
        "#[acc(enter_data, copyin(y))] { @L }",
        "so it stands before a block by itself",
        "#[acc(enter_data, copyin(y))] {} @L",
    ),
    (
        "#[acc(data, copyin(x))] { #[acc(host_data, use_device(x))] { g(x); } }",
        "the region that keeps it says `copy`",
        "#[acc(data, copy(x))] { #[acc(host_data, use_device(x))] { g(x); } }",
    ),
    (
        "let later = async { #[acc(data, copy(y))] { @L } };",
        "a region cannot be in `async` code",
        "let later = async { g(|| { #[acc(data, copy(y))] { @L } }); };",
    ),
    (
        "#[acc(data, copy(y[..9]))] { @L }",
        "the region keeps a part",
        "#[acc(data, copy(y[..9]))] { #[acc(parallel, loop)] for own in &mut y[..9] { *own += 1; } g(&mut y[2..4]); }",
    ),
    // The host reads.
    (
        "#[acc(data, copy(y))] { @L g(y[0]); }",
        "before this write `#[acc(update, self(y))] {}`",
        "#[acc(data, copy(y))] { @L @S g(y[0]); }",
    ),
    (
        "#[acc(data, copy(y))] { @L @S @L g(y[0]); }",
        "before this write `#[acc(update, self(y))] {}`",
        "#[acc(data, copy(y))] { @L @S g(y[0]); @L }",
    ),
    (
        "#[acc(data, copy(y))] for _ in 0..9 { g(y[0]); @S }",
        "before this write",
        "#[acc(data, copy(y))] for _ in 0..9 { @S g(y[0]); }",
    ),
    (
        "#[acc(data, copy(y))] { if c { @S } g(y[0]); }",
        "before this write",
        "#[acc(data, copy(y))] { if c { @S g(y[0]); } }",
    ),
    (
        "#[acc(data, copy(y))] { println!(\"{:?}\", y); }",
        "before this write",
        "#[acc(data, copy(y))] { println!(\"{:?}\", y.len()); }",
    ),
    (
        "#[acc(data, copy(y))] { println!(\"{y:?}\"); }",
        "before this write",
        "#[acc(data, copy(y))] { @S println!(\"{y:?}\"); }",
    ),
    (
        "#[acc(data, copy(y))] { g(&y[1]); }",
        "before this write",
        "#[acc(data, copy(y))] { g(&raw const y[1]); }",
    ),
    (
        "#[acc(data, copy(y))] { for own in y.iter() { g(own); } }",
        "before this write",
        "#[acc(data, copyin(y))] { for own in y.iter() { g(own); } }",
    ),
    (
        "#[acc(data, copy(y))] { let (a, b) = y.split_at_mut(5); g(a[0]); }",
        "before this write",
        "#[acc(data, copy(y))] { let (a, b) = y.split_at_mut(5); g(a); g(b); }",
    ),
    (
        "#[acc(data, copy(y))] { g(y == x); }",
        "before this write",
        "#[acc(data, copy(y))] { g(y, &y[..3], &mut y[4..]); }",
    ),
    (
        "#[acc(data, copy(y))] { @S g(y); h(y[0]); }",
        "before this write",
        "#[acc(data, copy(y))] { @S g(&y); h(y[0]); }",
    ),
    (
        "#[acc(data, copy(self.y))] { g(self.y[0]); }",
        "before this write",
        "#[acc(data, copy(self.y))] { @L g(self.y.len()); }",
    ),
    (
        "#[acc(enter_data, copyin(y))] {} @L g(y[0]); #[acc(exit_data, copyout(y))] {}",
        "before this write",
        "#[acc(enter_data, copyin(y))] {} @L #[acc(exit_data, copyout(y))] {} g(y[0]);",
    ),
    (
        "#[acc(enter_data, create(y))] {} if c { #[acc(exit_data, copyout(y))] {} } g(y[0]);",
        "before this write",
        "#[acc(enter_data, create(y))] {} if c { #[acc(exit_data, copyout(y))] {} g(y[0]); }",
    ),
    (
        "#[acc(declare, copy(y))] {} g(y[0]);",
        "before this write",
        "{ #[acc(declare, copy(y))] {} } g(y[0]);",
    ),
    (
        "#[acc(kernels, copy(y))] { for i in 0..n { y[i] = 0; } g(y[0]); }",
        "before this write",
        "#[acc(kernels, copy(y))] { for i in 0..n { y[i] = 0; } @S g(y[0]); }",
    ),
    (
        "#[acc(data, copy(y))] { let y = 5; g(y + y[0]); } #[acc(data, copy(y))] { g(y[0]); }",
        "before this write",
        "#[acc(data, copy(y))] { let y = 5; g(y + y[0]); }",
    ),
    // The host writes.
    (
        "#[acc(data, copy(y))] { @S y[0] = 1; }",
        "after it write `#[acc(update, device(y))] {}`",
        "#[acc(data, copy(y))] { @S y[0] = 1; @D }",
    ),
    (
        "#[acc(data, copy(y))] { y[0] = 1; @D }",
        "would also send the older values",
        "#[acc(data, copy(y))] { y[0] = 1; @P }",
    ),
    (
        "#[acc(data, copy(y))] { y[0] += 1; @P }",
        "before this write",
        "#[acc(data, copy(y))] { @S y[0] += 1; @P }",
    ),
    (
        "#[acc(data, copy(y))] { @S y.swap(0, 1); }",
        "after it write",
        "#[acc(data, copy(y))] { @S y.swap(0, 1); @D }",
    ),
];

#[test]
fn each_error_says_what_to_do_and_its_twin_is_none() {
    let full = |body: &str| {
        let parts = [("@L", LAUNCH), ("@S", TO_HOST), ("@D", TO_DEVICE), ("@P", PART_TO_DEVICE)];
        parts.iter().fold(body.to_owned(), |body, (short, long)| body.replace(short, long))
    };
    for (wrong, text, right) in CASES {
        let found = of_function(&full(wrong));
        assert!(found.iter().any(|error| error.contains(text)), "{wrong}\n{found:?}");
        assert_eq!(of_function(&full(right)), [""; 0], "{right}");
    }
}

/// A region is left as any block is.
#[test]
fn regions_are_left_anyhow() {
    for jump in ["return;", "break 'outer;", "continue 'outer;", "g()?;"] {
        let body = format!(
            "'outer: loop {{ #[acc(data, copy(y))] {{ loop {{ break; }} {LAUNCH} if done {{ {jump} }} }} }}"
        );
        assert_eq!(of_function(&body), [""; 0], "{body}");
    }
}
