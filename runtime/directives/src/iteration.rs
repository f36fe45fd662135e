//! What a loop goes through: ranges, elements, and these side by side.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, Pat, Result};

use crate::names::mentions;

/// Elements of an array, each for one iteration.
pub(crate) struct Elements {
    pub(crate) place: Expr,
    pub(crate) is_mut: bool,
    pub(crate) chunk: Option<Expr>,
    /// What the kernel gets.
    pub(crate) name: Ident,
}

/// One loop of a launch.
pub(crate) struct Dimension {
    pub(crate) number: usize,
    /// What is computed before the launch.
    pub(crate) before: TokenStream,
    /// How many iterations it has.
    pub(crate) count: Ident,
    /// Its position, which the kernel gets.
    pub(crate) position: Ident,
    pub(crate) elements: Vec<Elements>,
    /// The name that counts, and its steps.
    pub(crate) counter: Option<(Ident, Ident)>,
    /// Whether it may count by more than one.
    pub(crate) has_large_steps: bool,
    /// Other names that its pattern binds.
    pub(crate) bound: Vec<Ident>,
    /// What the kernel binds.
    pub(crate) bindings: TokenStream,
    ranges: usize,
    lengths: Vec<TokenStream>,
}

/// Lints of the program's that are about the types of its arrays: in regions and kernels these are slices,
/// so that what is needed without the directive is not with it.
pub(crate) fn lints_of_types() -> TokenStream {
    quote! {
        clippy::borrow_deref_ref, clippy::deref_addrof, clippy::explicit_auto_deref, clippy::needless_borrow,
        clippy::needless_borrows_for_generic_args, clippy::redundant_slicing, clippy::useless_asref
    }
}

/// A name that no user writes.
pub(crate) fn own(name: &str) -> Ident {
    Ident::new(&format!("__{name}"), Span::mixed_site())
}

