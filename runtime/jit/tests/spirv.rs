//! The SPIR-V of small kernels. Where there is a validator, it has to accept each module.

mod support;

use schism_jit_abi::*;
use support::gpu::panics;
use support::spirv::{self, Spirv, build, count, instructions};
use support::{Source, kernel, param, words};

const CAPABILITY: u16 = 17;
const LOAD: u16 = 61;
const STORE: u16 = 62;
const F_MUL: u16 = 133;
const F_ADD: u16 = 129;

/// The text of the error that compiling must end in.
fn refusal(source: Source) -> String {
    let (code, text) = spirv::source(source).spirv().expect_err("an error");
    assert_eq!(code, UNSUPPORTED, "{text}");
    text
}

fn saxpy(kernel: &str) -> Source {
    let params =
        vec![param(0, 8, PARAM_POINTER), param(8, 8, PARAM_POINTER), param(16, 4, PARAM_FLOAT)];
    Source::new(include_str!("kernels/saxpy.ll"), kernel, params)
}

#[test]
fn saxpy_is_what_one_would_write() {
    for name in ["saxpy", "saxpy_slice"] {
        let code = build(saxpy(name));
        assert_eq!((code.entry.as_str(), code.flags), (name, GPU_RANGE));
        assert_eq!((count(&code, F_MUL), count(&code, F_ADD)), (1, 1));
        assert_eq!(count(&code, STORE), 1);
        // Two numbers, and where the work-item is.
        assert_eq!(count(&code, LOAD), 3, "{}", code.text());
    }
}

#[test]
fn a_module_says_what_it_requires_and_nothing_else() {
    /// Addresses, Kernel, Int64, Int8.
    const LEAST: [u32; 4] = [4, 6, 11, 39];
    let capabilities = |code: &Spirv| -> Vec<u32> {
        let all = instructions(code).into_iter();
        all.filter(|(op, _)| *op == CAPABILITY).map(|(_, operands)| operands[0]).collect()
    };
    assert_eq!(capabilities(&build(saxpy("saxpy"))), LEAST);
    let double = kernel(
        "",
        "%at = getelementptr inbounds double, ptr %from, i64 %x
         %value = load double, ptr %at, align 8
         %twice = fadd double %value, %value
         store double %twice, ptr %to, align 8",
    );
    // And Float64.
    assert_eq!(capabilities(&build(double)), [4, 6, 10, 11, 39]);
    let atomic = kernel("", "%old = atomicrmw add ptr %to, i64 %n monotonic");
    // And Int64Atomics.
    assert_eq!(capabilities(&build(atomic)), [4, 6, 11, 12, 39]);
}

#[test]
fn every_instruction_of_integers_is_lowered() {
    for bits in [8, 16, 24, 32, 33, 64] {
        let narrow = |value: &str| match bits {
            64 => format!("add i64 {value}, 0"),
            bits => format!("trunc i64 {value} to i{bits}"),
        };
        let mut lines = format!(
            "%a64 = load i64, ptr %from, align 8
             %b64 = add i64 %a64, %n
             %a = {}\n%b.0 = {}
             %b = or i{bits} %b.0, 1\n",
            narrow("%a64"),
            narrow("%b64")
        );
        let mut at = 0;
        let mut keep = |lines: &mut String, value: &str, ty: &str, signed: bool| {
            let wide = if ty == "i64" {
                value.to_owned()
            } else {
                let how = if signed { "sext" } else { "zext" };
                lines.push_str(&format!("%w{at} = {how} {ty} {value} to i64\n"));
                format!("%w{at}")
            };
            lines.push_str(&format!(
                "%p{at} = getelementptr inbounds i64, ptr %to, i64 {at}
                 store i64 {wide}, ptr %p{at}, align 8\n"
            ));
            at += 1;
        };
        let ty = format!("i{bits}");
        for op in ["add", "sub", "mul", "and", "or", "xor", "udiv", "sdiv", "urem", "srem"] {
            lines.push_str(&format!("%{op} = {op} {ty} %a, %b\n"));
            keep(&mut lines, &format!("%{op}"), &ty, op.starts_with('s'));
        }
        for op in ["shl", "lshr", "ashr"] {
            lines.push_str(&format!("%{op}.by = and {ty} %b, 7\n%{op} = {op} {ty} %a, %{op}.by\n"));
            keep(&mut lines, &format!("%{op}"), &ty, true);
        }
        for predicate in ["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"] {
            lines.push_str(&format!("%{predicate} = icmp {predicate} {ty} %a, %b\n"));
            keep(&mut lines, &format!("%{predicate}"), "i1", false);
        }
        build(kernel("", &lines));
    }
}

