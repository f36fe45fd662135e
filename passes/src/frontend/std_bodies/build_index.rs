//! Reads whole modules and finds out which of their functions and constants a kernel can have.

use std::collections::{HashMap, HashSet};

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use schism_llvm::{AsModule, IntoValue, Linkage, Value};

use crate::analysis::effects::is_of_one_architecture;
use crate::check::device_check;
use crate::ir::graph::reached;
use crate::spec::builtins;
use crate::spec::std_bodies::bodies::StdBodies;
use crate::spec::std_bodies::index::{Index, SpecialFunctions};
use crate::spec::std_bodies::module::{ModuleRef, StdBodiesError};

/// The function that decides at a landing pad. No device has landing pads.
pub(crate) const PERSONALITY: &str = "rust_eh_personality";

/// Reads modules (one that uses another stands before it) and makes the index. `special` are
/// functions among those that they define or call.
///
/// # Errors
/// If a module cannot be read.
pub fn build(
    modules: Vec<ModuleRef>,
    special: SpecialFunctions,
) -> Result<StdBodies, StdBodiesError> {
    Ok(StdBodies::from_index(run(modules, special)?))
}

/// Makes the index of modules.
///
/// # Errors
/// If a file or its bitcode cannot be read.
fn run(modules: Vec<ModuleRef>, functions: SpecialFunctions) -> Result<Index, StdBodiesError> {
    let mut graph = Graph::default();
    let special: HashSet<&str> = functions.panics.iter().map(|panic| &*panic.symbol).collect();
    for (number, module) in modules.iter().enumerate() {
        let context = Context::create();
        let parsed = parse(&context, module)?;
        graph.add(&parsed, number, &|name| special.contains(name));
    }
    let bodies = graph.without_what_no_device_has();
    Ok(Index { modules, special: functions, bodies })
}

/// The functions, by symbol, from which a function can be reached whose symbol is one of the
/// `ends`. Takes as long as making it: for messages.
///
/// # Errors
/// If a file or its bitcode cannot be read.
pub fn reaching(
    index: &Index,
    ends: &dyn Fn(&str) -> bool,
) -> Result<HashSet<String>, StdBodiesError> {
    let mut graph = Graph::default();
    let special: HashSet<&str> = index.special.panics.iter().map(|panic| &*panic.symbol).collect();
    for (number, module) in index.modules.iter().enumerate() {
        let context = Context::create();
        let parsed = parse(&context, module)?;
        graph.add(&parsed, number, &|name| special.contains(name));
    }
    Ok(graph.reaching(ends))
}

fn parse<'a>(context: &'a Context, module: &ModuleRef) -> Result<Module<'a>, StdBodiesError> {
    let bitcode = module.bitcode()?;
    let buffer = MemoryBuffer::create_from_memory_range_copy(&bitcode, "provided");
    Module::parse_bitcode_from_buffer(&buffer, context).map_err(|message| StdBodiesError::Bitcode {
        path: module.path().to_owned(),
        message: message.to_string(),
    })
}

/// Functions and variables, and what each of them mentions.
#[derive(Default)]
struct Graph {
    objects: Vec<Object>,
    /// The objects with a name that other modules see.
    by_name: HashMap<String, usize>,
}

#[derive(Default)]
struct Object {
    /// Where it is defined; `None` for a declaration.
    module: Option<usize>,
    /// Its name, if other modules see it.
    name: Option<String>,
    /// No device has it.
    refused: bool,
    /// A panic function: its calls are lowered, so it needs no body and none is offered.
    lowered: bool,
    users: Vec<usize>,
}

impl Graph {
    fn add(&mut self, module: &Module<'_>, number: usize, is_special: &dyn Fn(&str) -> bool) {
        let mut known = HashMap::new();
        let functions = module.get_functions().map(|function| function.value());
        let globals = module.get_globals().map(|global| global.value());
        let objects: Vec<Value<'_>> =
            functions.chain(globals).chain(module.handle().aliases()).collect();
        for &object in &objects {
            known.insert(object, self.object(object, number));
        }
        for &object in &objects {
            let number = known[&object];
            let name = object.name();
            if is_special(&name) {
                self.objects[number].lowered = true;
                continue;
            }
            if is_refused(object, &name) {
                self.objects[number].refused = true;
            }
            for mentioned in mentions(object) {
                if let Some(&mentioned) = known.get(&mentioned) {
                    self.objects[mentioned].users.push(number);
                }
            }
        }
    }

