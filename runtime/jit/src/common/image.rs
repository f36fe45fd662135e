//! Loads an image's bitcode as a module with one checked kernel and what it reaches.
//!
//! An image has many kernels. Function bodies are read only for the request's kernel and what it
//! reaches, which are linked into an empty module; the others cost next to nothing.
//!
//! The bytes come from a file, so they are untrusted: LLVM's verifier runs, the kernel's type is
//! compared with the container's parameters, and constructs that an image must not have are refused
//! with a reason. Still, the container's checksum is the first guard: LLVM's bitcode reader is not
//! hardened. Of images with a few flipped bits, about one in a thousand makes it read out of
//! bounds, or loop (`tests/hostile.rs`); nothing outside of it can prevent that.

use schism_jit_abi::code::PERSONALITY;
use schism_jit_abi::{PARAM_BYTES, PARAM_FLOAT, PARAM_INTEGER, PARAM_POINTER, Param};

use crate::common::kinds::{TypeKind, param_kinds, return_kind};
use crate::common::module::Module;
use crate::{JitError, Request};
use schism_llvm::{
    AsModule, Attribute, Context, FUNCTION_INDEX, Linkage, Machine, Opcode, Type, Value, enum_kind,
};
use schism_passes::llvm_passes;

/// The kernel's name in the module from here on, so that text around it need not quote names.
pub const KERNEL: &str = "schism.kernel";

/// The device whose kernels unwind.
pub const CPU: &str = "cpu";

/// The number of 64-bit parameters for the launch's offset in a kernel that takes it.
pub const OFFSET_PARAMS: usize = 3;

// Functions with a meaning for targets. An image declares them and defines none.
pub use schism_passes::spec::builtins::{
    ABORT, BALLOT, BARRIER, CLOCK, GLOBAL_ID, GLOBAL_RANGE, GROUP_ID, GROUP_RANGE, HOST_HEAP,
    LOCAL_ID, LOCAL_MEMORY, LOCAL_RANGE, PANIC, PANIC_FORMAT, PANIC_SHAPED, PANIC_SITE, PAUSE,
    PRINT, REDUCE_ADD, REDUCE_LEAST, ROW, SHUFFLE, SHUFFLE_DOWN, SHUFFLE_UP, SHUFFLE_XOR,
    SUB_GROUP_BARRIER, TIME, convergent as group_operation_builtins, in_images as builtins,
    of_groups_in_images as group_builtins, reductions,
};

/// Reads an image and reduces it to the request's kernel and what that reaches. Everything is
/// internal except the kernel, which is then called [`KERNEL`] and has the request's parameters.
/// Without `lines`, source locations are removed.
pub fn load<'c>(
    context: &'c Context,
    request: &'c Request,
    machine: &Machine,
    device: &'static str,
    lines: bool,
) -> Result<Module<'c>, JitError> {
    let invalid = JitError::InvalidImage;
    let image = Module::from_bitcode_lazily(context, &request.image).map_err(invalid)?;
    let kernel = image
        .function(&request.kernel)
        .filter(|function| !function.is_declaration())
        .ok_or_else(|| JitError::UnknownKernel(request.kernel.clone()))?;
    check_target(&image, machine)?;
    check_signature(kernel, request)?;
    check_builtins(&image)?;

    kernel.set_name(KERNEL);
    if kernel.name() != KERNEL {
        return Err(invalid(format!("it has its own function `{KERNEL}`")));
    }
    if !lines {
        image.strip_debug_info();
    }
    internalise(&image);
    kernel.set_external();
    let module = Module::new(context, c"image");
    module.set_target_of(&image);
    module.declare_as(kernel);
    module.link(context, image).map_err(invalid)?;
    link_imports(context, &module, request, machine, lines)?;
    module.verify().map_err(invalid)?;
    kernel_of(&module)?;
    if request.open_constants {
        module.open_constants(request.constants.iter().map(|(symbol, _)| symbol.as_str()))?;
    } else {
        module.specialise(&request.constants)?;
    }
    module.allow_fast_math(request.math);
    module.run_passes(llvm_passes::GLOBAL_DCE, None).map_err(JitError::Internal)?;

    let unsupported =
        |feature: String| JitError::Unsupported { kernel: request.kernel.clone(), feature, device };
    if !module.handle().inline_assembly().is_empty() {
        return Err(unsupported("assembly outside of functions".to_owned()));
    }
    if let Some(ifunc) = module.handle().ifuncs().first() {
        return Err(unsupported(format!("`{}`, chosen by the loader at start,", ifunc.name())));
    }
    if let Some(global) = module.globals().into_iter().find(|global| global.is_thread_local()) {
        return Err(unsupported(format!("the thread-local variable `{}`", global.name())));
    }
    for function in module.functions() {
        if function.is_declaration() {
            continue;
        }
        if request.in_process {
            normalise_features(function, machine);
        } else {
            normalise(function);
        }
    }
    // Whatever the image says about it: stores before a panic are visible afterwards.
    if !request.in_process {
        lower_unwinding(&module, device)?;
    }
    Ok(module)
}