#[test]
fn bits_of_numbers_of_any_width_are_reversed() {
    for bits in [1, 4, 7, 24, 48] {
        build(kernel(
            &format!("declare i{bits} @llvm.bitreverse.i{bits}(i{bits})"),
            &format!(
                "%a = load i64, ptr %from, align 8
                 %low = trunc i64 %a to i{bits}
                 %r = call i{bits} @llvm.bitreverse.i{bits}(i{bits} %low)
                 %wide = zext i{bits} %r to i64
                 store i64 %wide, ptr %to, align 8"
            ),
        ));
    }
}

#[test]
fn intrinsics_are_instructions_or_calls_of_the_library() {
    let integers = [
        ("smax", 2),
        ("smin", 2),
        ("umax", 2),
        ("umin", 2),
        ("ctpop", 1),
        ("bswap", 1),
        ("bitreverse", 1),
        ("fshl", 3),
        ("fshr", 3),
        ("sadd.sat", 2),
        ("uadd.sat", 2),
        ("ssub.sat", 2),
        ("usub.sat", 2),
    ];
    for bits in [16, 32, 64] {
        for (name, operands) in integers {
            let ty = format!("i{bits}");
            let types = vec![ty.as_str(); operands].join(", ");
            let values = ["%a", "%b", "%a"][..operands].iter();
            let values: Vec<String> = values.map(|value| format!("{ty} {value}")).collect();
            build(kernel(
                &format!("declare {ty} @llvm.{name}.{ty}({types})"),
                &format!(
                    "%a = load {ty}, ptr %from, align 8
                     %at = getelementptr {ty}, ptr %from, i64 %x
                     %b = load {ty}, ptr %at, align 2
                     %r = call {ty} @llvm.{name}.{ty}({})
                     store {ty} %r, ptr %to, align 8",
                    values.join(", ")
                ),
            ));
        }
        for name in ["sadd", "uadd", "ssub", "usub", "smul", "umul"] {
            let ty = format!("i{bits}");
            build(kernel(
                &format!("declare {{ {ty}, i1 }} @llvm.{name}.with.overflow.{ty}({ty}, {ty})"),
                &format!(
                    "%a = load {ty}, ptr %from, align 8
                     %at = getelementptr {ty}, ptr %from, i64 %x
                     %b = load {ty}, ptr %at, align 2
                     %both = call {{ {ty}, i1 }} @llvm.{name}.with.overflow.{ty}({ty} %a, {ty} %b)
                     %r = extractvalue {{ {ty}, i1 }} %both, 0
                     %lost = extractvalue {{ {ty}, i1 }} %both, 1
                     %kept = select i1 %lost, {ty} 7, {ty} %r
                     store {ty} %kept, ptr %to, align 8"
                ),
            ));
        }
    }
    for (ty, suffix) in [("float", "f32"), ("double", "f64")] {
        for name in ["fabs", "floor", "ceil", "trunc", "rint", "round", "sqrt", "fma"] {
            let count = if name == "fma" { 3 } else { 1 };
            let types = vec![ty; count].join(", ");
            let values = vec![format!("{ty} %a"); count].join(", ");
            build(kernel(
                &format!("declare {ty} @llvm.{name}.{suffix}({types})"),
                &format!(
                    "%a = load {ty}, ptr %from, align 8
                     %r = call {ty} @llvm.{name}.{suffix}({values})
                     store {ty} %r, ptr %to, align 8"
                ),
            ));
        }
        for (name, bits) in [("fptosi", 32), ("fptoui", 8), ("fptosi", 64)] {
            build(kernel(
                &format!("declare i{bits} @llvm.{name}.sat.i{bits}.{suffix}({ty})"),
                &format!(
                    "%a = load {ty}, ptr %from, align 8
                     %r = call i{bits} @llvm.{name}.sat.i{bits}.{suffix}({ty} %a)
                     store i{bits} %r, ptr %to, align 8"
                ),
            ));
        }
    }
}

