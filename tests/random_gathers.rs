//! Random loops that load an index in each iteration, check it, and load what it names, run before
//! and after the pass that makes several iterations at once.
//!
//! [`generate`] writes tables in global memory and a loop over one or two of them: elements of 1 to
//! 8 bytes, steps up or down, indices that are now and then too large, sums in which the order
//! counts. An iteration that panics leaves a mark and what it has summed up. [`check`] compares all
//! that is left in memory. An index that is too large names no memory at all: who loads what it
//! names ends the process.

use std::fmt::Write;

use crate::random_ir::Random;
use crate::random_loops::{AROUND, compare, pick};

/// How often a loop is run.
const CALLS: usize = 24;

/// How many elements a table has.
const TABLE: usize = 1536;

/// What the tables' elements are.
const TYPES: [&str; 4] = ["i8", "i16", "i32", "i64"];

/// Writes the module of a seed.
#[must_use]
pub fn generate(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = AROUND.to_owned();
    let (index, value) = (TYPES[random.below(4)], TYPES[random.below(4)]);
    let bad = [9, 40, 200][random.below(3)];
    table(&mut random, &mut text, "columns", index, |random| match random.below(bad) {
        0 => -(1 + random.below(3) as i64),
        _ => random.below(100) as i64,
    });
    table(&mut random, &mut text, "values", value, |random| random.below(120) as i64);
    table(&mut random, &mut text, "x", "i64", |random| random.below(1000) as i64);
    function(&mut random, &mut text, index, value).expect("writing to a string");
    text += "define void @kernel(ptr %mem, i64 %n, i64 %v, i64 %never) {\n";
    for call in 0..CALLS {
        let from = 3 + random.below(300);
        let to = match random.below(4) {
            0 => from + random.below(3),
            1 => from.saturating_sub(random.below(200)),
            _ => from + random.below(1000),
        };
        let shifts = [random.below(12), random.below(12)];
        // Often in the same place of a chunk.
        let other = if random.below(4) > 0 { shifts[0] } else { shifts[1] };
        writeln!(
            text,
            "  %r{call} = call i64 @f(ptr %mem, i64 100, i64 {}, i64 {other}, i64 {from}, i64 {to})
               call void @panic(ptr %mem, i64 {call}, i64 %r{call})",
            shifts[0]
        )
        .expect("writing to a string");
    }
    text + "  ret void\n}\n"
}

/// A table in global memory.
fn table(
    random: &mut Random,
    text: &mut String,
    name: &str,
    ty: &str,
    element: impl Fn(&mut Random) -> i64,
) {
    let elements: Vec<String> = (0..TABLE).map(|_| format!("{ty} {}", element(random))).collect();
    let elements = elements.join(", ");
    writeln!(
        text,
        "@{name} = internal addrspace(1) global [{TABLE} x {ty}] [{elements}], align 64"
    )
    .expect("writing to a string");
}

/// The function with the loop.
fn function(random: &mut Random, o: &mut String, index: &str, value: &str) -> std::fmt::Result {
    let step = pick(random, &["1", "1", "1", "1", "2", "32", "-1", "-1", "-3"]);
    writeln!(
        o,
        "define internal i64 @f(ptr %mem, i64 %len, i64 %a, i64 %b, i64 %from, i64 %to) {{
         before:
           %columns = getelementptr {index}, ptr addrspace(1) @columns, i64 %a
           %values = getelementptr {value}, ptr addrspace(1) @values, i64 %b
           %to.down = add i64 %to, 2
           %down = icmp slt i64 {step}, 0
           %is.less = icmp ult i64 %from, %to
           %wrong = icmp eq i1 %down, %is.less
           br i1 %wrong, label %none, label %iteration
         iteration:
           %k = phi i64 [ %from, %before ], [ %k.next, %inside ]
           %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
           %last = phi i64 [ 5, %before ], [ %column, %inside ]"
    )?;
    let early = random.below(2) == 0;
    let load_value = format!(
        "  %value.at = getelementptr {value}, ptr addrspace(1) %values, i64 %k
           %value.loaded = load {value}, ptr addrspace(1) %value.at"
    );
    if early {
        writeln!(o, "{load_value}")?;
    }
    writeln!(
        o,
        "  %column.at = getelementptr {index}, ptr addrspace(1) %columns, i64 %k
           %column.loaded = load {index}, ptr addrspace(1) %column.at"
    )?;
    for (name, ty) in [("column", index), ("value", value)] {
        if name == "value" && !early {
            continue;
        }
        extend(o, name, ty)?;
    }
    // Sometimes a second check, of the counter.
    if random.below(3) == 0 {
        let most = 250 + random.below(1200);
        writeln!(
            o,
            "  %k.inside = icmp ult i64 %k, {most}
               br i1 %k.inside, label %second, label %panic.k
             second:"
        )?;
    }
    let checked = match early && random.below(3) == 0 {
        true => "add i64 %column, %value",
        false => "add i64 %column, 0",
    };
    writeln!(
        o,
        "  %checked = {checked}
           %ok = icmp ult i64 %checked, 300
           br i1 %ok, label %third, label %panic.index
         third:"
    )?;
    if !early {
        writeln!(o, "{load_value}")?;
        extend(o, "value", value)?;
    }
    let mixed = pick(random, &["mul i64 %sum, 31", "add i64 %sum, %last", "xor i64 %sum, %k"]);
    writeln!(
        o,
        "  %x.at = getelementptr i64, ptr addrspace(1) @x, i64 %checked
           %x = load i64, ptr addrspace(1) %x.at, !noundef !0
           %product = mul i64 %x, %value
           %mixed = {mixed}
           %sum.next = add i64 %mixed, %product
           br label %inside
         inside:
           %k.next = add i64 %k, {step}"
    )?;
    let more = match step.starts_with('-') {
        // A step must not go past zero.
        true => "%more = icmp ugt i64 %k.next, %to.down".to_owned(),
        false if step == "1" => {
            format!("%more = icmp {} i64 %k.next, %to", pick(random, &["ne", "ule", "slt", "ult"]))
        }
        false => format!("%more = icmp {} i64 %k.next, %to", pick(random, &["slt", "ult"])),
    };
    let left = pick(random, &["%sum.next", "%sum", "%column", "%k", "%product", "%k.next"]);
    writeln!(
        o,
        "  {more}
           br i1 %more, label %iteration, label %done
         panic.index:
           call void @panic(ptr %mem, i64 1, i64 %column)
           ret i64 %sum
         {}none:
           ret i64 77
         done:
           %r = xor i64 %sum.next, {left}
           ret i64 %r
         }}
         !0 = !{{}}",
        match o.contains("label %panic.k") {
            true => "panic.k:\n  call void @panic(ptr %mem, i64 2, i64 %k)\n  ret i64 %sum\n",
            false => "",
        }
    )
}

fn extend(o: &mut String, name: &str, ty: &str) -> std::fmt::Result {
    match ty {
        "i64" => writeln!(o, "  %{name} = add i64 %{name}.loaded, 0"),
        _ => writeln!(o, "  %{name} = sext {ty} %{name}.loaded to i64"),
    }
}

/// Runs the pass over the module of a seed, and compares. Says whether several iterations were made
/// at once.
///
/// # Errors
/// What went wrong, with the module and the passes.
pub fn check(seed: u64) -> Result<bool, String> {
    let lists = ["strip-mine", "loop-versioning,strip-mine", "merge-checks,strip-mine"];
    let is_made = |output: &str| output.contains("load <") || output.contains(", 4095");
    compare(seed, &generate(seed), &lists, is_made)
}
