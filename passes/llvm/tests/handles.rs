//! What the accessors answer, what they refuse, and what they leave of a module that they change.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use schism_llvm::{
    AsModule, Block, Builder, Context, FUNCTION_INDEX, IntPredicate, Module, ModuleRef, Opcode,
    TypeKind, Value, ValueKind, collect_errors, enum_kind, intrinsic_id,
};

/// Reads a module and does something with it.
fn with(text: &str, check: impl FnOnce(ModuleRef<'_>)) {
    let context = Context::new();
    let module = Module::from_text(context.handle(), text).expect("good text");
    check(module.handle());
}

fn function<'m>(module: ModuleRef<'m>, name: &str) -> Value<'m> {
    module.function(name).expect("the function is there")
}

fn block<'m>(function: Value<'m>, name: &str) -> Block<'m> {
    let mut blocks = function.blocks().into_iter();
    blocks.find(|block| block.name() == name).expect("the block is there")
}

fn named<'m>(function: Value<'m>, name: &str) -> Value<'m> {
    let mut all = function.instructions().into_iter();
    all.find(|instruction| instruction.name() == name).expect("the instruction is there")
}

/// The text with which something panics.
fn refusal<T>(work: impl FnOnce() -> T) -> String {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = catch_unwind(AssertUnwindSafe(work));
    std::panic::set_hook(hook);
    let payload = outcome.map(|_| ()).expect_err("it is refused");
    schism_llvm::fatal::panic_text(payload.as_ref())
}

const ARITHMETIC: &str = "
    @table = constant [2 x ptr] [ptr @f, ptr null]
    declare i32 @extern(i32)
    define i32 @f(i32 %a, i128 %w) {
      %sum = add nuw i32 %a, 7
      %less = icmp ult i32 %sum, 9
      %wide = add i128 %w, 1
      %got = call i32 @extern(i32 %sum)
      ret i32 %got
    }";

#[test]
fn questions_of_another_kind_are_refused_or_answered_by_none() {
    with(ARITHMETIC, |module| {
        let f = function(module, "f");
        let (sum, less, got) = (named(f, "sum"), named(f, "less"), named(f, "got"));
        assert_eq!(sum.opcode(), Some(Opcode::Add));
        assert_eq!((f.opcode(), f.kind()), (None, ValueKind::Function));
        assert!(sum.is_nuw() && !less.is_nuw());
        assert_eq!(less.icmp_predicate(), IntPredicate::ULT);
        let text = refusal(|| sum.icmp_predicate());
        assert!(text.contains("no comparison of integers:") && text.contains("%sum"), "{text}");
        assert!(refusal(|| sum.operand(2)).contains("so many operands"));
        assert_eq!(sum.get_operand(2), None);
        assert!(refusal(|| sum.called_value()).contains("no call"));
        assert!(refusal(|| sum.num_incoming()).contains("no phi"));
        assert!(refusal(|| sum.ordering()).contains("no access to memory"));
        assert!(refusal(|| f.param(2)).contains("so many parameters"));
        assert!(refusal(|| f.block()).contains("stands in a block"));
        assert!(refusal(|| f.initializer()).contains("no global variable"));
        assert!(refusal(|| sum.ty().field_type(0)).contains("no structure type"));
        assert_eq!((sum.callee(), got.callee()), (None, module.function("extern")));
        assert_eq!(got.args(), [sum]);
        assert_eq!(sum.successors(), []);
    });
}

#[test]
fn constants_have_values_of_64_bits_at_most() {
    with(ARITHMETIC, |module| {
        let f = function(module, "f");
        assert_eq!(named(f, "sum").operand(1).as_unsigned(), Some(7));
        assert_eq!(named(f, "sum").operand(0).as_unsigned(), None);
        let one = named(f, "wide").operand(1);
        assert_eq!((one.as_unsigned(), one.as_signed(), one.zext_value()), (None, None, 1));
        let int = module.context().int_type(32);
        assert_eq!(int.const_int(u64::MAX, true).as_signed(), Some(-1));
        assert_eq!(module.context().double_type().const_float(0.5).as_float(), Some(0.5));
        assert!(refusal(|| int.const_float(0.5)).contains("no floating-point type"));
    });
}

#[test]
fn users_are_found_through_constants() {
    with(
        "@table = constant [1 x ptr] [ptr @f]
         declare void @f()
         define ptr @reads() {
           %p = load ptr, ptr @table
           ret ptr %p
         }",
        |module| {
            let mut found = BTreeSet::new();
            function(module, "f").functions_using(&mut found);
            assert_eq!(found.into_iter().map(Value::name).collect::<Vec<_>>(), ["reads"]);
        },
    );
}