#[test]
fn loops_switches_and_locals_are_lowered() {
    let text = "@table = internal constant [5 x i32] [i32 3, i32 1, i32 4, i32 1, i32 5]
        define void @k(ptr align 4 %to, i64 %n) {
        start:
          %x = call i64 @__schism_global_id_x()
          %local = alloca [16 x i32], align 4
          br label %iteration
        iteration:
          %i = phi i64 [ 0, %start ], [ %next, %joined ]
          %sum = phi i32 [ 0, %start ], [ %more, %joined ]
          %kind = urem i64 %i, 5
          switch i64 %kind, label %joined [ i64 0, label %zero i64 3, label %three i64 4, label %joined ]
        zero:
          %slot = and i64 %i, 15
          %in = getelementptr inbounds i32, ptr %local, i64 %slot
          store volatile i32 %sum, ptr %in, align 4
          br label %joined
        three:
          %from = getelementptr inbounds i32, ptr @table, i64 %kind
          %value = load i32, ptr %from, align 4
          br label %joined
        joined:
          %plus = phi i32 [ 7, %iteration ], [ 7, %iteration ], [ 9, %zero ], [ %value, %three ]
          %more = add i32 %sum, %plus
          %next = add nuw i64 %i, 1
          %done = icmp eq i64 %next, %n
          br i1 %done, label %end, label %iteration
        end:
          %at = getelementptr inbounds i32, ptr %to, i64 %x
          store i32 %more, ptr %at, align 4
          ret void
        }";
    let code = build(Source::new(text, "k", words(&[PARAM_POINTER, PARAM_INTEGER])));
    assert!(count(&code, 251) > 0, "a switch");
}

#[test]
fn panics_leave_a_message_and_end_the_work_item() {
    let text = include_str!("kernels/panics.ll");
    let mut names = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("define void @")) {
        let name = line["define void @".len()..].split('(').next().expect("a name");
        if line.contains("(ptr") && line.matches(',').count() == 1 {
            names.push(name);
        }
    }
    assert!(names.len() > 3, "{names:?}");
    for name in names {
        match spirv::source(panics(name)).spirv() {
            Ok(code) => {
                code.check();
                assert_eq!(code.flags & GPU_MESSAGES != 0, name != "never", "{name}");
            }
            Err((code, text)) => {
                let is_known = text.contains("recursion (`");
                assert!(code == UNSUPPORTED && is_known, "`{name}`: {text}");
            }
        }
    }
}

/// The numbers of an instruction's operands that are not results.
const CALL: u16 = 57;
const FUNCTION: u16 = 54;
const EXECUTION_MODE: u16 = 16;

#[test]
fn a_panic_is_written_by_a_function_that_is_not_inlined() {
    let code = build(panics("inlined"));
    let all = instructions(&code);
    // The entry and the function; operands are type, id, control, type.
    let controls: Vec<u32> =
        all.iter().filter(|(op, _)| *op == FUNCTION).map(|(_, operands)| operands[2]).collect();
    assert_eq!(controls, [0, 2], "not to be inlined: {}", code.text());
    assert_eq!(all.iter().filter(|(op, _)| *op == CALL).count(), 1, "{}", code.text());
    // Kernels whose messages copy values have code that is not to be vectorised.
    let hints = |code: &Spirv| {
        let modes = instructions(code).into_iter().filter(|(op, _)| *op == EXECUTION_MODE);
        modes.filter(|(_, operands)| operands[1] == 30).count()
    };
    assert_eq!(hints(&code), 0);
    assert_eq!(hints(&build(panics("shown_text"))), 1);
}

#[test]
fn integers_of_more_than_64_bits_are_two_numbers_in_memory() {
    for bits in [65, 72, 96, 100, 127, 128] {
        build(kernel(
            "",
            &format!(
                "%value = load i{bits}, ptr %from, align 4
                 %sum = add i{bits} %value, 3
                 store i{bits} %sum, ptr %to, align 8"
            ),
        ));
    }
}

