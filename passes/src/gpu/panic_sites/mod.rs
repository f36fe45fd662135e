//! Turns panics that show plain values into static descriptors and scalars. Runs in stage 2, for
//! devices whose memory the host reads afterwards.
//!
//! Before:
//! ```llvm
//!   store i64 %index, ptr %value
//!   store ptr %value, ptr %arguments                            ; { value, description }
//!   %description = getelementptr i8, ptr %arguments, i64 8
//!   store ptr @schism.type.0, ptr %description
//!   call void @__schism_panic_format(ptr @template, ptr %arguments, ptr @location)
//!   unreachable
//! ```
//! After:
//! ```llvm
//!   call void @__schism_panic_shaped.1(ptr @schism.shape, ptr @location, i64 %index)
//!   unreachable
//! ```
//! with all else of the message in a constant, its shape (`schism_message::shape`), and nothing
//! left that needs the locals.
//!
//! A panic qualifies if everything that its message refers to is a constant, or a local of which
//! every store is known and which only holds, at this place, constants, addresses of such locals,
//! and numbers. A local that changes is read right before the panic. Any other panic stays as it
//! is: one that shows what it has by reference, or by the program's own code.
//!
//! | file | concern |
//! |---|---|
//! | `mod` | what a message is made of |
//! | `locals` | what is known of its locals |
//! | `shown` | whether the host can show it |
//! | `made` | the call that stands in its place |

mod locals;
mod made;
mod shown;

use std::collections::HashMap;

use schism_llvm::{ModuleRef, Type, Value};
use schism_message::ARGUMENT_SIZE;
use schism_message::shape::{MOST_PARTS, MOST_WORDS, ROOM};

use self::locals::{comes_before, is_constant_memory, is_pointer, local_of, size_of_scalar, uses};
use crate::spec::builtins;

/// How deep values are followed.
const DEPTH: u32 = 8;

/// Runs the pass over a module.
pub fn run(module: ModuleRef<'_>) {
    let mut shapes = HashMap::new();
    for block in module.functions().into_iter().flat_map(Value::blocks) {
        // What stands behind a panic goes with it.
        let Some((call, is_text)) = block.instructions().into_iter().find_map(panic_of) else {
            continue;
        };
        if let Some(message) = Message::of(module, call, is_text) {
            message.replace(module, call, &mut shapes);
        }
    }
}

/// A call that panics, and whether it is with a text.
fn panic_of(call: Value<'_>) -> Option<(Value<'_>, bool)> {
    let name = call.callee()?.name();
    match &*name {
        builtins::PANIC => Some((call, true)),
        builtins::PANIC_FORMAT => Some((call, false)),
        _ => None,
    }
}

/// What is known of some bytes of the room.
#[derive(Clone, Copy)]
enum Bytes<'m> {
    /// A number or an address that never changes.
    Constant(Value<'m>),
    /// The address of bytes of a local.
    Local(usize, u64),
    /// A word with this number.
    Word(usize),
}

