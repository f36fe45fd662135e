//! The call graph with source locations, for diagnostics.
//!
//! The walk over MIR ([`crate::collect::walk`]) fills it. That has a cost: to name an item of another
//! crate, the compiler searches the shortest path to it and reads the names of all items of all
//! crates. So a first walk records nothing, and a second one does only when something is to be
//! reported. The graph is independent of debug information and of LLVM's later inlining. Inlining
//! by MIR is undone with the scopes that the MIR inliner records.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};

use rustc_data_structures::fx::FxHashMap;
use rustc_middle::mir::{Body, SourceInfo, SourceScope};
use rustc_middle::ty::TyCtxt;
use rustc_span::def_id::{CrateNum, DefId};
use rustc_span::{Span, Symbol};

use crate::kernels::names;
use crate::session::RUNTIME;

/// An index into [`CallMap::items`].
pub(crate) type ItemIndex = u32;

/// Functions and statics, and where they refer to each other.
#[derive(Default)]
pub(crate) struct CallMap {
    /// Whether anything is recorded; otherwise there are only indices.
    notes: bool,
    /// The number of items.
    count: ItemIndex,
    items: Vec<Item>,
    by_symbol: HashMap<String, ItemIndex>,
    edges: Vec<Edge>,
    inlined: Vec<Inlined>,
    /// The functions that MIR has inlined.
    names: Vec<(String, Origin)>,
    names_of: FxHashMap<DefId, u32>,
    origins: FxHashMap<CrateNum, Origin>,
    /// Functions of the standard library, by symbol, that allocate and have no body.
    pub(crate) allocating: HashSet<String>,
}

/// A function or a static.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Its path, for people.
    pub path: String,
    /// Its location.
    pub span: Span,
    /// Its origin.
    pub origin: Origin,
    /// Properties that messages depend on.
    pub kind: ItemKind,
}

/// The origin of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Of the crate that is being compiled.
    Own,
    /// Of the standard library.
    Std,
    /// Of schism's runtime.
    Runtime,
    /// Of another crate.
    Dependency,
}

/// The property of an item that messages depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    /// A function with a body somewhere.
    Function,
    /// A function declared in an `extern` block.
    Foreign,
    /// A naked function: its body is assembly.
    Naked,
    /// A static, with its type.
    Static {
        /// `static mut`.
        mutable: bool,
        /// Its type, as text.
        ty: String,
        /// It contains specialization constants.
        spec_constants: bool,
    },
}

/// How one item refers to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// A call, a drop.
    Call,
    /// Its address is taken, or it is read.
    Mention,
    /// No item, but a call through a pointer.
    Pointer,
    /// No item, but inline assembly.
    Assembly,
}

/// What to search for in a function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What<'a> {
    /// A call or mention of an item, by symbol.
    Item(&'a str),
    /// A call through a pointer.
    Pointer,
    /// Inline assembly.
    Assembly,
}

/// The callee of an edge that leads to no item.
const NO_ITEM: ItemIndex = ItemIndex::MAX;

struct Edge {
    caller: ItemIndex,
    callee: ItemIndex,
    how: How,
    span: Span,
    /// The innermost function that MIR has inlined around it.
    inlined: Option<u32>,
}

/// A function that MIR has inlined into another.
struct Inlined {
    name: u32,
    /// The call that was replaced.
    call: Span,
    /// The inlined function around it.
    parent: Option<u32>,
}

/// One step of a call path through the source: a function, and a location in it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The path of the function.
    pub path: String,
    /// Whose it is.
    pub origin: Origin,
    /// The place in it.
    pub span: Span,
}

impl CallMap {
    /// An empty map that records what is added.
    pub(crate) fn with_notes() -> Self {
        Self { notes: true, ..Self::default() }
    }

