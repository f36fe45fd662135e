//! A loop as a launch: `Queue::for_each_in` over sources.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Block, Error, Expr, ExprForLoop, Ident, Result, Stmt, parse_quote};

use crate::body::{self, Access, Form, Loops, Uses, kernel_name, key};
use crate::clause::{Construct, Kind, array_and_part};
use crate::iteration::{Dimension, own};
use crate::motion::Motion;
use crate::names::mentions;

/// What an array is for a kernel.
enum Role {
    /// All of it can be read.
    Read,
    /// Each iteration owns a part.
    Owned { access: usize, least: i128, width: usize },
    /// The programmer asserts that iterations are independent.
    Independent,
    /// Each access is one step.
    Atomic,
    /// The only iteration owns all of it.
    All,
}

/// A loop as a launch, or why it is none.
pub(crate) fn of_loop(construct: &Construct, statement: &ExprForLoop) -> Result<TokenStream> {
    match construct.kind {
        Kind::Serial => in_order(construct, parse_quote!({ #statement })),
        Kind::Kernels => match parallel(construct, statement) {
            Ok(launch) => Ok(launch),
            Err(Refused::Dependent(_)) => in_order(construct, parse_quote!({ #statement })),
            Err(Refused::Wrong(error)) => Err(error),
        },
        _ => parallel(construct, statement).map_err(|refused| match refused {
            Refused::Dependent(error) | Refused::Wrong(error) => error,
        }),
    }
}

/// A block as a launch of one work-item.
pub(crate) fn of_block(construct: &Construct, block: &Block) -> Result<TokenStream> {
    in_order(construct, block.clone())
}

enum Refused {
    /// Iterations may meet.
    Dependent(Error),
    /// It would be an error in order as well.
    Wrong(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Wrong(error)
    }
}

fn all_of(errors: Vec<Error>) -> Result<()> {
    let mut errors = errors.into_iter();
    let Some(mut first) = errors.next() else { return Ok(()) };
    errors.for_each(|error| first.combine(error));
    Err(first)
}

/// The loops that become one launch, from the outermost, and what is inside of the innermost.
fn nest(statement: &ExprForLoop, count: usize) -> Result<(Vec<&ExprForLoop>, Block)> {
    let mut loops = vec![statement];
    while loops.len() < count {
        let last = loops[loops.len() - 1];
        let inner = match &last.body.stmts[..] {
            [Stmt::Expr(Expr::ForLoop(inner), _)] => inner,
            _ => {
                let text = format!(
                    "`collapse({count})` makes {count} loops one: each is all that is inside of the one around it"
                );
                return Err(Error::new(last.body.span(), text));
            }
        };
        for outer in &loops {
            for name in crate::names::in_pattern(&outer.pat) {
                let expr = &inner.expr;
                if mentions(quote!(#expr), &name.to_string()) {
                    let text = format!(
                        "`collapse` needs loops whose bounds are known before: this depends on `{name}`"
                    );
                    return Err(Error::new_spanned(expr, text));
                }
            }
        }
        loops.push(inner);
    }
    let body = loops[loops.len() - 1].body.clone();
    Ok((loops, body))
}

fn named(construct: &Construct) -> BTreeSet<String> {
    construct.data.iter().map(|(_, place)| key(array_and_part(place).0)).collect()
}

fn parallel(
    construct: &Construct,
    statement: &ExprForLoop,
) -> std::result::Result<TokenStream, Refused> {
    let (nest, mut body) = nest(statement, construct.collapse)?;
    let mut dimensions = Vec::new();
    for (number, inner) in nest.iter().enumerate() {
        let dimension = Dimension::new(number, &inner.pat, &inner.expr)?;
        if nest.len() > 1 && !dimension.elements.is_empty() {
            let text = "`collapse` takes loops over ranges";
            return Err(Error::new_spanned(&inner.expr, text).into());
        }
        dimensions.push(dimension);
    }
    let named = named(construct);
    let counters = dimensions.iter().filter_map(|dimension| {
        dimension.counter.as_ref().map(|(name, _)| (name.clone(), dimension.number))
    });
    let mut private = construct.private.clone();
    private.extend(construct.reductions.iter().map(|(_, name)| name.clone()));
    let loops = Loops {
        counters: counters.collect(),
        bound: dimensions.iter().flat_map(|dimension| dimension.bound.clone()).collect(),
        own: private,
        named: &named,
        label: nest[nest.len() - 1].label.as_ref().map(|label| label.name.ident.to_string()),
        is_whole: false,
    };
    let mut uses = body::uses(&mut body, &loops);
    all_of(std::mem::take(&mut uses.errors))?;
    if let Some(name) = uses.assigned.first() {
        let text = format!(
            "each iteration would change a `{name}` for itself: `reduction(+: {name})` combines them, `private({name})` gives each its own"
        );
        return Err(Refused::Dependent(Error::new(name.span(), text)));
    }
    check_clauses(construct, &uses)?;
    let roles = roles(construct, &uses, &dimensions).map_err(Refused::Dependent)?;
    let mut forms = BTreeMap::new();
    for (array, role) in &roles {
        let form = match role {
            Role::Owned { access, least, .. } => match &uses.accesses[*access].index {
                Some(_) if is_within(&uses, array) => Form::Within,
                Some(_) => Form::Near { least: *least },
                None => Form::Same,
            },
            _ => Form::Same,
        };
        forms.insert(array.clone(), form);
    }
    body::rewrite(&mut body, &loops, &forms);
    Ok(Launch { construct, span: statement.for_token.span, uses: &uses, roles: &roles }
        .in_parallel(&dimensions, &body))
}

/// Whether only iterations know where they access an array.
fn is_within(uses: &Uses, array: &str) -> bool {
    let indices = uses.accesses.iter().filter(|access| access.array == array);
    indices.filter_map(|access| access.index.as_ref()).any(|index| !index.inner.is_zero())
}

/// What clauses say of variables, against how these are used.
fn check_clauses(construct: &Construct, uses: &Uses) -> Result<()> {
    for (motion, place) in &construct.data {
        let text = key(array_and_part(place).0);
        let write = uses.accesses.iter().find(|access| access.array == text && access.is_write);
        if let (Motion::In, Some(write)) = (motion, write) {
            let error = format!(
                "`{text}` is only copied to the device, and changed here: `copy({text})` brings it back"
            );
            return Err(Error::new(write.span, error));
        }
    }
    if construct.is_default_none {
        let mut given = named(construct);
        given.extend(construct.private.iter().map(ToString::to_string));
        given.extend(construct.reductions.iter().map(|(_, name)| name.to_string()));
        let is_variable = |name: &&String| {
            name.chars().next().is_some_and(char::is_lowercase) && !given.contains(*name)
        };
        let arrays = uses.arrays.keys();
        let scalars = uses.scalars.keys().filter(|name| !uses.arrays.contains_key(*name));
        let fields = uses.fields.keys().filter(|name| !uses.arrays.contains_key(*name));
        let lacking: Vec<String> =
            arrays.chain(scalars).chain(fields).filter(is_variable).cloned().collect();
        if !lacking.is_empty() {
            let text = format!(
                "`default(none)`, and no clause says what becomes of `{}`",
                lacking.join("`, `")
            );
            return Err(Error::new(construct.span, text));
        }
    }
    Ok(())
}

/// Whether all accesses to an array are atomic, rather than none.
fn is_atomic(uses: &Uses, array: &str) -> Result<bool> {
    let accesses = || uses.accesses.iter().filter(|access| access.array == array);
    let Some(atomic) = accesses().find(|access| access.is_atomic) else { return Ok(false) };
    let Some(plain) = accesses().find(|access| !access.is_atomic) else { return Ok(true) };
    let text = format!(
        "`{}` is atomic elsewhere in this loop, at `{}`: all accesses to `{array}` are, or none",
        plain.text, atomic.text
    );
    Err(Error::new(plain.span, text))
}

/// Two accesses at which iterations may meet.
fn meet(write: &Access, other: &Access, why: &str) -> Error {
    let help = "`unsafe(independent)` asserts that no two iterations access the same element, unless both read it";
    if std::ptr::eq(write, other) {
        return Error::new(
            write.span,
            format!("two iterations may meet at `{}`: {why}; {help}", write.text),
        );
    }
    let mut error = Error::new(
        write.span,
        format!(
            "what one iteration writes at `{}` another may access at `{}`: {why}; {help}",
            write.text, other.text
        ),
    );
    error.combine(Error::new(other.span, "this is the other access"));
    error
}

fn roles(
    construct: &Construct,
    uses: &Uses,
    dimensions: &[Dimension],
) -> Result<BTreeMap<String, Role>> {
    let mut roles = BTreeMap::new();
    let mut errors = Vec::new();
    for array in uses.arrays.keys() {
        let accesses = || uses.accesses.iter().filter(|access| access.array == *array);
        let role = match accesses().find(|access| access.is_write) {
            _ if is_atomic(uses, array)? => Role::Atomic,
            None => Role::Read,
            Some(_) if construct.is_independent => Role::Independent,
            Some(write) => match owned(write, &accesses().collect::<Vec<_>>(), dimensions) {
                Ok((least, width)) => {
                    let same = |access: &Access| std::ptr::eq(access, write);
                    let access = uses.accesses.iter().position(same).expect("it is one of these");
                    Role::Owned { access, least, width }
                }
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            },
        };
        roles.insert(array.clone(), role);
    }
    all_of(errors)?;
    Ok(roles)
}

/// The least constant of the accesses, and how many elements an iteration owns at least.
fn owned(write: &Access, all: &[&Access], dimensions: &[Dimension]) -> Result<(i128, usize)> {
    let Some(first) = &write.index else {
        return Err(meet(write, write, "the index is no sum of multiples of what the loop counts"));
    };
    for dimension in dimensions {
        let is_there = first.coefficients.get(dimension.number).is_some_and(|own| !own.is_zero());
        if !is_there {
            let name = dimension.counter.as_ref();
            let name =
                name.map_or_else(|| "the iteration".to_owned(), |(name, _)| format!("`{name}`"));
            return Err(meet(write, write, &format!("the index does not depend on {name}")));
        }
    }
    let (mut least, mut most) = (first.constant, first.constant);
    let mut is_within = false;
    for access in all {
        let Some(index) = &access.index else {
            return Err(meet(
                write,
                access,
                "the second index is no sum of multiples of what the loop counts",
            ));
        };
        let same = index.coefficients.iter().zip(&first.coefficients).all(|(a, b)| a.equals(b));
        if !same || !index.base.equals(&first.base) {
            return Err(meet(write, access, "the indices differ by what changes from run to run"));
        }
        least = least.min(index.constant);
        most = most.max(index.constant);
        is_within |= !index.inner.is_zero();
    }
    if is_within {
        return Ok((0, 0));
    }
    let width = usize::try_from(most - least).unwrap_or(usize::MAX).saturating_add(1);
    // Neighbours at a distance that is known to be less than the step meet.
    if let ([_], Some(step)) = (dimensions, first.coefficients[0].as_constant()) {
        let far = all.iter().find(|access| {
            access.index.as_ref().is_some_and(|index| index.constant != first.constant)
        });
        if let (true, Some(far)) = (step.unsigned_abs() < width as u128, far) {
            return Err(meet(write, far, "the indices of neighbours overlap"));
        }
    }
    Ok((least, width))
}

/// The variables that a statement changes, or elements of.
pub(crate) fn written(statement: &Expr) -> Vec<String> {
    let loops = Loops {
        counters: Vec::new(),
        bound: Vec::new(),
        own: Vec::new(),
        named: &BTreeSet::new(),
        label: None,
        is_whole: true,
    };
    let uses = body::uses(&mut parse_quote!({ #statement }), &loops);
    let elements = uses.accesses.into_iter().filter(|access| access.is_write);
    let assigned = uses.assigned.iter().map(ToString::to_string);
    elements.map(|access| access.array).chain(assigned).collect()
}

/// A block as the work of one work-item.
fn in_order(construct: &Construct, mut block: Block) -> Result<TokenStream> {
    let named = named(construct);
    let loops = Loops {
        counters: Vec::new(),
        bound: Vec::new(),
        own: Vec::new(),
        named: &named,
        label: None,
        is_whole: true,
    };
    let mut uses = body::uses(&mut block, &loops);
    all_of(std::mem::take(&mut uses.errors))?;
    check_clauses(construct, &uses)?;
    let is_written = |array: &String| {
        uses.accesses.iter().any(|access| access.array == *array && access.is_write)
    };
    let mut roles = BTreeMap::new();
    for array in uses.arrays.keys() {
        let role = match (is_atomic(&uses, array)?, is_written(array)) {
            (true, _) => Role::Atomic,
            (_, true) => Role::All,
            _ => Role::Read,
        };
        roles.insert(array.clone(), role);
    }
    let forms = BTreeMap::new();
    body::rewrite(&mut block, &loops, &forms);
    Ok(Launch { construct, span: construct.span, uses: &uses, roles: &roles }.by_one(&block))
}

/// A launch as calls.
struct Launch<'a> {
    construct: &'a Construct,
    span: proc_macro2::Span,
    uses: &'a Uses,
    roles: &'a BTreeMap<String, Role>,
}

/// Nested pairs: there are sources of up to eight, and loops of more arrays.
pub(crate) fn pairs(mut parts: Vec<TokenStream>) -> TokenStream {
    let Some(mut all) = parts.pop() else { return quote!(_) };
    while let Some(part) = parts.pop() {
        all = quote!((#part, #all));
    }
    all
}

/// The range of a launch, and what its work-items make of their ids. A nest of more than three loops has
/// two dimensions.
fn range(counts: &[&Ident], positions: &[&Ident]) -> (TokenStream, TokenStream) {
    if counts.len() <= 3 {
        return (quote!([#(#counts),*]), quote!(let [#(#positions),*] = __item.id();));
    }
    let last = counts.len() - 1;
    let (outer, inner) = (&counts[..last], counts[last]);
    let (outer_positions, inner_position) = (&positions[..last], positions[last]);
    let range = quote! {
        [[#(#outer),*].into_iter().fold(1_usize, usize::saturating_mul), #inner]
    };
    let unpacked = quote! {
        let [__outer, #inner_position] = __item.id();
        let [#(#outer_positions),*] =
            ::schism::__private::directives::unfolded(__outer, [#(#outer),*]);
    };
    (range, unpacked)
}

impl Launch<'_> {
    /// What is computed before the launch, the sources, and what the kernel calls them.
    fn sources(&self, dimensions: &[Dimension]) -> (TokenStream, Vec<(TokenStream, TokenStream)>) {
        let mut before = TokenStream::new();
        let mut sources = Vec::new();
        let is_array = |place: &String| self.roles.contains_key(place);
        for (_, expr) in self.uses.fields.iter().filter(|(place, _)| !is_array(place)) {
            let name = kernel_name(expr);
            before.extend(quote_spanned!(expr.span()=> let #name = #expr;));
        }
        for (motion, place) in &self.construct.data {
            before.extend(match motion {
                Motion::Present => quote_spanned! {place.span()=>
                    ::schism::__private::directives::check_present((#place).__array());
                },
                _ => quote_spanned!(place.span()=> let _ = &#place;),
            });
        }
        for (number, (array, role)) in self.roles.iter().enumerate() {
            let place = &self.uses.arrays[array];
            let name = kernel_name(place);
            let at = place.span();
            let source = match role {
                Role::Read => {
                    let view = quote_spanned!(at=> (#place).__elements());
                    (quote!(::schism::whole(#view)), quote!(#name))
                }
                Role::All => {
                    let view = quote_spanned!(at=> (#place).__elements_mut());
                    (quote!(::schism::__private::directives::All::new(#view)), quote!(#name))
                }
                Role::Atomic => {
                    let view = quote_spanned!(at=> (#place).__elements_mut());
                    (quote!(::schism::atomics(#view)), quote!(#name))
                }
                Role::Independent => {
                    let view = quote_spanned!(at=> (#place).__elements_mut());
                    // SAFETY: of the expansion: the program says so by `unsafe(independent)`.
                    let shared = quote! {
                        unsafe { ::schism::__private::directives::Independent::new(#view) }
                    };
                    (shared, quote!(mut #name))
                }
                Role::Owned { access, least, width } => {
                    let access = &self.uses.accesses[*access];
                    let index = access.index.as_ref().expect("it has one");
                    let offset = own(&format!("offset_{number}"));
                    let (base, least) = (index.base.at_entry(), Literal::i128_suffixed(*least));
                    before
                        .extend(quote_spanned!(access.span=> let #offset: i128 = #base + #least;));
                    let axes = dimensions.iter().map(|dimension| {
                        let number = dimension.number;
                        let coefficient = &index.coefficients[number];
                        let value = match coefficient.as_constant().map(isize::try_from) {
                            Some(Ok(constant)) => {
                                let constant = Literal::isize_suffixed(constant);
                                quote!(::schism::__private::directives::Fixed::<#constant>)
                            }
                            _ => {
                                let value = coefficient.at_entry();
                                quote!(::schism::__private::directives::Known::new(#value))
                            }
                        };
                        let (_, steps) =
                            dimension.counter.as_ref().expect("the index depends on it");
                        let count = &dimension.count;
                        quote!(::schism::__private::directives::Axis::new(#value, &#steps, #count),)
                    });
                    let axes = quote!((#(#axes)*));
                    let view = quote_spanned!(at=> (#place).__elements_mut());
                    let text = &access.text;
                    let owned = quote_spanned! {access.span=>
                        ::schism::__private::directives::Owned::<_, _, #width>::new(#text, #view, #offset, #axes)
                    };
                    (owned, quote!(mut #name))
                }
            };
            sources.push(source);
        }
        for dimension in dimensions {
            let count = &dimension.count;
            for elements in &dimension.elements {
                let (place, name) = (&elements.place, &elements.name);
                let at = place.span();
                let source = match (elements.is_mut, &elements.chunk) {
                    (true, None) => quote_spanned!(at=> (#place).__elements_mut().__first(#count)),
                    (false, None) => quote_spanned!(at=> (#place).__elements().__first(#count)),
                    (true, Some(size)) => {
                        quote_spanned!(at=> (#place).__elements_mut().__first_chunks(#count, #size))
                    }
                    (false, Some(size)) => {
                        quote_spanned!(at=> (#place).__elements().__first_chunks(#count, #size))
                    }
                };
                sources.push((source, quote!(#name)));
            }
        }
        (before, sources)
    }

    fn queue(&self, iterations: &TokenStream) -> TokenStream {
        let queue = match &self.construct.is_on_device {
            None => quote!(::schism::__private::directives::queue()),
            Some(name) => quote!(::schism::__private::directives::queue_if(#name)),
        };
        self.construct.mapping.sized(queue, iterations)
    }

    fn in_parallel(&self, dimensions: &[Dimension], body: &Block) -> TokenStream {
        let (before, sources) = self.sources(dimensions);
        let ranges = dimensions.iter().map(|dimension| &dimension.before);
        let counts: Vec<&Ident> = dimensions.iter().map(|dimension| &dimension.count).collect();
        let positions: Vec<&Ident> = dimensions.iter().map(|own| &own.position).collect();
        let bindings = dimensions.iter().map(|dimension| &dimension.bindings);
        let iterations = quote!([#(#counts),*].into_iter().fold(1_usize, usize::saturating_mul));
        let queue = self.queue(&iterations);
        let private = &self.construct.private;
        let (sources, names): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
        let sources = if sources.is_empty() { quote!(0..) } else { pairs(sources) };
        let names = pairs(names);
        let iteration = quote! {
            #(#bindings)*
            #(#[allow(unused_mut)] let mut #private = #private;)*
            #[allow(unused_labels)]
            '__iteration: #body
        };
        let launch = if self.construct.reductions.is_empty() {
            let (range, unpacked) = range(&counts, &positions);
            quote! {
                __queue.for_each_in(#range, #sources, move |__item, #names| {
                    #unpacked
                    #iteration
                })
            }
        } else {
            let (ops, variables): (Vec<_>, Vec<_>) = self
                .construct
                .reductions
                .iter()
                .map(|(op, name)| (format_ident!("{op}"), name))
                .unzip();
            let parts: Vec<Ident> =
                (0..ops.len()).map(|number| own(&format!("parts_{number}"))).collect();
            let all = pairs(
                std::iter::once(
                    quote!(::schism::__private::directives::Turns::new(__division, #sources)),
                )
                .chain(parts.iter().map(|part| quote!(#part.view_mut())))
                .collect(),
            );
            let inside = pairs(
                std::iter::once(quote!(__turns))
                    .chain(parts.iter().map(|part| quote!(#part)))
                    .collect(),
            );
            let failed = quote! {
                ::core::result::Result::Err(__error) => {
                    break '__reduced ::core::result::Result::Err(__error);
                }
            };
            quote! {'__reduced: {
                let __division = ::schism::__private::directives::Division::new(&__queue, [#(#counts),*]);
                #(let mut #parts = match ::schism::__private::directives::Parts::<::schism::__private::directives::#ops, _>::new(&__queue, &#variables, __division.items()) {
                    ::core::result::Result::Ok(__parts) => __parts,
                    #failed
                };)*
                let __outcome = __queue.for_each_in([__division.items()], #all, move |_, #inside| {
                    #(let mut #variables = *#parts;)*
                    for ([#(#positions),*], #names) in __turns {
                        #iteration
                    }
                    #(*#parts = #variables;)*
                });
                if let ::core::result::Result::Err(__error) = __outcome {
                    break '__reduced ::core::result::Result::Err(__error);
                }
                #(#variables = match #parts.combined(&__queue, #variables) {
                    ::core::result::Result::Ok(__value) => __value,
                    #failed
                };)*
                ::core::result::Result::Ok(())
            }}
        };
        self.wrapped(quote!(#(#ranges)* #before), &queue, &launch)
    }

    fn by_one(&self, block: &Block) -> TokenStream {
        let (before, mut sources) = self.sources(&[]);
        let mut scalars: Vec<&Ident> = Vec::new();
        for name in
            self.uses.assigned.iter().chain(self.construct.reductions.iter().map(|(_, name)| name))
        {
            if !scalars.contains(&name) {
                scalars.push(name);
            }
        }
        let outside: Vec<Ident> =
            (0..scalars.len()).map(|number| own(&format!("scalar_{number}"))).collect();
        sources.extend(outside.iter().map(|name| (quote!(&mut #name), quote!(#name))));
        let (sources, names): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
        let sources = if sources.is_empty() { quote!(0..) } else { pairs(sources) };
        let names = pairs(names);
        let queue = self.queue(&quote!(1_usize));
        let private = &self.construct.private;
        let launch = quote! {{
            #(let mut #outside = [#scalars];)*
            let __outcome = __queue.for_each_in([1_usize], #sources, move |_, #names| {
                #(#[allow(unused_mut)] let mut #scalars = *#outside;)*
                #(#[allow(unused_mut)] let mut #private = #private;)*
                #block
                #(*#outside = #scalars;)*
            });
            #([#scalars] = #outside;)*
            __outcome
        }};
        self.wrapped(before, &queue, &launch)
    }

    fn wrapped(
        &self,
        before: TokenStream,
        queue: &TokenStream,
        launch: &TokenStream,
    ) -> TokenStream {
        let done = if self.construct.is_in_offload {
            quote_spanned! {self.span=>
                if let ::core::result::Result::Err(__error) = __outcome {
                    break '__launches ::core::result::Result::Err(
                        ::core::convert::From::from(__error),
                    );
                }
            }
        } else {
            quote_spanned! {self.span=>
                ::schism::__private::directives::done(__outcome);
            }
        };
        quote! {{
            #[allow(unused_imports)]
            use ::schism::__private::directives::{
                AtomicBits as _, AtomicPlace as _, Elements as _, ElementsMut as _, Part as _,
            };
            #before
            let __queue = #queue;
            let __outcome = #launch;
            #done
        }}
    }
}
