//! Fills and copies of which SPIR-V has no instruction: `memset`, and `memmove`, whose memory may
//! overlap. Copies of memory that does not overlap are an instruction.
//!
//! ```llvm
//!   call void @llvm.memset.p1.i64(ptr addrspace(1) align 8 %at, i8 %byte, i64 %size, i1 false)
//! ```
//! becomes
//! ```llvm
//!   call void @schism.memset.p1.8(ptr addrspace(1) %at, i8 %byte, i64 %size)
//!
//! define internal void @schism.memset.p1.8(ptr addrspace(1) %to, i8 %byte, i64 %size) {
//! start:
//!   %whole = and i64 %size, -8
//!   ; …                                   the word of such bytes, and a loop that stores it
//! bytes:
//!   ; …                                   a loop over the bytes that are left
//! ```
//! The words are as large as the alignment says, up to 8 bytes. A `memmove` goes forwards where its
//! target is before its source, and backwards otherwise. Runs after optimisation.

use std::collections::BTreeMap;

use schism_llvm::{Builder, Context, Value, enum_kind};

use crate::JitError;
use crate::common::module::Module;

/// The largest word, in bytes.
const WORD: u64 = 8;

/// A function that fills or moves: its name, and its text.
type Function = (String, String);

/// Replaces the intrinsics by calls of functions.
pub fn expand<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    let mut calls = Vec::new();
    let mut functions = BTreeMap::new();
    for call in module.functions().into_iter().flat_map(Value::instructions) {
        if let Some((name, text)) = function_for(call) {
            functions.insert(name.clone(), text);
            calls.push((call, name));
        }
    }
    if calls.is_empty() {
        return Ok(());
    }
    let text: String = functions.into_values().collect();
    let bodies = Module::from_text(context, &text).map_err(JitError::Internal)?;
    bodies.set_target_of(module);
    module.link(context, bodies).map_err(JitError::Internal)?;
    for (call, name) in calls {
        let gone = || JitError::Internal(format!("`{name}` is gone"));
        let function = module.function(&name).ok_or_else(gone)?;
        function.set_internal();
        Builder::before(call).call_function(function, &call.args()[..3]);
        call.erase();
    }
    Ok(())
}

/// The function that does what a call of an intrinsic does; `None` for other instructions.
fn function_for(call: Value<'_>) -> Option<Function> {
    let name = call.callee()?.name();
    let args = call.args();
    let align = |index: u32| {
        let align = call.call_enum_attribute(index + 1, enum_kind("align"));
        align.map_or(1, |align| align.value())
    };
    let bits = |index: usize| args[index].ty().int_width();
    let volatile = || if args[3].as_unsigned() == Some(0) { "" } else { "volatile " };
    if name.starts_with("llvm.memset.") {
        let space = args[0].ty().address_space();
        // Drivers make fills of such loops again. Of a work-item's own memory Intel's loses them
        // where it computes several work-items in the lanes of vectors; of other memory they may be.
        let volatile = if matches!(space, 0 | 5) { "volatile " } else { volatile() };
        return Some(memset(space, bits(2), align(0).min(WORD), volatile));
    }
    if name.starts_with("llvm.memmove.") {
        let spaces = [args[0], args[1]].map(|arg| arg.ty().address_space());
        return Some(memmove(spaces, bits(2), align(0).min(align(1)).min(WORD), volatile()));
    }
    None
}

/// The type of a pointer, as text.
fn pointer(space: u32) -> String {
    format!("ptr addrspace({space})")
}

