//! Random loops over slices that load an index in each iteration, check it, and load what it names,
//! run before and after the pass that looks at such checks when the loop has ended.
//!
//! Each slice ends where memory ends: behind it lies a page that nobody may read. Now and then a
//! loop would go on behind its slices if no check failed, or the slice that indices choose from is
//! empty. An iteration that panics leaves a mark and what it has summed up. [`check`] compares all
//! that is left in memory.

use std::fmt::Write;

use crate::random_ir::Random;
use crate::random_loops::{AROUND, compare, pick};

/// How often a loop is run.
const CALLS: usize = 24;

/// How many elements the slices of indices and of values have.
const ELEMENTS: usize = 200;

/// How many elements the slice has that indices choose from.
const CHOICE: usize = 50;

/// So many of the last indices are bad: no step goes past all of them.
const BAD: usize = 4;

/// Bytes of a slice's memory, and of what nobody may read behind it.
const ROOM: usize = 8192;

/// Writes the module of a seed.
#[must_use]
pub fn generate(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = AROUND.to_owned();
    text += "declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
        declare i32 @mprotect(ptr, i64, i32)
        declare i32 @munmap(ptr, i64)\n";
    let index = pick(&mut random, &["i8", "i16", "i32", "i64"]);
    let bad = [9, 40, 400][random.below(3)];
    let is_bad = |random: &mut Random, at: usize| at + BAD >= ELEMENTS || random.below(bad) == 0;
    table(&mut random, &mut text, "columns", index, ELEMENTS, |random, at| {
        // Its highest bit is set: as a number without a sign it names no memory at all.
        if is_bad(random, at) { -1 - random.below(3) as i64 } else { random.below(CHOICE) as i64 }
    });
    table(&mut random, &mut text, "values", "i32", ELEMENTS, |random, _| random.below(90) as i64);
    table(&mut random, &mut text, "x", "i64", CHOICE, |random, _| random.below(CHOICE) as i64);
    function(&mut random, &mut text, index).expect("writing to a string");
    text += "define void @kernel(ptr %mem, i64 %n, i64 %v, i64 %never) {\n";
    for (name, bytes) in
        [("columns", ELEMENTS * size(index)), ("values", ELEMENTS * 4), ("x", CHOICE * 8)]
    {
        let (begin, whole) = (ROOM - bytes, 2 * ROOM);
        writeln!(
            text,
            "  %{name}.room = call ptr @mmap(ptr null, i64 {whole}, i32 3, i32 34, i32 -1, i64 0)
               %{name}.end = getelementptr i8, ptr %{name}.room, i64 {ROOM}
               %{name}.closed = call i32 @mprotect(ptr %{name}.end, i64 {ROOM}, i32 0)
               %{name} = getelementptr i8, ptr %{name}.room, i64 {begin}
               call void @llvm.memcpy.p0.p0.i64(ptr %{name}, ptr @{name}, i64 {bytes}, i1 false)"
        )
        .expect("writing to a string");
    }
    for call in 0..CALLS {
        let from = random.below(ELEMENTS);
        let to = match random.below(6) {
            // Only the bad indices at the end keep the loop from going on.
            0 => ELEMENTS + random.below(5000),
            1 => from + random.below(2),
            _ => from + random.below(ELEMENTS - from),
        };
        let choice = if random.below(6) == 0 { 0 } else { CHOICE };
        writeln!(
            text,
            "  %r{call} = call i64 @f(ptr %mem, ptr %columns, i64 {ELEMENTS}, ptr %values, i64 {ELEMENTS},
                   ptr %x, i64 {choice}, i64 {}, i64 {from}, i64 {to})
               call void @panic(ptr %mem, i64 {call}, i64 %r{call})",
            choice.saturating_sub(random.below(2) * random.below(60))
        )
        .expect("writing to a string");
    }
    for name in ["columns", "values", "x"] {
        let whole = 2 * ROOM;
        writeln!(text, "  %{name}.gone = call i32 @munmap(ptr %{name}.room, i64 {whole})")
            .expect("writing to a string");
    }
    text + "  ret void\n}\n"
}

fn size(ty: &str) -> usize {
    ty[1..].parse::<usize>().expect("a width") / 8
}

fn table(
    random: &mut Random,
    text: &mut String,
    name: &str,
    ty: &str,
    count: usize,
    element: impl Fn(&mut Random, usize) -> i64,
) {
    let elements: Vec<String> =
        (0..count).map(|at| format!("{ty} {}", element(random, at))).collect();
    let elements = elements.join(", ");
    writeln!(text, "@{name} = internal constant [{count} x {ty}] [{elements}], align 8")
        .expect("writing to a string");
}

