//! Function addresses as data, which must not be read as descriptors.
//!
//! In an argument of a message, or in a vtable, the address of a descriptor replaces that of a
//! formatting function. A function that a kernel of the image calls stays a function, though, and a
//! kernel that writes a message may contain its address:
//! ```llvm
//! @vtable = constant [4 x ptr] [ptr null, ptr inttoptr (i64 4 to ptr), ptr inttoptr (i64 4 to ptr), ptr @format]
//! ```
//! The code that copies messages checks whether there is a descriptor at the address. A CPU can
//! read code there; on a GPU that is an access outside all memory, which destroys the context. So
//! in kernels that make no indirect calls, which therefore need a function's address only for
//! comparison, constants replace the functions:
//! ```llvm
//! @schism.code = private constant [40 x i8] zeroinitializer
//! @vtable = constant [4 x ptr] [ptr null, ptr inttoptr (i64 4 to ptr), ptr inttoptr (i64 4 to ptr), ptr @schism.code]
//! ```
//! In the others, the code that copies messages asks a list of the functions:
//! ```llvm
//! define internal i1 @__schism_gpu_is_code(i64 %address) noinline {
//!   %is.0 = icmp eq i64 %address, ptrtoint (ptr @format to i64)
//!   ret i1 %is.0
//! }
//! ```

use std::fmt::Write;

use crate::JitError;
use crate::common::module::Module;
use schism_llvm::{Context, Value};

/// The function that asks the list.
const IS_CODE: &str = "__schism_gpu_is_code";

/// The bytes of a descriptor.
const DESCRIPTOR: usize = 40;

/// Keeps messages from being read from code. Runs after unneeded functions were removed.
pub fn hide<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    if module.function(IS_CODE).is_none() {
        return Ok(());
    }
    let functions: Vec<Value> =
        module.functions().into_iter().filter(|function| !function.is_intrinsic()).collect();
    let mut taken: Vec<Value> = functions.iter().copied().filter(|f| is_taken(*f)).collect();
    let mut calls = functions.iter().flat_map(|function| function.instructions());
    let mut text = String::new();
    if !calls.any(Value::is_indirect_call) {
        for index in 0..taken.len() {
            let _ = writeln!(
                text,
                "@schism.code.{index} = constant [{DESCRIPTOR} x i8] zeroinitializer, align 8"
            );
        }
        let constants = Module::from_text(context, &text).map_err(JitError::Internal)?;
        constants.set_target_of(module);
        module.link(context, constants).map_err(JitError::Internal)?;
        for (function, index) in taken.drain(..).zip(0..) {
            let name = format!("schism.code.{index}");
            let constant = module.globals().into_iter().find(|global| global.name() == name);
            let constant =
                constant.ok_or_else(|| JitError::Internal(format!("`{name}` is gone")))?;
            constant.set_internal();
            function.replace_address(constant);
        }
    }
    define(context, module, &taken)
}

/// Whether a function's address is used except by calls.
fn is_taken(function: Value) -> bool {
    function.users().into_iter().any(|user| !user.calls(function))
}

/// Defines the list.
fn define<'c>(
    context: &'c Context,
    module: &Module<'c>,
    functions: &[Value],
) -> Result<(), JitError> {
    let mut text = String::new();
    let mut result = "false".to_owned();
    let mut body = String::new();
    for (function, index) in functions.iter().zip(0..) {
        let name = escaped(&function.name());
        let _ = writeln!(text, "declare void @\"{name}\"()");
        let _ = writeln!(
            body,
            "  %is.{index} = icmp eq i64 %address, ptrtoint (ptr @\"{name}\" to i64)
               %any.{index} = or i1 {result}, %is.{index}"
        );
        result = format!("%any.{index}");
    }
    let _ = writeln!(
        text,
        "define zeroext i1 @{IS_CODE}(i64 %address) nounwind noinline {{\n{body}  ret i1 {result}\n}}"
    );
    let list = Module::from_text(context, &text).map_err(JitError::Internal)?;
    list.set_target_of(module);
    // A declaration does not refer to an internal definition.
    functions.iter().for_each(|function| function.set_external());
    module.link(context, list).map_err(JitError::Internal)?;
    for &function in functions.iter().chain(&module.function(IS_CODE)) {
        function.set_internal();
    }
    Ok(())
}

/// A name in the form of LLVM's assembly, between quotes.
fn escaped(name: &str) -> String {
    name.bytes().fold(String::new(), |mut text, byte| {
        let _ = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'$' => {
                write!(text, "{}", byte as char)
            }
            _ => write!(text, "\\{byte:02X}"),
        };
        text
    })
}