    /// The number of an object of a module.
    fn object(&mut self, object: Value<'_>, module: usize) -> usize {
        let (declared, linkage) = (object.is_declaration(), object.linkage());
        let local = matches!(linkage, Linkage::Internal | Linkage::Private);
        let name = (!local).then(|| object.name());
        let number = match name.as_ref().and_then(|name| self.by_name.get(name)) {
            Some(&number) => number,
            None => {
                self.objects.push(Object { name: name.clone(), ..Object::default() });
                self.objects.len() - 1
            }
        };
        if let Some(name) = name {
            self.by_name.insert(name, number);
        }
        if !declared && self.objects[number].module.is_none() {
            self.objects[number].module = Some(module);
        }
        number
    }

    /// Some objects, and those that reach one of them.
    fn with_users(&self, objects: impl Iterator<Item = usize>) -> HashSet<usize> {
        reached(objects, |number| self.objects[number].users.iter().copied())
    }

    /// The named objects that reach one whose name is one of the `ends`, those included.
    fn reaching(mut self, ends: &dyn Fn(&str) -> bool) -> HashSet<String> {
        let is_end = |object: &Object| object.name.as_deref().is_some_and(ends);
        let ends = (0..self.objects.len()).filter(|&number| is_end(&self.objects[number]));
        let names =
            self.with_users(ends).into_iter().filter_map(|number| self.objects[number].name.take());
        names.collect()
    }

    /// The named objects that reach nothing that is refused.
    fn without_what_no_device_has(self) -> HashMap<String, usize> {
        let is_refused = |&number: &usize| {
            let object = &self.objects[number];
            let name = object.name.as_deref().unwrap_or_default();
            let absent = object.module.is_none() && !is_provided(name);
            !object.lowered && (object.refused || absent)
        };
        let refused = self.with_users((0..self.objects.len()).filter(is_refused));
        let offered = self.objects.into_iter().zip(0..);
        let offered =
            offered.filter(|(object, number)| !object.lowered && !refused.contains(number));
        offered.filter_map(|(object, _)| Some((object.name?, object.module?))).collect()
    }
}

/// Whether every target has this function without a body.
fn is_provided(name: &str) -> bool {
    name.starts_with("llvm.") && !is_of_one_architecture(name)
        || builtins::is_library_function(name)
        || name == PERSONALITY
}

/// Whether an object is by itself what no device has.
fn is_refused(object: Value<'_>, name: &str) -> bool {
    if object.is_declaration() {
        return false; // what it says of the value need not be all that its definition says
    }
    if object.is_global_variable() {
        let list = name.starts_with("llvm.");
        // Whether a static changes is known where it is defined: rustc declares all of them alike.
        let changes = !object.is_declaration() && !object.is_global_constant();
        return list || changes || object.is_thread_local();
    }
    if !object.is_function() {
        return false;
    }
    object.instructions().into_iter().any(device_check::is_inline_assembly)
}

/// The functions and variables that an object's body, value or aliasee mentions.
fn mentions(object: Value<'_>) -> Vec<Value<'_>> {
    let mut stack = Vec::new();
    if object.is_function() {
        for instruction in object.instructions() {
            push_operands(instruction, &mut stack);
        }
    } else if object.is_alias() {
        stack.push(object.aliasee());
    } else {
        stack.extend(object.initializer());
    }
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    while let Some(value) = stack.pop() {
        let (constant, global) = (value.is_a_constant(), value.is_global());
        if !constant || !seen.insert(value) {
            continue;
        }
        if global {
            found.push(value);
        } else {
            push_operands(value, &mut stack);
        }
    }
    found
}

fn push_operands<'m>(user: Value<'m>, stack: &mut Vec<Value<'m>>) {
    stack.extend(user.operands());
}