fn memset(space: u32, size: u32, word: u64, volatile: &str) -> Function {
    let mark = if volatile.is_empty() { "" } else { ".volatile" };
    let name = format!("schism.memset.p{space}.i{size}.{word}{mark}");
    let (to, bits) = (pointer(space), word * 8);
    // A byte times this is a word of such bytes.
    let ones = 0x0101_0101_0101_0101_u64 >> (64 - bits);
    let text = format!(
        "define void @{name}({to} %to, i8 %byte, i{size} %size.given) nounwind {{
         start:
           %size = {widen}
           %whole = and i64 %size, -{word}
           %wide = zext i8 %byte to i64
           %all = mul i64 %wide, {ones}
           %word = {narrow}
           br label %words
         words:
           %at = phi i64 [ 0, %start ], [ %at.next, %more ]
           %is.more = icmp ult i64 %at, %whole
           br i1 %is.more, label %more, label %bytes
         more:
           %place = getelementptr i8, {to} %to, i64 %at
           store {volatile}i{bits} %word, {to} %place, align {word}
           %at.next = add i64 %at, {word}
           br label %words
         bytes:
           %rest = phi i64 [ %at, %words ], [ %rest.next, %byte.more ]
           %is.rest = icmp ult i64 %rest, %size
           br i1 %is.rest, label %byte.more, label %done
         byte.more:
           %byte.place = getelementptr i8, {to} %to, i64 %rest
           store {volatile}i8 %byte, {to} %byte.place, align 1
           %rest.next = add i64 %rest, 1
           br label %bytes
         done:
           ret void
         }}\n",
        widen = to_long(size),
        narrow = if bits == 64 {
            "add i64 %all, 0".to_owned()
        } else {
            format!("trunc i64 %all to i{bits}")
        },
    );
    (name, text)
}

fn memmove([to, from]: [u32; 2], size: u32, word: u64, volatile: &str) -> Function {
    let mark = if volatile.is_empty() { "" } else { ".volatile" };
    let name = format!("schism.memmove.p{to}.p{from}.i{size}.{word}{mark}");
    let (to, from, bits) = (pointer(to), pointer(from), word * 8);
    let copy = |name: &str, at: &str, bits: u64| {
        let align = bits / 8;
        format!(
            "  %{name}.from = getelementptr i8, {from} %from, i64 {at}
               %{name}.to = getelementptr i8, {to} %to, i64 {at}
               %{name} = load {volatile}i{bits}, {from} %{name}.from, align {align}
               store {volatile}i{bits} %{name}, {to} %{name}.to, align {align}\n"
        )
    };
    let text = format!(
        "define void @{name}({to} %to, {from} %from, i{size} %size.given) nounwind {{
         start:
           %size = {widen}
           %whole = and i64 %size, -{word}
           %to.number = ptrtoint {to} %to to i64
           %from.number = ptrtoint {from} %from to i64
           %is.forward = icmp ule i64 %to.number, %from.number
           br i1 %is.forward, label %words, label %last.bytes
         words:
           %at = phi i64 [ 0, %start ], [ %at.next, %more ]
           %is.more = icmp ult i64 %at, %whole
           br i1 %is.more, label %more, label %bytes
         more:
         {word_forward}
           %at.next = add i64 %at, {word}
           br label %words
         bytes:
           %rest = phi i64 [ %at, %words ], [ %rest.next, %byte.more ]
           %is.rest = icmp ult i64 %rest, %size
           br i1 %is.rest, label %byte.more, label %done
         byte.more:
         {byte_forward}
           %rest.next = add i64 %rest, 1
           br label %bytes
         last.bytes:
           %end = phi i64 [ %size, %start ], [ %end.next, %last.byte.more ]
           %is.end = icmp ugt i64 %end, %whole
           br i1 %is.end, label %last.byte.more, label %last.words
         last.byte.more:
           %end.next = sub i64 %end, 1
         {byte_backward}
           br label %last.bytes
         last.words:
           %left = phi i64 [ %whole, %last.bytes ], [ %left.next, %last.word.more ]
           %is.left = icmp ne i64 %left, 0
           br i1 %is.left, label %last.word.more, label %done
         last.word.more:
           %left.next = sub i64 %left, {word}
         {word_backward}
           br label %last.words
         done:
           ret void
         }}\n",
        widen = to_long(size),
        word_forward = copy("word.a", "%at", bits),
        byte_forward = copy("byte.a", "%rest", 8),
        byte_backward = copy("byte.b", "%end.next", 8),
        word_backward = copy("word.b", "%left.next", bits),
    );
    (name, text)
}

/// A size in 64 bits.
fn to_long(size: u32) -> String {
    match size {
        64 => "add i64 %size.given, 0".to_owned(),
        bits => format!("zext i{bits} %size.given to i64"),
    }
}