#[test]
fn vectors_of_bits_are_numbers_in_memory() {
    build(kernel(
        "",
        "%vector = load <16 x i32>, ptr %from, align 4
         %bits = icmp sgt <16 x i32> %vector, zeroinitializer
         store <16 x i1> %bits, ptr %to, align 2
         %again = load <16 x i1>, ptr %to, align 2
         %number = bitcast <16 x i1> %again to i16
         %sum = add i16 %number, 5
         %back = bitcast i16 %sum to <16 x i1>
         %numbers = zext <16 x i1> %back to <16 x i32>
         store <16 x i32> %numbers, ptr %to, align 4",
    ));
}

#[test]
fn classes_of_numbers_are_ranges_of_their_bits() {
    for (ty, name) in [("half", "f16"), ("float", "f32"), ("double", "f64")] {
        for classes in [1, 3, 240, 516, 1023] {
            build(kernel(
                &format!("declare i1 @llvm.is.fpclass.{name}({ty}, i32)"),
                &format!(
                    "%a = load {ty}, ptr %from, align 2
                     %is = call i1 @llvm.is.fpclass.{name}({ty} %a, i32 {classes})
                     %byte = zext i1 %is to i8
                     store i8 %byte, ptr %to, align 1"
                ),
            ));
        }
    }
}

#[test]
fn reductions_of_integers_are_lowered_element_after_element() {
    // `OpIAdd` and its like, and `OpSelect` behind a comparison.
    for (kind, opcode) in [("add", 128), ("mul", 132), ("xor", 198), ("umax", 169), ("smin", 169)] {
        for ty in ["i8", "i32", "i64"] {
            let code = build(kernel(
                &format!("declare {ty} @llvm.vector.reduce.{kind}.v4{ty}(<4 x {ty}>)"),
                &format!(
                    "%a = load <4 x {ty}>, ptr %from, align 8
                     %all = call {ty} @llvm.vector.reduce.{kind}.v4{ty}(<4 x {ty}> %a)
                     store {ty} %all, ptr %to, align 8"
                ),
            ));
            assert!(count(&code, opcode) >= 3, "{kind} {ty}");
        }
    }
    let text = refusal(kernel(
        "declare float @llvm.vector.reduce.fadd.v4f32(float, <4 x float>)",
        "%a = load <4 x float>, ptr %from, align 8
         %all = call float @llvm.vector.reduce.fadd.v4f32(float 0.0, <4 x float> %a)
         store float %all, ptr %to, align 8",
    ));
    assert!(text.contains("vector.reduce.fadd"), "{text}");
}

#[test]
fn zeros_in_front_are_counted() {
    /// `OpSelect`.
    const SELECT: u16 = 169;
    for bits in [1, 8, 64] {
        let code = build(kernel(
            &format!("declare i64 @llvm.experimental.cttz.elts.i64.v4i{bits}(<4 x i{bits}>, i1)"),
            &format!(
                "%all = load <4 x i64>, ptr %from, align 8
                 %some = trunc <4 x i64> %all to <4 x i{bits}>
                 %first = call i64 @llvm.experimental.cttz.elts.i64.v4i{bits}(<4 x i{bits}> %some, i1 false)
                 store i64 %first, ptr %to, align 8"
            )
            .replace("trunc <4 x i64> %all to <4 x i64>", "add <4 x i64> %all, splat (i64 5)"),
        ));
        assert_eq!(count(&code, SELECT), 4, "{bits}: {}", code.text());
    }
}

#[test]
fn comparisons_of_three_results_are_lowered() {
    for ty in ["i8", "i32", "i64", "i128"] {
        for kind in ["scmp", "ucmp"] {
            build(kernel(
                &format!("declare i8 @llvm.{kind}.i8.{ty}({ty}, {ty})"),
                &format!(
                    "%a = load {ty}, ptr %from, align 1
                     %b = load {ty}, ptr %to, align 1
                     %order = call i8 @llvm.{kind}.i8.{ty}({ty} %a, {ty} %b)
                     store i8 %order, ptr %to, align 1"
                ),
            ));
        }
    }
}

#[test]
fn variables_of_functions_that_are_not_inlined_are_in_memory() {
    build(kernel(
        "@table = private constant [4 x i64] [i64 3, i64 1, i64 4, i64 1], align 8
         define internal i64 @look(i64 %i) noinline optnone {
           %at = getelementptr [4 x i64], ptr @table, i64 0, i64 %i
           %value = load i64, ptr %at, align 8
           ret i64 %value
         }",
        "%i = and i64 %x, 3
         %value = call i64 @look(i64 %i)
         store i64 %value, ptr %to, align 8",
    ));
}

