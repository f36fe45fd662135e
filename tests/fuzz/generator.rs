//! What the generator knows while it writes a kernel: names in scope, and how much it may still
//! write.

use std::sync::LazyLock;

use fastrand::Rng;
use schism::{Device, DeviceKind};

use super::node::Node;
use super::types::{Adt, AdtKind, Prim, Type, USIZE};
use crate::devices::listed;

/// A variable in scope.
#[derive(Clone, Debug)]
pub(crate) struct Var {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) mutable: bool,
}

/// A function that kernels can call: `name(parameters) -> result`.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Type>,
    pub(crate) result: Type,
}

/// A trait of the kernel, with one method, and the types that implement it.
#[derive(Clone, Debug)]
pub(crate) struct Trait {
    pub(crate) name: String,
    pub(crate) parameter: Type,
    pub(crate) result: Type,
    pub(crate) implementors: Vec<Type>,
}

/// An enclosing loop.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub(crate) label: String,
    /// What `break` needs.
    pub(crate) value: Option<Type>,
}

/// Writes one kernel.
#[derive(Debug)]
pub(crate) struct Generator {
    pub(crate) rng: Rng,
    /// Nodes that may still be written, about.
    pub(crate) budget: i32,
    /// How often, in percent, an operation that can panic is left unguarded.
    pub(crate) risk: u32,
    /// A random subset of the grammar, so that kernels differ in kind and not only in detail.
    features: u64,
    pub(crate) adts: Vec<Adt>,
    pub(crate) functions: Vec<Function>,
    pub(crate) traits: Vec<Trait>,
    /// Statics and constants, then what is in scope.
    pub(crate) vars: Vec<Var>,
    /// Variables before this one are not to be changed: something holds a borrow of them.
    pub(crate) floor: usize,
    pub(crate) loops: Vec<Loop>,
    /// What `return` needs.
    pub(crate) result: Option<Type>,
    names: u32,
    /// Whether an index is being written.
    indexing: bool,
    /// Whether `mem`, memory of the launch, can be stored to.
    pub(crate) memory: bool,
}

/// The part of the grammar that has functions of the mathematics library.
pub(crate) const LIBRARY: u32 = 10;

