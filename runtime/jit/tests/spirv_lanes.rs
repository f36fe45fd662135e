//! The SPIR-V that drivers for processors make vectors of: what they compute for lanes that do not
//! need it, and what they do not see.

mod support;

use schism_jit_abi::*;
use support::spirv::{self, Spirv, build, count, instructions};
use support::{Source, kernel, param};

const EXT_INST: u16 = 12;
/// Of OpenCL's instructions.
const FMA: u32 = 26;
const BRANCH_CONDITIONAL: u16 = 250;
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

/// A function of the mathematics library of each element.
fn map(function: &str) -> Source {
    let params = vec![param(0, 8, PARAM_POINTER), param(8, 8, PARAM_POINTER)];
    let text = format!(
        "declare float @{function}(float)
        define void @k(ptr align 4 %to, ptr noalias readonly align 4 %from) {{
          %x = call i64 @__schism_global_id_x()
          %at = getelementptr inbounds float, ptr %from, i64 %x
          %value = load float, ptr %at, align 4
          %result = call float @{function}(float %value)
          %there = getelementptr inbounds float, ptr %to, i64 %x
          store float %result, ptr %there, align 4
          ret void
        }}"
    );
    Source::new(&text, "k", params)
}

#[test]
fn rare_code_is_a_loop_that_drivers_skip() {
    let code = on_thread(map("expf"));
    assert_eq!(offsets(&code), 1, "{}", code.text());
    // Where each work-item computes for itself, it is a branch.
    let code = build(map("expf"));
    assert_eq!(offsets(&code), 0, "{}", code.text());
}

#[test]
fn common_code_beside_rare_code_comes_before_the_branch() {
    let sums_before = |code: &Spirv| {
        let all = instructions(code);
        // The first branch asks whether there is such a work-item.
        let mut branches = all.split(|(op, _)| *op == BRANCH_CONDITIONAL).skip(1);
        let before = branches.next().unwrap_or_else(|| panic!("{}", code.text()));
        before.iter().filter(|(op, operands)| *op == EXT_INST && operands[3] == FMA).count()
    };
    let code = on_thread(map("logf"));
    assert_eq!(sums_before(&code), 10, "{}", code.text());
    let code = build(map("logf"));
    assert_eq!(sums_before(&code), 0, "{}", code.text());
}

#[test]
fn zeros_in_arrays_are_hidden() {
    let source = || {
        kernel(
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
        )
    };
    // Intel's driver loses fills, and does not interleave arrays with volatile accesses.
    let volatile = |code: &Spirv| {
        let stores = instructions(code).into_iter().filter(|(op, _)| *op == STORE);
        stores.filter(|(_, operands)| operands.get(2).is_some_and(|it| it & 1 != 0)).count()
    };
    let code = on_thread(source());
    assert_eq!(volatile(&code), 0, "{}", code.text());
    let code = build(source());
    assert_eq!(volatile(&code), 1, "{}", code.text());
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
fn loops_of_atomic_updates_ask_for_no_vectors() {
    let hints = |update: &str| {
        let code = on_thread(kernel(
            "",
            &format!(
                "br label %loop
               loop:
                 %k = phi i64 [ %x, %0 ], [ %next, %loop ]
                 %from.at = getelementptr inbounds i64, ptr %from, i64 %k
                 %value = load i64, ptr %from.at, align 8
                 %to.at = getelementptr inbounds i64, ptr %to, i64 %value
                 {update}
                 %next = add nuw nsw i64 %k, 1024
                 %more = icmp ult i64 %next, %n
                 br i1 %more, label %loop, label %end
               end:"
            ),
        ));
        let modes = instructions(&code).into_iter().filter(|(op, _)| *op == EXECUTION_MODE);
        // `VecTypeHint`
        modes.filter(|(_, operands)| operands[1] == 30).count()
    };
    assert_eq!(hints("%old = atomicrmw add ptr %to.at, i64 1 monotonic"), 1);
    assert_eq!(hints("store i64 1, ptr %to.at, align 8"), 0);
}

#[test]
fn a_groups_checks_are_decided_at_its_begin() {
    let source = kernel(
        "",
        "%inside = icmp ult i64 %x, %n
         br i1 %inside, label %there, label %panic
       panic:
         call void @__schism_panic(ptr null, i64 0, ptr null)
         unreachable
       there:
         %at = getelementptr inbounds float, ptr %to, i64 %x
         store float 1.0, ptr %at, align 4",
    );
    let code = build(source);
    // Two copies, which a barrier of memory keeps apart, and what the message is stored by.
    assert_eq!(count(&code, 225), 1, "{}", code.text());
    let stores_of_message = count(&code, STORE) - 2;
    assert!(stores_of_message > 0, "{}", code.text());
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
fn a_level_of_a_tree_over_parts_of_a_group_has_no_check() {
    let needs = |lower: u32, group: [u32; 3]| {
        let source = kernel(
            "declare i64 @__schism_local_id_x()",
            &format!(
                "%place = call i64 @__schism_local_id_x()
                 %lane = urem i64 %place, 32
                 store volatile i64 %lane, ptr %to, align 8
                 %is.less = icmp ult i64 %lane, 8
                 %is.less.number = zext i1 %is.less to i64
                 store volatile i64 %is.less.number, ptr %to, align 8
                 %is.lower = icmp ult i64 %lane, {lower}
                 br i1 %is.lower, label %add, label %done
               add:
                 %other = add i64 %place, 16
                 %inside = icmp ult i64 %other, 256
                 br i1 %inside, label %there, label %panic
               panic:
                 call void @__schism_panic(ptr null, i64 0, ptr null)
                 unreachable
               there:
                 %at = getelementptr inbounds float, ptr %to, i64 %other
                 store float 1.0, ptr %at, align 4
                 br label %done
               done:"
            ),
        );
        let code = spirv::source(source).group(group).spirv();
        let code = code.unwrap_or_else(|(code, text)| panic!("error {code}: {text}"));
        code.check();
        code.flags & GPU_MESSAGES != 0
    };
    assert!(!needs(16, [256, 1, 1]));
    // One of the 17 may be the work-item 240.
    assert!(needs(17, [256, 1, 1]));
    assert!(needs(16, [0; 3]));
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
