//! The SPIR-V of kernels whose work-items are in groups, and wait for each other.

mod support;

use schism_jit_abi::*;
use support::kernel;
use support::spirv::{Spirv, build, count};

/// What a kernel with local memory calls.
const LOCAL: &str = "declare ptr @__schism_local_memory()
    declare void @__schism_barrier()
    declare i64 @__schism_local_id_x()";

#[test]
fn negations_are_changes_of_the_sign_where_work_items_wait() {
    /// `OpFNegate`, `OpBitwiseXor`.
    const NEGATE: u16 = 127;
    const XOR: u16 = 198;
    let build_with = |wait: &str| {
        build(kernel(
            "declare void @__schism_barrier()",
            &format!(
                "%one = load float, ptr %from, align 4
                 %many = load <4 x double>, ptr %from, align 8
                 %less = fneg float %one
                 %fewer = fneg <4 x double> %many
                 {wait}
                 store volatile float %less, ptr %to, align 4
                 store <4 x double> %fewer, ptr %to, align 8"
            ),
        ))
    };
    let waits = build_with("call void @__schism_barrier()");
    assert_eq!((count(&waits, NEGATE), count(&waits, XOR)), (0, 2), "{}", waits.text());
    let alone = build_with("");
    assert_eq!((count(&alone, NEGATE), count(&alone, XOR)), (2, 0), "{}", alone.text());
}

#[test]
fn loads_do_not_move_in_front_of_checks() {
    /// `OpIMul`, by which an address becomes a work-item's own.
    const MULTIPLY: u16 = 132;
    let build_with = |index: &str, after: &str| {
        build(kernel(
            "declare void @__schism_barrier()",
            &format!(
                "%some = icmp ugt i64 %n, 3
                 br i1 %some, label %there, label %none
               none:
                 ret void
               there:
                 %at = getelementptr inbounds i32, ptr %from, i64 {index}
                 %value = load i32, ptr %at, align 4
                 %more = add i32 %value, 5
                 store volatile i32 %more, ptr %to, align 4
                 call void @__schism_barrier()
                 store volatile i32 {after}, ptr %to, align 4"
            ),
        ))
    };
    for (index, after, count_of) in [("3", "%more", 1), ("3", "7", 0), ("%x", "%more", 0)] {
        let code = build_with(index, after);
        assert_eq!(count(&code, MULTIPLY), count_of, "{index} {after}: {}", code.text());
    }
}

#[test]
fn elements_are_chosen_where_work_items_wait() {
    /// `OpVectorExtractDynamic`, `OpVectorInsertDynamic`, `OpSelect`.
    const EXTRACT: u16 = 77;
    const INSERT: u16 = 78;
    const SELECT: u16 = 169;
    let build_with = |wait: &str, index: &str| {
        build(kernel(
            "declare void @__schism_barrier()",
            &format!(
                "%many = load <4 x float>, ptr %from, align 4
                 %index = and i64 %x, 3
                 %one = extractelement <4 x float> %many, i64 {index}
                 %changed = insertelement <4 x float> %many, float 7.0, i64 {index}
                 {wait}
                 store volatile float %one, ptr %to, align 4
                 store <4 x float> %changed, ptr %to, align 4"
            ),
        ))
    };
    let counts = |code: &Spirv| [EXTRACT, INSERT, SELECT].map(|opcode| count(code, opcode));
    let waits = build_with("call void @__schism_barrier()", "%index");
    assert_eq!(counts(&waits), [0, 0, 7], "{}", waits.text());
    let alone = build_with("", "%index");
    assert_eq!(counts(&alone), [1, 1, 0], "{}", alone.text());
    let constant = build_with("call void @__schism_barrier()", "2");
    assert_eq!(counts(&constant)[2], 0, "{}", constant.text());
}

#[test]
fn local_memory_is_the_last_parameter() {
    let source = kernel(
        LOCAL,
        "%memory = call ptr @__schism_local_memory()
         %id = call i64 @__schism_local_id_x()
         %own = getelementptr inbounds i64, ptr %memory, i64 %id
         store i64 %x, ptr %own, align 8
         call void @__schism_barrier()
         %other = xor i64 %id, 1
         %there = getelementptr inbounds i64, ptr %memory, i64 %other
         %value = load i64, ptr %there, align 8
         store i64 %value, ptr %to, align 8",
    );
    let code = build(source);
    assert_eq!(code.flags, GPU_GROUPS | GPU_BARRIER | GPU_LOCAL);
    assert_eq!(count(&code, 224), 1, "a barrier");
}

#[test]
fn sub_groups_have_32_lanes() {
    let declarations = "declare i32 @__schism_shuffle(i32, i32)
        declare i32 @__schism_shuffle_up(i32, i32)
        declare i32 @__schism_shuffle_down(i32, i32)
        declare i32 @__schism_shuffle_xor(i32, i32)
        declare i32 @__schism_ballot(i32)
        declare void @__schism_sub_group_barrier()
        declare i64 @__schism_local_id_x()
        declare i64 @__schism_local_id_y()";
    let lines = "%id = call i64 @__schism_local_id_x()
        %v.0 = trunc i64 %id to i32
        %v.1 = call i32 @__schism_shuffle(i32 %v.0, i32 3)
        %v.2 = call i32 @__schism_shuffle_up(i32 %v.1, i32 1)
        %v.3 = call i32 @__schism_shuffle_down(i32 %v.2, i32 2)
        %v.4 = call i32 @__schism_shuffle_xor(i32 %v.3, i32 4)
        call void @__schism_sub_group_barrier()
        %v.5 = call i32 @__schism_ballot(i32 %v.4)
        store i32 %v.5, ptr %to, align 4";
    let code = build(kernel(declarations, lines));
    assert_eq!(code.flags, GPU_GROUPS | GPU_SUB_GROUPS);
    assert_eq!((count(&code, 345), count(&code, 339)), (4, 1), "shuffles and a ballot");
    let params = |code: &Spirv| count(code, 55);
    let parameters = params(&code);
    let mut source = kernel(declarations, lines);
    source.dimensions = 2;
    let code = build(source);
    assert_eq!(params(&code), parameters + 6, "the sizes of groups, and how many there are");
}

#[test]
fn panics_leave_one_by_one_where_work_items_wait() {
    /// `OpFunctionCall`: what writes a message.
    const CALL: u16 = 57;
    let build_with = |wait: &str| {
        build(kernel(
            "declare void @__schism_barrier()",
            &format!(
                "%first = load volatile i64, ptr %from, align 8
                 %is.small = icmp ult i64 %first, %n
                 br i1 %is.small, label %small, label %panic.1
               panic.1:
                 call void @__schism_panic(ptr null, i64 0, ptr null)
                 unreachable
               small:
                 {wait}
                 %second = load volatile i64, ptr %from, align 8
                 %is.other = icmp ne i64 %second, %n
                 br i1 %is.other, label %other, label %panic.2
               panic.2:
                 call void @__schism_panic(ptr null, i64 1, ptr null)
                 unreachable
               other:
                 store volatile i64 %second, ptr %to, align 8"
            ),
        ))
    };
    let waits = build_with("call void @__schism_barrier()");
    let alone = build_with("");
    let calls = [count(&waits, CALL), count(&alone, CALL)];
    assert_eq!(calls, [2, 1], "{} {}", waits.text(), alone.text());
}