impl Dimension {
    /// The loop number so and so: `for pattern in expr`.
    pub(crate) fn new(number: usize, pattern: &Pat, expr: &Expr) -> Result<Self> {
        let mut all = Self {
            number,
            before: TokenStream::new(),
            count: own(&format!("count_{number}")),
            position: own(&format!("position_{number}")),
            elements: Vec::new(),
            counter: None,
            has_large_steps: mentions(expr.to_token_stream(), "step_by"),
            bound: Vec::new(),
            bindings: TokenStream::new(),
            ranges: 0,
            lengths: Vec::new(),
        };
        all.bind(pattern, expr, true)?;
        let (count, first) = (&all.count, &all.lengths[0]);
        let others = all.lengths.iter().skip(1);
        all.before.extend(quote!(let #count: usize = (#first) #(.min(#others))*;));
        Ok(all)
    }

    /// Binds what `expr` goes through to a pattern.
    fn bind(&mut self, pattern: &Pat, expr: &Expr, is_outermost: bool) -> Result<()> {
        match expr {
            Expr::Paren(inner) => return self.bind(pattern, &inner.expr, is_outermost),
            Expr::MethodCall(call) if call.method == "zip" && call.args.len() == 1 => {
                let (first, second) = self.pair(pattern);
                self.bind(&first, &call.receiver, false)?;
                self.bind(&second, &call.args[0], false)?;
                self.join(pattern, &first, &second);
                return Ok(());
            }
            Expr::MethodCall(call) if call.method == "enumerate" => {
                let (index, inner) = self.pair(pattern);
                self.bind(&inner, &call.receiver, false)?;
                let (steps, position) = (self.steps(), self.position.clone());
                self.before.extend(quote! {
                    let #steps = ::schism::__private::directives::Steps::new(0_usize..usize::MAX);
                });
                self.count_by(&index, steps, &position);
                self.join(pattern, &index, &inner);
                return Ok(());
            }
            _ => {}
        }
        if let Some(range) = range(expr) {
            let (steps, position) = (self.steps(), self.position.clone());
            self.before.extend(quote_spanned!(expr.span()=> let #steps = #range;));
            self.lengths.push(quote!(#steps.count()));
            self.count_by(pattern, steps, &position);
            return Ok(());
        }
        let Some((place, is_mut, chunk)) = elements(expr, is_outermost) else {
            let text = "a directive takes loops over ranges (with `step_by` and `rev`), over `iter()`, `iter_mut()`, `chunks(n)`, `chunks_mut(n)`, `&` and `&mut` of slices, and `zip` and `enumerate` of these";
            return Err(Error::new_spanned(expr, text));
        };
        let number = self.elements.len();
        let (name, count) = (own(&format!("element_{number}")), own(&format!("length_{number}")));
        let chunk_name = own(&format!("chunk_{number}"));
        let length = match &chunk {
            None => quote!((#place).__elements().__count()),
            Some(size) => {
                self.before.extend(quote!(let #chunk_name: usize = #size;));
                quote!((#place).__elements().__count().div_ceil(#chunk_name))
            }
        };
        self.before.extend(quote_spanned!(place.span()=> let #count: usize = #length;));
        self.lengths.push(quote!(#count));
        self.bindings.extend(quote!(let #pattern = #name;));
        self.bound.extend(crate::names::in_pattern(pattern));
        let chunk = chunk.map(|_| syn::parse_quote!(#chunk_name));
        self.elements.push(Elements { place, is_mut, chunk, name });
        Ok(())
    }

    fn steps(&mut self) -> Ident {
        self.ranges += 1;
        own(&format!("steps_{}_{}", self.number, self.ranges))
    }

    fn count_by(&mut self, pattern: &Pat, steps: Ident, position: &Ident) {
        self.bindings.extend(quote! {
            #[allow(unused_variables)]
            let #pattern = #steps.at(#position);
        });
        match pattern {
            // Indices are in terms of one.
            Pat::Ident(name) if name.mutability.is_none() && self.counter.is_none() => {
                self.counter = Some((name.ident.clone(), steps));
            }
            other => self.bound.extend(crate::names::in_pattern(other)),
        }
    }

    /// The two parts of a pattern for pairs, or names for them.
    fn pair(&mut self, pattern: &Pat) -> (Pat, Pat) {
        match pattern {
            Pat::Tuple(tuple) if tuple.elems.len() == 2 => {
                (tuple.elems[0].clone(), tuple.elems[1].clone())
            }
            Pat::Paren(inner) => self.pair(&inner.pat),
            _ => {
                self.ranges += 1;
                let number = self.ranges;
                let part = |which| -> Pat {
                    let name = format_ident!("__part_{number}_{which}", span = Span::mixed_site());
                    syn::parse_quote!(#name)
                };
                (part(0), part(1))
            }
        }
    }

    /// Binds a pattern for pairs that is no pair.
    fn join(&mut self, pattern: &Pat, first: &Pat, second: &Pat) {
        if !matches!(pattern, Pat::Tuple(tuple) if tuple.elems.len() == 2) {
            self.bindings.extend(quote!(let #pattern = (#first, #second);));
            self.bound.extend(crate::names::in_pattern(pattern));
        }
    }
}

/// A range, as steps.
fn range(expr: &Expr) -> Option<TokenStream> {
    match expr {
        Expr::Paren(inner) => range(&inner.expr),
        Expr::Range(bounds) if bounds.start.is_some() && bounds.end.is_some() => {
            Some(quote!(::schism::__private::directives::Steps::new(#bounds)))
        }
        Expr::MethodCall(call) if call.method == "rev" => {
            let inner = range(&call.receiver)?;
            Some(quote!((#inner).rev()))
        }
        Expr::MethodCall(call) if call.method == "step_by" && call.args.len() == 1 => {
            let (inner, by) = (range(&call.receiver)?, &call.args[0]);
            Some(quote!((#inner).step_by(#by)))
        }
        _ => None,
    }
}

/// Elements of an array, or its chunks: which, whether they are exclusive, and the chunks' length.
fn elements(expr: &Expr, is_outermost: bool) -> Option<(Expr, bool, Option<Expr>)> {
    match expr {
        Expr::Paren(inner) => elements(&inner.expr, is_outermost),
        Expr::Reference(reference) => is_place(&reference.expr)
            .then(|| ((*reference.expr).clone(), reference.mutability.is_some(), None)),
        Expr::MethodCall(call) if is_place(&call.receiver) => {
            let method = call.method.to_string();
            let place = (*call.receiver).clone();
            match (&*method, call.args.len()) {
                ("iter", 0) => Some((place, false, None)),
                ("iter_mut", 0) => Some((place, true, None)),
                ("chunks", 1) => Some((place, false, Some(call.args[0].clone()))),
                ("chunks_mut", 1) => Some((place, true, Some(call.args[0].clone()))),
                _ => None,
            }
        }
        // What `zip` is given is a reference already.
        _ if !is_outermost && is_place(expr) => Some((expr.clone(), false, None)),
        _ => None,
    }
}

/// A variable, a field of one, or a part of such.
fn is_place(expr: &Expr) -> bool {
    match expr {
        Expr::Path(path) => path.path.get_ident().is_some(),
        Expr::Field(field) => is_place(&field.base),
        Expr::Paren(inner) => is_place(&inner.expr),
        Expr::Index(part) => is_place(&part.expr) && matches!(&*part.index, Expr::Range(_)),
        _ => false,
    }
}
