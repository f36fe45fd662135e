//! Random loops with checks that may fail, run before and after the passes that decide checks
//! early.
//!
//! [`generate`] writes a loop with a counter of 32 or 64 bits, steps up or down, one of several
//! ends, and one to three checks of an index that is computed of the counter; then calls it with
//! numbers near each other, near zero and near the limits. What panics leaves a mark and returns,
//! so that it can be seen when it happened: [`check`] compares all that is left in memory.

use std::fmt::Write;

use schism_passes::opt;

use crate::random_ir::{Random, results};

/// How often a loop is run.
const CALLS: usize = 24;

/// What every module has: a panic that leaves what it was told.
pub(crate) const AROUND: &str = "\
define internal void @panic(ptr %mem, i64 %which, i64 %index) cold noinline {
  %slot = and i64 %which, 7
  %at = getelementptr i64, ptr %mem, i64 %slot
  %old = load i64, ptr %at
  %more = mul i64 %old, 31
  %mixed = add i64 %more, %index
  store i64 %mixed, ptr %at
  ret void
}
";

/// Writes the module of a seed.
#[must_use]
pub fn generate(seed: u64) -> String {
    module(seed, function, CALLS, 6, number)
}

/// Writes the module of a seed: what `function` writes as `@f`, and a kernel that calls it with
/// memory and some numbers, and leaves what it returns.
pub(crate) fn module(
    seed: u64,
    function: fn(&mut Random, &mut String) -> std::fmt::Result,
    calls: usize,
    arguments: usize,
    number: fn(&mut Random) -> u64,
) -> String {
    let mut random = Random::new(seed);
    let mut text = AROUND.to_owned();
    function(&mut random, &mut text).expect("writing to a string");
    text += "define void @kernel(ptr %mem, i64 %n, i64 %v, i64 %never) {\n";
    for call in 0..calls {
        let arguments: Vec<String> =
            (0..arguments).map(|_| format!("i64 {}", number(&mut random) as i64)).collect();
        writeln!(
            text,
            "  %r{call} = call i64 @f(ptr %mem, {})
               call void @panic(ptr %mem, i64 {call}, i64 %r{call})",
            arguments.join(", ")
        )
        .expect("writing to a string");
    }
    text + "  ret void\n}\n"
}

/// A number that is likely to be an edge of something.
fn number(random: &mut Random) -> u64 {
    let small = random.below(24) as u64;
    match random.below(16) {
        0 => small.wrapping_neg(),
        1 => (1 << 63) + small - 12,
        2 => (1 << 32) + small - 12,
        3 => (1 << 31) + small - 12,
        4 => (1 << 62) + small,
        5..=8 => small / 4,
        9..=11 => 100 + small,
        _ => small,
    }
}

/// One of several.
pub(crate) fn pick<'a>(random: &mut Random, of: &[&'a str]) -> &'a str {
    of[random.below(of.len())]
}

/// The function with the loop. Its blocks are named by what they do; `%iteration` is the header.
fn function(random: &mut Random, o: &mut String) -> std::fmt::Result {
    let wide = random.below(3) > 0;
    let ty = if wide { "i64" } else { "i32" };
    let step = pick(random, &["1", "1", "1", "1", "2", "3", "32", "-1", "-1", "-3"]);
    let early = random.below(2) == 0;
    writeln!(
        o,
        "define internal i64 @f(ptr %mem, i64 %len, i64 %a, i64 %b, i64 %c, i64 %from, i64 %to) {{\nbefore:"
    )?;
    for value in ["from", "to"] {
        match wide {
            true => writeln!(o, "  %{value}.k = add i64 %{value}, 0")?,
            false => writeln!(o, "  %{value}.k = trunc i64 %{value} to i32")?,
        }
    }
    writeln!(o, "  br label %iteration\niteration:")?;
    writeln!(o, "  %k = phi {ty} [ %from.k, %before ], [ %k.next, %back ]")?;
    writeln!(o, "  %fuel = phi i64 [ 40, %before ], [ %fuel.next, %back ]")?;
    writeln!(o, "  %sum = phi i64 [ 0, %before ], [ %sum.next, %back ]")?;
    writeln!(o, "  %k.next = add {ty} %k, {step}")?;
    let tested = pick(random, &["%k", "%k.next"]);
    let more = match step.starts_with('-') {
        true => pick(random, &["ne", "ugt", "ne", "ult", "sgt"]),
        false => pick(random, &["ne", "ult", "ult", "ule", "slt", "sle", "ugt"]),
    };
    let test = format!("  %more = icmp {more} {ty} {tested}, %to.k\n  br i1 %more, label");
    if early {
        writeln!(o, "{test} %check.0, label %done")?;
    } else {
        writeln!(o, "  br label %check.0")?;
    }
    let checks = 1 + random.below(3);
    for number in 0..checks {
        check_of(random, o, number, wide, number + 1 == checks)?;
    }
    writeln!(o, "end:\n  %sum.next = add i64 %sum, %x.{}", checks - 1)?;
    match early {
        true => writeln!(o, "  br label %burn")?,
        false => writeln!(o, "{test} %burn, label %done")?,
    }
    // Before LLVM's passes, this end must come behind the other one, which then is the one that is
    // counted by.
    writeln!(o, "burn:\n  %fuel.next = sub i64 %fuel, 1\n  %burnt = icmp eq i64 %fuel.next, 0")?;
    writeln!(o, "  br i1 %burnt, label %out, label %back\nback:\n  br label %iteration")?;
    let last = if early { "%sum" } else { "%sum.next" };
    writeln!(o, "done:\n  ret i64 {last}\nout:\n  ret i64 77\n}}")
}