#[test]
fn bytes_by_value_are_in_a_structure() {
    let params = vec![param(0, 8, PARAM_POINTER), param(8, 20, PARAM_BYTES)];
    let text = "define void @k(ptr %to, ptr byval([20 x i8]) align 4 %bytes) {
          %at = getelementptr inbounds i8, ptr %bytes, i64 16
          %value = load i32, ptr %at, align 4
          store i32 %value, ptr %to, align 4
          ret void
        }";
    let code = build(Source::new(text, "k", params));
    /// `OpTypeStruct`.
    const STRUCTURE: u16 = 30;
    assert_eq!(count(&code, STRUCTURE), 1, "{}", code.text());
}

#[test]
fn how_often_a_sum_is_added_to_is_hidden() {
    let sum = |ty: &str, add: &str, zero: &str| {
        kernel(
            "",
            &format!(
                "br label %loop
               loop:
                 %i = phi i64 [ 0, %0 ], [ %next, %loop ]
                 %sum = phi {ty} [ {zero}, %0 ], [ %more, %loop ]
                 %at = getelementptr inbounds {ty}, ptr %from, i64 %i
                 %value = load volatile {ty}, ptr %at, align 4
                 %more = {add} {ty} %sum, %value
                 %next = add nuw i64 %i, 1
                 %end = icmp eq i64 %next, %n
                 br i1 %end, label %after, label %loop
               after:
                 store {ty} %more, ptr %to, align 4"
            ),
        )
    };
    /// `OpDecorate ID BuiltIn GlobalOffset`.
    const DECORATE: u16 = 71;
    let offsets = |code: &Spirv| {
        let all = instructions(code).into_iter().filter(|(op, _)| *op == DECORATE);
        all.filter(|(_, operands)| operands[1..] == [11, 33]).count()
    };
    let floats = build(sum("float", "fadd", "0.0"));
    assert_eq!(offsets(&floats), 1, "{}", floats.text());
    let integers = build(sum("i32", "add", "0"));
    assert_eq!(offsets(&integers), 0, "{}", integers.text());
}

#[test]
fn atomic_accesses_are_lowered() {
    for ty in ["i32", "i64"] {
        for op in ["add", "sub", "and", "or", "xor", "xchg", "max", "min", "umax", "umin"] {
            for order in ["monotonic", "acq_rel", "seq_cst"] {
                let lines = format!(
                    "%n.t = trunc i64 %n to i32
                     %value = add {ty} {}, 1
                     %old = atomicrmw {op} ptr %to, {ty} %value {order}",
                    if ty == "i64" { "%n" } else { "%n.t" }
                );
                build(kernel("", &lines));
            }
        }
    }
    build(kernel(
        "",
        "%pair = cmpxchg ptr %to, i64 %n, i64 %x acq_rel acquire
         %won = extractvalue { i64, i1 } %pair, 1
         %found = load atomic i64, ptr %from acquire, align 8
         %kept = select i1 %won, i64 %found, i64 0
         fence syncscope(\"workgroup\") acq_rel
         store atomic i64 %kept, ptr %to release, align 8",
    ));
}

#[test]
fn atomics_that_spirv_lacks_become_loops() {
    let operations =
        ["add", "sub", "and", "or", "xor", "xchg", "max", "min", "umax", "umin", "nand"];
    for bits in [8, 16, 32] {
        for op in operations {
            build(kernel(
                "",
                &format!(
                    "%value = trunc i64 %n to i{bits}
                     %at = getelementptr i{bits}, ptr %to, i64 %x
                     %old = atomicrmw {op} ptr %at, i{bits} %value acq_rel
                     %out = getelementptr i{bits}, ptr %to, i64 %n
                     store i{bits} %old, ptr %out, align 1"
                ),
            ));
        }
    }
    for (ty, cut) in
        [("float", "fptrunc double %n.f to float"), ("double", "fadd double %n.f, 0.0")]
    {
        for op in ["fadd", "fsub", "fmax", "fmin", "xchg"] {
            let code = build(kernel(
                "",
                &format!(
                    "%n.f = uitofp i64 %n to double
                     %value = {cut}
                     %old = atomicrmw {op} ptr %to, {ty} %value monotonic"
                ),
            ));
            let loops = usize::from(op != "xchg");
            assert_eq!(count(&code, 230), loops, "compare-exchanges of {op} {ty}");
        }
    }
    build(kernel(
        "",
        "%value = trunc i64 %n to i8
         %pair = cmpxchg ptr %to, i8 %value, i8 7 seq_cst acquire
         %won = extractvalue { i8, i1 } %pair, 1
         %found = load atomic i8, ptr %from acquire, align 1
         %kept = select i1 %won, i8 %found, i8 %value
         %at = getelementptr i8, ptr %to, i64 %x
         store atomic i8 %kept, ptr %at release, align 1",
    ));
}

#[test]
fn fills_and_moves_become_loops() {
    for (align, size) in [(1, "%n"), (4, "%n"), (8, "1000"), (16, "%n"), (2, "7")] {
        let code = build(kernel(
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
             declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)",
            &format!(
                "%byte = trunc i64 %x to i8
                 call void @llvm.memset.p0.i64(ptr align {align} %to, i8 %byte, i64 {size}, i1 false)
                 %behind = getelementptr i8, ptr %to, i64 %x
                 call void @llvm.memmove.p0.p0.i64(ptr align {align} %behind, ptr align {align} %to, i64 {size}, i1 false)"
            ),
        ));
        assert!(!code.bytes.is_empty());
    }
}