    /// Adds an item with its symbol. Each symbol is added once.
    pub(crate) fn add<'s>(&mut self, item: impl FnOnce(&mut Self) -> (&'s str, Item)) -> ItemIndex {
        let index = self.count;
        self.count += 1;
        if self.notes {
            let (symbol, item) = item(self);
            self.items.push(item);
            self.by_symbol.insert(symbol.to_owned(), index);
        }
        index
    }

    /// The origin of a crate's items.
    pub(crate) fn origin(&mut self, tcx: TyCtxt<'_>, def_id: DefId) -> Origin {
        *self.origins.entry(def_id.krate).or_insert_with(|| {
            let source = || tcx.used_crate_source(def_id.krate);
            if def_id.is_local() {
                Origin::Own
            } else if tcx.crate_name(def_id.krate) == Symbol::intern(RUNTIME) {
                Origin::Runtime
            } else if source().paths().any(|path| path.starts_with(tcx.sess.opts.sysroot.path())) {
                // The standard library and its dependencies.
                Origin::Std
            } else {
                Origin::Dependency
            }
        })
    }

    /// The name of a function that MIR has inlined.
    fn name(&mut self, tcx: TyCtxt<'_>, def_id: DefId) -> u32 {
        if let Some(&known) = self.names_of.get(&def_id) {
            return known;
        }
        let origin = self.origin(tcx, def_id);
        let index = self.names.len() as u32;
        self.names.push((names::path_of(tcx, def_id), origin));
        self.names_of.insert(def_id, index);
        index
    }

    /// The item of a symbol.
    pub(crate) fn item(&self, symbol: &str) -> Option<&Item> {
        self.by_symbol.get(symbol).map(|&index| &self.items[index as usize])
    }

    /// The steps at one site, innermost first: the function that MIR inlined there before the one
    /// it inlined it into. `ordinal` distinguishes sites of the same kind in one function.
    pub(crate) fn steps(&self, caller: &str, what: What<'_>, ordinal: usize) -> Option<Vec<Step>> {
        let caller = *self.by_symbol.get(caller)?;
        let (how, callee) = match what {
            What::Item(symbol) => (How::Call, *self.by_symbol.get(symbol)?),
            What::Pointer => (How::Pointer, NO_ITEM),
            What::Assembly => (How::Assembly, NO_ITEM),
        };
        let of = |how: How| {
            self.edges.iter().filter(move |edge| {
                edge.caller == caller && edge.callee == callee && edge.how == how
            })
        };
        // Where the count differs from the compiler's, the first is as good as any.
        let edge = of(how).nth(ordinal).or(of(how).next()).or(of(How::Mention).next())?;
        Some(self.steps_of(edge))
    }

    /// The steps on the shortest call path from one item to another, innermost first.
    pub(crate) fn path(&self, from: &str, to: &str) -> Option<Vec<Step>> {
        let (&from, &to) = (self.by_symbol.get(from)?, self.by_symbol.get(to)?);
        let mut out_of: FxHashMap<ItemIndex, Vec<&Edge>> = FxHashMap::default();
        for edge in &self.edges {
            out_of.entry(edge.caller).or_default().push(edge);
        }
        let mut came_by: FxHashMap<ItemIndex, &Edge> = FxHashMap::default();
        let mut queue = VecDeque::from([from]);
        while let Some(item) = queue.pop_front() {
            for &edge in out_of.get(&item).into_iter().flatten() {
                if edge.callee == NO_ITEM || edge.callee == from {
                    continue;
                }
                if let Entry::Vacant(entry) = came_by.entry(edge.callee) {
                    entry.insert(edge);
                    queue.push_back(edge.callee);
                }
            }
        }
        let mut steps = Vec::new();
        let mut item = to;
        while item != from {
            let edge = came_by.get(&item)?;
            steps.extend(self.steps_of(edge));
            item = edge.caller;
        }
        (!steps.is_empty()).then_some(steps)
    }

    fn steps_of(&self, edge: &Edge) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut span = edge.span;
        let mut next = edge.inlined;
        while let Some(index) = next {
            let inlined = &self.inlined[index as usize];
            let (path, origin) = self.names[inlined.name as usize].clone();
            steps.push(Step { path, origin, span });
            span = inlined.call;
            next = inlined.parent;
        }
        let caller = &self.items[edge.caller as usize];
        steps.push(Step { path: caller.path.clone(), origin: caller.origin, span });
        steps
    }
}

/// Adds the edges out of one body.
pub(crate) struct Edges<'a, 'tcx> {
    tcx: TyCtxt<'tcx>,
    body: &'a Body<'tcx>,
    caller: ItemIndex,
    scopes: FxHashMap<SourceScope, Option<u32>>,
}

impl<'a, 'tcx> Edges<'a, 'tcx> {
    /// Of the body of `caller`.
    pub(crate) fn of(tcx: TyCtxt<'tcx>, body: &'a Body<'tcx>, caller: ItemIndex) -> Self {
        Self { tcx, body, caller, scopes: FxHashMap::default() }
    }

    /// Adds one.
    pub(crate) fn add(
        &mut self,
        map: &mut CallMap,
        callee: Option<ItemIndex>,
        how: How,
        source: SourceInfo,
    ) {
        if !map.notes {
            return;
        }
        let inlined = self.inlined(map, source.scope);
        let callee = callee.unwrap_or(NO_ITEM);
        map.edges.push(Edge { caller: self.caller, callee, how, span: source.span, inlined });
    }

    /// Adds a mention of which only the location is known.
    pub(crate) fn mention(&mut self, map: &mut CallMap, callee: ItemIndex, span: Span) {
        if !map.notes {
            return;
        }
        let edge = Edge { caller: self.caller, callee, how: How::Mention, span, inlined: None };
        map.edges.push(edge);
    }

    /// The innermost function that was inlined around a scope.
    fn inlined(&mut self, map: &mut CallMap, scope: SourceScope) -> Option<u32> {
        if let Some(&known) = self.scopes.get(&scope) {
            return known;
        }
        let data = &self.body.source_scopes[scope];
        let parent = data.inlined_parent_scope;
        let found = match data.inlined {
            Some((callee, call)) => {
                let parent = parent.and_then(|parent| self.inlined(map, parent));
                let name = map.name(self.tcx, callee.def_id());
                map.inlined.push(Inlined { name, call, parent });
                Some(map.inlined.len() as u32 - 1)
            }
            None => parent.and_then(|parent| self.inlined(map, parent)),
        };
        self.scopes.insert(scope, found);
        found
    }
}
