//! Inlining decisions before all other passes.
//!
//! Code that calls a builtin or can panic is best part of the loop function, where both are free.
//! So those calls are forced inline, from the callees up, unless the callee is recursive or the
//! caller would grow beyond a limit. So are calls of small functions, and those that are a
//! function's only one, since a loop with a call cannot be vectorised, and properties of the loop's
//! memory then hold for what is in it. A kernel
//! with very many loops stays a function: nothing would vectorise it, and LLVM would treat them all
//! as parts of the nest's loop, and start over with each of them whenever it changes one.
//! Nothing vectorises what calls the program's own functions, so what does and is large is left to LLVM, too.
//! Large functions of the standard library that several calls share stay functions, even if they can
//! panic: nearly all of their code is for arguments that are rare, such as that which writes a float by
//! arithmetic of a thousand bits, and each format has a call of it.
//! Correctness does not depend on any of this: `out_of_line_builtins` handles what is not inlined.
//! All other calls are left to LLVM's own heuristics, and so are those between functions of the
//! device library: small ones were inlined when the library was prepared.

use std::collections::HashMap;

use schism_passes::analysis::trip_count;
use schism_passes::spec::target_library::PREFIX;

use super::entry_text::LOOP;
use super::host_calls;
use crate::common::image::KERNEL;
use crate::common::module::Module;
use schism_llvm::Value;

/// The maximum number of instructions of a function after forced inlining.
const LIMIT: usize = 100_000;

/// The maximum number, including inlined ones, of a small function. Images are not optimised: a few
/// instructions of iterator code are dozens here.
const SMALL: usize = 1_000;

/// The maximum number, including inlined ones, of a function that calls the program's own, and may panic.
const OF_HOST: usize = 4_000;

/// The maximum number of loops, including inlined ones, of a kernel that becomes part of the loop
/// nest.
const LOOPS: usize = 64;

/// The number of image instructions that one of the device library's is equivalent to: the library
/// is simplified.
const OF_LIBRARY: usize = 2;

/// The maximum number of instructions of a small function of the device library, on a GPU. A larger
/// one has separate paths for several kinds of arguments, and gains little from inlining.
pub const SMALL_OF_LIBRARY: usize = 270;

/// The same where work-items are computed in lanes: only what is inlined is.
pub const SMALL_OF_LIBRARY_IN_LANES: usize = 700;

/// A function in the decision.
struct Node<'m> {
    function: Value<'m>,
    /// Calls of functions with bodies: the call, and the callee's index.
    calls: Vec<(Value<'m>, usize)>,
    /// Instructions, without what is inlined.
    size: usize,
    /// Loops, without those of what is inlined.
    loops: usize,
    /// Whether it is the loop nest.
    is_nest: bool,
    /// Whether it is the device library's.
    library: bool,
    /// Whether it is the standard library's own, with nothing of the user's in it.
    is_of_std: bool,
    /// Whether a single call is all that uses it: then inlining makes nothing longer.
    is_called_once: bool,
    /// Whether it calls a special function, itself or through what it calls.
    wanted: bool,
    /// Whether it calls a function of the program's that returns, in the same way.
    calls_host: bool,
}