#[test]
fn what_used_an_erased_instruction_uses_poison() {
    with(ARITHMETIC, |module| {
        let f = function(module, "f");
        named(f, "sum").erase();
        module.verify().expect("a good module");
        let text = module.print();
        assert!(text.contains("icmp ult i32 poison, 9"), "{text}");
        assert!(text.contains("call i32 @extern(i32 poison)"), "{text}");
        function(module, "extern").delete_function();
        assert!(module.print().contains("call i32 poison(i32 poison)"));
    });
}

#[test]
fn operands_keep_their_types() {
    with(ARITHMETIC, |module| {
        let f = function(module, "f");
        let sum = named(f, "sum");
        assert!(refusal(|| sum.set_operand(1, f.param(1))).contains("operand's type"));
        assert!(refusal(|| sum.replace_uses(f.param(1))).contains("same type"));
        assert!(refusal(|| sum.replace_uses(sum)).contains("other value"));
        sum.set_operand(1, f.param(0));
        assert!(module.print().contains("%sum = add nuw i32 %a, %a"));
    });
}

const LOOP: &str = "
    define i32 @f(i1 %c, i32 %n) {
    entry:
      br i1 %c, label %head, label %out
    head:
      %i = phi i32 [ 0, %entry ], [ %next, %head ]
      %next = add i32 %i, 1
      %more = icmp ult i32 %next, %n
      br i1 %more, label %head, label %out
    out:
      %r = phi i32 [ 7, %entry ], [ %i, %head ]
      ret i32 %r
    }";

#[test]
fn edges_and_the_phis_that_know_them() {
    with(LOOP, |module| {
        let f = function(module, "f");
        let [entry, head, out] = ["entry", "head", "out"].map(|name| block(f, name));
        assert_eq!(entry.successors(), [head, out]);
        let r = named(f, "r");
        assert_eq!(r.incoming(head), Some(named(f, "i")));
        assert_eq!(r.incoming(out), None);
        assert_eq!(named(f, "i").use_blocks().len(), 2);
        assert!(refusal(|| head.delete()).contains("control does not come to"));
        entry.always_go_to(out);
        module.verify().expect("a good module");
        assert_eq!(entry.successors(), [out]);
        assert!(refusal(|| entry.always_go_to(head)).contains("no successor"));
        assert_eq!(head.phis()[0].num_incoming(), 1);
    });
}

#[test]
fn a_block_is_split_and_another_one_deleted() {
    with(LOOP, |module| {
        let f = function(module, "f");
        let [entry, head] = ["entry", "head"].map(|name| block(f, name));
        let front = named(f, "more").split_before();
        assert_eq!(entry.successors()[0], front);
        assert_eq!(front.successors(), [head]);
        // The phi moved with what stands in front, and the loop's edge leads there.
        assert_eq!(front.phis().len(), 1);
        assert_eq!(head.successors()[0], front);
        module.verify().expect("a good module");
        let lone = f.append_block("lone");
        let value = Builder::at_end(lone).add(f.param(1), f.param(1));
        Builder::at_end(lone).ret(value);
        lone.delete();
        module.verify().expect("a good module");
    });
}

#[test]
fn the_rest_of_a_block_is_cut() {
    with(LOOP, |module| {
        let f = function(module, "f");
        named(f, "more").cut_block();
        module.verify().expect("a good module");
        let head = block(f, "head");
        assert_eq!(head.end().opcode(), Some(Opcode::Unreachable));
        assert_eq!(head.phis()[0].num_incoming(), 1);
        assert_eq!(block(f, "out").phis()[0].num_incoming(), 1);
    });
}

