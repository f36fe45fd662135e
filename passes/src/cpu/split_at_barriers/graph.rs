//! Small directed graphs over numbered blocks: dominators of a part of a function, or of its
//! reverse.

/// The immediate dominators of a graph's nodes.
pub(super) struct Dominators {
    /// `None` for nodes that the root does not reach; the root's is itself.
    immediate: Vec<Option<usize>>,
    /// The reverse-post-order number.
    number: Vec<usize>,
}

impl Dominators {
    /// Of the graph with the given successors of each node (Cooper, Harvey and Kennedy).
    pub(super) fn of(root: usize, successors: &[Vec<usize>]) -> Self {
        let order = reverse_post_order(root, successors);
        let mut number = vec![usize::MAX; successors.len()];
        for (at, &node) in order.iter().enumerate() {
            number[node] = at;
        }
        let mut predecessors = vec![Vec::new(); successors.len()];
        for &node in &order {
            for &next in &successors[node] {
                predecessors[next].push(node);
            }
        }
        let mut immediate: Vec<Option<usize>> = vec![None; successors.len()];
        immediate[root] = Some(root);
        let mut changed = true;
        while changed {
            changed = false;
            for &node in order.iter().skip(1) {
                let mut common: Option<usize> = None;
                for &from in &predecessors[node] {
                    if immediate[from].is_none() {
                        continue;
                    }
                    common = Some(match common {
                        None => from,
                        Some(common) => meet(common, from, &immediate, &number),
                    });
                }
                if common != immediate[node] {
                    immediate[node] = common;
                    changed = true;
                }
            }
        }
        Self { immediate, number }
    }

    /// The immediate dominator of a node other than the root that the root reaches.
    pub(super) fn immediate(&self, node: usize) -> Option<usize> {
        self.immediate[node].filter(|above| *above != node)
    }

    /// Whether every path from the root to `below` leads through `above`.
    pub(super) fn dominates(&self, above: usize, below: usize) -> bool {
        if self.immediate[above].is_none() || self.immediate[below].is_none() {
            return false;
        }
        let mut node = below;
        while self.number[node] > self.number[above] {
            match self.immediate[node] {
                Some(next) => node = next,
                None => return false,
            }
        }
        node == above
    }
}

fn meet(a: usize, b: usize, immediate: &[Option<usize>], number: &[usize]) -> usize {
    let (mut a, mut b) = (a, b);
    while a != b {
        let later = if number[a] > number[b] { &mut a } else { &mut b };
        match immediate[*later] {
            Some(next) => *later = next,
            // Both are reached from the root, so neither walk ends before they meet.
            None => return a.min(b),
        }
    }
    a
}

/// The nodes that a root reaches, each behind all that dominate it.
pub(super) fn reverse_post_order(root: usize, successors: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; successors.len()];
    let mut order = Vec::new();
    let mut path = vec![(root, 0)];
    seen[root] = true;
    while let Some((node, followed)) = path.last_mut() {
        if let Some(&next) = successors[*node].get(*followed) {
            *followed += 1;
            if !seen[next] {
                seen[next] = true;
                path.push((next, 0));
            }
        } else {
            order.push(*node);
            path.pop();
        }
    }
    order.reverse();
    order
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
