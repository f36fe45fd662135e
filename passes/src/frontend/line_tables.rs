//! Lines of the source for profilers and debuggers of GPUs, where they are asked for.
//!
//! Before, as the compiler describes what it makes:
//! ```llvm
//! define void @kernel(ptr %0) !dbg !4 {
//!   #dbg_value(ptr %0, !9, !DIExpression(), !8)
//!   store i32 1, ptr %0, !dbg !8
//! !0 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !1, emissionKind: FullDebug)
//! !4 = distinct !DISubprogram(name: "kernel", file: !1, line: 1, type: !5, unit: !0, retainedNodes: !7)
//! !8 = !DILocation(line: 2, column: 3, scope: !4)
//! ```
//! After:
//! ```llvm
//! define void @kernel(ptr %0) !dbg !4 {
//!   store i32 1, ptr %0, !dbg !7
//! !0 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !1, emissionKind: DebugDirectivesOnly)
//! !4 = distinct !DISubprogram(name: "kernel", file: !1, line: 1, type: !5, unit: !0)
//! !7 = !DILocation(line: 2, column: 3, scope: !4)
//! ```
//! Of what the debug information describes only places in the source stay ([`reduce`]), and code
//! generators are asked for directives that name them, and for nothing else ([`run`]): in PTX
//! `.file` and `.loc`. Code with full debug information is not optimised by NVIDIA's assembler.
//!
//! LLVM's interface for C has no name for this kind, so it is written into the module's text.

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use schism_llvm::AsModule;

use crate::llvm_passes;

/// Leaves only the places in the source.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn reduce(module: &Module<'_>) -> Result<(), String> {
    module.handle().run_passes(llvm_passes::ONLY_LINE_TABLES)
}

/// The module whose places code generators only name.
///
/// # Errors
/// LLVM's message, if it fails.
pub fn run<'c>(context: &'c Context, module: Module<'c>) -> Result<Module<'c>, String> {
    reduce(&module)?;
    let text = module.print_to_string().to_string();
    if !text.contains(UNIT) {
        return Ok(module);
    }
    let lines: Vec<String> = text.lines().map(with_directives).collect();
    let buffer = MemoryBuffer::create_from_memory_range_copy(lines.join("\n").as_bytes(), "device");
    context.create_module_from_ir(buffer).map_err(|error| error.to_string())
}

/// What describes a unit begins so.
const UNIT: &str = " = distinct !DICompileUnit(";

/// How much debug information code generators make of a unit.
const KIND: &str = "emissionKind: ";

fn with_directives(line: &str) -> String {
    let unit = line.starts_with('!') && line.contains(UNIT);
    let Some((before, kind)) = line.split_once(KIND).filter(|_| unit) else {
        return line.to_owned();
    };
    let after = kind.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric());
    format!("{before}{KIND}DebugDirectivesOnly{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = r#"
        define void @kernel(ptr %0) !dbg !4 {
          #dbg_value(ptr %0, !9, !DIExpression(), !8)
          store i32 1, ptr %0, !dbg !8
          ret void
        }
        !llvm.dbg.cu = !{!0}
        !llvm.module.flags = !{!3}
        !0 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !1, producer: "emissionKind: x", emissionKind: FullDebug)
        !1 = !DIFile(filename: "kernel.rs", directory: "/build")
        !2 = !{}
        !3 = !{i32 2, !"Debug Info Version", i32 3}
        !4 = distinct !DISubprogram(name: "kernel", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition, retainedNodes: !7)
        !5 = !DISubroutineType(types: !6)
        !6 = !{null, !10}
        !7 = !{!9}
        !8 = !DILocation(line: 2, column: 3, scope: !4)
        !9 = !DILocalVariable(name: "x", arg: 1, scope: !4, file: !1, line: 1, type: !10)
        !10 = !DIBasicType(name: "usize", size: 64, encoding: DW_ATE_unsigned)
    "#;

    fn read<'c>(context: &'c Context, text: &str) -> Module<'c> {
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        context.create_module_from_ir(buffer).expect("a good module")
    }

    #[test]
    fn only_places_stay() {
        let context = Context::create();
        let module = run(&context, read(&context, &MODULE.replace("emissionKind: x", "")));
        let module = module.expect("a module");
        module.verify().expect("a good module");
        let text = module.print_to_string().to_string();
        assert!(text.contains("emissionKind: DebugDirectivesOnly") && !text.contains("FullDebug"));
        assert!(text.contains("!DILocation(line: 2, column: 3") && text.contains("\"kernel.rs\""));
        assert!(!text.contains("dbg_value") && !text.contains("DILocalVariable"), "{text}");
    }

    #[test]
    fn a_module_without_any_is_left_alone() {
        let context = Context::create();
        let text = "@text = constant [34 x i8] c\" = distinct !DICompileUnit(FullDeb\"\n";
        let module = run(&context, read(&context, text)).expect("a module");
        assert!(module.print_to_string().to_string().contains(text.trim()));
    }
}
