//! Strongly connected components, by Tarjan's algorithm.

use super::resolve::Import;

/// The components of more than one file, each in ascending order.
pub fn of(files: usize, imports: &[Import]) -> Vec<Vec<usize>> {
    let mut targets = vec![Vec::new(); files];
    for import in imports {
        targets[import.from].push(import.to);
    }
    let mut search = Search {
        targets,
        number: vec![None; files],
        lowest: vec![0; files],
        open: Vec::new(),
        is_open: vec![false; files],
        next: 0,
        found: Vec::new(),
    };
    for file in 0..files {
        if search.number[file].is_none() {
            search.visit(file);
        }
    }
    search.found.sort();
    search.found
}

struct Search {
    targets: Vec<Vec<usize>>,
    /// In which order files were met.
    number: Vec<Option<usize>>,
    /// The lowest number of an open file that can be reached.
    lowest: Vec<usize>,
    /// Files that are met, and whose component is not known.
    open: Vec<usize>,
    is_open: Vec<bool>,
    next: usize,
    found: Vec<Vec<usize>>,
}

impl Search {
    fn visit(&mut self, file: usize) {
        let number = self.next;
        self.next += 1;
        self.number[file] = Some(number);
        self.lowest[file] = number;
        self.open.push(file);
        self.is_open[file] = true;
        for target in self.targets[file].clone() {
            match self.number[target] {
                None => {
                    self.visit(target);
                    self.lowest[file] = self.lowest[file].min(self.lowest[target]);
                }
                Some(met) if self.is_open[target] => {
                    self.lowest[file] = self.lowest[file].min(met);
                }
                Some(_) => {}
            }
        }
        if self.lowest[file] != number {
            return;
        }
        let from = self.open.iter().position(|open| *open == file).expect("it was put there");
        let mut component = self.open.split_off(from);
        component.iter().for_each(|member| self.is_open[*member] = false);
        if component.len() > 1 {
            component.sort_unstable();
            self.found.push(component);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
        let import =
            |&(from, to): &(usize, usize)| Import { from, to, line: 1, path: String::new() };
        of(files, &edges.iter().map(import).collect::<Vec<_>>())
    }

    #[test]
    fn chains_and_diamonds_have_none() {
        assert!(circles(4, &[(0, 1), (1, 2), (0, 3), (3, 2)]).is_empty());
    }

    #[test]
    fn circles_are_told_apart() {
        let edges = [(0, 1), (1, 0), (1, 2), (2, 3), (3, 4), (4, 2), (5, 0), (4, 6)];
        assert_eq!(circles(7, &edges), [vec![0, 1], vec![2, 3, 4]]);
    }

    #[test]
    fn circles_with_a_file_in_common_are_one() {
        assert_eq!(circles(3, &[(0, 1), (1, 0), (1, 2), (2, 1)]), [vec![0, 1, 2]]);
    }
}
