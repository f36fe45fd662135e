//! The SPIR-V that drivers for processors make vectors of: what they compute for lanes that do not
//! need it, and what they do not see.

mod support;

use schism_jit_abi::*;
use support::spirv::{self, Spirv, build, count, instructions};
use support::{Source, kernel};

const EXECUTION_MODE: u16 = 16;
const DECORATE: u16 = 71;
const OR: u16 = 197;
const STORE: u16 = 62;
const TYPE_STRUCT: u16 = 30;
const PHI: u16 = 245;
const TYPE_ARRAY: u16 = 28;
const SELECT: u16 = 169;

/// The code for devices where one thread computes a group.
fn on_thread(source: Source) -> Spirv {
    let code = spirv::source(source).assumptions(ASSUME_GROUP_ON_THREAD).spirv();
    let code = code.unwrap_or_else(|(code, text)| panic!("error {code}: {text}"));
    code.check();
    code
}

/// How often `OpDecorate ID BuiltIn GlobalOffset` is there.
fn offsets(code: &Spirv) -> usize {
    let all = instructions(code).into_iter().filter(|(op, _)| *op == DECORATE);
    all.filter(|(_, operands)| operands[1..] == [11, 33]).count()
}

#[test]
fn zeros_in_arrays_are_volatile() {
    let code = build(kernel(
        "",
        "%counts = alloca [16 x i8], align 4
         store i32 0, ptr %counts, align 4
         %second = getelementptr i8, ptr %counts, i64 4
         store i32 0, ptr %second, align 4
         %place = and i64 %x, 1
         %one = getelementptr i32, ptr %counts, i64 %place
         store i32 3, ptr %one, align 4
         %at = lshr i64 %x, 63
         %other = getelementptr i32, ptr %counts, i64 %at
         %count = load i32, ptr %other, align 4
         store i32 %count, ptr %to, align 8",
    ));
    // Intel's driver loses fills.
    let stores = instructions(&code).into_iter().filter(|(op, _)| *op == STORE);
    let volatile =
        stores.filter(|(_, operands)| operands.get(2).is_some_and(|it| it & 1 != 0)).count();
    assert_eq!(volatile, 1, "{}", code.text());
}

#[test]
fn sums_stay_sums() {
    let code = build(kernel(
        "declare i64 @__schism_local_id_x()
         declare i64 @__schism_local_id_y()",
        "%lane = call i64 @__schism_local_id_x()
         %row = call i64 @__schism_local_id_y()
         %low = and i64 %x, 31
         %high = shl i64 %n, 5
         %at = add i64 %high, %low
         %there = getelementptr inbounds float, ptr %to, i64 %at
         store float 1.0, ptr %there, align 4",
    ));
    assert_eq!(count(&code, OR), 0, "{}", code.text());
}

#[test]
fn code_for_one_size_of_groups_says_so() {
    let source = kernel(
        "declare i64 @__schism_local_id_x()",
        "%lane = call i64 @__schism_local_id_x()
         store i64 %lane, ptr %to, align 8",
    );
    let sizes = |code: &Spirv| -> Vec<Vec<u32>> {
        let modes = instructions(code).into_iter().filter(|(op, _)| *op == EXECUTION_MODE);
        let sizes = modes.filter(|(_, operands)| operands[1] == 17);
        sizes.map(|(_, operands)| operands[2..].to_vec()).collect()
    };
    let code = spirv::source(source.clone()).group([64, 1, 1]).spirv().expect("SPIR-V");
    code.check();
    assert_eq!(sizes(&code), [[64, 1, 1]]);
    assert!(sizes(&build(source)).is_empty());
}

#[test]
fn what_work_items_keep_for_themselves_is_not_hoisted() {
    /// `OpIMul`, by which an address becomes a work-item's own.
    const MULTIPLY: u16 = 132;
    let build_with = |own: &str| {
        build(kernel(
            "declare void @__schism_barrier()",
            &format!(
                "%some = icmp ugt i64 %n, 3
                 br i1 %some, label %there, label %none
               none:
                 ret void
               there:
                 %at = getelementptr inbounds i64, ptr %from, i64 3
                 %value = load i64, ptr %at, align 8
                 %sum = add i64 %value, {own}
                 store volatile i64 %sum, ptr %to, align 8
                 call void @__schism_barrier()
                 store volatile i64 %sum, ptr %to, align 8"
            ),
        ))
    };
    for (own, count_of) in [("%x", 0), ("%n", 1)] {
        let code = build_with(own);
        assert_eq!(count(&code, MULTIPLY), count_of, "{own}: {}", code.text());
    }
}