/// Where a word comes from: a value, or a local's bytes right before the panic; of wide ones, the
/// second half.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Word<'m> {
    source: Source<'m>,
    high: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source<'m> {
    Value(Value<'m>),
    Load(Value<'m>, u64, Type<'m>),
    /// Twice a length, and one.
    Length(Value<'m>),
}

/// A local that the message refers to.
struct Local<'m> {
    alloca: Value<'m>,
    size: u64,
    /// Where it is in the room.
    place: u64,
    /// What it holds: offset, bytes, content.
    content: Vec<(u64, u64, Bytes<'m>)>,
}

/// A message that qualifies.
struct Message<'m> {
    /// The two words of its `core::fmt::Arguments`.
    head: [Bytes<'m>; 2],
    location: Value<'m>,
    locals: Vec<Local<'m>>,
    words: Vec<Word<'m>>,
}

impl<'m> Message<'m> {
    /// Looks at a call.
    fn of(module: ModuleRef<'m>, call: Value<'m>, is_text: bool) -> Option<Self> {
        let [template, args, location] = [0, 1, 2].map(|index| call.operand(index));
        if !is_constant_memory(template, DEPTH) {
            return None;
        }
        let nothing = Bytes::Word(0);
        let mut this = Self { head: [nothing; 2], location, locals: Vec::new(), words: Vec::new() };
        this.head[0] = if template.is_constant() {
            Bytes::Constant(template)
        } else {
            this.word(Source::Value(template), false)?
        };
        this.head[1] = if is_text && args.is_constant_int() {
            let len = args.zext_value();
            Bytes::Constant(args.ty().const_int(len << 1 | 1, false))
        } else if is_text {
            this.word(Source::Length(args), false)?
        } else if args.is_constant() {
            Bytes::Constant(args)
        } else {
            let (alloca, offset) = local_of(module, args)?;
            Bytes::Local(this.local(module, alloca)?, offset)
        };
        let mut next = 0;
        while next < this.locals.len() {
            this.fill(module, call, next)?;
            next += 1;
        }
        let parts: usize = this.locals.iter().map(|local| local.content.len()).sum();
        let fits = parts + 2 <= MOST_PARTS;
        let arguments = match this.head[1] {
            Bytes::Local(index, 0) => this.locals[index].size / ARGUMENT_SIZE as u64,
            Bytes::Local(..) => return None,
            _ => 0,
        };
        let shown = (0..arguments).all(|index| this.shows_argument(index));
        (fits && shown).then_some(this)
    }

    fn word(&mut self, source: Source<'m>, high: bool) -> Option<Bytes<'m>> {
        let word = Word { source, high };
        let known = self.words.iter().position(|&other| other == word);
        let index = known.unwrap_or(self.words.len());
        if known.is_none() {
            self.words.push(word);
        }
        (index < MOST_WORDS).then_some(Bytes::Word(index))
    }

    /// The number of a local.
    fn local(&mut self, module: ModuleRef<'m>, alloca: Value<'m>) -> Option<usize> {
        if let Some(known) = self.locals.iter().position(|local| local.alloca == alloca) {
            return Some(known);
        }
        let size = {
            let count = alloca.operand(0);
            if !count.is_constant_int() || count.zext_value() != 1 {
                return None;
            }
            module.data_layout().abi_size(alloca.allocated_type())
        };
        let end = |local: &Local| (local.place + local.size).next_multiple_of(16);
        let place = self.locals.last().map_or(16, end);
        if place.checked_add(size)? > ROOM as u64 {
            return None;
        }
        self.locals.push(Local { alloca, size, place, content: Vec::new() });
        Some(self.locals.len() - 1)
    }

    /// Finds out what a local holds when the message is left.
    fn fill(&mut self, module: ModuleRef<'m>, call: Value<'m>, index: usize) -> Option<()> {
        let Local { alloca, size, .. } = self.locals[index];
        let uses = uses(module, alloca)?;
        // Only what reads gets the address.
        let mut holders = uses.holders;
        let mut seen = Vec::new();
        while let Some(holder) = holders.pop() {
            if !seen.contains(&holder) {
                seen.push(holder);
                let of_holder = self::uses(module, holder)?;
                if of_holder.is_read {
                    return None;
                }
                holders.extend(of_holder.holders);
            }
        }
        let block = call.block();
        let mut keys: Vec<(u64, Type<'m>)> = Vec::new();
        for &(_, offset, value) in &uses.stores {
            let key = (offset, value.ty());
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys.sort_unstable_by_key(|key| key.0);
        let mut end = 0;
        for (offset, ty) in keys {
            let bytes = size_of_scalar(ty)?;
            if offset < end || offset.checked_add(bytes)? > size {
                return None;
            }
            end = offset + bytes;
            let stores = uses.stores.iter().filter(|store| store.1 == offset);
            let stores: Vec<_> = stores.map(|&(store, _, value)| (store, value)).collect();
            // The last one before the panic; or one that nothing but it can have been.
            let before = |&(store, _): &(Value<'m>, Value<'m>)| {
                store.block() == block && comes_before(store, call)
            };
            let last = stores
                .iter()
                .copied()
                .filter(before)
                .reduce(|last, store| if comes_before(last.0, store.0) { store } else { last });
            let is_fixed = |value: Value<'m>| {
                value.is_constant() || is_pointer(ty) && local_of(module, value).is_some()
            };
            let value = last.map(|(_, value)| value).or(match stores[..] {
                [(_, value)] if is_fixed(value) => Some(value),
                _ => None,
            });
            self.hold(module, index, offset, ty, value)?;
        }
        Some(())
    }

    /// Notes what bytes of a local are: a value, or whatever the local has there.
    fn hold(
        &mut self,
        module: ModuleRef<'m>,
        index: usize,
        offset: u64,
        ty: Type<'m>,
        value: Option<Value<'m>>,
    ) -> Option<()> {
        let bytes = size_of_scalar(ty)?;
        let content = match value {
            Some(value) if is_pointer(ty) && value.is_constant() => {
                if !is_constant_memory(value, DEPTH) {
                    return None;
                }
                Bytes::Constant(value)
            }
            Some(value) if bytes <= 8 && value.is_constant_int() => Bytes::Constant(value),
            Some(value) => match local_of(module, value).filter(|_| is_pointer(ty)) {
                Some((alloca, offset)) => Bytes::Local(self.local(module, alloca)?, offset),
                None => self.word(Source::Value(value), false)?,
            },
            None => self.word(Source::Load(self.locals[index].alloca, offset, ty), false)?,
        };
        self.locals[index].content.push((offset, bytes.min(8), content));
        if let (Bytes::Word(low), 9..) = (content, bytes) {
            let source = self.words[low].source;
            let high = self.word(source, true)?;
            self.locals[index].content.push((offset + 8, bytes - 8, high));
        }
        Some(())
    }

    fn content(&self, local: usize, offset: u64) -> Option<Bytes<'m>> {
        let known = self.locals[local].content.iter().find(|(at, ..)| *at == offset);
        known.map(|&(.., bytes)| bytes)
    }
}