/// The parts of the grammar that no kernel uses: where `SCHISM_OPENCL` names a driver, or a GPU is
/// there, the mathematics library, as such devices have schism's own, which has other last bits than
/// the host's.
fn left_out() -> u64 {
    static LEFT_OUT: LazyLock<u64> = LazyLock::new(|| {
        let has_driver = std::env::var_os("SCHISM_OPENCL").is_some_and(|path| !path.is_empty());
        let is_gpu = |device: &Device| matches!(device.kind(), DeviceKind::Cuda | DeviceKind::Hip);
        u64::from(has_driver || listed().iter().any(is_gpu)) << LIBRARY
    });
    *LEFT_OUT
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let risk = [0, 0, 0, 2, 10][rng.usize(..5)];
        let features = (rng.u64(..) | rng.u64(..)) & !left_out();
        Self {
            rng,
            budget: 0,
            risk,
            features,
            adts: Vec::new(),
            functions: Vec::new(),
            traits: Vec::new(),
            vars: Vec::new(),
            floor: 0,
            loops: Vec::new(),
            result: None,
            names: 0,
            indexing: false,
            memory: false,
        }
    }

    /// Whether this kernel uses a part of the grammar; `feature` is below 64.
    pub(crate) const fn uses(&self, feature: u32) -> bool {
        self.features >> feature & 1 == 1
    }

    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(..100) < percent
    }

    /// Whether an operation is to be left unguarded.
    pub(crate) fn risky(&mut self) -> bool {
        self.risk > 0 && self.chance(self.risk)
    }

    pub(crate) fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    pub(crate) fn name_of(&self, ty: &Type) -> String {
        ty.name(&self.adts)
    }

    /// A type, often one of which there is a variable already.
    pub(crate) fn random_type(&mut self, depth: u32) -> Type {
        if self.chance(45)
            && let Some(ty) = self.known_type()
            && (depth > 1 || ty.prim().is_some())
        {
            return ty;
        }
        Type::random(&mut self.rng, self.adts.len(), depth)
    }

    pub(crate) fn random_prim(&mut self) -> Type {
        if self.chance(45)
            && let Some(ty) = self.known_type().filter(|ty| ty.prim().is_some())
        {
            return ty;
        }
        Type::Prim(Prim::random(&mut self.rng))
    }

    /// The type of a variable, or of a part of one.
    fn known_type(&mut self) -> Option<Type> {
        if self.vars.is_empty() {
            return None;
        }
        let index = self.rng.usize(..self.vars.len()).max(self.rng.usize(..self.vars.len()));
        let mut ty = self.vars[index].ty.clone();
        loop {
            ty = match ty {
                Type::Slice(inner) => *inner,
                Type::Tuple(types) if self.chance(60) => {
                    types[self.rng.usize(..types.len())].clone()
                }
                Type::Array(inner, _) if self.chance(60) => *inner,
                other => return Some(other),
            };
        }
    }

    pub(crate) fn random_integer(&mut self) -> Type {
        Type::Prim(Prim::random_integer(&mut self.rng))
    }

    pub(crate) fn literal(&mut self, ty: &Type) -> Node {
        Node::expr(ty, &ty.literal(&self.adts, &mut self.rng, false), [])
    }

    /// Makes `write` see more variables, for as long as it runs.
    pub(crate) fn scoped<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let len = self.vars.len();
        let result = write(self);
        self.vars.truncate(len);
        result
    }

    /// As [`Self::scoped`], where the variables of now are not to be changed.
    pub(crate) fn frozen<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.floor;
        self.floor = self.vars.len();
        let memory = std::mem::take(&mut self.memory);
        let result = self.scoped(write);
        self.memory = memory;
        self.floor = before;
        result
    }

    /// The body of a closure or function with the given result: no loop of the outside is in reach.
    pub(crate) fn inside<T>(&mut self, result: &Type, write: impl FnOnce(&mut Self) -> T) -> T {
        let loops = std::mem::take(&mut self.loops);
        let outer = self.result.replace(result.clone());
        let written = self.frozen(write);
        self.loops = loops;
        self.result = outer;
        written
    }

    /// What must not be left early: neither by `return` nor by `break`.
    pub(crate) fn closed<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let loops = std::mem::take(&mut self.loops);
        let outer = self.result.take();
        let written = self.frozen(write);
        self.loops = loops;
        self.result = outer;
        written
    }

    pub(crate) fn declare(&mut self, prefix: &str, ty: &Type, mutable: bool) -> String {
        // Shadowing, now and then.
        let shadowed = self.vars.iter().rposition(|var| var.name.starts_with(prefix));
        let name = match shadowed {
            Some(index) if index >= self.floor && self.chance(10) && prefix == "v" => {
                self.vars[index].name.clone()
            }
            _ => self.fresh(prefix),
        };
        // The older one is out of reach now.
        for var in &mut self.vars {
            if var.name == name {
                var.name = String::new();
                var.mutable = false;
            }
        }
        self.vars.push(Var { name: name.clone(), ty: ty.clone(), mutable });
        name
    }

    /// Puts a name in scope that cannot be assigned to.
    pub(crate) fn bind(&mut self, name: &str, ty: &Type) {
        self.vars.push(Var { name: name.to_owned(), ty: ty.clone(), mutable: false });
    }

    /// A place of type `ty`, or none. With `mutable` one that can be assigned to.
    pub(crate) fn place(&mut self, ty: &Type, mutable: bool) -> Option<Node> {
        let mut found = Vec::new();
        for (index, var) in self.vars.iter().enumerate() {
            if var.name.is_empty() || (mutable && (!var.mutable || index < self.floor)) {
                continue;
            }
            self.places(&var.ty, var.name.clone(), ty, mutable, 3, &mut found);
        }
        if found.is_empty() {
            return None;
        }
        // What was declared last is the most interesting.
        let choice = self.rng.usize(..found.len()).max(self.rng.usize(..found.len()));
        let template = found.swap_remove(choice);
        let indices: Vec<Node> = template.matches('$').map(|_| self.index()).collect();
        Some(if mutable {
            Node::group(&template, indices)
        } else {
            Node::expr(ty, &template, indices)
        })
    }

    /// An index; one within another is a constant.
    fn index(&mut self) -> Node {
        if self.indexing {
            return self.literal(&USIZE);
        }
        self.indexing = true;
        let depth = u32::from(self.budget > 0 && self.chance(30));
        let index = self.expr(&USIZE, depth);
        self.indexing = false;
        index
    }

    /// The paths from a place to parts of type `wanted`.
    fn places(
        &self,
        ty: &Type,
        path: String,
        wanted: &Type,
        mutable: bool,
        depth: u32,
        found: &mut Vec<String>,
    ) {
        if ty == wanted {
            found.push(path.clone());
        }
        if depth == 0 {
            return;
        }
        match ty {
            Type::Tuple(types) => {
                for (i, ty) in types.iter().enumerate() {
                    self.places(ty, format!("{path}.{i}"), wanted, mutable, depth - 1, found);
                }
            }
            Type::Array(ty, len) => {
                let guard =
                    if self.risk > 2 && *len > 6 { String::new() } else { format!(" % {len}") };
                let path = format!("{path}[($){guard}]");
                self.places(ty, path, wanted, mutable, depth - 1, found);
            }
            Type::Adt(index) => {
                if let AdtKind::Struct { fields, packed } = &self.adts[*index].kind {
                    for (i, ty) in fields.iter().enumerate() {
                        // A field of a packed struct cannot be borrowed, so it is copied.
                        let path = match (packed, mutable) {
                            (true, false) => format!("({{ {path}.f{i} }})"),
                            (true, true) if ty.prim().is_none() => continue,
                            _ => format!("{path}.f{i}"),
                        };
                        self.places(ty, path, wanted, mutable, depth - 1, found);
                    }
                }
            }
            Type::Slice(ty) if !mutable && **ty == *wanted => {
                found.push(format!("{path}[($) % {path}.len().max(1)]"));
            }
            _ => {}
        }
    }
}
