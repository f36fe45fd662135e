//! Directed graphs over numbered nodes: their reverse post-order, and dominators. A node's successors
//! and predecessors are lists of numbers.

use std::collections::HashSet;
use std::hash::Hash;

/// What stands for the immediate dominator of a node that the root does not reach.
const NONE: usize = usize::MAX;

/// The dominator tree of a graph's nodes.
pub(crate) struct Dominators {
    /// The root's is itself; [`NONE`] for nodes that the root does not reach.
    immediate: Vec<usize>,
    /// Of each node, when a walk down the tree enters it and when it has left all that is below it. So a
    /// function of very many loops in a row, whose tree is as deep as it is long, is asked as quickly as any.
    span: Vec<(usize, usize)>,
}

impl Dominators {
    /// Of the graph with the given successors of each node.
    pub fn of(root: usize, successors: &[Vec<usize>]) -> Self {
        let order = reverse_post_order(root, successors);
        let rpo = numbers(&order, successors.len());
        let mut predecessors = vec![Vec::new(); successors.len()];
        for &node in &order {
            for &next in &successors[node] {
                predecessors[next].push(node);
            }
        }
        let immediate = immediate_dominators(&order, &rpo, &predecessors);
        let span = spans(&order, &immediate);
        Self { immediate, span }
    }

    /// Whether the root reaches a node.
    pub fn is_reached(&self, node: usize) -> bool {
        self.immediate[node] != NONE
    }

    /// Adds a node that is taken for one that the root does not reach.
    pub fn add(&mut self) {
        self.immediate.push(NONE);
        self.span.push((0, 0));
    }

    /// The immediate dominator of a node other than the root that the root reaches.
    pub fn immediate(&self, node: usize) -> Option<usize> {
        Some(self.immediate[node]).filter(|&above| above != node && above != NONE)
    }

    /// Whether every path from the root to `below` leads through `above`; a node dominates itself.
    pub fn dominates(&self, above: usize, below: usize) -> bool {
        let [(from, to), (enters, leaves)] = [above, below].map(|node| self.span[node]);
        self.is_reached(above) && self.is_reached(below) && from <= enters && leaves <= to
    }
}

/// What some things lead to, directly or not, with these themselves.
pub(crate) fn reached<T: Copy + Eq + Hash, Next: IntoIterator<Item = T>>(
    from: impl IntoIterator<Item = T>,
    mut next: impl FnMut(T) -> Next,
) -> HashSet<T> {
    let mut open: Vec<T> = from.into_iter().collect();
    let mut seen = HashSet::new();
    while let Some(one) = open.pop() {
        if seen.insert(one) {
            open.extend(next(one));
        }
    }
    seen
}

/// The nodes that a root reaches, each behind all that dominate it.
pub(crate) fn reverse_post_order(root: usize, successors: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; successors.len()];
    let mut order = Vec::new();
    // Each entry: a node, and how many of its successors have been followed.
    let mut path = vec![(root, 0)];
    seen[root] = true;
    while let Some(&mut (node, ref mut followed)) = path.last_mut() {
        if let Some(&next) = successors[node].get(*followed) {
            *followed += 1;
            if !seen[next] {
                seen[next] = true;
                path.push((next, 0));
            }
        } else {
            order.push(node);
            path.pop();
        }
    }
    order.reverse();
    order
}

/// The number of each of `count` nodes in an order; `None` for those that are not in it.
pub(crate) fn numbers(order: &[usize], count: usize) -> Vec<Option<usize>> {
    let mut numbers = vec![None; count];
    for (at, &node) in order.iter().enumerate() {
        numbers[node] = Some(at);
    }
    numbers
}

/// The immediate dominator of each node in a reverse post-order, whose first node is the root, and
/// of the root itself; for other nodes the largest number. The algorithm of Cooper, Harvey and
/// Kennedy: the common dominator of all predecessors, until nothing changes.
fn immediate_dominators(
    order: &[usize],
    rpo: &[Option<usize>],
    predecessors: &[Vec<usize>],
) -> Vec<usize> {
    let mut dominator = vec![NONE; rpo.len()];
    dominator[order[0]] = order[0];
    let mut changed = true;
    while changed {
        changed = false;
        for &node in order.iter().skip(1) {
            let mut common = NONE;
            for &from in predecessors[node].iter().filter(|from| rpo[**from].is_some()) {
                if dominator[from] == NONE {
                    continue;
                }
                let mut other = from;
                if common == NONE {
                    common = other;
                }
                while common != other {
                    while rpo[common] > rpo[other] {
                        common = dominator[common];
                    }
                    while rpo[other] > rpo[common] {
                        other = dominator[other];
                    }
                }
            }
            if dominator[node] != common {
                dominator[node] = common;
                changed = true;
            }
        }
    }
    dominator
}

/// For each node when a walk down the dominator tree enters it and when it has left all that is
/// below it.
fn spans(order: &[usize], dominator: &[usize]) -> Vec<(usize, usize)> {
    let mut below = vec![Vec::new(); dominator.len()];
    for &node in order.iter().skip(1) {
        below[dominator[node]].push(node);
    }
    let mut span = vec![(0, 0); dominator.len()];
    let mut time = 0;
    // Each entry: a node, and how many of those below it have been entered.
    let mut path = vec![(order[0], 0)];
    while let Some(&mut (node, ref mut entered)) = path.last_mut() {
        if let Some(&next) = below[node].get(*entered) {
            *entered += 1;
            time += 1;
            span[next].0 = time;
            path.push((next, 0));
        } else {
            span[node].1 = time;
            path.pop();
        }
    }
    span
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_with_two_exits() {
        // 0 → 1; 1 → 2, 4; 2 → 3, 4; 3 → 1; 5 is not reached.
        let successors = [vec![1], vec![2, 4], vec![3, 4], vec![1], vec![], vec![4]];
        let dominators = Dominators::of(0, &successors);
        assert!(dominators.dominates(1, 4) && dominators.dominates(2, 3));
        assert!(!dominators.dominates(2, 4) && !dominators.dominates(5, 4));
        assert_eq!(dominators.immediate(4), Some(1));
        assert_eq!(dominators.immediate(0), None);
        assert_eq!(reverse_post_order(0, &successors)[0], 0);
    }
}
