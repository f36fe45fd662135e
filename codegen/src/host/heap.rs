//! The heap that a program shares with its device, behind all of the program's allocators.
//!
//! **The standard library's allocator.** In a program that defines no global allocator the compiler
//! generates functions that call the standard library's. If parallel iterators may become kernels, they
//! call the runtime's instead, which have the same signatures:
//!
//! ```llvm
//! define ptr @__rust_alloc(i64 %size, i64 %align) {
//!   %block = call ptr @__schism_heap_alloc(i64 %size, i64 %align)
//!   ...
//! }
//! ```
//!
//! **The program's own.** A crate with a `#[global_allocator]` defines these functions itself. They get
//! another name, and the runtime's are called first, if the program has a runtime:
//!
//! ```llvm
//! define ptr @__rust_alloc(i64 %size, i64 %align) {
//!   %block = call ptr @__schism_heap_program_alloc(i64 %size, i64 %align, ptr @__schism_own_alloc)
//!   ...
//! }
//! ```
//!
//! **C's functions.** The linker of an executable redirects calls of `malloc` and its kin in the program's
//! objects, the standard library's and C's among them (`--wrap`), and the process has the program's
//! `free`, `realloc` and `malloc_usable_size`, so that each block goes back where it came from:
//!
//! ```llvm
//! define weak ptr @__wrap_malloc(i64 %size) {
//!   %block = call ptr @__schism_heap_malloc(i64 %size, ptr @__real_malloc)
//!   ...
//! }
//! @free = weak alias void (ptr), ptr @schism.free
//! define internal void @schism.free(ptr %block) { call void @__schism_heap_free(ptr %block) ... }
//! ```

use std::fmt::Write;

use rustc_ast::expand::allocator::AllocatorKind;
use rustc_codegen_ssa::base::allocator_kind_for_codegen;
use rustc_middle::ty::TyCtxt;
use rustc_session::config::CrateType;
use rustc_span::def_id::LOCAL_CRATE;
use schism_llvm::{AsModule, Context, Module, ModuleRef};

use crate::rayon::functions::is_in_sight;
use crate::rayon::inject;
use crate::rustc;

/// The functions of the standard library, by the ends of their symbols, and those of the runtime.
const FUNCTIONS: [(&str, &str); 4] = [
    ("__rdl_alloc", "__schism_heap_alloc"),
    ("__rdl_alloc_zeroed", "__schism_heap_alloc_zeroed"),
    ("__rdl_dealloc", "__schism_heap_dealloc"),
    ("__rdl_realloc", "__schism_heap_realloc"),
];

/// Has the allocator's functions call those of the runtime, and C's, too.
pub(crate) fn put_behind_allocator<M>(tcx: TyCtxt<'_>, module: &mut M) {
    if !is_in_sight(tcx) {
        return;
    }
    let module = rustc::live_module(tcx, module);
    for function in module.functions() {
        let symbol = function.name();
        let runtimes = FUNCTIONS.iter().find(|(end, _)| symbol.ends_with(end));
        if let Some((_, runtimes)) = runtimes.filter(|_| function.is_declaration()) {
            function.set_name(runtimes);
        }
    }
    if has_c_functions(tcx) {
        let has_own = tcx.allocator_kind(()) == Some(AllocatorKind::Global);
        add(tcx, module, &c_functions(has_own));
    }
}

/// Whether C's functions in a program of the crate are the runtime's. A library has those of the
/// program that loads it; a program without shared libraries, or for a sanitizer, has its own.
fn has_c_functions(tcx: TyCtxt<'_>) -> bool {
    let sess = tcx.sess;
    tcx.crate_types() == [CrateType::Executable]
        && is_in_sight(tcx)
        && allocator_kind_for_codegen(tcx).is_some()
        && sess.target.llvm_target.ends_with("linux-gnu")
        && !sess.crt_static(Some(CrateType::Executable))
        && sess.opts.unstable_opts.sanitizer.is_empty()
}

/// A function that allocates, or frees, and the runtime's that is called first.
struct Function {
    /// Its name, or the end of its symbol.
    name: &'static str,
    runtimes: &'static str,
    result: &'static str,
    parameters: &'static [&'static str],
}

const fn function(
    name: &'static str,
    runtimes: &'static str,
    result: &'static str,
    parameters: &'static [&'static str],
) -> Function {
    Function { name, runtimes, result, parameters }
}