#[test]
fn builders_refuse_what_does_not_fit() {
    with(ARITHMETIC, |module| {
        let f = function(module, "f");
        let builder = Builder::new(module.context());
        let [a, w] = [f.param(0), f.param(1)];
        assert!(refusal(|| builder.add(a, a)).contains("without a place"));
        builder.position_before(f.entry().end());
        assert!(refusal(|| builder.add(a, w)).contains("same type"));
        assert!(refusal(|| builder.load(w.ty(), a)).contains("no pointer"));
        assert!(refusal(|| builder.load(module.context().void_type(), f)).contains("with a size"));
        assert!(refusal(|| builder.cond_br(a, f.entry(), f.entry())).contains("no condition"));
        let callee = function(module, "extern");
        assert!(refusal(|| builder.call_function(callee, &[])).contains("so many arguments"));
        assert!(refusal(|| builder.call_function(callee, &[w])).contains("parameter's type"));
        assert!(refusal(|| builder.binary(Opcode::ICmp, a, a)).contains("two operands"));
        assert!(refusal(|| builder.insert(named(f, "sum"))).contains("stands nowhere"));
        let clone = named(f, "sum").duplicate();
        builder.insert(clone);
        assert_eq!(builder.call_function(callee, &[clone]).with_name("again").name(), "again");
        // What folds to a constant has no name, and names no other value.
        let zero = builder.inbounds_gep(a.ty(), f, &[]).with_name("elsewhere");
        assert_eq!((zero, f.name()), (f, "f".to_owned()));
        module.verify().expect("a good module");
    });
}

