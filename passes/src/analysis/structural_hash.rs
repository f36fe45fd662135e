//! What a kernel is, as a hash: the key by which compiled kernels are kept.
//!
//! Two kernels have the same structural hash if stage 2 makes the same of them: what they reach is
//! the same, up to the names that the compiler has made, and to the numbers of attributes and
//! metadata. So a kernel keeps its hash while others beside it change, come and go. Source
//! positions count where they are in the module: a panic says its line.
//!
//! The module's text is taken apart into definitions, and each definition into text and references.
//! From a kernel on, each definition is hashed when it is first referred to, and a reference is
//! hashed as the number of that definition in this order:
//! ```llvm
//! define void @kernel(ptr %out) #1 {                 ; 0: "define void ", (0), "(ptr %out) ", (1), " {…"
//!   %x = call i32 @helper(ptr @table), !range !7     ;    "%x = call i32 ", (2), "(ptr ", (3), "), !range ", (4)
//! attributes #1 = { nounwind }                       ; 1: "attributes ", (1), " = { nounwind }"
//! define internal i32 @helper(ptr %p) #0 { … }       ; 2
//! ```
//! What a module only declares is known by its name to others, and so are specialization constants;
//! these names are hashed, too. So are those of functions that are not mangled: to LLVM, a name
//! like `sin` may mean something.

use std::collections::{HashMap, VecDeque};

use inkwell::module::Module;

use crate::spec::image::StructuralHash;

/// Counted up when what is hashed, or how, becomes another.
const PURPOSE: &str = "schism kernel content 1";

/// A module that was taken apart.
#[derive(Debug)]
pub struct ModuleText<'t> {
    definitions: Vec<Definition<'t>>,
    /// Definitions by the name that refers to them, sigil included.
    by_name: HashMap<&'t str, usize>,
    /// What counts for every kernel: data layout, target, flags of the module.
    common: Vec<usize>,
}

#[derive(Debug)]
struct Definition<'t> {
    /// Its name, if others know it by that.
    name: Option<&'t str>,
    pieces: Vec<Piece<'t>>,
}

#[derive(Clone, Copy, Debug)]
enum Piece<'t> {
    Text(&'t str),
    /// A name, with its sigil. If nothing has that name, it is text.
    Reference(&'t str),
}

/// The hash of a kernel that is in several modules, of its hash in each; `None` if it has no hash in
/// one of those that it is in.
pub fn joined(hashes: [Option<StructuralHash>; 2]) -> Option<StructuralHash> {
    let [first, second] = hashes;
    let mut hasher = blake3::Hasher::new();
    hasher.update(PURPOSE.as_bytes()).update(&first?);
    if let Some(second) = second {
        hasher.update(&second);
    }
    Some(*hasher.finalize().as_bytes())
}

/// The text of a module, for [`ModuleText`].
pub fn text(module: &Module<'_>) -> String {
    module.print_to_string().to_string()
}

impl<'t> ModuleText<'t> {
    /// Takes a module apart. `known` are globals whose names count although the module defines
    /// them.
    pub fn of(text: &'t str, known: &[&str]) -> Self {
        let mut parsed =
            ModuleText { definitions: Vec::new(), by_name: HashMap::new(), common: Vec::new() };
        let mut rest = text;
        while !rest.is_empty() {
            let end = match rest.starts_with("define ") {
                // Its closing brace stands at the beginning of a line, as nothing else in it does.
                true => rest.find("\n}").map_or(rest.len(), |at| at + 2),
                false => rest.find('\n').unwrap_or(rest.len()),
            };
            let (definition, after) = rest.split_at(end);
            rest = after.strip_prefix('\n').unwrap_or(after);
            parsed.add(definition, known);
        }
        parsed
    }

    fn add(&mut self, text: &'t str, known: &[&str]) {
        let number = self.definitions.len();
        let pieces = pieces(text);
        let defined = match text.as_bytes().first() {
            // Comments; and what says where the module is from.
            None | Some(b';') => return,
            _ if text.starts_with("source_filename") || text.starts_with("!llvm.ident") => return,
            Some(b'@' | b'%' | b'$') => first_reference(&pieces, &text[..1]),
            Some(b'!') => first_reference(&pieces, "!").filter(|name| text.starts_with(name)),
            _ if text.starts_with("attributes ") => first_reference(&pieces, "#"),
            _ if text.starts_with("define ") || text.starts_with("declare ") => {
                first_reference(&pieces, "@")
            }
            Some(_) => None,
        };
        let mut name = None;
        match defined {
            Some(defined) => {
                self.by_name.insert(defined, number);
                let external =
                    text.starts_with("declare ") || (defined.starts_with('@') && is_external(text));
                let plain = defined[1..].trim_matches('"');
                let mangled = plain.starts_with("_R") || plain.starts_with("_ZN");
                let speaks =
                    external || known.contains(&plain) || (text.starts_with("define ") && !mangled);
                name = speaks.then_some(defined);
            }
            None => self.common.push(number),
        }
        self.definitions.push(Definition { name, pieces });
    }

    /// The structural hash of a kernel: of what these functions reach. `None` if one of them is not
    /// there.
    pub fn of_kernel<'n>(
        &self,
        functions: impl IntoIterator<Item = &'n str>,
    ) -> Option<StructuralHash> {
        let mut walk =
            Walk { hasher: blake3::Hasher::new(), numbers: HashMap::new(), queue: VecDeque::new() };
        walk.text(PURPOSE);
        for function in functions {
            let plain = format!("@{function}");
            let quoted = format!("@\"{function}\"");
            let found = self.by_name.get(&*plain).or_else(|| self.by_name.get(&*quoted));
            walk.reference(*found?);
        }
        let own = walk.numbers.len();
        for common in &self.common {
            walk.reference(*common);
        }
        while let Some(number) = walk.queue.pop_front() {
            let definition = &self.definitions[number];
            let is_own = walk.numbers.get(&number).is_some_and(|number| *number < own);
            walk.text(definition.name.filter(|_| !is_own).unwrap_or_default());
            walk.count(definition.pieces.len());
            for piece in &definition.pieces {
                match piece {
                    Piece::Text(text) => walk.text(text),
                    Piece::Reference(name) => match self.by_name.get(name) {
                        Some(number) => walk.reference(*number),
                        None => walk.text(name),
                    },
                }
            }
        }
        Some(*walk.hasher.finalize().as_bytes())
    }
}