#[test]
fn calls_through_addresses_choose() {
    let code = build(kernel(
        "@shapes = internal constant [2 x ptr] [ptr @area, ptr @length]
         define internal i64 @area(i64 %n) noinline { %r = mul i64 %n, %n ret i64 %r }
         define internal i64 @length(i64 %n) noinline { %r = mul i64 %n, 4 ret i64 %r }
         define internal float @other(float %n) noinline { ret float %n }",
        "%which = and i64 %x, 1
         %at = getelementptr [2 x ptr], ptr @shapes, i64 0, i64 %which
         %shape = load ptr, ptr %at, align 8
         %size = call i64 %shape(i64 %n)
         store i64 %size, ptr %to, align 8",
    ));
    assert!(!code.bytes.is_empty());
}

#[test]
fn choices_by_integers_of_128_bits() {
    for bits in [65, 100, 128] {
        let load = match bits {
            128 => "%a = load i128, ptr %from, align 16".into(),
            _ => {
                format!("%wide = load i128, ptr %from, align 16\n%a = trunc i128 %wide to i{bits}")
            }
        };
        build(kernel(
            "",
            &format!(
                "{load}
                 switch i{bits} %a, label %other [
                   i{bits} 5, label %first
                   i{bits} -1, label %second
                   i{bits} 18446744073709551621, label %first
                 ]
               first:
                 store i64 1, ptr %to
                 br label %end
               second:
                 store i64 %n, ptr %to
                 br label %end
               other:
                 store i64 %x, ptr %to
                 br label %end
               end:"
            ),
        ));
    }
}