/// C's functions that calls in the program's objects are redirected from.
const REDIRECTED: [Function; 6] = [
    function("malloc", "__schism_heap_malloc", "ptr", &["i64"]),
    function("calloc", "__schism_heap_calloc", "ptr", &["i64", "i64"]),
    function("realloc", "__schism_heap_realloc_of_program", "ptr", &["ptr", "i64"]),
    function("memalign", "__schism_heap_memalign", "ptr", &["i64", "i64"]),
    function("aligned_alloc", "__schism_heap_memalign", "ptr", &["i64", "i64"]),
    function("posix_memalign", "__schism_heap_posix_memalign", "i32", &["ptr", "i64", "i64"]),
];

/// The arguments for the linker of a program of the crate.
pub(crate) fn linker_arguments(tcx: TyCtxt<'_>) -> Vec<String> {
    if !has_c_functions(tcx) {
        return Vec::new();
    }
    REDIRECTED.iter().map(|function| format!("--wrap={}", function.name)).collect()
}

/// The definitions of C's functions that a program has, and of a constructor that tells the runtime of
/// them. They are weak: a program that is linked with its own has these.
fn c_functions(has_own_allocator: bool) -> String {
    let mut text = format!(
        "
@free = weak alias void (ptr), ptr @schism.free
@realloc = weak alias ptr (ptr, i64), ptr @schism.realloc
@malloc_usable_size = weak alias i64 (ptr), ptr @schism.usable_size

declare void @__schism_heap_free(ptr)
declare ptr @__schism_heap_realloc_of_process(ptr, i64)
declare i64 @__schism_heap_usable_size(ptr)
declare void @__schism_heap_defined(ptr, ptr, ptr, i32)

define internal void @schism.free(ptr %block) nounwind {{
  tail call void @__schism_heap_free(ptr %block)
  ret void
}}
define internal ptr @schism.realloc(ptr %block, i64 %size) nounwind {{
  %new = tail call ptr @__schism_heap_realloc_of_process(ptr %block, i64 %size)
  ret ptr %new
}}
define internal i64 @schism.usable_size(ptr %block) nounwind {{
  %size = tail call i64 @__schism_heap_usable_size(ptr %block)
  ret i64 %size
}}
define internal void @schism.heap_defined() nounwind {{
  tail call void @__schism_heap_defined(ptr @schism.free, ptr @schism.realloc, ptr @schism.usable_size, i32 {})
  ret void
}}
@llvm.global_ctors = appending global [1 x {{ i32, ptr, ptr }}] [{{ i32, ptr, ptr }} {{ i32 65535, ptr @schism.heap_defined, ptr null }}]
",
        i32::from(has_own_allocator)
    );
    let mut used = vec!["@free".to_owned(), "@realloc".into(), "@malloc_usable_size".into()];
    let mut declared = Vec::new();
    for Function { name, runtimes, result, parameters } in &REDIRECTED {
        let (types, named) = (parameters.join(", "), numbered(parameters));
        if !declared.contains(runtimes) {
            let _ = writeln!(text, "declare {result} @{runtimes}({types}, ptr)");
            declared.push(runtimes);
        }
        let _ = write!(
            text,
            "declare {result} @__real_{name}({types})
define weak {result} @__wrap_{name}({named}) nounwind {{
  %result = tail call {result} @{runtimes}({named}, ptr @__real_{name})
  ret {result} %result
}}
"
        );
        used.push(format!("@__wrap_{name}"));
    }
    // Nothing but the linker and other libraries know them.
    let (count, used) = (used.len(), used.join(", ptr "));
    let _ = writeln!(
        text,
        "@llvm.used = appending global [{count} x ptr] [ptr {used}], section \"llvm.metadata\""
    );
    text
}

/// Parameters with names: `i64 %a0, ptr %a1`.
fn numbered(parameters: &[&str]) -> String {
    let named = parameters.iter().enumerate();
    named.map(|(number, ty)| format!("{ty} %a{number}")).collect::<Vec<_>>().join(", ")
}

/// A function of the program's own allocator.
struct OwnFunction {
    function: Function,
    /// Its new name.
    own: &'static str,
    /// What the runtime's function gets besides.
    others: &'static [&'static str],
}