/// The function with the loop.
fn function(random: &mut Random, o: &mut String, index: &str) -> std::fmt::Result {
    let step = pick(random, &["1", "1", "1", "-1"]);
    let down = step == "-1";
    let limit = pick(random, &["%x.len", "%x.len", "%limit", "50"]);
    // A constant says nothing of an empty slice.
    let guard = if limit == "50" { "icmp eq i64 %x.len, 0" } else { "icmp eq i64 0, 1" };
    writeln!(
        o,
        "define internal i64 @f(ptr %mem, ptr noundef \"schism.slice\"=\"0:{size}\" %columns,
             i64 noundef \"schism.length\"=\"0\" %columns.len, ptr noundef \"schism.slice\"=\"2:4\" %values,
             i64 noundef \"schism.length\"=\"2\" %values.len, ptr noundef \"schism.slice\"=\"4:8\" %x,
             i64 noundef \"schism.length\"=\"4\" %x.len, i64 %limit, i64 %from, i64 %to) noinline {{
         before:
           %begin = {begin}
           %none = icmp uge i64 %from, %to
           %guarded = {guard}
           %not = or i1 %none, %guarded
           br i1 %not, label %none.at.all, label %iteration
         iteration:
           %k = phi i64 [ %begin, %before ], [ %k.next, %inside ]
           %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
           %last = phi i64 [ 5, %before ], [ %index, %inside ]
           %column.at = getelementptr inbounds {index}, ptr %columns, i64 %k
           %column = load {index}, ptr %column.at, !noundef !0",
        size = size(index),
        begin = match down {
            // From the last good index at most.
            true => "call i64 @llvm.umin.i64(i64 %to, i64 195)",
            false => "add i64 %from, 0",
        },
    )?;
    match index {
        "i64" => writeln!(o, "  %index = add i64 %column, 0")?,
        _ => writeln!(o, "  %index = {} {index} %column to i64", pick(random, &["zext", "sext"]))?,
    }
    writeln!(
        o,
        "  %ok = icmp ult i64 %index, {limit}
           br i1 %ok, label %checked, label %panic.index
         checked:
           %value.at = getelementptr inbounds i32, ptr %values, i64 %k
           %value = load i32, ptr %value.at
           %value.long = zext i32 %value to i64
           %x.at = getelementptr inbounds i64, ptr %x, i64 %index
           %element = load i64, ptr %x.at"
    )?;
    // Sometimes what is loaded is an index again.
    let chosen = match random.below(3) {
        0 => {
            writeln!(
                o,
                "  %again.ok = icmp ult i64 %element, {limit}
                   br i1 %again.ok, label %again, label %panic.again
                 again:
                   %again.at = getelementptr inbounds i64, ptr %x, i64 %element
                   %again.element = load i64, ptr %again.at
                   br label %inside"
            )?;
            "%again.element"
        }
        _ => {
            writeln!(o, "  br label %inside")?;
            "%element"
        }
    };
    let mixed = pick(random, &["mul i64 %sum, 31", "add i64 %sum, %last", "xor i64 %sum, %k"]);
    let more = match (down, step) {
        (true, _) => "icmp ugt i64 %k, %from",
        (_, "1") => pick(random, &["icmp ult i64 %k.next, %to", "icmp ne i64 %k.next, %to"]),
        _ => pick(random, &["icmp ult i64 %k.next, %to", "icmp slt i64 %k.next, %to"]),
    };
    let left = pick(random, &["%sum.next", "%sum", "%index", "%k", "%k.next"]);
    writeln!(
        o,
        "inside:
           %product = mul i64 {chosen}, %value.long
           %mixed = {mixed}
           %sum.next = add i64 %mixed, %product
           %k.next = add {flags} i64 %k, {step}
           %more = {more}
           br i1 %more, label %iteration, label %done
         panic.index:
           call void @panic(ptr %mem, i64 1, i64 %index)
           ret i64 %sum
         {again}none.at.all:
           ret i64 77
         done:
           %r = xor i64 %sum.next, {left}
           ret i64 %r
         }}
         declare i64 @llvm.umin.i64(i64, i64)
         !0 = !{{}}",
        flags = if down { "nsw" } else { "nuw nsw" },
        again = match chosen {
            "%element" => "",
            _ => "panic.again:\n  call void @panic(ptr %mem, i64 2, i64 %k)\n  ret i64 %sum\n",
        }
    )
}

/// Runs the pass over the module of a seed, and compares. Says whether a loop looks at its checks
/// late.
///
/// # Errors
/// What went wrong, with the module and the passes.
pub fn check(seed: u64) -> Result<bool, String> {
    let lists = ["late-checks", "loop-versioning,late-checks", "late-checks,merge-checks"];
    compare(seed, &generate(seed), &lists, |output| {
        output.contains("call i32 @llvm.umax.i32(") || output.contains("call i64 @llvm.umax.i64(")
    })
}