struct Walk {
    hasher: blake3::Hasher,
    /// Definitions by the order in which they are hashed.
    numbers: HashMap<usize, usize>,
    queue: VecDeque<usize>,
}

impl Walk {
    fn text(&mut self, text: &str) {
        // Lengths are even and references odd.
        self.count(text.len() * 2);
        self.hasher.update(text.as_bytes());
    }

    fn reference(&mut self, definition: usize) {
        let next = self.numbers.len();
        let number = *self.numbers.entry(definition).or_insert(next);
        if number == next {
            self.queue.push_back(definition);
        }
        self.count(number * 2 + 1);
    }

    fn count(&mut self, number: usize) {
        self.hasher.update(&(number as u64).to_le_bytes());
    }
}

/// Whether a global variable is declared, not defined.
fn is_external(text: &str) -> bool {
    let after = text.split_once(" = ").map_or("", |(_, after)| after);
    after.starts_with("external ") || after.starts_with("extern_weak ")
}

fn first_reference<'t>(pieces: &[Piece<'t>], sigil: &str) -> Option<&'t str> {
    pieces.iter().find_map(|piece| match piece {
        Piece::Reference(name) if name.starts_with(sigil) => Some(*name),
        _ => None,
    })
}

/// Cuts LLVM's text at what may be references.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while at < bytes.len() {
        let end = match bytes[at] {
            b'"' => {
                // Quotes within are written as numbers.
                at = after_quote(bytes, at);
                continue;
            }
            b'@' | b'%' | b'$' if bytes.get(at + 1) == Some(&b'"') => after_quote(bytes, at + 1),
            b'@' | b'%' | b'$' => after(bytes, at + 1, is_name),
            b'#' | b'!' => after(bytes, at + 1, |byte| byte.is_ascii_digit()),
            _ => at + 1,
        };
        if end > at + 1 {
            if begin < at {
                pieces.push(Piece::Text(&text[begin..at]));
            }
            pieces.push(Piece::Reference(&text[at..end]));
            begin = end;
        }
        at = end;
    }
    if begin < bytes.len() {
        pieces.push(Piece::Text(&text[begin..]));
    }
    pieces
}

/// Where a text in quotes ends that begins at `quote`.
fn after_quote(bytes: &[u8], quote: usize) -> usize {
    after(bytes, quote + 1, |byte| byte != b'"').saturating_add(1).min(bytes.len())
}