const OWN_FUNCTIONS: [OwnFunction; 4] = [
    OwnFunction {
        function: function("__rust_alloc", "__schism_heap_program_alloc", "ptr", &["i64", "i64"]),
        own: "__schism_own_alloc",
        others: &["__schism_own_alloc"],
    },
    OwnFunction {
        function: function(
            "__rust_alloc_zeroed",
            "__schism_heap_program_alloc_zeroed",
            "ptr",
            &["i64", "i64"],
        ),
        own: "__schism_own_alloc_zeroed",
        others: &["__schism_own_alloc_zeroed"],
    },
    OwnFunction {
        function: function(
            "__rust_dealloc",
            "__schism_heap_program_dealloc",
            "void",
            &["ptr", "i64", "i64"],
        ),
        own: "__schism_own_dealloc",
        others: &["__schism_own_dealloc"],
    },
    OwnFunction {
        function: function(
            "__rust_realloc",
            "__schism_heap_program_realloc",
            "ptr",
            &["ptr", "i64", "i64", "i64"],
        ),
        own: "__schism_own_realloc",
        others: &["__schism_own_realloc", "__schism_own_alloc", "__schism_own_dealloc"],
    },
];

/// Has the runtime's functions called before those of the crate's own global allocator.
pub(crate) fn put_before_programs_allocator<M>(tcx: TyCtxt<'_>, module: &mut M) {
    let is_asked_for = inject::library().is_some()
        && inject::is_worth_a_kernel(tcx.crate_name(LOCAL_CRATE).as_str(), tcx.crate_types());
    if !is_asked_for || !tcx.has_global_allocator(LOCAL_CRATE) {
        return;
    }
    let module = rustc::live_module(tcx, module);
    for one in &OWN_FUNCTIONS {
        let found = module
            .functions()
            .into_iter()
            .find(|found| found.name().ends_with(one.function.name) && !found.is_declaration());
        let Some(own) = found else { continue };
        let (symbol, visibility) = (own.name(), own.visibility());
        own.set_name(one.own);
        let first = module.add_function(&symbol, own.value_type());
        own.replace_uses(first);
        add(tcx, module, &wrapper(&symbol, one));
        if let Some(first) = module.function(&symbol) {
            first.set_visibility(visibility);
        }
    }
}

/// The definition of a function that calls the runtime's, if the program has one, and otherwise the
/// program's own.
fn wrapper(symbol: &str, OwnFunction { function, own, others }: &OwnFunction) -> String {
    let Function { runtimes, result, parameters, .. } = function;
    let (types, named) = (parameters.join(", "), numbered(parameters));
    let mut text = String::new();
    let own_types = |name: &str| {
        let of_name = OWN_FUNCTIONS.iter().find(|one| one.own == name).map(|one| &one.function);
        of_name.map_or((*result, types.clone()), |it| (it.result, it.parameters.join(", ")))
    };
    for other in *others {
        let (result, types) = own_types(other);
        let _ = writeln!(text, "declare {result} @{other}({types})");
    }
    let pointers = ", ptr".repeat(others.len());
    let addresses: String = others.iter().map(|other| format!(", ptr @{other}")).collect();
    let (assigned, returned) = match *result {
        "void" => ("", "ret void".to_owned()),
        result => ("%block = ", format!("ret {result} %block")),
    };
    let (assigned_own, returned_own) =
        (assigned.replace("block", "own"), returned.replace("block", "own"));
    let _ = write!(
        text,
        "declare extern_weak {result} @{runtimes}({types}{pointers})
define {result} @\"{symbol}\"({named}) nounwind {{
  %linked = icmp ne ptr @{runtimes}, null
  br i1 %linked, label %shared, label %alone
shared:
  {assigned}tail call {result} @{runtimes}({named}{addresses})
  {returned}
alone:
  {assigned_own}tail call {result} @{own}({named})
  {returned_own}
}}
"
    );
    text
}

/// Adds functions to a module.
fn add(tcx: TyCtxt<'_>, module: ModuleRef<'_>, text: &str) {
    // rustc's context drops names, which text needs.
    let reader = Context::new();
    let added = Module::from_text(reader.handle(), text).and_then(|read| {
        read.handle().set_target_of(module);
        let bitcode = read.handle().view().write_bitcode_to_memory();
        let added = Module::from_bitcode(module.context(), bitcode.as_slice());
        let is_linked = added.is_some_and(|added| module.link(added));
        if is_linked { Ok(()) } else { Err("LLVM cannot link them".to_owned()) }
    });
    if let Err(message) = added {
        tcx.dcx().fatal(format!("schism: the allocator's functions failed: {message}"));
    }
}