/// The kernel of a loaded module.
pub fn kernel_of<'m>(module: &'m Module<'_>) -> Result<Value<'m>, JitError> {
    module
        .function(KERNEL)
        .filter(|function| !function.is_declaration())
        .ok_or_else(|| JitError::Internal("the kernel was not linked".to_owned()))
}

/// Links what the module declares and other images define, transitively. All of it becomes
/// internal.
fn link_imports<'c>(
    context: &'c Context,
    module: &Module<'c>,
    request: &'c Request,
    machine: &Machine,
    lines: bool,
) -> Result<(), JitError> {
    let invalid = JitError::InvalidImage;
    let mut images = Vec::new();
    for image in &request.links {
        let image = Module::from_bitcode_lazily(context, image).map_err(invalid)?;
        check_target(&image, machine)?;
        check_builtins(&image)?;
        if !lines {
            image.strip_debug_info();
        }
        images.push(image);
    }
    fn defined<'m>(image: &'m Module<'_>, name: &str) -> Option<Value<'m>> {
        image.function(name).filter(|function| !function.is_declaration())
    }
    // A linked image may need another one.
    loop {
        let declared: Vec<Value> = module
            .functions()
            .into_iter()
            .filter(|function| function.is_declaration() && !function.is_intrinsic())
            .collect();
        let needed = |image: &Module<'_>| {
            declared.iter().any(|function| defined(image, &function.name()).is_some())
        };
        let Some(next) = images.iter().position(needed) else { break };
        let image = images.swap_remove(next);
        for function in &declared {
            if let Some(definition) = defined(&image, &function.name()) {
                check_import(*function, definition, request)?;
            }
        }
        image.make_optional();
        module.link(context, image).map_err(invalid)?;
        for function in module.functions() {
            if !function.is_declaration() && function.name() != KERNEL {
                function.set_internal();
            }
        }
    }
    Ok(())
}

/// Compares a declaration with the definition in another image: types, and attributes that
/// determine how values are passed.
fn check_import(
    declared: Value<'_>,
    definition: Value<'_>,
    request: &Request,
) -> Result<(), JitError> {
    fn passed(function: Value<'_>) -> (Type<'_>, u32, Vec<Vec<u32>>, Vec<Option<u64>>) {
        let places = param_kinds(function).len() as u32;
        let decisive = ["sret", "byval", "inreg", "zeroext", "signext", "nest", "swiftself"];
        let decisive = decisive.map(enum_kind);
        let marked = |place: u32| {
            let kinds = function.attributes(place).into_iter().filter_map(Attribute::kind);
            let mut kinds: Vec<u32> = kinds.filter(|kind| decisive.contains(kind)).collect();
            kinds.sort_unstable();
            kinds
        };
        // The result, then the parameters.
        let marks: Vec<Vec<u32>> = (0..=places).map(marked).collect();
        let sizes: Vec<Option<u64>> = (0..places).map(|place| function.byval_size(place)).collect();
        (function.value_type(), function.call_conv(), marks, sizes)
    }
    if passed(declared) == passed(definition) {
        return Ok(());
    }
    let text = |function: Value| {
        let has = |name: &str| {
            let kind = enum_kind(name);
            let places = 0..=param_kinds(function).len() as u32;
            let mut attributes = places.flat_map(|place| function.attributes(place));
            attributes.any(|attribute| attribute.kind() == Some(kind))
        };
        let signed = if has("signext") { " with signed small integers" } else { "" };
        format!("`{}`{signed}", function.value_type().text())
    };
    Err(JitError::ImportMismatch {
        kernel: request.kernel.clone(),
        symbol: declared.name(),
        imported: text(declared),
        defined: text(definition),
    })
}

/// The data layout of an image, which is its host's.
const LAYOUT: &str =
    "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128";

/// An image without a target fits every target; one with a target has the host's, whose integers,
/// floats and pointers have the same sizes and alignments as those of every target here.
fn check_target(module: &Module<'_>, machine: &Machine) -> Result<(), JitError> {
    let triple = module.handle().triple();
    let layout = module.handle().data_layout_text();
    if (layout.is_empty() || layout == LAYOUT)
        && (triple.is_empty() || triple.starts_with("x86_64-"))
    {
        module.handle().set_machine(machine);
        return Ok(());
    }
    Err(JitError::InvalidImage(format!(
        "it is for `{triple}` with layout `{layout}`, and cannot be lowered to `{}`",
        machine.triple().to_string_lossy()
    )))
}

