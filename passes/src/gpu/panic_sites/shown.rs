//! Whether the host can show what a message refers to: by the descriptions of the types, and by
//! what is known of the locals.

use schism_llvm::{TypeKind, Value};
use schism_message::{ARGUMENT_SIZE, Kind, MAGIC, recorder};

use super::{Bytes, DEPTH, Message};

impl<'m> Message<'m> {
    /// Whether the host can show an argument.
    pub(super) fn shows_argument(&self, index: u64) -> bool {
        let at = index * ARGUMENT_SIZE as u64;
        let Bytes::Local(arguments, _) = self.head[1] else { return false };
        match (self.content(arguments, at), self.content(arguments, at + 8)) {
            // A number that is a width has no address.
            (Some(Bytes::Constant(value)), Some(_)) if value.is_zero() => true,
            (Some(Bytes::Constant(_)), Some(Bytes::Constant(described))) => {
                Described::of(described).is_some()
            }
            (Some(Bytes::Local(local, offset)), Some(Bytes::Constant(described))) => {
                self.shows(described, local, offset, DEPTH)
            }
            _ => false,
        }
    }

    /// Whether the host can show a value in a local.
    fn shows(&self, described: Value<'m>, local: usize, at: u64, depth: u32) -> bool {
        let Some(of) = Described::of(described).filter(|_| depth != 0) else { return false };
        if of.is_flat(depth) {
            return true;
        }
        match of.kind {
            Kind::Reference => {
                let Some((_, to)) = of.part(0) else { return false };
                let kind = Described::of(to).map(|to| to.kind);
                let described = match (kind, self.content(local, at + 8)) {
                    (Some(Kind::Dyn), Some(Bytes::Constant(vtable))) => {
                        initializer(vtable).and_then(|vtable| element(vtable, 3))
                    }
                    (Some(Kind::Dyn), _) => None,
                    (Some(Kind::Slice), _) => {
                        Described::of(to).and_then(|to| to.part(0)).map(|part| part.1)
                    }
                    _ => Some(to),
                };
                let Some(described) = described else { return false };
                match self.content(local, at) {
                    Some(Bytes::Constant(_)) => Described::of(described).is_some(),
                    Some(Bytes::Local(..)) if kind == Some(Kind::Slice) => {
                        Described::of(described).is_some_and(|of| of.is_flat(depth))
                    }
                    Some(Bytes::Local(local, at)) => self.shows(described, local, at, depth - 1),
                    _ => false,
                }
            }
            Kind::Struct | Kind::Tuple | Kind::Range | Kind::Wrapper => of.all_parts(|part| {
                at.checked_add(part.0).is_some_and(|at| self.shows(part.1, local, at, depth - 1))
            }),
            _ => false,
        }
    }
}

/// A description of a type, as a constant of the module.
#[derive(Clone, Copy)]
struct Described<'m> {
    kind: Kind,
    /// The list of its parts, or null.
    parts: Value<'m>,
    count: u64,
}

impl<'m> Described<'m> {
    fn of(described: Value<'m>) -> Option<Self> {
        let value = initializer(described)?;
        let number = |index| {
            let number = element(value, index)?;
            (number.is_constant_int()).then(|| number.zext_value())
        };
        if number(1)? != u64::from(MAGIC) {
            return None;
        }
        let kind = Kind::from_number(number(0)? as u8)?;
        Some(Self { kind, parts: element(value, 4)?, count: number(5)? })
    }

    /// A part's number and what describes it.
    fn part(self, index: u64) -> Option<(u64, Value<'m>)> {
        if index >= self.count {
            return None;
        }
        let part = element(initializer(self.parts)?, u32::try_from(index).ok()?)?;
        let value = element(part, 0)?;
        if !value.is_constant_int() {
            return None;
        }
        Some((value.zext_value(), element(part, 1)?))
    }

    fn all_parts(self, holds: impl Fn((u64, Value<'m>)) -> bool) -> bool {
        (0..self.count).all(|index| self.part(index).is_some_and(&holds))
    }

    /// Whether a value of the type is all in its own bytes.
    fn is_flat(self, depth: u32) -> bool {
        let flat = |(_, part): (u64, Value<'m>)| {
            part.is_zero()
                || depth != 0 && Self::of(part).is_some_and(|part| part.is_flat(depth - 1))
        };
        match self.kind {
            Kind::Opaque => true,
            Kind::Struct | Kind::Tuple | Kind::Range | Kind::Wrapper | Kind::Enum => {
                self.all_parts(flat)
            }
            Kind::Array => self.part(0).is_some_and(flat),
            kind => recorder::is_plain(kind),
        }
    }
}

/// What a constant is.
fn initializer(global: Value<'_>) -> Option<Value<'_>> {
    if !global.is_global_variable() || !global.is_global_constant() {
        return None;
    }
    global.initializer()
}

/// An element of a constant struct or array.
fn element(value: Value<'_>, index: u32) -> Option<Value<'_>> {
    let kind = value.ty().kind();
    if !matches!(kind, TypeKind::Struct | TypeKind::Array) {
        return None;
    }
    value.aggregate_element(index)
}
