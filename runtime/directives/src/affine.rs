//! Indices as polynomials: a sum of products of what the loops count, what they do not change, and
//! what only an iteration knows.

use std::collections::BTreeMap;

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::{BinOp, Expr, Lit, UnOp};

/// A factor of a product.
#[derive(Clone)]
pub(crate) enum Factor {
    /// What the loop number so and so counts.
    Counter(usize),
    /// Not changed by the loops.
    Invariant(Expr),
    /// Known within an iteration only.
    Inner(Expr),
}

impl Factor {
    /// Equal for equal factors, in the order of their kinds.
    fn key(&self) -> String {
        match self {
            Self::Counter(number) => format!("0 {number}"),
            Self::Invariant(expr) => format!("1 {}", expr.to_token_stream()),
            Self::Inner(expr) => format!("2 {}", expr.to_token_stream()),
        }
    }

    fn value(&self, ty: &TokenStream) -> TokenStream {
        match self {
            Self::Counter(_) => unreachable!("counters are taken out before"),
            Self::Invariant(expr) | Self::Inner(expr) => quote!(((#expr) as #ty)),
        }
    }
}

/// A product, and how often it is added.
#[derive(Clone)]
struct Term {
    factors: Vec<Factor>,
    times: i128,
}

/// A sum of products.
#[derive(Clone, Default)]
pub(crate) struct Polynomial(BTreeMap<Vec<String>, Term>);

impl Polynomial {
    pub(crate) fn constant(value: i128) -> Self {
        Self::term(Vec::new(), value)
    }

    pub(crate) fn of(factor: Factor) -> Self {
        Self::term(vec![factor], 1)
    }

    fn term(mut factors: Vec<Factor>, times: i128) -> Self {
        let mut all = BTreeMap::new();
        if times != 0 {
            factors.sort_by_key(Factor::key);
            all.insert(factors.iter().map(Factor::key).collect(), Term { factors, times });
        }
        Self(all)
    }

    fn plus(mut self, other: Self, sign: i128) -> Option<Self> {
        for (key, term) in other.0 {
            let more = term.times.checked_mul(sign)?;
            let own = self.0.entry(key).or_insert(Term { factors: term.factors, times: 0 });
            own.times = own.times.checked_add(more)?;
        }
        self.0.retain(|_, term| term.times != 0);
        Some(self)
    }

    fn times(&self, other: &Self) -> Option<Self> {
        let mut all = Self::default();
        for a in self.0.values() {
            for b in other.0.values() {
                let factors = a.factors.iter().chain(&b.factors).cloned().collect();
                all = all.plus(Self::term(factors, a.times.checked_mul(b.times)?), 1)?;
            }
        }
        Some(all)
    }

    /// Whether it is a single factor or a constant: a cast cannot change what it stands for.
    fn is_simple(&self) -> bool {
        self.0.values().all(|term| term.factors.is_empty() || term.times == 1)
            && self.0.len() <= 1
            && self.0.values().all(|term| term.factors.len() <= 1)
    }

    /// Divides it into what each of the loops contributes and the rest; `None` if one contributes
    /// anything but a multiple of its counter that no iteration changes.
    pub(crate) fn by_counters(&self, loops: usize) -> Option<Index> {
        let mut coefficients = vec![Self::default(); loops];
        let (mut base, mut inner) = (Self::default(), Self::default());
        let mut constant = 0;
        for term in self.0.values() {
            let counters: Vec<usize> = term
                .factors
                .iter()
                .filter_map(|factor| match factor {
                    Factor::Counter(number) => Some(*number),
                    _ => None,
                })
                .collect();
            let has_inner = term.factors.iter().any(|factor| matches!(factor, Factor::Inner(_)));
            match counters[..] {
                [] if term.factors.is_empty() => constant = term.times,
                [] => {
                    let to = if has_inner { &mut inner } else { &mut base };
                    *to =
                        std::mem::take(to).plus(Self::term(term.factors.clone(), term.times), 1)?;
                }
                [number] if !has_inner => {
                    let rest = term.factors.iter().filter(|f| !matches!(f, Factor::Counter(_)));
                    let more = Self::term(rest.cloned().collect(), term.times);
                    let own = coefficients.get_mut(number)?;
                    *own = std::mem::take(own).plus(more, 1)?;
                }
                _ => return None,
            }
        }
        Some(Index { coefficients, base, constant, inner })
    }

    /// Its value, if it has no factors.
    pub(crate) fn as_constant(&self) -> Option<i128> {
        if self.0.is_empty() {
            return Some(0);
        }
        let (_, term) = self.0.first_key_value().filter(|_| self.0.len() == 1)?;
        term.factors.is_empty().then_some(term.times)
    }

    /// Divides it into what a single number of an iteration is multiplied by, that number, and the
    /// rest: the product with most factors that the loops do not change, at least one.
    pub(crate) fn by_planes(&self) -> Option<(Self, Expr, Self)> {
        let split = |term: &Term| {
            let (inner, outer): (Vec<_>, Vec<_>) =
                term.factors.iter().cloned().partition(|factor| matches!(factor, Factor::Inner(_)));
            match &inner[..] {
                [Factor::Inner(number)] if !outer.is_empty() => Some((outer, number.clone())),
                _ => None,
            }
        };
        let products = self.0.iter().filter_map(|(key, term)| Some((key, term, split(term)?)));
        let (key, term, (outer, number)) = products.max_by_key(|(_, _, (outer, _))| outer.len())?;
        let mut rest = self.clone();
        rest.0.remove(key);
        Some((Self::term(outer, term.times), number, rest))
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn equals(&self, other: &Self) -> bool {
        let terms = |of: &Self| -> Vec<(Vec<String>, i128)> {
            of.0.iter().map(|(key, term)| (key.clone(), term.times)).collect()
        };
        terms(self) == terms(other)
    }

    /// Its value before the loops, which has no counters.
    pub(crate) fn at_entry(&self) -> TokenStream {
        let ty = quote!(i128);
        let terms = self.0.values().map(|term| {
            let times = Literal::u128_unsuffixed(term.times.unsigned_abs());
            let factors = term.factors.iter().map(|factor| factor.value(&ty));
            // Lints of the program's are not to find a product with -1.
            let sign = if term.times < 0 { quote!(-) } else { quote!(+) };
            quote!(#sign (#times #(* #factors)*))
        });
        quote!((0_i128 #(#terms)*))
    }

    /// Its value within an iteration, plus a constant, as an index.
    pub(crate) fn in_iteration(&self, constant: i128) -> TokenStream {
        let ty = quote!(isize);
        let mut sum = isize_literal(constant);
        for term in self.0.values() {
            let mut product = isize_literal(term.times);
            for factor in &term.factors {
                let factor = factor.value(&ty);
                product = quote!((#product).wrapping_mul #factor);
            }
            sum = quote!((#sum).wrapping_add(#product));
        }
        quote!((#sum) as usize)
    }
}

/// A number that is an index, or a distance of two.
fn isize_literal(value: i128) -> TokenStream {
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    Literal::isize_suffixed(isize::try_from(value).unwrap_or(isize::MAX)).to_token_stream()
}

/// An index: what is added in each loop's iteration, and the rest.
pub(crate) struct Index {
    pub(crate) coefficients: Vec<Polynomial>,
    /// What the loops do not change, but for the constant.
    pub(crate) base: Polynomial,
    pub(crate) constant: i128,
    /// What only an iteration knows.
    pub(crate) inner: Polynomial,
}

/// What is known of a name or an expression in an index.
pub(crate) trait Known {
    /// What an expression stands for that is neither a number nor a sum, difference or product.
    fn polynomial(&self, expr: &Expr) -> Option<Polynomial>;
}

/// An index as a polynomial; `None` if it is none, or there is more in it than numbers.
pub(crate) fn polynomial(expr: &Expr, known: &impl Known) -> Option<Polynomial> {
    match expr {
        Expr::Paren(inner) => polynomial(&inner.expr, known),
        Expr::Group(inner) => polynomial(&inner.expr, known),
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(int) => Some(Polynomial::constant(int.base10_parse().ok()?)),
            _ => None,
        },
        Expr::Cast(cast) => {
            let ty = cast.ty.to_token_stream().to_string();
            // Narrower types could lose bits.
            if !matches!(&*ty, "usize" | "isize" | "u64" | "i64") {
                return None;
            }
            polynomial(&cast.expr, known).filter(Polynomial::is_simple)
        }
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            Polynomial::default().plus(polynomial(&unary.expr, known)?, -1)
        }
        Expr::Binary(binary) => {
            let of = |expr| polynomial(expr, known);
            match binary.op {
                BinOp::Add(_) => of(&binary.left)?.plus(of(&binary.right)?, 1),
                BinOp::Sub(_) => of(&binary.left)?.plus(of(&binary.right)?, -1),
                BinOp::Mul(_) => of(&binary.left)?.times(&of(&binary.right)?),
                _ => known.polynomial(expr),
            }
        }
        _ => known.polynomial(expr),
    }
}
