//! Random loops that are state machines, run before and after jumps are threaded across their
//! headers.
//!
//! [`generate`] writes blocks that set numbers, a flag and a pointer to constants, count them on or
//! compare them, and go on at random blocks before or behind them. Some leave a mark, so that
//! [`check`] sees the order in which blocks run.

use std::fmt::Write;

use schism_passes::opt;

use crate::random_ir::Random;
use crate::random_loops::{compare, module, pick};

/// How often a function is run.
const CALLS: usize = 12;

/// Writes the module of a seed.
#[must_use]
pub fn generate(seed: u64) -> String {
    module(seed, function, CALLS, 3, |random| random.below(6) as u64)
}

/// The function. Only blocks that burn fuel lead back, so that it ends.
fn function(random: &mut Random, o: &mut String) -> std::fmt::Result {
    let blocks = 4 + random.below(6);
    writeln!(o, "define internal i64 @f(ptr %mem, i64 %a, i64 %b, i64 %c) {{\nstart:")?;
    for (name, ty) in [("s", "i64"), ("t", "i64"), ("f", "i1"), ("p", "ptr"), ("fuel", "i64")] {
        writeln!(o, "  %{name} = alloca {ty}")?;
    }
    let [first, second] = ["0", "%a"].map(|other| pick(random, &["0", "3", "%b", other]));
    let flag = pick(random, &["true", "false"]);
    let pointer = pick(random, &["null", "%mem"]);
    writeln!(o, "  store i64 {first}, ptr %s\n  store i64 {second}, ptr %t")?;
    writeln!(o, "  store i1 {flag}, ptr %f\n  store ptr {pointer}, ptr %p")?;
    writeln!(o, "  store i64 60, ptr %fuel\n  br label %b0")?;
    for block in 0..blocks {
        writeln!(o, "b{block}:")?;
        for statement in 0..random.below(3) {
            self::statement(random, o, &format!("{block}.{statement}"))?;
        }
        if random.below(2) == 0 {
            let id = format!("{block}.m");
            writeln!(o, "  %s.{id} = load i64, ptr %{}", pick(random, &["s", "t"]))?;
            writeln!(o, "  call void @panic(ptr %mem, i64 {block}, i64 %s.{id})")?;
        }
        let leads_back = random.below(2) == 0;
        if leads_back {
            writeln!(o, "  %fuel.{block} = load i64, ptr %fuel")?;
            writeln!(o, "  %less.{block} = sub i64 %fuel.{block}, 1")?;
            writeln!(o, "  store i64 %less.{block}, ptr %fuel")?;
            writeln!(o, "  %burnt.{block} = icmp eq i64 %less.{block}, 0")?;
            writeln!(o, "  br i1 %burnt.{block}, label %out, label %e{block}\ne{block}:")?;
            if random.below(2) == 0 {
                self::statement(random, o, &format!("{block}.e"))?;
            }
        }
        let first = if leads_back { 0 } else { block + 1 };
        let mut next = || match first + random.below(blocks + 1 - first) {
            it if it == blocks => "out".to_owned(),
            it => format!("b{it}"),
        };
        let (yes, no) = (next(), next());
        if random.below(4) == 0 {
            writeln!(o, "  br label %{yes}")?;
        } else {
            let condition = condition(random, o, &block.to_string())?;
            writeln!(o, "  br i1 {condition}, label %{yes}, label %{no}")?;
        }
    }
    writeln!(o, "out:\n  %result.s = load i64, ptr %s\n  %result.t = load i64, ptr %t")?;
    writeln!(o, "  %result = mul i64 %result.s, 17\n  %all = add i64 %result, %result.t")?;
    writeln!(o, "  ret i64 %all\n}}")
}