/// Marks the calls to inline, and the kernel's own. `special` are the functions whose callers
/// should be inlined, and functions of the device library are small up to `small_of_library`
/// instructions. In the program's process, what has no body is the program's own.
pub fn choose(
    module: &Module<'_>,
    special: impl IntoIterator<Item = &'static str>,
    small_of_library: usize,
    in_process: bool,
) {
    let special = special.into_iter().filter_map(|name| module.function(name)).collect();
    let mut nodes = graph(module, special);
    if !in_process {
        nodes.iter_mut().for_each(|node| node.calls_host = false);
    }
    let order = callees_first(&nodes);
    // The size to which each function that may be inlined grows.
    let mut grown: Vec<Option<usize>> = vec![None; nodes.len()];
    // The number of loops that it then has.
    let mut loops: Vec<usize> = nodes.iter().map(|node| node.loops).collect();
    for Component { members, recursive } in order {
        for &index in &members {
            let through_calls = nodes[index].calls.iter().any(|&(_, callee)| nodes[callee].wanted);
            nodes[index].wanted |= through_calls;
            let through_calls =
                nodes[index].calls.iter().any(|&(_, callee)| nodes[callee].calls_host);
            nodes[index].calls_host |= through_calls;
        }
        if members.iter().any(|&index| nodes[index].wanted) {
            for &index in &members {
                nodes[index].wanted = true;
            }
        }
        for &index in &members {
            let mut size = nodes[index].size;
            for &(call, callee) in &nodes[index].calls {
                let Some(callee_size) = grown[callee] else { continue };
                let Node { function, library, is_of_std, is_called_once, calls_host, .. } =
                    nodes[callee];
                let wanted = nodes[callee].wanted && !(calls_host && callee_size > OF_HOST);
                if is_of_std && !is_called_once && callee_size > SMALL {
                    function.add_function_attribute("noinline", 0);
                    continue;
                }
                if nodes[index].is_nest && loops[callee] > LOOPS {
                    function.add_function_attribute("noinline", 0);
                    continue;
                }
                let small = if library { small_of_library * OF_LIBRARY } else { SMALL };
                let inlined = wanted
                    || ((callee_size <= small || is_called_once && !library)
                        && !function.has_function_attribute("noinline"));
                if inlined && size + callee_size <= LIMIT {
                    size += callee_size;
                    loops[index] += loops[callee];
                    if !(library && nodes[index].library) {
                        force(call, function);
                    }
                }
            }
            if !recursive {
                grown[index] = Some(size);
            }
        }
    }
}

/// Forces one call inline.
fn force(call: Value<'_>, callee: Value<'_>) {
    call.remove_call_attribute("noinline");
    call.add_call_attribute("alwaysinline");
    // The two attributes conflict: LLVM does not inline functions with the second.
    callee.remove_function_attribute("optnone");
    callee.remove_function_attribute("noinline");
}

/// The functions with bodies, and which of them call which.
fn graph<'m>(module: &'m Module<'_>, special: Vec<Value<'m>>) -> Vec<Node<'m>> {
    let functions: Vec<Value> =
        module.functions().into_iter().filter(|function| !function.is_declaration()).collect();
    let index: HashMap<Value, usize> = functions.iter().copied().zip(0..).collect();
    functions
        .into_iter()
        .map(|function| {
            let instructions = function.instructions();
            let callees: Vec<(Value, Value)> =
                instructions.iter().filter_map(|&call| Some((call, call.callee()?))).collect();
            let name = function.name();
            let library = name.starts_with(PREFIX);
            let is_rare = ["cold", "noinline"]
                .into_iter()
                .all(|attribute| function.has_function_attribute(attribute));
            Node {
                function,
                size: instructions.len() * if library { OF_LIBRARY } else { 1 },
                loops: trip_count::count(function),
                is_nest: name == LOOP,
                library,
                is_of_std: is_of_std(&name),
                is_called_once: function.users().len() == 1,
                wanted: name == KERNEL
                    || callees.iter().any(|&(_, callee)| {
                        special.contains(&callee)
                            // The program's own; what is rarely called stays a call.
                            || (!is_rare && host_calls::is_panic(callee))
                    }),
                calls_host: callees.iter().any(|&(_, callee)| {
                    host_calls::is_of_host(callee) && !host_calls::is_panic(callee)
                }),
                calls: callees
                    .into_iter()
                    .filter_map(|(call, callee)| Some((call, *index.get(&callee)?)))
                    .collect(),
            }
        })
        .collect()
}

/// Whether a symbol is that of a function of the standard library, of types of the standard library
/// alone: then all of its code is there.
fn is_of_std(symbol: &str) -> bool {
    const CRATES: [&str; 3] = ["core", "alloc", "std"];
    // Other names do not say of which types a function is.
    if !symbol.starts_with("_R") {
        return false;
    }
    // A path begins with the name of its crate, and the crate's number in brackets.
    let name = rustc_demangle::demangle(symbol).to_string();
    let mut crates = name.match_indices('[').map(|(at, _)| {
        let before = &name[..at];
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        before[before.trim_end_matches(is_part).len()..].to_owned()
    });
    crates.all(|one| one.is_empty() || CRATES.contains(&&*one))
}

/// Mutually recursive functions.
struct Component {
    members: Vec<usize>,
    recursive: bool,
}

