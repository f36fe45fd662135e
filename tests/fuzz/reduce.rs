//! Makes a small kernel of one that shows a difference.
//!
//! Statements are left out, and expressions replaced by a part of theirs or by the simplest value
//! of their type, as long as the kernel shows the same kind of finding. What is no Rust any more
//! shows nothing.

use std::time::{Duration, Instant};

use super::Error;
use super::kernel::Kernel;
use super::node::Node;
use super::run::{Bench, Finding, Kind, program};
use super::types::Type;

/// Long enough for most kernels, and short enough for a run with many findings.
const TIME: Duration = Duration::from_secs(180);

/// A whole program with the small kernel; none if the kernel alone does not show what it showed
/// among others.
pub(crate) fn reduce(
    bench: &Bench<'_>,
    seed: u64,
    finding: &Finding,
) -> Result<Option<String>, Error> {
    let mut kernel = Kernel::generate(seed, finding.kernel);
    let begin = Instant::now();
    if finding.kind == Kind::Invalid || !shows(bench, &kernel.source, finding)? {
        return Ok(None);
    }
    let mut rng = fastrand::Rng::with_seed(0);
    loop {
        let size = kernel.source.size();
        let mut index = 1;
        while index < kernel.source.size() && begin.elapsed() < TIME {
            let mut smaller = false;
            for replacement in replacements(&kernel, index, &mut rng) {
                let mut source = kernel.source.clone();
                let Some(node) = source.at_mut(index) else { break };
                *node = replacement;
                if shows(bench, &source, finding)? {
                    kernel.source = source;
                    smaller = true;
                    break;
                }
            }
            if !smaller {
                index += 1;
            }
        }
        if kernel.source.size() >= size || begin.elapsed() >= TIME {
            break;
        }
    }
    Ok(Some(program(&[(kernel.number, kernel.source.render())]).0))
}

/// What may stand in a node's place.
fn replacements(kernel: &Kernel, index: usize, rng: &mut fastrand::Rng) -> Vec<Node> {
    let mut source = kernel.source.clone();
    match source.at_mut(index) {
        Some(Node::Part(_)) => vec![Node::text("")],
        Some(node @ Node::Expr(..)) => {
            let Node::Expr(ty, children) = &*node else { return Vec::new() };
            let zero = Node::Text(ty.literal(&kernel.adts, rng, true));
            if node.render() == zero.render() {
                return Vec::new();
            }
            let mut all = vec![zero];
            for child in children {
                nearest(child, ty, &mut all);
            }
            all
        }
        _ => Vec::new(),
    }
}

/// The outermost expressions of a type within a node, at most three.
fn nearest(node: &Node, wanted: &Type, found: &mut Vec<Node>) {
    if found.len() > 3 {
        return;
    }
    if let Node::Expr(ty, _) = node
        && ty == wanted
    {
        found.push(node.clone());
        return;
    }
    node.children().iter().for_each(|child| nearest(child, wanted, found));
}

fn shows(bench: &Bench<'_>, source: &Node, finding: &Finding) -> Result<bool, Error> {
    let kernels = vec![(finding.kernel, source.render())];
    // Where the driver is right to refuse, or the host halves are compared, plain rustc has a say.
    let with_stock = matches!(finding.kind, Kind::Host | Kind::Refused | Kind::CompilerCrash);
    let (_, found) = bench.examine(kernels, &finding.flags, with_stock)?;
    Ok(found.iter().any(|(_, kind, what)| {
        *kind == finding.kind && (*kind != Kind::Refused || *what == finding.what)
    }))
}