/// A check, and an access that it guards.
fn check_of(
    random: &mut Random,
    o: &mut String,
    number: usize,
    wide: bool,
    last: bool,
) -> std::fmt::Result {
    writeln!(o, "check.{number}:")?;
    let ty = if wide { "i64" } else { "i32" };
    // The index, in the counter's type first.
    let narrow = match random.below(6) {
        0 => "add TY %k, 0".to_owned(),
        1 => format!("add TY %k, {}", random.below(9)),
        2 => format!("mul TY %k, {}", random.below(5)),
        3 => format!("shl TY %k, {}", random.below(4)),
        4 => "sub TY %to.k, %k".to_owned(),
        _ => "add TY %k, %from.k".to_owned(),
    };
    writeln!(o, "  %n.{number} = {}", narrow.replace("TY", ty))?;
    match wide {
        true => writeln!(o, "  %z.{number} = add i64 %n.{number}, 0")?,
        false => writeln!(o, "  %z.{number} = zext i32 %n.{number} to i64")?,
    }
    let index = match random.below(7) {
        0 => "  %i.# = mul i64 %z.#, %a".to_owned(),
        1 => "  %m.# = mul i64 %a, %z.#\n  %i.# = add i64 %m.#, %b".to_owned(),
        2 => "  %i.# = sub i64 %b, %z.#".to_owned(),
        3 => "  %i.# = xor i64 %z.#, -1".to_owned(),
        4 => "  %i.# = sub i64 %z.#, %b".to_owned(),
        _ => "  %i.# = add i64 %z.#, 0".to_owned(),
    };
    writeln!(o, "{}", index.replace('#', &number.to_string()))?;
    let other = pick(random, &["%len", "%len", "%len", "%c", "%b", "%z.#"]);
    let other = other.replace('#', &number.to_string());
    let predicate = pick(random, &["ult", "ult", "ule", "uge", "ugt", "ne"]);
    writeln!(o, "  %y.{number} = icmp {predicate} i64 %i.{number}, {other}")?;
    let next = if last { "end".to_owned() } else { format!("check.{}", number + 1) };
    let (yes, no) = (format!("access.{number}"), format!("panic.{number}"));
    match predicate {
        "uge" | "ugt" => writeln!(o, "  br i1 %y.{number}, label %{no}, label %{yes}")?,
        _ => writeln!(o, "  br i1 %y.{number}, label %{yes}, label %{no}")?,
    }
    writeln!(
        o,
        "panic.{number}:
           call void @panic(ptr %mem, i64 {number}, i64 %i.{number})
           ret i64 %sum
         access.{number}:
           %slot.{number} = and i64 %i.{number}, 7
           %at.{number} = getelementptr i64, ptr %mem, i64 %slot.{number}
           %x.{number} = load i64, ptr %at.{number}
           %w.{number} = add i64 %x.{number}, %i.{number}
           store i64 %w.{number}, ptr %at.{number}
           br label %{next}"
    )
}

/// Runs the passes over the module of a seed, and compares. Says whether a condition was made in
/// front of the loop.
///
/// # Errors
/// What went wrong, with the module and the passes.
pub fn check(seed: u64) -> Result<bool, String> {
    let lists = [
        "loop-versioning",
        "merge-checks",
        "loop-versioning,merge-checks",
        "merge-checks,loop-versioning",
    ];
    compare(seed, &generate(seed), &lists, |output| output.contains("freeze"))
}

/// Runs lists of passes over a module, and compares what it does with what it did. Says whether any
/// of the outputs is as `is_changed` says.
pub(crate) fn compare(
    seed: u64,
    source: &str,
    lists: &[&str],
    is_changed: impl Fn(&str) -> bool,
) -> Result<bool, String> {
    let fail =
        |passes: &str, what: String| Err(format!("seed {seed}, {passes}: {what}\n\n{source}"));
    let expected = match results(source) {
        Ok(expected) => expected,
        Err(what) => return fail("no passes", what),
    };
    let mut changed = false;
    for passes in lists {
        let result = opt::read(source.as_bytes(), &[]).and_then(|input| opt::run(&input, passes));
        let output = match result {
            Ok(output) => output,
            Err(error) => return fail(passes, error.to_string()),
        };
        changed |= is_changed(&output);
        match results(&output) {
            Ok(found) if found == expected => {}
            other => return fail(passes, format!("{expected:?} became {other:?}\n{output}\nof")),
        }
    }
    Ok(changed)
}
