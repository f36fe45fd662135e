//! `atomic` before a statement of a kernel: `h[i] += 1` becomes `h[i].__atomic_add(1)` on an array of
//! atomics.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident};
use syn::parse::{ParseStream, Parser};
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, BinOp, Block, Error, Expr, Ident, Result, Stmt, parse_quote};

use crate::attributes::of_statement;
use crate::clause::is_directive;

/// What methods of atomics begin with.
pub(crate) const PREFIX: &str = "__atomic_";

/// What an `atomic` does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Update,
    Read,
    Write,
    Capture,
}

/// Whether an attribute is an `atomic`, and which.
fn kind(attribute: &Attribute) -> Option<Result<(Kind, Span)>> {
    let list = attribute.meta.require_list().ok().filter(|_| is_directive(attribute))?;
    let first = list.tokens.clone().into_iter().next()?;
    if first.to_string() != "atomic" {
        return None;
    }
    let parse = |input: ParseStream<'_>| {
        let atomic: Ident = input.parse()?;
        let word = if input.peek(syn::token::Paren) {
            let inside;
            syn::parenthesized!(inside in input);
            Some(inside.parse::<Ident>()?)
        } else if input.peek(syn::Token![,]) {
            input.parse::<syn::Token![,]>()?;
            Some(input.parse::<Ident>()?)
        } else {
            None
        };
        let kind = match word.as_ref().map(ToString::to_string).as_deref() {
            None | Some("update") => Kind::Update,
            Some("read") => Kind::Read,
            Some("write") => Kind::Write,
            Some("capture") => Kind::Capture,
            Some(_) => {
                let text = "an `atomic` is an `update`, a `read`, a `write` or a `capture`";
                return Err(Error::new(word.map_or(atomic.span(), |word| word.span()), text));
            }
        };
        Ok((kind, atomic.span()))
    };
    Some(parse.parse2(list.tokens.clone()))
}

fn taken(attributes: &mut Vec<Attribute>) -> Option<Result<(Kind, Span)>> {
    let at = attributes.iter().position(|attribute| kind(attribute).is_some())?;
    kind(&attributes.remove(at))
}

/// Replaces the statements of a loop or a block that are atomic.
pub(crate) fn replace(expr: &mut Expr) -> Result<()> {
    let mut walk = Atomics { errors: Vec::new() };
    walk.visit_expr_mut(expr);
    let mut errors = walk.errors.into_iter();
    let Some(mut first) = errors.next() else { return Ok(()) };
    errors.for_each(|error| first.combine(error));
    Err(first)
}

struct Atomics {
    errors: Vec<Error>,
}