fn after(bytes: &[u8], from: usize, belongs: impl Fn(u8) -> bool) -> usize {
    let len = bytes[from..].iter().take_while(|byte| belongs(**byte)).count();
    from + len
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'$' | b'.' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    const MODULE: &str = r#"
        target datalayout = "e-m:e-i64:64"
        target triple = "x86_64-unknown-linux-gnu"
        %"a type" = type { i32, float }
        @table = internal constant [2 x ptr] [ptr @_Rone, ptr @"_ZNthe other"]
        @text = private constant [12 x i8] c"@_Rone \22 !0\00"
        @SEED = externally_initialized constant [4 x i8] c"\01\00\00\00"
        define void @kernel(ptr noalias %out) #0 {
          %x = load i32, ptr @SEED, align 4
          %f = getelementptr [2 x ptr], ptr @table, i32 0, i32 %x
          %p = load ptr, ptr %f, !range_of_ours !0
          call void %p(ptr %out)
          %y = call double @llvm.sqrt.f64(double 2.0)
          call void @__schism_panic(ptr @text, i64 12, ptr null)
          ret void
        }
        define internal void @_Rone(ptr %out) {
          %g = getelementptr %"a type", ptr %out, i32 3, i32 1
          store i32 3, ptr %g, align 4
          br label %head
        head:
          br label %head, !llvm.loop !1
        }
        define internal void @"_ZNthe other"(ptr %out) #1 {
          ret void
        }
        declare double @llvm.sqrt.f64(double)
        declare void @__schism_panic(ptr, i64, ptr) #1
        attributes #0 = { nounwind "key"="value" }
        attributes #1 = { nounwind }
        !llvm.module.flags = !{!3}
        !0 = !{i32 0, i32 7}
        !1 = distinct !{!1, !2}
        !2 = !{!"llvm.loop.mustprogress"}
        !3 = !{i32 7, !"PIC Level", i32 2}
    "#;

    fn hash_of(module: &str, kernel: &str) -> StructuralHash {
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(module.as_bytes(), "test");
        let module = context.create_module_from_ir(buffer).unwrap();
        let text = text(&module);
        ModuleText::of(&text, &["SEED"]).of_kernel([kernel]).unwrap()
    }

    fn changed(from: &str, to: &str) -> StructuralHash {
        assert!(MODULE.contains(from), "{from}");
        hash_of(&MODULE.replace(from, to), "kernel")
    }

    #[test]
    fn names_and_neighbours_do_not_count() {
        let original = hash_of(MODULE, "kernel");
        for (from, to) in [
            ("@_Rone", "@_Runo"),
            ("@\"_ZNthe other\"", "@_Rautre"),
            ("@table", "@\"a table\""),
            ("@text", "@0"),
            ("%\"a type\"", "%T"),
        ] {
            let renamed = MODULE.replace(from, to).replace("c\"@_Runo", "c\"@_Rone");
            assert_eq!(hash_of(&renamed, "kernel"), original, "{from}");
        }
        // But a name that may mean something does.
        let meant = MODULE.replace("@_Rone", "@sine").replace("c\"@sine", "c\"@_Rone");
        assert_ne!(hash_of(&meant, "kernel"), original);
        // A neighbour in front that takes the first numbers of everything, and shares some of it.
        let neighbour = r#"
            @other = constant [3 x i8] c"abc"
            define void @neighbour(ptr %out) #7 {
              %p = load ptr, ptr @other, !ours !20
              %x = load i32, ptr @table
              ret void
            }
            attributes #7 = { mustprogress }
            !20 = !{i32 9}
        "#;
        let both =
            MODULE.replace("define void @kernel", &format!("{neighbour}\ndefine void @kernel"));
        assert_eq!(hash_of(&both, "kernel"), original);
        assert_ne!(hash_of(&both, "neighbour"), original);
        assert_eq!(hash_of(&MODULE.replace("@kernel", "@nucleus"), "nucleus"), original);
    }

    #[test]
    fn a_part_of_the_module_has_the_same() {
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(MODULE.as_bytes(), "test");
        let module = context.create_module_from_ir(buffer).unwrap();
        crate::frontend::split_images::keep(&module, &["kernel"].into()).unwrap();
        let text = text(&module);
        let kept = ModuleText::of(&text, &["SEED"]).of_kernel(["kernel"]);
        assert_eq!(kept, Some(hash_of(MODULE, "kernel")));
    }

    #[test]
    fn everything_else_counts() {
        let mut seen = vec![hash_of(MODULE, "kernel")];
        for (from, to) in [
            ("store i32 3", "store i32 4"),
            ("c\"@_Rone", "c\"@_Runo"),
            ("[ptr @_Rone, ptr @\"_ZNthe other\"]", "[ptr @\"_ZNthe other\", ptr @_Rone]"),
            ("noalias %out", "%out"),
            ("\"key\"=\"value\"", "\"key\"=\"other\""),
            ("(ptr %out) #1", "(ptr %out) #0"),
            ("(ptr, i64, ptr) #1", "(ptr, i64, ptr)"),
            ("i32 0, i32 7", "i32 0, i32 8"),
            ("llvm.loop.mustprogress", "llvm.loop.unroll.disable"),
            ("!\"PIC Level\", i32 2", "!\"PIC Level\", i32 1"),
            ("e-m:e-i64:64", "e-m:e-i64:32"),
            ("@llvm.sqrt.f64", "@llvm.fabs.f64"),
            ("@__schism_panic", "@__schism_another"),
            ("@SEED", "@SAAT"),
            ("c\"\\01", "c\"\\02"),
            ("float }\n        @table", "double }\n        @table"),
            ("ptr %g, align 4", "ptr %g, align 2"),
        ] {
            let hash = changed(from, to);
            assert!(!seen.contains(&hash), "{from}");
            seen.push(hash);
        }
    }

    #[test]
    fn a_kernel_that_is_not_there() {
        let parsed = ModuleText::of("", &[]);
        assert_eq!(parsed.of_kernel(["kernel"]), None);
        assert!(parsed.of_kernel([]).is_some());
    }
}
