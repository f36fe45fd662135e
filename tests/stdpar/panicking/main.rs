//! Pipelines that panic at random items: afterwards each value is there or was dropped, once, locks
//! are free, and the payload is the panicking item's. It knows nothing of schism.
//!
//! `panicking CASES SEED [WORD]...`, where words are `hook` (the panic hook counts its calls),
//! `trace` (each case is shown before it runs), `form=TEXT` and `only=NUMBER`.
//! `panicking aborts` starts itself for what ends a process.

mod aborts;
mod case;
mod collections;
mod locks;
mod maps;
mod payloads;
mod pipelines;
mod sorts;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use case::{Case, Form, Ledger, Random};

static HOOK_CALLS: AtomicUsize = AtomicUsize::new(0);

fn forms() -> impl Iterator<Item = &'static Form> {
    let parts = [
        collections::FORMS,
        maps::FORMS,
        locks::FORMS,
        payloads::FORMS,
        pipelines::BORROWED,
        pipelines::OWNED,
        sorts::FORMS,
    ];
    parts.into_iter().flatten()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["aborts"] => return aborts::all(),
        ["abort", name] => return aborts::one(name),
        _ => {}
    }
    let number = |at: usize, default| arguments.get(at).map_or(default, |n| n.parse().unwrap());
    let (cases, seed) = (number(0, 200), number(1, 1));
    let words = arguments.get(2..).unwrap_or_default();
    let has = |word: &str| words.iter().any(|other| other == word);
    let value = |name: &str| words.iter().find_map(|word| word.strip_prefix(name));
    let only: Option<usize> = value("only=").map(|number| number.parse().unwrap());

    let hook = has("hook").then_some(&HOOK_CALLS);
    if hook.is_some() {
        std::panic::set_hook(Box::new(|info| {
            // A place in this program or in the standard library, and a payload.
            let place = info.location().expect("a place");
            assert!(place.file().ends_with(".rs") && place.line() > 0);
            assert!(!case::show(info.payload()).starts_with("of an"));
            HOOK_CALLS.fetch_add(1, Relaxed);
        }));
    } else {
        std::panic::set_hook(Box::new(|_| {}));
    }

    let chosen: Vec<&Form> =
        forms().filter(|form| value("form=").is_none_or(|text| form.0.contains(text))).collect();
    let ledger: &'static Ledger = Box::leak(Box::new(Ledger::new()));
    let mut random = Random::new(seed as u64);
    let [mut run, mut failed] = [0; 2];
    for number in 0..cases {
        let seed = random.next();
        if only.is_some_and(|only| only != number) {
            continue;
        }
        let form = chosen[number % chosen.len()];
        let case: &'static Case = Box::leak(Box::new(Case::new(form, number, seed, ledger, hook)));
        if has("trace") {
            eprintln!("{}", case.describe());
        }
        (form.2)(case);
        case.end();
        run += 1;
        failed += usize::from(case.failed.load(Relaxed));
    }
    println!("{run} cases of {} forms, {failed} failed", chosen.len());
    std::process::exit(i32::from(failed > 0));
}
