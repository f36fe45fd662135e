//! What distinguishes compiled code of one kernel.

use std::fmt;

use crate::code::assumptions::{Assumptions, ConstantArgument};
use crate::launch::options::Math;

/// A specialization constant's symbol, and its value's bytes.
pub(crate) type ConstantValue = (String, Box<[u8]>);

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Variant {
    /// Whether it takes the launch's offset.
    pub(crate) offset: bool,
    pub(crate) math: Math,
    /// Whether mathematics comes from schism's own library.
    pub(crate) portable: bool,
    /// Whether it is of the image for the program's own process.
    pub(crate) in_process: bool,
    /// The values of specialization constants that are not the defaults, in the container's order.
    pub(crate) constants: Vec<ConstantValue>,
    /// On a GPU: whether the launch is divided into sub-grids.
    pub(crate) sub_grids: bool,
    /// The assumptions of a GPU's code.
    pub(crate) assumptions: Assumptions,
    /// The parameters with known values, by index.
    pub(crate) values: Vec<ConstantArgument>,
}

/// For the trace: words such as `index=32 block=256 divisible`, or `general`.
impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        for (is_so, word) in [
            (self.offset, "offset"),
            (self.math == Math::Relaxed, "math=relaxed"),
            (self.math == Math::RelaxedFinite, "math=relaxed-finite"),
            (self.portable, "math=portable"),
            (self.in_process, "in-process"),
            (self.sub_grids, "sub-grids"),
            (self.assumptions.small, "index=32"),
            (self.assumptions.divisible, "divisible"),
        ] {
            words.extend(is_so.then(|| word.to_owned()));
        }
        match self.assumptions.block {
            [0, ..] => {}
            [x, 1, 1] => words.push(format!("block={x}")),
            [x, y, z] => words.push(format!("block={x}x{y}x{z}")),
        }
        for (word, mask) in
            [("aligned", self.assumptions.aligned), ("narrow", self.assumptions.narrow)]
        {
            let params = (0..u64::BITS).filter(|index| mask >> index & 1 != 0);
            let params: Vec<String> = params.map(|index| index.to_string()).collect();
            if !params.is_empty() {
                words.push(format!("{word}={}", params.join(",")));
            }
        }
        words.extend(self.values.iter().map(|known| format!("{known:?}")));
        words.extend(self.constants.iter().map(|(symbol, _)| format!("constant={symbol}")));
        f.write_str(if words.is_empty() { "general" } else { "" })?;
        f.write_str(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        assert_eq!(Variant::default().to_string(), "general");
        let assumptions = Assumptions {
            small: true,
            divisible: true,
            block: [32, 8, 1],
            aligned: 0b101,
            narrow: 0b10,
        };
        let known =
            |param, bytes: &[u8]| ConstantArgument { param, offset: 0, bytes: bytes.into() };
        let values = vec![known(3, &[1, 0]), known(4, &[0xff])];
        let variant = Variant { assumptions, values, math: Math::Relaxed, ..Variant::default() };
        assert_eq!(
            variant.to_string(),
            "math=relaxed index=32 divisible block=32x8x1 aligned=0,2 narrow=1 value[3]=0x0001 value[4]=0xff"
        );
        let assumptions = Assumptions { block: [64, 1, 1], ..Assumptions::default() };
        assert_eq!(Variant { assumptions, ..Variant::default() }.to_string(), "block=64");
    }
}
