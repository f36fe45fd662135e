//! Generated source text as a tree, so that the reducer knows where expressions and statements
//! begin and end.

use super::types::Type;

/// A piece of source text.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// Text as it is.
    Text(String),
    /// Pieces that belong together.
    Group(Vec<Node>),
    /// An expression: any other of its type may stand in its place.
    Expr(Type, Vec<Node>),
    /// A statement, an item, an arm: the text may do without it.
    Part(Vec<Node>),
}

impl Node {
    /// Text as it is.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// `template` with a child in place of each `$`.
    ///
    /// # Panics
    /// If there are not as many children as places.
    pub(crate) fn group(template: &str, children: impl IntoIterator<Item = Self>) -> Self {
        Self::Group(fill(template, children))
    }

    /// An expression of type `ty`, see [`Node::group`].
    pub(crate) fn expr(
        ty: &Type,
        template: &str,
        children: impl IntoIterator<Item = Self>,
    ) -> Self {
        Self::Expr(ty.clone(), fill(template, children))
    }

    /// A part that can be left out, see [`Node::group`].
    pub(crate) fn part(template: &str, children: impl IntoIterator<Item = Self>) -> Self {
        Self::Part(fill(template, children))
    }

    /// The source text.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        self.render_to(&mut text);
        text
    }

    fn render_to(&self, to: &mut String) {
        match self {
            Self::Text(text) => to.push_str(text),
            _ => self.children().iter().for_each(|child| child.render_to(to)),
        }
    }

    /// What it consists of.
    pub(crate) fn children(&self) -> &[Self] {
        match self {
            Self::Text(_) => &[],
            Self::Group(children) | Self::Expr(_, children) | Self::Part(children) => children,
        }
    }

    fn children_mut(&mut self) -> &mut [Self] {
        match self {
            Self::Text(_) => &mut [],
            Self::Group(children) | Self::Expr(_, children) | Self::Part(children) => children,
        }
    }

    /// The number of nodes, this one included.
    pub(crate) fn size(&self) -> usize {
        1 + self.children().iter().map(Self::size).sum::<usize>()
    }

    /// The node with number `index` in the order of their text, this one being 0.
    pub(crate) fn at_mut(&mut self, index: usize) -> Option<&mut Self> {
        if index == 0 {
            return Some(self);
        }
        let mut left = index - 1;
        for child in self.children_mut() {
            let size = child.size();
            if left < size {
                return child.at_mut(left);
            }
            left -= size;
        }
        None
    }
}

fn fill(template: &str, children: impl IntoIterator<Item = Node>) -> Vec<Node> {
    let mut children = children.into_iter();
    let mut nodes = Vec::new();
    for (number, piece) in template.split('$').enumerate() {
        if number > 0 {
            nodes.push(children.next().unwrap_or_else(|| panic!("too few children: {template}")));
        }
        if !piece.is_empty() {
            nodes.push(Node::text(piece));
        }
    }
    assert!(children.next().is_none(), "too many children: {template}");
    nodes
}