/// Compares the kernel's type with the container's parameters.
fn check_signature(kernel: Value, request: &Request) -> Result<(), JitError> {
    let mismatch = |reason: String| {
        Err(JitError::SignatureMismatch { kernel: request.kernel.clone(), reason })
    };
    if return_kind(kernel) != TypeKind::Void
        || kernel.value_type().is_variadic()
        || kernel.call_conv() != 0
    {
        return mismatch("in the image it is not a plain function without result".to_owned());
    }
    let kinds = param_kinds(kernel);
    let expected = request.params.len() + if request.offset { OFFSET_PARAMS } else { 0 };
    if kinds.len() != expected {
        return mismatch(format!(
            "it takes {} parameters in the image and {expected} in the container",
            kinds.len(),
        ));
    }
    if kinds[request.params.len()..].iter().any(|kind| *kind != TypeKind::Integer(64)) {
        return mismatch("what it takes after its parameters is no offset".to_owned());
    }
    for (index, (kind, param)) in kinds.into_iter().zip(&request.params).enumerate() {
        let place = index as u32;
        let byval = kernel.byval_size(place);
        if !fits(kind, byval, param) {
            return mismatch(format!(
                "parameter {index} is {} in the image and {} in the container",
                in_image(kind, byval),
                in_container(param)
            ));
        }
        let refused = ["sret", "byref", "inalloca", "preallocated", "nest", "inreg", "swiftself"]
            .into_iter()
            .chain(["swifterror", "swiftasync"])
            .find(|name| {
                let number = enum_kind(name);
                kernel.attributes(place + 1).into_iter().any(|a| a.kind() == Some(number))
            });
        if let Some(name) = refused {
            return mismatch(format!("parameter {index} is marked `{name}` in the image"));
        }
    }
    Ok(())
}

/// Whether the image's parameter matches the container's.
fn fits(kind: TypeKind, byval: Option<u64>, param: &Param) -> bool {
    let bits = param.size.saturating_mul(8);
    match param.kind {
        PARAM_INTEGER => matches!(kind, TypeKind::Integer(width) if u64::from(width) == bits),
        PARAM_FLOAT => matches!(kind, TypeKind::Float(width) if u64::from(width) == bits),
        PARAM_POINTER => kind == TypeKind::Pointer(0) && byval.is_none(),
        PARAM_BYTES => kind == TypeKind::Pointer(0) && byval == Some(param.size),
        _ => false,
    }
}

fn in_image(kind: TypeKind, byval: Option<u64>) -> String {
    match (kind, byval) {
        (TypeKind::Integer(bits), _) => format!("an integer of {bits} bits"),
        (TypeKind::Float(bits), _) => format!("a float of {bits} bits"),
        (TypeKind::Pointer(0), Some(size)) => format!("an aggregate of {size} bytes"),
        (TypeKind::Pointer(0), None) => "a pointer".to_owned(),
        (TypeKind::Pointer(space), _) => format!("a pointer to address space {space}"),
        (TypeKind::Void | TypeKind::Other, _) => "of another type".to_owned(),
    }
}

fn in_container(param: &Param) -> String {
    let bits = param.size.saturating_mul(8);
    match param.kind {
        PARAM_INTEGER => format!("an integer of {bits} bits"),
        PARAM_FLOAT => format!("a float of {bits} bits"),
        PARAM_POINTER => "a pointer".to_owned(),
        _ => format!("an aggregate of {} bytes", param.size),
    }
}

/// Defines a builtin, if the image declares it. The text has its body, and declares what that needs.
pub fn define_builtin<'c>(
    context: &'c Context,
    module: &Module<'c>,
    builtin: &str,
    text: &str,
) -> Result<(), JitError> {
    if module.function(builtin).is_none() {
        return Ok(());
    }
    let body = Module::from_text(context, text).map_err(JitError::Internal)?;
    body.set_target_of(module);
    module.link(context, body).map_err(JitError::InvalidImage)?;
    if let Some(function) = module.function(builtin) {
        function.set_internal();
    }
    Ok(())
}