#[test]
fn integers_of_128_bits_are_pairs() {
    for bits in [65, 100, 128] {
        let ty = format!("i{bits}");
        let mut lines = format!(
            "%a.0 = load i128, ptr %from, align 8
             %second = getelementptr i128, ptr %from, i64 %x
             %b.0 = load i128, ptr %second, align 16
             %a = {}\n%b = {}\n",
            if bits == 128 {
                "add i128 %a.0, 0".into()
            } else {
                format!("trunc i128 %a.0 to {ty}")
            },
            if bits == 128 { "or i128 %b.0, 1".into() } else { format!("trunc i128 %b.0 to {ty}") },
        );
        let keep = |lines: &mut String, name: &str, ty: &str| {
            let wide = match ty {
                "i128" => format!("add i128 %{name}, 0"),
                ty => format!("sext {ty} %{name} to i128"),
            };
            lines.push_str(&format!(
                "%{name}.wide = {wide}
                 %{name}.at = getelementptr i128, ptr %to, i64 %{name}.place
                 store i128 %{name}.wide, ptr %{name}.at, align 8\n"
            ));
        };
        for (op, place) in ["add", "sub", "mul", "and", "or", "xor", "udiv", "sdiv", "urem", "srem"]
            .iter()
            .zip(0..)
        {
            lines.push_str(&format!(
                "%{op} = {op} {ty} %a, %b\n%{op}.place = add i64 %n, {place}\n"
            ));
            keep(&mut lines, op, &ty);
        }
        for op in ["shl", "lshr", "ashr"] {
            lines.push_str(&format!(
                "%{op}.by = and {ty} %b, 63\n%{op} = {op} {ty} %a, %{op}.by\n%{op}.place = add i64 %x, 3\n"
            ));
            keep(&mut lines, op, &ty);
        }
        for relation in ["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"] {
            lines.push_str(&format!(
                "%{relation} = icmp {relation} {ty} %a, %b\n%{relation}.place = add i64 %x, 9\n"
            ));
            keep(&mut lines, relation, "i1");
        }
        for (float, name) in [("float", "f"), ("double", "d")] {
            lines.push_str(&format!(
                "%u{name} = uitofp {ty} %a to {float}\n%s{name} = sitofp {ty} %b to {float}
                 %sum{name} = fadd {float} %u{name}, %s{name}
                 %back{name} = fptosi {float} %sum{name} to {ty}\n%back{name}.place = add i64 %x, 2\n"
            ));
            keep(&mut lines, &format!("back{name}"), &ty);
        }
        build(kernel("", &lines));
    }
    for name in ["ctlz", "cttz", "abs"] {
        build(kernel(
            &format!("declare i128 @llvm.{name}.i128(i128, i1)"),
            &format!(
                "%a = load i128, ptr %from, align 16
                 %r = call i128 @llvm.{name}.i128(i128 %a, i1 false)
                 store i128 %r, ptr %to, align 16"
            ),
        ));
    }
    for name in ["uadd", "sadd", "usub", "ssub", "umul", "smul"] {
        build(kernel(
            &format!("declare {{ i128, i1 }} @llvm.{name}.with.overflow.i128(i128, i128)"),
            &format!(
                "%a = load i128, ptr %from, align 16
                 %at = getelementptr i128, ptr %from, i64 %x
                 %b = load i128, ptr %at, align 16
                 %both = call {{ i128, i1 }} @llvm.{name}.with.overflow.i128(i128 %a, i128 %b)
                 %r = extractvalue {{ i128, i1 }} %both, 0
                 %lost = extractvalue {{ i128, i1 }} %both, 1
                 %kept = select i1 %lost, i128 -7, i128 %r
                 store i128 %kept, ptr %to, align 16"
            ),
        ));
    }
}

#[test]
fn what_cannot_be_lowered_is_refused_by_its_name() {
    let cases = [
        (
            "define internal i64 @again(i64 %n) noinline {
               %end = icmp eq i64 %n, 0
               br i1 %end, label %done, label %more
             more:
               %less = lshr i64 %n, 1
               %rest = call i64 @again(i64 %less)
               %odd = mul i64 %rest, %n
               %twice = call i64 @again(i64 %odd)
               ret i64 %twice
             done:
               ret i64 1
             }",
            "%value = call i64 @again(i64 %n)\nstore i64 %value, ptr %to, align 8",
            "recursion (`again` calls itself)",
        ),
        (
            "define internal i64 @\"_ZN38_$LT$a6..Expr$u20$as$u20$a6..Visit$GT$5visit17h0123456789abcdefE\"(i64 %n) noinline {
               %end = icmp eq i64 %n, 0
               br i1 %end, label %done, label %more
             more:
               %less = lshr i64 %n, 1
               %rest = call i64 @\"_ZN38_$LT$a6..Expr$u20$as$u20$a6..Visit$GT$5visit17h0123456789abcdefE\"(i64 %less)
               %odd = mul i64 %rest, %n
               %twice = call i64 @\"_ZN38_$LT$a6..Expr$u20$as$u20$a6..Visit$GT$5visit17h0123456789abcdefE\"(i64 %odd)
               ret i64 %twice
             done:
               ret i64 1
             }",
            "%value = call i64 @\"_ZN38_$LT$a6..Expr$u20$as$u20$a6..Visit$GT$5visit17h0123456789abcdefE\"(i64 %n)
             store i64 %value, ptr %to, align 8",
            "recursion (`<a6::Expr as a6::Visit>::visit` calls itself)",
        ),
        (
            "@table = internal constant [2 x ptr] [ptr @_RNvNtCsgEmfK2I1SDS_4core3fmt5write, ptr @last]
             define internal i64 @last(i64 %n) {
               ret i64 7
             }
             define internal i64 @_RNvNtCsgEmfK2I1SDS_4core3fmt5write(i64 %n) {
               %index = and i64 %n, 1
               %at = getelementptr ptr, ptr @table, i64 %index
               %shape = load ptr, ptr %at, align 8
               %less = lshr i64 %n, 1
               %rest = call i64 %shape(i64 %less)
               %odd = mul i64 %rest, %n
               %twice = call i64 %shape(i64 %odd)
               ret i64 %twice
             }",
            "%value = call i64 @_RNvNtCsgEmfK2I1SDS_4core3fmt5write(i64 %n)
             store i64 %value, ptr %to, align 8",
            "recursion (it formats text with `write!`, which calls itself through pointers)",
        ),
        (
            "",
            "%a = load i200, ptr %from, align 8\n%b = mul i200 %a, %a\nstore i200 %b, ptr %to, align 8",
            "`i200` in memory",
        ),
        ("", "%old = atomicrmw uinc_wrap ptr %to, i32 7 seq_cst", "the atomic operation UIncWrap"),
    ];
    for (declarations, lines, expected) in cases {
        let text = refusal(kernel(declarations, lines));
        let device = "which the opencl device does not have";
        assert!(text.contains(expected) && text.contains(device), "{text}\n{expected}");
    }
    let (code, text) = spirv::source(saxpy("saxpy")).arch("sm_80").spirv().expect_err("an error");
    assert_eq!(code, INVALID_REQUEST, "{text}");
}

