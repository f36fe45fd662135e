//! Arrays of which each iteration owns a part: elements at indices that are the same sum of multiples
//! of what the loops count. Accesses whose indices differ by what the loops do not change are lanes:
//! the planes of several quantities in one array, or the two ends of a row.

use proc_macro2::{Literal, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Error, Ident, Result};

use crate::affine::Polynomial;
use crate::body::{Access, Form};
use crate::iteration::{Dimension, own};

/// Accesses whose indices differ by constants.
struct Lane {
    base: Polynomial,
    least: i128,
    most: i128,
    span: proc_macro2::Span,
}

/// What each iteration owns of an array.
pub(crate) struct Owned {
    /// That of the first write first.
    lanes: Vec<Lane>,
    coefficients: Vec<Polynomial>,
    /// Whether only iterations know where in a lane they access it.
    is_within: bool,
    /// From plane to plane, if inner loops count planes.
    pitch: Option<Polynomial>,
    text: String,
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

impl Owned {
    /// What the iterations own, or which accesses may meet.
    pub(crate) fn new(write: &Access, all: &[&Access], dimensions: &[Dimension]) -> Result<Self> {
        let Some(first) = &write.index else {
            let text = "the index is no sum of multiples of what the loop counts";
            return Err(meet(write, write, text));
        };
        for dimension in dimensions {
            let own = first.coefficients.get(dimension.number);
            if own.is_none_or(Polynomial::is_zero) {
                let name = dimension.counter.as_ref();
                let name = name
                    .map_or_else(|| "the iteration".to_owned(), |(name, _)| format!("`{name}`"));
                let text = format!("the index does not depend on {name}");
                return Err(meet(write, write, &text));
            }
        }
        let mut owned = Self {
            lanes: Vec::new(),
            coefficients: first.coefficients.clone(),
            is_within: false,
            pitch: None,
            text: write.text.clone(),
        };
        for access in std::iter::once(&write).chain(all) {
            let Some(index) = &access.index else {
                let text = "the second index is no sum of multiples of what the loop counts";
                return Err(meet(write, access, text));
            };
            let mut both = index.coefficients.iter().zip(&first.coefficients);
            if !both.all(|(a, b)| a.equals(b)) {
                let text = "the indices are not the same multiples of what the loop counts";
                return Err(meet(write, access, text));
            }
            owned.is_within |= !index.inner.is_zero();
            // Those of other pitches are checked as if there were no planes.
            owned.pitch = owned.pitch.or_else(|| Some(index.inner.by_planes()?.0));
            let constant = index.constant;
            match owned.lanes.iter_mut().find(|lane| lane.base.equals(&index.base)) {
                Some(lane) => {
                    lane.least = lane.least.min(constant);
                    lane.most = lane.most.max(constant);
                }
                None => owned.lanes.push(Lane {
                    base: index.base.clone(),
                    least: constant,
                    most: constant,
                    span: access.span,
                }),
            }
        }
        // Neighbours at a distance that is known to be less than the step meet.
        if let ([Dimension { has_large_steps: false, .. }], Some(step)) =
            (dimensions, first.coefficients[0].as_constant())
        {
            let is_far = |access: &&&Access| {
                access.index.as_ref().is_some_and(|index| {
                    index.constant != first.constant && index.base.equals(&first.base)
                })
            };
            let is_near = step.unsigned_abs() < owned.width() as u128;
            if let (true, false, Some(far)) = (is_near, owned.is_within, all.iter().find(is_far)) {
                return Err(meet(write, far, "the indices of neighbours overlap"));
            }
        }
        Ok(owned)
    }

    /// How many elements of each lane an iteration owns at least.
    fn width(&self) -> usize {
        let widths = self.lanes.iter().map(|lane| lane.most - lane.least);
        let most = widths.max().unwrap_or(0);
        usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1)
    }

    /// How its accesses look in the kernel.
    pub(crate) fn form(&self) -> Form {
        let lanes = self.lanes.iter().map(|lane| (lane.base.clone(), lane.least));
        Form::Owned { lanes: lanes.collect(), is_within: self.is_within, pitch: self.pitch.clone() }
    }

    /// Whether no run shows that iterations meet: the least width is known to be there.
    pub(crate) fn is_certain(&self) -> bool {
        let steps = self.coefficients.iter().map(Polynomial::as_constant);
        let is_near = |step: Option<i128>| {
            step.is_some_and(|step| step.unsigned_abs() >= self.width() as u128)
        };
        let mut steps = steps.collect::<Vec<_>>().into_iter();
        self.lanes.len() == 1 && steps.len() == 1 && steps.all(is_near)
    }

    fn offsets(&self, number: usize) -> Vec<Ident> {
        (0..self.lanes.len()).map(|lane| own(&format!("offset_{number}_{lane}"))).collect()
    }

    /// What the loops add to the indices.
    fn axes(&self, dimensions: &[Dimension]) -> TokenStream {
        let axes = dimensions.iter().map(|dimension| {
            let coefficient = &self.coefficients[dimension.number];
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
            let (_, steps) = dimension.counter.as_ref().expect("the index depends on it");
            let count = &dimension.count;
            quote!(::schism::__private::directives::Axis::new(#value, &#steps, #count),)
        });
        quote!((#(#axes)*))
    }

    /// Whether its iterations are apart, as an expression after what is computed before.
    pub(crate) fn check(&self, number: usize, dimensions: &[Dimension]) -> TokenStream {
        let (offsets, axes) = (self.offsets(number), self.axes(dimensions));
        let width = self.least();
        quote!(::schism::__private::directives::are_apart(#width, &[#(#offsets),*], &#axes))
    }

    /// How many elements of each lane are known to be an iteration's own.
    fn least(&self) -> usize {
        if self.is_within { 0 } else { self.width() }
    }

    /// It as a source, array number so and so of the launch; `before` gets what is computed before.
    pub(crate) fn source(
        &self,
        number: usize,
        view: &TokenStream,
        dimensions: &[Dimension],
        before: &mut TokenStream,
    ) -> TokenStream {
        let offsets = self.offsets(number);
        for (Lane { base, least, span, .. }, offset) in self.lanes.iter().zip(&offsets) {
            let least = Literal::i128_suffixed(if self.is_within { 0 } else { *least });
            let base = base.at_entry();
            before.extend(quote_spanned!(*span=> let #offset: i128 = #base + #least;));
        }
        let more = offsets.len() - 1;
        let (width, text, axes) = (self.least(), &self.text, self.axes(dimensions));
        let pitch = self.pitch.clone().unwrap_or_default().at_entry();
        quote_spanned! {self.lanes[0].span=>
            ::schism::__private::directives::Owned::<_, _, #width, #more>::new(#text, #view, &[#(#offsets),*], #pitch, #axes)
        }
    }
}