/// Checks that builtins have the types that targets define, and no body. Builtins that only stage 2
/// creates are refused.
fn check_builtins(module: &Module<'_>) -> Result<(), JitError> {
    let made_here =
        |name: &String| [PANIC_SHAPED, PANIC_SITE].iter().any(|own| name.starts_with(own));
    if let Some(name) = module.functions().into_iter().map(Value::name).find(made_here) {
        return Err(JitError::InvalidImage(format!("it has its own function `{name}`")));
    }
    let pointer = TypeKind::Pointer(0);
    let (long, number) = (TypeKind::Integer(64), TypeKind::Integer(32));
    for name in builtins() {
        let Some(function) = module.function(name) else { continue };
        let (returns, takes) = match name {
            PANIC | ABORT => (TypeKind::Void, vec![pointer, long, pointer]),
            PANIC_FORMAT => (TypeKind::Void, vec![pointer, pointer, pointer]),
            PRINT => (TypeKind::Void, vec![pointer, pointer]),
            BARRIER | SUB_GROUP_BARRIER => (TypeKind::Void, Vec::new()),
            SHUFFLE | SHUFFLE_XOR | SHUFFLE_UP | SHUFFLE_DOWN => (number, vec![number; 2]),
            BALLOT => (number, vec![number]),
            PAUSE => (TypeKind::Void, vec![number]),
            ROW => (long, vec![long; 3]),
            name if reductions().any(|reduction| reduction == name) => (number, vec![number]),
            LOCAL_MEMORY => (pointer, Vec::new()),
            name if HOST_HEAP[..2].contains(&name) => (pointer, vec![long; 2]),
            name if name == HOST_HEAP[2] => (TypeKind::Void, vec![pointer, long, long]),
            name if name == HOST_HEAP[3] => (pointer, vec![pointer, long, long, long]),
            _ => (long, Vec::new()),
        };
        if !function.is_declaration()
            || function.value_type().is_variadic()
            || return_kind(function) != returns
            || param_kinds(function) != takes
        {
            return Err(JitError::InvalidImage(format!(
                "it gives `{name}` a body or another type"
            )));
        }
    }
    Ok(())
}

/// Hides every definition, so that only what the kernel uses is linked. This includes LLVM's own
/// lists (of constructors, and of globals that are used in ways that LLVM cannot see): nothing
/// reads them here.
fn internalise(module: &Module<'_>) {
    let globals = module.globals().into_iter().chain(module.functions());
    for global in globals.chain(module.aliases()) {
        if !global.is_declaration() && global.linkage() != Linkage::AvailableExternally {
            global.set_internal();
        }
    }
}

/// Leaves landing pads where the kernel unwinds and the program would notice it: on the CPU.
fn lower_unwinding(module: &Module<'_>, device: &str) -> Result<(), JitError> {
    for function in module.functions().into_iter().filter(|function| !function.is_declaration()) {
        check_unwinding(function)?;
    }
    module.infer_unwinding();
    if !module.unwinds() {
        return Ok(());
    }
    if device == CPU {
        module.keep_noticed_unwinding(kernel_of(module)?)
    } else {
        module.remove_unwinding()
    }
    .and_then(|()| module.run_passes(llvm_passes::GLOBAL_DCE, None))
    .map_err(JitError::Internal)
}

/// Stage 1 leaves landing pads of Rust's that clean up, and catches nothing; an image with other
/// unwinding is not stage 1's.
fn check_unwinding(function: Value) -> Result<(), JitError> {
    let unwinds = |instruction: &Value| {
        matches!(
            instruction.opcode(),
            Some(Opcode::CleanupRet | Opcode::CatchRet | Opcode::CatchPad)
                | Some(Opcode::CleanupPad | Opcode::CatchSwitch)
        )
    };
    let invalid = |what| Err(JitError::InvalidImage(format!("`{}` {what}", function.name())));
    if function.instructions().iter().any(unwinds) {
        return invalid("unwinds as no function of Rust does");
    }
    if function.personality().is_some_and(|other| other.name() != PERSONALITY) {
        return invalid("has a personality that is not Rust's");
    }
    Ok(())
}

/// As [`normalise`], for functions that may only be called on some processors. What the machine has
/// anyway is no feature of the function's; all others it keeps, since it is not called here, but
/// code is generated for it.
fn normalise_features(function: Value, machine: &Machine) {
    const FEATURES: &str = "target-features";
    let features = function.string_attribute(FUNCTION_INDEX, FEATURES);
    let features = features.and_then(Attribute::string_value).unwrap_or_default();
    normalise(function);
    let has = machine.features();
    let has = |feature: &str| has.split(',').any(|known| known == feature);
    if !features.is_empty() && !features.split(',').all(has) {
        function.add_string_attribute(FEATURES, &features);
        function.add_function_attribute("noinline", 0);
    }
}

/// Removes attributes that would compile a function for another machine than the requested one.
pub fn normalise(function: Value) {
    for name in ["target-cpu", "target-features", "tune-cpu", "probe-stack", "stack-probe-size"] {
        function.remove_string_attribute(name);
    }
    for name in ["uwtable", "ssp", "sspstrong", "sspreq", "safestack"] {
        function.remove_function_attribute(name);
    }
}