#[test]
fn integers_of_other_widths_are_several_numbers_in_memory() {
    let code = build(kernel(
        "",
        "%at = getelementptr i8, ptr %from, i64 %x
         %three = load i24, ptr %at, align 1
         %more = add i24 %three, 1
         store i24 %more, ptr %to, align 4
         %behind = getelementptr i8, ptr %to, i64 8
         %seven = load i56, ptr %at, align 8
         store i56 %seven, ptr %behind, align 8",
    ));
    // Two and three numbers.
    assert_eq!(count(&code, STORE), 5);
}

#[test]
fn elements_of_vectors_are_shuffled() {
    let code = build(kernel(
        "",
        "%a = load <4 x float>, ptr %from, align 16
         %next = getelementptr i8, ptr %from, i64 %x
         %b = load <4 x float>, ptr %next, align 4
         %low = shufflevector <4 x float> %a, <4 x float> %b, <2 x i32> <i32 1, i32 6>
         store <2 x float> %low, ptr %to, align 8",
    ));
    let shuffle = instructions(&code).into_iter().find(|(opcode, _)| *opcode == 79);
    let (_, operands) = shuffle.expect("a shuffle");
    assert_eq!(operands[4..], [1, 6]);
}

#[test]
fn assembly_without_a_text_gives_what_it_takes() {
    let code = build(kernel(
        "",
        "%hidden = call i64 asm sideeffect \"\", \"=r,0\"(i64 %x)
         call void asm sideeffect \"\", \"r,~{memory}\"(ptr %to)
         store i64 %hidden, ptr %to, align 8",
    ));
    assert_eq!(count(&code, STORE), 1);
    let text = refusal(kernel("", "call void asm sideeffect \"nop\", \"\"()"));
    assert!(text.contains("inline assembly"), "{text}");
}

#[test]
fn integers_of_more_than_128_bits_are_pairs() {
    // As LLVM counts `0 + 1 + … + n`, and a cubic sum. What comes out is compared with the host by random kernels.
    for (bits, shift) in [(129, 1), (131, 3), (192, 64), (200, 130)] {
        build(kernel(
            "",
            &format!(
                "%a = load i128, ptr %from, align 8
                 %b = load i128, ptr %to, align 8
                 %a.long = zext i128 %a to i{bits}
                 %b.long = zext i128 %b to i{bits}
                 %sum = add i{bits} %b.long, 7
                 %product = mul i{bits} %a.long, %sum
                 %more = shl i{bits} %product, 1
                 %part = lshr i{bits} %more, {shift}
                 %result = trunc i{bits} %part to i128
                 store i128 %result, ptr %to, align 8"
            ),
        ));
    }
}