/// The strongly connected components of the call graph, callees before callers: Tarjan's algorithm,
/// with an explicit stack, since the image determines the depth.
fn callees_first(nodes: &[Node]) -> Vec<Component> {
    const NEW: usize = usize::MAX;
    let mut number = vec![NEW; nodes.len()];
    let mut low = vec![NEW; nodes.len()];
    let mut open = vec![false; nodes.len()];
    let mut stack = Vec::new();
    let mut count = 0;
    let mut components = Vec::new();
    for root in 0..nodes.len() {
        if number[root] != NEW {
            continue;
        }
        // Each entry: a function, and the number of its calls that have been followed.
        let mut path = vec![(root, 0)];
        while let Some(&mut (at, ref mut followed)) = path.last_mut() {
            if *followed == 0 {
                number[at] = count;
                low[at] = count;
                count += 1;
                stack.push(at);
                open[at] = true;
            }
            let next = nodes[at].calls.get(*followed).map(|&(_, callee)| callee);
            *followed += 1;
            match next {
                Some(callee) if number[callee] == NEW => path.push((callee, 0)),
                Some(callee) if open[callee] => low[at] = low[at].min(number[callee]),
                Some(_) => {}
                None => {
                    path.pop();
                    if let Some(&(caller, _)) = path.last() {
                        low[caller] = low[caller].min(low[at]);
                    }
                    if low[at] == number[at] {
                        let first = stack.iter().rposition(|&member| member == at).unwrap_or(0);
                        let members = stack.split_off(first);
                        for &member in &members {
                            open[member] = false;
                        }
                        let recursive = members.len() > 1
                            || nodes[at].calls.iter().any(|&(_, callee)| callee == at);
                        components.push(Component { members, recursive });
                    }
                }
            }
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use schism_llvm::Context;

    use super::*;

    /// How many calls of `@large` are forced inline. It may panic, has that many instructions, and calls
    /// a function without a body.
    fn forced(instructions: usize, in_process: bool) -> usize {
        let mut text = format!(
            "declare i64 @of_the_program(i64)
             declare void @panics() noreturn
             define void @{LOOP}(i64 %x) {{
               call void @{KERNEL}(i64 %x)
               ret void
             }}
             define internal void @{KERNEL}(i64 %x) {{
               %a = call i64 @large(i64 %x)
               %b = call i64 @large(i64 %a)
               ret void
             }}
             define internal i64 @large(i64 %x) {{
               %v0 = call i64 @of_the_program(i64 %x)
               %wrong = icmp eq i64 %v0, 7
               br i1 %wrong, label %panic, label %fine
             panic:
               call void @panics()
               unreachable
             fine:\n"
        );
        for number in 0..instructions {
            text += &format!("%v{} = mul i64 %v{number}, {number}\n", number + 1);
        }
        text += &format!("ret i64 %v{instructions}\n}}\n");
        let context = Context::new();
        let module = Module::from_text(&context, &text).expect("LLVM's assembly");
        choose(&module, [], SMALL_OF_LIBRARY, in_process);
        let large = module.function("large").expect("it is there");
        large.users().into_iter().filter(|call| call.has_call_attribute("alwaysinline")).count()
    }

    #[test]
    fn large_functions_that_call_the_programs_own_stay_functions() {
        assert_eq!(forced(OF_HOST + 1, true), 0);
        assert_eq!(forced(OF_HOST / 2, true), 2);
        assert_eq!(forced(OF_HOST + 1, false), 2);
    }

    #[test]
    fn the_standard_librarys_own_functions_are_known_by_their_names() {
        let own = [
            "_RNvNtNtNtNtCsgEmfK2I1SDS_4core3num7flt2dec8strategy6dragon15format_shortest",
            "_RINvNtNtCsgEmfK2I1SDS_4core3fmt5float32float_to_decimal_common_shortestdEB6_",
            "_RNvMsa_NtCsgEmfK2I1SDS_4core3fmtNtB5_9Formatter12pad_integral",
            "_RNvXsX_NtNtCsgEmfK2I1SDS_4core3fmt3numyNtB7_5Debug3fmt",
        ];
        for symbol in own {
            assert!(is_of_std(symbol), "{symbol}");
        }
        let others = [
            "_ZN4core3fmt5Write9write_fmt17he9c525d9acecf15fE",
            "schism.kernel",
            "_RNvCs1234_7mycrate4main",
            // `core::mem::swap::<mycrate::Thing>`
            "_RINvNtCsgEmfK2I1SDS_4core3mem4swapNtCs1234_7mycrate5ThingEB_",
        ];
        for symbol in others {
            assert!(!is_of_std(symbol), "{symbol}");
        }
    }
}