/// Sets something.
fn statement(random: &mut Random, o: &mut String, id: &str) -> std::fmt::Result {
    let number = pick(random, &["s", "s", "t"]);
    match random.below(9) {
        0..=1 => writeln!(o, "  store i64 {}, ptr %{number}", random.below(4)),
        2 => writeln!(o, "  store i64 {}, ptr %{number}", pick(random, &["%a", "%b", "%c"])),
        3..=4 => {
            let by = pick(random, &["1", "-1", "-1", "2"]);
            writeln!(o, "  %old.{id} = load i64, ptr %{number}")?;
            writeln!(o, "  %new.{id} = add i64 %old.{id}, {by}")?;
            writeln!(o, "  store i64 %new.{id}, ptr %{number}")
        }
        5 => writeln!(o, "  store i1 {}, ptr %f", pick(random, &["true", "false"])),
        6 => {
            let condition = condition(random, o, id)?;
            writeln!(o, "  store i1 {condition}, ptr %f")
        }
        7 => writeln!(o, "  store ptr {}, ptr %p", pick(random, &["null", "%mem"])),
        _ => {
            writeln!(o, "  %from.{id} = load ptr, ptr %p")?;
            let by = pick(random, &["4", "-4", "0"]);
            writeln!(o, "  %to.{id} = getelementptr i8, ptr %from.{id}, i64 {by}")?;
            writeln!(o, "  store ptr %to.{id}, ptr %p")
        }
    }
}

/// Writes a condition, and gives its name.
fn condition(random: &mut Random, o: &mut String, id: &str) -> Result<String, std::fmt::Error> {
    let kind = random.below(8);
    if kind >= 6 {
        let [one, two] = ["l", "r"].map(|side| format!("{id}.{side}"));
        let (a, b) = (simple(random, o, &one, kind % 6)?, simple(random, o, &two, 3)?);
        let join = match random.below(4) {
            0 => format!("and i1 {a}, {b}"),
            1 => format!("or i1 {a}, {b}"),
            2 => format!("select i1 {a}, i1 true, i1 {b}"),
            _ => format!("select i1 {a}, i1 {b}, i1 false"),
        };
        writeln!(o, "  %both.{id} = {join}")?;
        return Ok(format!("%both.{id}"));
    }
    simple(random, o, id, kind)
}

/// Writes a condition on one thing.
fn simple(
    random: &mut Random,
    o: &mut String,
    id: &str,
    kind: usize,
) -> Result<String, std::fmt::Error> {
    let predicate = pick(random, &["eq", "ne", "eq", "ult", "uge", "slt"]);
    match kind {
        0 => {
            writeln!(o, "  %is.{id} = load i1, ptr %f")?;
            if random.below(3) == 0 {
                writeln!(o, "  %not.{id} = xor i1 %is.{id}, true")?;
                return Ok(format!("%not.{id}"));
            }
        }
        1 => {
            let other = pick(random, &["null", "%mem", "%mem"]);
            let predicate = pick(random, &["eq", "ne"]);
            writeln!(o, "  %at.{id} = load ptr, ptr %p")?;
            writeln!(o, "  %is.{id} = icmp {predicate} ptr %at.{id}, {other}")?;
        }
        2 => {
            writeln!(o, "  %x.{id} = load i64, ptr %s\n  %y.{id} = load i64, ptr %t")?;
            writeln!(o, "  %is.{id} = icmp {predicate} i64 %x.{id}, %y.{id}")?;
        }
        _ => {
            let other = pick(random, &["0", "0", "1", "2", "%a", "%c"]);
            writeln!(o, "  %x.{id} = load i64, ptr %{}", pick(random, &["s", "t"]))?;
            writeln!(o, "  %is.{id} = icmp {predicate} i64 %x.{id}, {other}")?;
        }
    }
    Ok(format!("%is.{id}"))
}

/// Threads jumps in the module of a seed, and compares. Says whether there was one.
///
/// # Errors
/// What went wrong, with the module and the passes.
pub fn check(seed: u64) -> Result<bool, String> {
    let source = generate(seed);
    let before = opt::read(source.as_bytes(), &[])
        .and_then(|input| opt::run(&input, "promote-locals"))
        .map_err(|error| format!("seed {seed}: {error}\n\n{source}"))?;
    compare(seed, &source, &["promote-locals,thread-headers"], |output| output != before)
}
