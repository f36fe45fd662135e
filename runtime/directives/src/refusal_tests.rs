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
        "#[acc(parallel, loop, tile(2, 2, 2, 2))] for i in 0..n { y[i] = 0; }",
        "`tile` has a size for each of 1 to 3 loops",
        "#[acc(parallel, loop, tile(64))] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[acc(parallel, loop, device_type(nvida), vector_length(64))] for i in 0..n { y[i] = 0; }",
        "there is no kind of device `nvida`: did you mean `nvidia`?",
        "#[acc(parallel, loop, device_type(nvidia), vector_length(64))] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[acc(parallel, loop, device_type(nvidia), copy(y))] for i in 0..n { y[i] = 0; }",
        "it stands before `device_type`",
        "#[acc(parallel, loop, copy(y), device_type(nvidia, radeon), num_gangs(8), device_type(*), gang(num: 4, static: *))] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[acc(parallel, loop, gang(size: 4))] for i in 0..n { y[i] = 0; }",
        "there is no `size` here, but `num` or `static`",
        "#[acc(parallel, loop, gang(static: 4), worker(num: 2), vector(32), cache(x), self(n < 9))] for i in 0..n { y[i] = x[i]; }",
    ),
    (
        "#[acc(parallel, loop, vector(num: 4))] for i in 0..n { y[i] = 0; }",
        "there is no `num` here, but `length`",
        "#[acc(parallel, loop, vector(length: 4))] for i in 0..n { y[i] = 0; }",
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
        "#[acc(parallel, loop, collapse(7))] for i in 0..n { y[i] = 0; }",
        "1 to 6 loops become one launch",
        "#[acc(parallel, loop, collapse(4))] for a in 0..n { for b in 0..n { for c in 0..n { for d in 0..n { y[((a * n + b) * n + c) * n + d] = 0; } } } }",
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
        "#[acc(parallel, loop, default(private))] for i in 0..n { y[i] = 0; }",
        "the default is `none`, `present` of what launches, or not given",
        "#[acc(parallel, loop, default(present))] for i in 0..n { y[i] = 0; }",
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
        "#[acc(parallel, loop)] for i in 0..n { #[acc(atomic)] h[x[i]] += 1; g(h[i]); }",
        "all accesses to `h` are, or none",
        "#[acc(parallel, loop)] for i in 0..n { #[acc(atomic)] h[x[i]] += 1; #[acc(atomic, read)] let a = h[i]; g(a); }",
    ),
    (
        "#[acc(parallel, loop)] for i in 0..n { #[acc(atomic)] g(h[x[i]]); }",
        "an atomic `update` is `h[i] += e;`",
        "#[acc(parallel, loop)] for i in 0..n { #[acc(atomic)] h[x[i]] = h[x[i]].max(g(i)); }",
    ),
    (
        "#[acc(parallel, loop)] for i in 0..n { #[acc(atomic)] h[x[i]] = i - h[x[i]]; }",
        "an atomic `update` is `h[i] += e;`",
        "#[acc(parallel, loop)] for i in 0..n { #[acc(atomic)] h[x[i]] = i + h[x[i]]; }",
    ),
    (
        "#[acc(parallel, loop)] for i in 0..n { #[acc(atomic(write))] h[x[i]] += i; }",
        "an atomic `write` is `h[i] = e;`",
        "#[acc(parallel, loop)] for i in 0..n { #[acc(atomic(write))] h[x[i]] = i; }",
    ),
    (
        "#[acc(parallel, loop)] for i in 0..n { #[acc(atomic(read))] h[x[i]]; }",
        "an atomic `read` is `let v = h[i];`",
        "#[acc(parallel, loop)] for i in 0..n { #[acc(atomic(read))] let v = h[x[i]]; y[i] = v; }",
    ),
    (
        "#[acc(parallel, loop)] for i in 0..n { let v; #[acc(atomic(capture))] { v = h[0]; h[1] += 1; } y[i] = v; }",
        "an atomic `capture` is a block of two statements",
        "#[acc(parallel, loop)] for i in 0..n { let v; #[acc(atomic(capture))] { v = h[0]; h[0] += 1; } y[i] = v; }",
    ),
    (
        "#[acc(parallel, loop)] for i in 0..n { #[acc(atomic(exchange))] h[0] += 1; }",
        "an `atomic` is an `update`, a `read`, a `write` or a `capture`",
        "#[acc(parallel, loop)] for i in 0..n { #[acc(atomic(update))] h[0] += 1; }",
    ),
    (
        "#[acc(atomic)] h[0] += 1;",
        "`atomic` stands before a statement of a loop that is a kernel",
        "#[acc(serial)] { #[acc(atomic)] h[0] += 1; }",
    ),
    (
        "#[acc(loop)] for i in 0..n { y[i] = 0; }",
        "belongs inside of `parallel` or `kernels`",
        "#[acc(kernels)] { #[acc(loop)] for i in 0..n { y[i] = 0; } }",
    ),
    (
        "#[offload(target(mic: 1), inout(y))] for i in 0..n { y[i] = 0; }",
        "did you mean `gpu`?",
        "#[offload(target(gpu: 1), inout(y))] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[offload(target(card), inout(y))] for i in 0..n { y[i] = 0; }",
        "a target is `any`, `gpu`",
        "#[offload(target(any), inout(y))] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[offload(optional, inout(y), mandatory)] for i in 0..n { y[i] = 0; }",
        "`optional` has the host run what `mandatory` forbids it",
        "#[offload(optional, inout(y), status(st))] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[offload(target(gpu), inout(y), signal(&y))] for i in 0..n { y[i] = 0; }",
        "`signal` is of one target, whose number it needs",
        "#[offload(target(gpu: 0), inout(y), signal(&y))] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[offload(inout(y), wait(1))] for i in 0..n { y[i] = 0; }",
        "`wait` is of one target, whose number it needs",
        "#[offload(stream(s), inout(y), wait(1))] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[offload_wait(target(gpu: 0))] {}",
        "`offload_wait` needs `wait(tag, …)`",
        "#[offload_wait(target(gpu: 0), wait(1, 2))] {}",
    ),
    (
        "#[offload_wait(target(gpu: 0), wait(1), signal(2))] {}",
        "has nothing to signal",
        "#[offload_transfer(target(gpu: 0), wait(1), signal(2))] {}",
    ),
    (
        "#[offload_wait(target(gpu: 0), wait(1), in(x))] {}",
        "`offload_transfer` does",
        "#[offload_transfer(target(gpu: 0), wait(1), in(x))] {}",
    ),
    (
        "#[offload_transfer(target(gpu: 0), in(x))] for i in 0..n { g(i); }",
        "an empty block `{}` stands in its place",
        "#[offload_transfer(target(gpu: 0), in(x))] {}",
    ),
    (
        "#[offload(inout(y: lenght(n)))] for i in 0..n { y[i] = 0; }",
        "there is no modifier `lenght`: did you mean `length`?",
        "#[offload(inout(y: length(n)))] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[offload(inout(y: into(z)))] for i in 0..n { y[i] = 0; }",
        "`into` belongs to `in` and `out`: `inout` has one array",
        "#[offload(out(y: into(z)))] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[offload(in(x, y: into(z)))] for i in 0..n { g(z[i]); }",
        "`into` takes one array in its clause",
        "#[offload(in(x: into(z)), in(y))] for i in 0..n { g(z[i]); }",
    ),
    (
        "#[offload(in(x: into_extent(0..n)))] for i in 0..n { g(x[i]); }",
        "is of the array that `into` names",
        "#[offload(in(x: into(z), into_extent(0..n)))] for i in 0..n { g(z[i]); }",
    ),
    (
        "#[offload(in(x: into(z[0..n]), into_extent(0..n)))] for i in 0..n { g(z[i]); }",
        "either a range, or `into_extent`",
        "#[offload(in(x: into(z[0..n])))] for i in 0..n { g(z[i]); }",
    ),
    (
        "#[offload(in(s.x: length(n)))] for i in 0..n { g(s.x[i]); }",
        "bind the field to one before",
        "#[offload(in(s.x))] for i in 0..n { g(s.x[i]); }",
    ),
    (
        "#[offload(in(f(x)))] for i in 0..n { g(x[i]); }",
        "a variable, a field of one, or a range of its elements",
        "#[offload(in(x[lo..hi]))] for i in lo..hi { g(x[i]); }",
    ),
    (
        "#[offload(in(y))] for i in 0..n { y[i] = 0; }",
        "`y` is only copied to the device, and changed here",
        "#[offload(in(y: length(n)), out(y))] for i in 0..n { y[i] = 0; }",
    ),
    (
        "#[offload(inout(y))] { for i in 0..n { y[i] = 0; } return; }",
        "this leaves the statement",
        "#[offload(inout(y))] { for i in 0..n { y[i] = 0; } } return;",
    ),
    (
        "#[offload(optional(true), inout(y))] for i in 0..n { y[i] = 0; }",
        "`optional` takes nothing in parentheses",
        "#[offload(optional, inout(y))] for i in 0..n { y[i] = 0; }",
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
