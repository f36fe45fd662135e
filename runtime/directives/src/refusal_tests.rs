//! What is refused, each beside a twin that is not.

use proc_macro2::{TokenStream, TokenTree};

use crate::clause::Language;
use crate::function::expand;

/// The texts of `compile_error!` among tokens.
fn errors(tokens: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_error = false;
    for token in tokens {
        match token {
            TokenTree::Ident(name) => is_error |= name == "compile_error",
            TokenTree::Group(group) if is_error => {
                found.push(group.stream().to_string());
                is_error = false;
            }
            TokenTree::Group(group) => found.extend(errors(group.stream())),
            _ => {}
        }
    }
    found
}

pub(crate) fn of_function(body: &str) -> Vec<String> {
    let item: TokenStream = format!("fn f() {{ {body} }}").parse().expect("tokens");
    errors(expand(TokenStream::new(), item, Language::Acc))
}

/// A body with an error, what the error says, and a body without.
const CASES: &[(&str, &str, &str)] = &[
    (
        "#[acc(parallel, loop, colapse(2))] for i in 0..n { for j in 0..n { y[i * n + j] = 0; } }",
        "there is no clause `colapse`: did you mean `collapse`?",
        "#[acc(parallel, loop, collapse(2))] for i in 0..n { for j in 0..n { y[i * n + j] = 0; } }",
    ),
    (
        "#[acc(paralel, loop)] for i in 0..n { y[i] = 0; }",
        "there is no directive `paralel`: did you mean `parallel`?",
        "#[acc(parallel, loop)] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[acc(data, gang, copy(y))] { g(); }",
        "`data` takes no clause `gang`; it belongs to parallel, kernels",
        "#[acc(data, copy(y))] { g(); }",
    ),
    (
        "#[acc(parallel, loop, collapse)] for i in 0..n { y[i] = 0; }",
        "`collapse` needs something in parentheses",
        "#[acc(parallel, loop, collapse(1))] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[acc(parallel, loop, seq(1))] for i in 0..n { y[i] = 0; }",
        "`seq` takes nothing in parentheses",
        "#[acc(parallel, loop, seq)] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[acc(parallel, loop, tile(2))] for i in 0..n { y[i] = 0; }",
        "`tile` is not supported",
        "#[acc(parallel, loop, vector_length(64))] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[acc(parallel, loop)] for i in 0..n { y[order[i]] = 0; }",
        "two iterations may meet at `y [order [i]]`",
        "#[acc(parallel, loop, unsafe(independent))] for i in 0..n { y[order[i]] = 0; }",
    ),
    (
        "#[acc(parallel, loop)] for i in 1..n { y[i] = y[i - 1]; }",
        "what one iteration writes at `y [i]` another may access at `y [i - 1]`",
        "#[acc(parallel, loop)] for i in 1..n { y[i] = x[i - 1]; }",
    ),
    (
        "#[acc(parallel, loop)] for i in 1..n { y[2 * i] = y[2 * i + 2]; }",
        "the indices of neighbours overlap",
        "#[acc(parallel, loop)] for i in 1..n { y[2 * i] = y[2 * i + 1]; }",
    ),
    (
        "#[acc(parallel, loop, collapse(2))] for i in 0..n { for j in 0..n { y[i] = j; } }",
        "the index does not depend on `j`",
        "#[acc(parallel, loop)] for i in 0..n { for j in 0..n { y[i] = j; } }",
    ),
    (
        "#[acc(parallel, loop, collapse(2))] for i in 0..n { for j in 0..i { y[i * n + j] = 0; } }",
        "this depends on `i`",
        "#[acc(parallel, loop)] for i in 0..n { for j in 0..i { y[i * n + j] = 0; } }",
    ),
    (
        "#[acc(parallel, loop, collapse(2))] for i in 0..n { g(); for j in 0..n { y[i * n + j] = 0; } }",
        "`collapse(2)` makes 2 loops one",
        "#[acc(parallel, loop)] for i in 0..n { g(); for j in 0..n { y[i * n + j] = 0; } }",
    ),
    (
        "#[acc(parallel, loop)] for i in 0..n { s += x[i]; }",
        "`reduction(+: s)` combines them",
        "#[acc(parallel, loop, reduction(+: s))] for i in 0..n { s += x[i]; }",
    ),
    (
        "#[acc(parallel, loop)] for i in 0..n { t = x[i]; y[i] = t * t; }",
        "`private(t)` gives each its own",
        "#[acc(parallel, loop, private(t))] for i in 0..n { t = x[i]; y[i] = t * t; }",
    ),
    (
        "#[acc(parallel, loop, reduction(-: s))] for i in 0..n { s -= x[i]; }",
        "the operator of a reduction is one of",
        "#[acc(parallel, loop, reduction(max: s))] for i in 0..n { s = x[i].max(s); }",
    ),
    (
        "#[acc(parallel, loop, default(none), copy(y))] for i in 0..n { y[i] = a * x[i]; }",
        "no clause says what becomes of `x`, `a`",
        "#[acc(parallel, loop, default(none), copy(y), copyin(x), firstprivate(a))] for i in 0..n { y[i] = a * x[i]; }",
    ),
    (
        "#[acc(parallel, loop, copyin(y))] for i in 0..n { y[i] = 0; }",
        "`copy(y)` brings it back",
        "#[acc(parallel, loop, copyout(y))] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[acc(parallel, loop)] for i in 0..n { if x[i] == 0 { break; } y[i] = 0; }",
        "none can end the others",
        "#[acc(parallel, loop)] for i in 0..n { loop { if x[i] == 0 { break; } } y[i] = 0; }",
    ),
    (
        "#[acc(parallel, loop)] for i in 0..n { y[i] = g(x[i])?; }",
        "by `?`",
        "#[acc(parallel, loop)] for i in 0..n { y[i] = (|| Some(g(x[i])?))(); }",
    ),
    (
        "#[acc(parallel, loop)] for i in 0..n { if x[i] == 0 { return; } y[i] = 0; }",
        "a kernel cannot return",
        "#[acc(parallel, loop)] for i in 0..n { if x[i] == 0 { continue; } y[i] = 0; }",
    ),
    (
        "#[acc(parallel, loop)] for line in text.lines() { g(line); }",
        "a directive takes loops over ranges",
        "#[acc(parallel, loop)] for (i, own) in y.iter_mut().enumerate() { *own = i; }",
    ),
    (
        "#[acc(parallel)] let x = 1;",
        "a directive stands before a loop or a block",
        "let x = 1; #[acc(serial)] { y[0] = x; }",
    ),
    (
        "#[acc(loop)] for i in 0..n { y[i] = 0; }",
        "belongs inside of `parallel` or `kernels`",
        "#[acc(kernels)] { #[acc(loop)] for i in 0..n { y[i] = 0; } }",
    ),
    (
        "#[offload(copy(y))] { for i in 0..n { y[i] = 0; } }",
        "there is no clause `copy`",
        "#[offload(inout(y))] { for i in 0..n { y[i] = 0; } }",
    ),
];

#[test]
fn each_error_says_what_to_do_and_its_twin_is_none() {
    for (wrong, text, right) in CASES {
        let found = of_function(wrong);
        assert!(found.iter().any(|error| error.contains(text)), "{wrong}\n{found:?}");
        assert_eq!(of_function(right), [""; 0], "{right}");
    }
}

/// Where iterations may meet, or nothing shows that they do not, `kernels` runs them in order.
#[test]
fn kernels_refuses_no_dependence() {
    for (wrong, ..) in CASES.iter().filter(|case| case.1.contains("iteration")) {
        let body = wrong.replace("parallel, loop", "kernels, loop");
        assert_eq!(of_function(&body), [""; 0], "{body}");
    }
}