#[test]
fn calls_are_made_like_others() {
    with(
        "declare void @g()
         define void @f(ptr %p) {
           call void %p() [ \"kcfi\"(i32 7), \"deopt\"(i32 8) ]
           ret void
         }",
        |module| {
            let f = function(module, "f");
            let call = f.entry().begin();
            assert_eq!(call.bundle_tags(), [b"kcfi".to_vec(), b"deopt".to_vec()]);
            assert!(call.is_indirect_call());
            let g = function(module, "g");
            let builder = Builder::before(call);
            let new = builder.call_like(call, g.value_type(), g, &[], |tag| tag != b"kcfi");
            assert_eq!(new.bundle_tags(), [b"deopt".to_vec()]);
            call.erase();
            module.verify().expect("a good module");
        },
    );
}

#[test]
fn attributes_of_functions_parameters_and_calls() {
    with(ARITHMETIC, |module| {
        let f = function(module, "f");
        f.add_function_attribute("cold", 0);
        f.add_string_attribute("words", "of a text");
        f.add_attribute_at(1, "noundef", 0);
        assert!(f.has_function_attribute("cold") && !f.has_function_attribute("noreturn"));
        let words = f.string_attribute(FUNCTION_INDEX, "words").expect("there");
        assert_eq!(words.string_value().as_deref(), Some("of a text"));
        assert_eq!((words.kind(), words.value(), words.type_value()), (None, 0, None));
        assert!(f.param(0).parameter_attribute("noundef").is_some());
        assert_eq!(f.param(1).parameter_attribute("noundef"), None);
        assert_eq!(f.parameter_attribute("noundef"), None);
        assert_eq!(enum_kind("no such attribute"), 0);
        let text = refusal(|| f.add_function_attribute("no such attribute", 0));
        assert!(text.contains("no attribute `no such attribute`"), "{text}");
        let got = named(f, "got");
        got.add_call_attribute("noinline");
        assert!(got.has_call_attribute("noinline"));
        got.remove_call_attribute("noinline");
        assert!(!got.has_call_attribute("noinline"));
        assert!(refusal(|| named(f, "sum").add_call_attribute("cold")).contains("no call"));
        f.remove_function_attribute("cold");
        f.remove_string_attribute("words");
        assert_eq!(f.attributes(FUNCTION_INDEX), []);
    });
}

#[test]
fn metadata_are_nodes_with_operands() {
    with(LOOP, |module| {
        let f = function(module, "f");
        let end = block(f, "head").end();
        let context = module.context();
        let kind = context.metadata_kind("llvm.loop");
        let itself = context.temporary_node();
        let told = context.md_node(&[context.md_string("llvm.loop.unroll.disable")]);
        let node = context.md_node(&[itself.metadata(), told]);
        itself.replace_with(node);
        end.set_metadata(kind, node.as_value(context));
        module.verify().expect("a good module");
        let operands = end.metadata(kind).expect("set").md_operands();
        let [Some(first), Some(second)] = operands[..] else { panic!("{operands:?}") };
        assert_eq!(first, node.as_value(context));
        assert_eq!(first.as_metadata(), node);
        let [Some(text)] = second.md_operands()[..] else { panic!("{second:?}") };
        assert_eq!(text.md_text().as_deref(), Some(&b"llvm.loop.unroll.disable"[..]));
        assert!(refusal(|| end.set_metadata(kind, text)).contains("no node"));
        assert_eq!(end.metadata_entries().len(), 1);
        end.remove_metadata(kind);
        assert!(!end.has_metadata());
        assert!(refusal(|| f.metadata(kind)).contains("no instruction"));
        module.set_named_metadata(c"list", &[node.as_value(context)]);
        assert_eq!(module.named_metadata(c"list"), [node.as_value(context)]);
        module.set_named_metadata(c"list", &[]);
        assert!(!module.print().contains("!list"));
    });
}

#[test]
fn names_move_and_are_copied() {
    with(ARITHMETIC, |module| {
        let f = function(module, "f");
        let (sum, less) = (named(f, "sum"), named(f, "less"));
        less.take_name(sum);
        assert_eq!((sum.name(), less.name()), (String::new(), "sum".to_owned()));
        let other = module.add_function("", f.value_type());
        other.copy_name(f);
        assert_eq!(other.name(), "f.1");
        assert_eq!(module.add_function("nul\0inside", f.value_type()).name(), "nul");
    });
}

#[test]
fn types_and_where_their_parts_lie() {
    with("target datalayout = \"e-i64:64-n32:64\"", |module| {
        let context = module.context();
        let (int, long) = (context.int_type(32), context.int_type(64));
        let pair = context.struct_type(&[int, long], false);
        let layout = module.data_layout();
        assert_eq!((layout.abi_size(pair), layout.offset_of(pair, 1)), (16, 8));
        assert!(refusal(|| layout.offset_of(pair, 2)).contains("so many fields"));
        assert!(refusal(|| layout.abi_size(context.void_type())).contains("with a size"));
        assert_eq!(pair.array(3).array_length(), 3);
        assert_eq!(int.vector(4).kind(), TypeKind::Vector);
        assert!(refusal(|| pair.vector(4)).contains("vector"));
        assert!(refusal(|| int.function(&[context.void_type()], false)).contains("parameter"));
        assert!(refusal(|| context.int_type(0)).contains("0 bits"));
    });
}

#[test]
fn intrinsics_are_known_by_number() {
    with("", |module| {
        let number = module.context().float_type();
        let sqrt = module.intrinsic(intrinsic_id("llvm.sqrt"), &[number]);
        assert_eq!(sqrt.name(), "llvm.sqrt.f32");
        assert!(sqrt.is_intrinsic());
        assert_eq!(intrinsic_id("llvm.no.such"), 0);
        assert!(refusal(|| module.intrinsic(0, &[])).contains("no such intrinsic"));
        let id = intrinsic_id("llvm.sqrt");
        assert!(refusal(|| module.intrinsic(id, &[])).contains("no such intrinsic"));
    });
}

#[test]
fn modules_are_linked_and_errors_collected() {
    let context = Context::new();
    let read = |text: &str| Module::from_text(context.handle(), text).expect("good text");
    let module = read("declare i32 @f()\ndefine i32 @g() {\n  ret i32 1\n}\n");
    assert!(module.handle().link(read("define i32 @f() {\n  ret i32 2\n}\n")));
    assert!(!function(module.handle(), "f").is_declaration());
    let twice = read("define i32 @g() {\n  ret i32 3\n}\n");
    let (linked, errors) = collect_errors(context.handle(), || module.handle().link(twice));
    assert!(!linked && errors.len() == 1 && errors[0].contains("multiply defined"), "{errors:?}");
    // The context's own handler is back.
    assert!(Module::from_bitcode(context.handle(), b"no bitcode").is_none());
    assert!(context.take_errors().expect("an error").contains("nvalid bitcode"));
    assert_eq!(context.take_errors(), None);
}

#[test]
fn passes_run_over_modules_and_functions() {
    with(ARITHMETIC, |module| {
        let error = module.run_passes("no-such-pass").expect_err("there is none");
        assert!(error.contains("no-such-pass"), "{error}");
        let f = function(module, "f");
        f.run_passes("dce").expect("it runs");
        assert_eq!(f.instructions().len(), 3);
        assert!(refusal(|| function(module, "extern").run_passes("dce")).contains("with a body"));
    });
}

#[test]
fn lines_are_described() {
    with(ARITHMETIC, |module| {
        let f = function(module, "f");
        {
            let scopes = schism_llvm::LineScopes::new(module, "numbers");
            let scope = scopes.describe(f);
            named(f, "sum").set_debug_loc(Some(scopes.line(12, scope)));
        }
        module.verify().expect("a good module");
        let place = named(f, "sum").debug_loc().expect("it has one");
        assert_eq!((place.file_name(), place.line()), ("numbers".to_owned(), 12));
        assert_eq!(Some(place.scope()), f.subprogram());
        assert!(place.inlined_at().is_none() && named(f, "less").debug_loc().is_none());
    });
}