#[test]
fn no_phi_is_a_structure() {
    let code = on_thread(kernel(
        "declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)",
        "br label %begin
       begin:
         %own = load i64, ptr %to, align 8
         %is.own = icmp ugt i64 %own, %x
         br i1 %is.own, label %then, label %meet
       then:
         %product = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %own, i64 %n)
         store volatile i64 7, ptr %to, align 8
         br label %meet
       meet:
         %both = phi { i64, i1 } [ %product, %then ], [ { i64 13, i1 false }, %begin ]
         %low = extractvalue { i64, i1 } %both, 0
         %over = extractvalue { i64, i1 } %both, 1
         %chosen = select i1 %over, i64 3, i64 %low
         store volatile i64 %chosen, ptr %to, align 8",
    ));
    let all = instructions(&code);
    let structures: Vec<u32> =
        all.iter().filter(|(op, _)| *op == TYPE_STRUCT).map(|(_, operands)| operands[0]).collect();
    let phis: Vec<u32> =
        all.iter().filter(|(op, _)| *op == PHI).map(|(_, operands)| operands[0]).collect();
    assert!(phis.len() > 1 && !structures.is_empty(), "{}", code.text());
    assert!(!phis.iter().any(|ty| structures.contains(ty)), "{}", code.text());
}

#[test]
fn choices_between_aggregates_are_choices_between_their_parts() {
    let choose = |ty: &str| {
        on_thread(kernel(
            "",
            &format!(
                "%a = load volatile {ty}, ptr %from, align 8
                 %at = getelementptr i8, ptr %from, i64 256
                 %b = load volatile {ty}, ptr %at, align 8
                 %is.first = icmp ugt i64 %n, %x
                 %one = select i1 %is.first, {ty} %a, {ty} %b
                 %is.second = icmp ugt i64 %n, 99
                 %other = select i1 %is.second, {ty} %one, {ty} zeroinitializer
                 store volatile {ty} %other, ptr %to, align 8"
            ),
        ))
    };
    for (ty, least) in [
        ("{ i64, i8 }", 4),
        ("[3 x i32]", 6),
        ("{ { i64, i32 }, [2 x i16], float }", 10),
        ("[2 x { i64, ptr }]", 8),
    ] {
        let code = choose(ty);
        let all = instructions(&code);
        let is_aggregate = |(op, _): &&(u16, Vec<u32>)| [TYPE_STRUCT, TYPE_ARRAY].contains(op);
        let aggregates: Vec<u32> =
            all.iter().filter(is_aggregate).map(|(_, operands)| operands[0]).collect();
        let choices: Vec<u32> =
            all.iter().filter(|(op, _)| *op == SELECT).map(|(_, operands)| operands[0]).collect();
        assert!(choices.len() >= least, "{ty}: {}", code.text());
        assert!(!choices.iter().any(|ty| aggregates.contains(ty)), "{ty}: {}", code.text());
    }
}

#[test]
fn of_two_sides_with_control_flow_one_is_a_loop() {
    let build_with = |end: &str| {
        on_thread(kernel(
            "declare i64 @__schism_local_id_x()",
            &format!(
                "br label %begin
               begin:
                 %own = load i64, ptr %to, align 8
                 %is.own = icmp ugt i64 %own, %x
                 br i1 %is.own, label %then, label %else
               then:
                 %k = phi i64 [ %own, %begin ], [ %k.next, %on ]
                 %odd = trunc i64 %k to i1
                 br i1 %odd, label %inside, label %on
               inside:
                 store volatile i64 %k, ptr %to, align 8
                 br label %on
               on:
                 %k.next = lshr i64 %k, 1
                 %more = icmp ugt i64 %k.next, %n
                 br i1 %more, label %then, label %meet
               else:
                 %is.far = icmp ugt i64 %n, %x
                 {end}
               far:
                 store volatile i64 1, ptr %to, align 8
                 br label %near
               near:
                 %first = load volatile i64, ptr %to, align 8
                 br label %meet
               meet:
                 %chosen = phi i64 [ %k.next, %on ], [ %first, %near ]
                 store volatile i64 %chosen, ptr %to, align 8"
            ),
        ))
    };
    let code = build_with("br i1 %is.far, label %far, label %near");
    assert_eq!(offsets(&code), 1, "{}", code.text());
    // A side that does not branch leaves nothing to confuse.
    let code = build_with("br label %far");
    assert_eq!(offsets(&code), 0, "{}", code.text());
}