impl VisitMut for Atomics {
    fn visit_stmt_mut(&mut self, statement: &mut Stmt) {
        let found = of_statement(statement).and_then(taken);
        let replaced = match found {
            None => return visit_mut::visit_stmt_mut(self, statement),
            Some(Err(error)) => Err(error),
            Some(Ok((kind, at))) => replaced(statement, kind, at),
        };
        match replaced {
            Ok(new) => *statement = new,
            Err(error) => self.errors.push(error),
        }
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

fn replaced(statement: &Stmt, kind: Kind, at: Span) -> Result<Stmt> {
    match (kind, statement) {
        (Kind::Read, Stmt::Local(local)) => {
            let mut local = local.clone();
            match &mut local.init {
                Some(init) if init.diverge.is_none() => {
                    *init.expr = call(&element(&init.expr)?, "read", TokenStream::new());
                }
                _ => {
                    return Err(Error::new(
                        at,
                        "an atomic `read` is `let v = h[i];` or `v = h[i];`",
                    ));
                }
            }
            Ok(Stmt::Local(local))
        }
        (Kind::Read, Stmt::Expr(Expr::Assign(assign), semi)) => {
            let mut assign = assign.clone();
            *assign.right = call(&element(&assign.right)?, "read", TokenStream::new());
            Ok(Stmt::Expr(Expr::Assign(assign), *semi))
        }
        (Kind::Write, Stmt::Expr(Expr::Assign(assign), semi)) => {
            let value = &assign.right;
            let place = element(&assign.left)?;
            Ok(Stmt::Expr(
                call(&place, "swap", value.to_token_stream()),
                semi.or(Some(<_>::default())),
            ))
        }
        (Kind::Update, Stmt::Expr(expr, _)) => {
            let (_, call) = update(expr, at)?;
            Ok(Stmt::Expr(call, Some(<_>::default())))
        }
        (Kind::Capture, Stmt::Expr(Expr::Block(block), _)) => capture(&block.block, at),
        (Kind::Read, _) => {
            Err(Error::new(at, "an atomic `read` is `let v = h[i];` or `v = h[i];`"))
        }
        (Kind::Write, _) => Err(Error::new(at, "an atomic `write` is `h[i] = e;`")),
        (Kind::Update, _) => Err(not_update(at)),
        (Kind::Capture, _) => Err(not_capture(at)),
    }
}

fn not_update(at: Span) -> Error {
    let text = "an atomic `update` is `h[i] += e;` with any operator, `h[i] = h[i] + e;`, or `h[i] = h[i].max(e);` with `min` or `max`";
    Error::new(at, text)
}

fn not_capture(at: Span) -> Error {
    let text = "an atomic `capture` is a block of two statements: an update `h[i] += e;`, or `h[i] = e;` in the second place, and `v = h[i];` before or after it";
    Error::new(at, text)
}

/// An element of an array.
fn element(expr: &Expr) -> Result<Expr> {
    match expr {
        Expr::Paren(inner) => element(&inner.expr),
        Expr::Index(_) => Ok(expr.clone()),
        other => {
            Err(Error::new_spanned(other, "`atomic` is for elements of arrays, such as `h[i]`"))
        }
    }
}

fn call(place: &Expr, method: &str, value: TokenStream) -> Expr {
    let method = format_ident!("{PREFIX}{method}");
    parse_quote!((#place).#method(#value))
}

/// The method of an operator, and whether its operands can change places.
fn operator(op: &BinOp) -> Option<(&'static str, bool)> {
    Some(match op {
        BinOp::Add(_) | BinOp::AddAssign(_) => ("add", true),
        BinOp::Sub(_) | BinOp::SubAssign(_) => ("sub", false),
        BinOp::Mul(_) | BinOp::MulAssign(_) => ("mul", true),
        BinOp::Div(_) | BinOp::DivAssign(_) => ("div", false),
        BinOp::Rem(_) | BinOp::RemAssign(_) => ("rem", false),
        BinOp::BitAnd(_) | BinOp::BitAndAssign(_) => ("and", true),
        BinOp::BitOr(_) | BinOp::BitOrAssign(_) => ("or", true),
        BinOp::BitXor(_) | BinOp::BitXorAssign(_) => ("xor", true),
        BinOp::Shl(_) | BinOp::ShlAssign(_) => ("shl", false),
        BinOp::Shr(_) | BinOp::ShrAssign(_) => ("shr", false),
        _ => return None,
    })
}

fn is_same(a: &Expr, b: &Expr) -> bool {
    a.to_token_stream().to_string() == b.to_token_stream().to_string()
}

/// The place that an update changes, and the call for it.
fn update(expr: &Expr, at: Span) -> Result<(Expr, Expr)> {
    match expr {
        Expr::Binary(binary) if matches!(binary.op, BinOp::Eq(_) | BinOp::Ne(_)) => {
            Err(not_update(at))
        }
        Expr::Binary(binary) => {
            let is_assignment = binary.op.to_token_stream().to_string().ends_with('=');
            let Some((method, _)) = operator(&binary.op).filter(|_| is_assignment) else {
                return Err(not_update(at));
            };
            let place = element(&binary.left)?;
            let call = call(&place, method, binary.right.to_token_stream());
            Ok((place, call))
        }
        Expr::Assign(assign) => {
            let place = element(&assign.left)?;
            let (method, value) = match &*assign.right {
                Expr::Binary(binary) => {
                    let (method, commutes) = operator(&binary.op).ok_or_else(|| not_update(at))?;
                    let value = if is_same(&binary.left, &place) {
                        &binary.right
                    } else if is_same(&binary.right, &place) && commutes {
                        &binary.left
                    } else {
                        return Err(not_update(at));
                    };
                    (method, value.to_token_stream())
                }
                Expr::MethodCall(call)
                    if is_same(&call.receiver, &place) && call.args.len() == 1 =>
                {
                    let method = match &*call.method.to_string() {
                        "max" => "max",
                        "min" => "min",
                        "wrapping_add" => "add",
                        "wrapping_sub" => "sub",
                        "wrapping_mul" => "mul",
                        _ => return Err(not_update(at)),
                    };
                    (method, call.args.to_token_stream())
                }
                _ => return Err(not_update(at)),
            };
            let call = call(&place, method, value);
            Ok((place, call))
        }
        _ => Err(not_update(at)),
    }
}

fn capture(block: &Block, at: Span) -> Result<Stmt> {
    let [Stmt::Expr(first, _), Stmt::Expr(second, _)] = &block.stmts[..] else {
        return Err(not_capture(at));
    };
    // The variable and the place of `v = h[i]`.
    let read = |expr: &Expr| match expr {
        Expr::Assign(assign) if matches!(&*assign.left, Expr::Path(_)) => {
            Some((assign.left.clone(), assign.right.clone()))
        }
        _ => None,
    };
    let (variable, from, changed, is_before) = match (read(first), read(second)) {
        (Some((variable, from)), None) => (variable, from, second, true),
        (None, Some((variable, from))) => (variable, from, first, false),
        _ => return Err(not_capture(at)),
    };
    let (place, call) = match (update(changed, at), changed) {
        (Ok(found), _) => found,
        (Err(_), Expr::Assign(assign)) if is_before => {
            let place = element(&assign.left)?;
            let value = assign.right.to_token_stream();
            let call = call(&place, "swap", value);
            (place, call)
        }
        (Err(_), _) => return Err(not_capture(at)),
    };
    if !is_same(&from, &place) {
        return Err(not_capture(at));
    }
    let part = if is_before { format_ident!("before") } else { format_ident!("after") };
    Ok(parse_quote!(#variable = (#call).#part;))
}
