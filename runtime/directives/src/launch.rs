//! A loop as a launch: `Queue::for_each_in` over sources.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Block, Error, Expr, ExprForLoop, Ident, Result, Stmt, parse_quote};

use crate::body::{self, Form, Loops, Uses, kernel_name, key};
use crate::clause::{Construct, Kind, array_and_part};
use crate::iteration::{Dimension, lints_of_types, own};
use crate::lanes::Owned;
use crate::motion::Motion;
use crate::names::mentions;
use crate::region;

/// What an array is for a kernel.
enum Role {
    /// All of it can be read.
    Read,
    /// Each iteration owns a part.
    Owned(Owned),
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
        Kind::Kernels => {
            let ordered = in_order(construct, parse_quote!({ #statement }))?;
            match parallel(construct, statement, Some(&ordered)) {
                Ok(launch) => Ok(launch),
                Err(Refused::Dependent(_)) => Ok(ordered),
                Err(Refused::Wrong(error)) => Err(error),
            }
        }
        _ => parallel(construct, statement, None).map_err(|refused| match refused {
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

/// A launch; `ordered` is the loop in order, for where only a run shows whether iterations meet.
fn parallel(
    construct: &Construct,
    statement: &ExprForLoop,
    ordered: Option<&TokenStream>,
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
    let mut number = 0;
    for (array, role) in &roles {
        let form = match role {
            Role::Owned(owned) => owned.form(),
            Role::Independent => {
                let texts = texts(&uses, array);
                number += texts.len();
                Form::Independent { first: number - texts.len(), texts }
            }
            _ => Form::Same,
        };
        forms.insert(array.clone(), form);
    }
    body::rewrite(&mut body, &loops, &forms);
    let launch = Launch { construct, span: statement.for_token.span, uses: &uses, roles: &roles };
    let is_sure = |role: &Role| !matches!(role, Role::Owned(owned) if !owned.is_certain());
    let Some(ordered) = ordered.filter(|_| !roles.values().all(is_sure)) else {
        return Ok(launch.in_parallel(&dimensions, &body, None));
    };
    if let Some(inner) = nest.iter().find(|inner| !crate::names::is_pure(&inner.expr)) {
        let text = "what the loop goes through would be computed twice";
        return Err(Refused::Dependent(Error::new_spanned(&inner.expr, text)));
    }
    Ok(launch.in_parallel(&dimensions, &body, Some(ordered)))
}

/// The accesses to an array as they are written, each once.
fn texts(uses: &Uses, array: &str) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for access in uses.accesses.iter().filter(|access| access.array == array) {
        if !texts.contains(&access.text) {
            texts.push(access.text.clone());
        }
    }
    texts
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
            Some(write) => match Owned::new(write, &accesses().collect::<Vec<_>>(), dimensions) {
                Ok(owned) => Role::Owned(owned),
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

/// The variables that a statement changes, or elements of.
pub(crate) fn written(statement: &Expr) -> Vec<String> {
    let uses = body::uses(&mut parse_quote!({ #statement }), &Loops::whole(&BTreeSet::new()));
    let elements = uses.accesses.into_iter().filter(|access| access.is_write);
    let assigned = uses.assigned.iter().map(ToString::to_string);
    elements.map(|access| access.array).chain(assigned).collect()
}

/// A block as the work of one work-item.
fn in_order(construct: &Construct, mut block: Block) -> Result<TokenStream> {
    let named = named(construct);
    let loops = Loops::whole(&named);
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

/// A tuple. There are sources of up to eight, so what loops of more arrays have is nested.
pub(crate) fn tuple(mut parts: Vec<TokenStream>) -> TokenStream {
    if parts.len() > 8 {
        let rest = parts.split_off(7);
        parts.push(tuple(rest));
    }
    match &parts[..] {
        [] => quote!(_),
        [only] => only.clone(),
        _ => quote!((#(#parts),*)),
    }
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
        [::schism::__private::directives::product(&[#(#outer),*]), #inner]
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
                Motion::Present => region::check_present(place),
                _ => quote_spanned!(place.span()=> let _ = &#place;),
            });
        }
        let named = named(self.construct);
        for array in self.roles.keys().filter(|array| !named.contains(*array)) {
            let place = &self.uses.arrays[array];
            before.extend(self.construct.is_default_present.then(|| region::check_present(place)));
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
                Role::Owned(owned) => {
                    let view = quote_spanned!(at=> (#place).__elements_mut());
                    (owned.source(number, &view, dimensions, &mut before), quote!(mut #name))
                }
            };
            sources.push(source);
        }
        for dimension in dimensions {
            let count = &dimension.count;
            for elements in &dimension.elements {
                let (place, name) = (&elements.place, &elements.name);
                let at = place.span();
                let all = own(if elements.is_mut { "elements_mut" } else { "elements" });
                let part = match &elements.chunk {
                    None => quote!(__first(#count)),
                    Some(size) => quote!(__first_chunks(#count, #size)),
                };
                let source = quote_spanned!(at=> (#place).#all().#part);
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
        let queue = self.construct.mapping.sized(queue, iterations);
        if self.is_async() {
            quote!(::schism::__private::directives::asynchronous(#queue))
        } else {
            queue
        }
    }

    /// Whether it may be waited for later. What an offload or a variable gets is there at its end.
    fn is_async(&self) -> bool {
        let construct = self.construct;
        construct.is_async && construct.reductions.is_empty() && !construct.is_in_offload
    }

    fn in_parallel(
        &self,
        dimensions: &[Dimension],
        body: &Block,
        ordered: Option<&TokenStream>,
    ) -> TokenStream {
        let (before, sources) = self.sources(dimensions);
        let ranges = dimensions.iter().map(|dimension| &dimension.before);
        let counts: Vec<&Ident> = dimensions.iter().map(|dimension| &dimension.count).collect();
        let positions: Vec<&Ident> = dimensions.iter().map(|own| &own.position).collect();
        let bindings = dimensions.iter().map(|dimension| &dimension.bindings);
        let iterations = quote!(::schism::__private::directives::product(&[#(#counts),*]));
        let mut queue = self.queue(&iterations);
        if !self.construct.reductions.is_empty() {
            queue = quote!(::schism::__private::directives::reducing(#queue));
        }
        let private = &self.construct.private;
        let (sources, names): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
        let sources = if sources.is_empty() { quote!(0..) } else { tuple(sources) };
        let names = tuple(names);
        let (races, lints) = (self.races(dimensions), lints_of_types());
        let begins = races
            .as_ref()
            .map(|_| quote!(::schism::__private::directives::iteration([#(#positions),*]);));
        let iteration = quote! {
            #begins
            #(#bindings)*
            #(#[allow(unused_mut)] let mut #private = #private;)*
            #[allow(unused_labels, #lints)]
            '__iteration: #body
        };
        let launch = if self.construct.reductions.is_empty() {
            let (range, unpacked) = range(&counts, &positions);
            quote! {
                ::schism::__private::directives::LaunchOutcome::new(__queue.for_each_in(#range, #sources, move |__item, #names| {
                    #unpacked
                    #iteration
                }))
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
            let all = tuple(
                std::iter::once(
                    quote!(::schism::__private::directives::Turns::new(__division, #sources)),
                )
                .chain(parts.iter().map(|part| quote!(#part.source())))
                .collect(),
            );
            let inside = tuple(
                std::iter::once(quote!(__turns))
                    .chain(parts.iter().map(|part| quote!(#part)))
                    .collect(),
            );
            quote! {{
                let __division = ::schism::__private::directives::Division::new(&__queue, [#(#counts),*]);
                #(let mut #parts = ::schism::__private::directives::Parts::<::schism::__private::directives::#ops, _>::new(&__queue, &#variables, __division.items());)*
                let mut __outcome = ::schism::__private::directives::LaunchOutcome::new(__queue.for_each_in(__division.range(), #all, move |_, #inside| {
                    #(let mut #variables = #parts.identity();)*
                    for ([#(#positions),*], #names) in __turns {
                        #iteration
                    }
                    #(#parts.set(#variables);)*
                }));
                if __outcome.is_ok() {
                    #(#variables = #parts.combined(#variables, &mut __outcome);)*
                }
                __outcome
            }}
        };
        let launch = match races {
            None => launch,
            Some((begin, counted)) => quote! {{
                let __races = #begin;
                let __outcome = #launch;
                __races.end(__outcome, |[#(#positions),*]| #counted)
            }},
        };
        let before = quote!(#(#ranges)* #before);
        let Some(ordered) = ordered else { return self.wrapped(before, &queue, &launch) };
        let checks = self.roles.values().enumerate().filter_map(|(number, role)| match role {
            Role::Owned(owned) => Some(owned.check(number, dimensions)),
            _ => None,
        });
        let launch = self.wrapped(TokenStream::new(), &queue, &launch);
        quote! {{
            #[allow(unused_imports)]
            use ::schism::__private::directives::{Elements as _, ElementsMut as _, Part as _};
            #before
            if #(#checks)&&* { #launch } else { #ordered }
        }}
    }

    /// How the check for races begins, and what loops count at their positions; `None` if there is
    /// nothing to check.
    fn races(&self, dimensions: &[Dimension]) -> Option<(TokenStream, TokenStream)> {
        let independent = |(_, role): &(&String, &Role)| matches!(role, Role::Independent);
        let accesses: Vec<(&String, String)> = self
            .roles
            .iter()
            .filter(independent)
            .flat_map(|(array, _)| texts(self.uses, array).into_iter().map(move |own| (array, own)))
            .collect();
        if accesses.is_empty() {
            return None;
        }
        let accesses = accesses.iter().map(|(array, text)| quote!((#array, #text)));
        let counts = dimensions.iter().map(|dimension| &dimension.count);
        let begin = quote! {
            ::schism::__private::directives::Races::begin([#(#counts),*], &[#(#accesses),*])
        };
        let counted = dimensions.iter().map(|dimension| {
            let position = &dimension.position;
            match &dimension.counter {
                Some((name, steps)) => {
                    let name = name.to_string();
                    quote!((#name, ::std::string::ToString::to_string(&#steps.at(#position))))
                }
                None => quote!(("number", ::std::string::ToString::to_string(&#position))),
            }
        });
        Some((begin, quote!([#(#counted),*])))
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
        let sources = if sources.is_empty() { quote!(0..) } else { tuple(sources) };
        let names = tuple(names);
        let queue = self.queue(&quote!(1_usize));
        let (private, lints) = (&self.construct.private, lints_of_types());
        let launch = quote! {{
            #(let mut #outside = [#scalars];)*
            let __outcome = ::schism::__private::directives::LaunchOutcome::new(__queue.for_each_in([1_usize], #sources, move |_, #names| {
                #(#[allow(unused_mut)] let mut #scalars = *#outside;)*
                #(#[allow(unused_mut)] let mut #private = #private;)*
                #[allow(#lints)]
                #block
                #(*#outside = #scalars;)*
            }));
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
                if let ::core::result::Result::Err(__error) = __outcome.into_result() {
                    break '__launches ::core::result::Result::Err(
                        ::core::convert::From::from(__error),
                    );
                }
            }
        } else {
            // The loop may be an argument of the macro that the function is of.
            let done = if self.is_async() { "submitted" } else { "done" };
            let done = Ident::new(done, self.span.resolved_at(Span::call_site()));
            quote_spanned! {done.span()=>
                ::schism::__private::directives::#done(__outcome);
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
