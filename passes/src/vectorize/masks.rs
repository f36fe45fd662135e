//! Masks: for which lanes code runs.
//!
//! A mask has two parts. A uniform branch decides for all lanes, and stays a scalar condition: code
//! behind it runs for all lanes or not at all. A divergent branch decides for each lane, by a
//! vector of conditions. Lanes that are off may have computed `poison`, so conditions are joined by
//! `select`, whose other arm does not count, and never by `and`.

use schism_llvm::{Builder, IntPredicate, Type, Value};

/// For which lanes code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mask<'m> {
    /// Whether it runs at all; without a value it does.
    pub uniform: Option<Value<'m>>,
    /// Which lanes it runs for; without a value for all.
    pub lanes: Option<Value<'m>>,
}

impl<'m> Mask<'m> {
    /// All lanes.
    pub const FULL: Self = Self { uniform: None, lanes: None };

    /// These lanes.
    pub fn of_lanes(lanes: Value<'m>) -> Self {
        Self { uniform: None, lanes: Some(lanes) }
    }

    /// Whether it is all lanes, whatever happens.
    pub fn is_full(self) -> bool {
        self == Self::FULL
    }

    /// The same for code that runs only if any lane does.
    pub fn entered(self) -> Self {
        Self { uniform: None, ..self }
    }
}

/// Makes masks for a number of lanes.
pub(super) struct Masks<'a, 'm> {
    pub builder: &'a Builder<'m>,
    pub lanes: u32,
}

impl<'m> Masks<'_, 'm> {
    /// The type of a condition.
    fn condition(&self, like: Value<'m>) -> Type<'m> {
        like.context().int_type(1)
    }

    /// `a && b`, where `b` counts only if `a` holds.
    pub fn both(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        if a.is_constant_int() && !a.is_zero() {
            return b;
        }
        self.builder.select(a, b, b.ty().zero())
    }

    /// The part of a mask for which a uniform condition holds.
    pub fn and_uniform(&self, mask: Mask<'m>, condition: Value<'m>) -> Mask<'m> {
        let uniform = match mask.uniform {
            Some(known) => self.both(known, condition),
            None => condition,
        };
        Mask { uniform: Some(uniform), ..mask }
    }

    /// The lanes of a mask for which a condition of each lane holds. Where the code of the mask
    /// does not run, the conditions may be `poison`.
    pub fn and_lanes(&self, mask: Mask<'m>, condition: Value<'m>) -> Mask<'m> {
        let mut lanes = condition;
        if let Some(uniform) = mask.uniform {
            lanes = self.both(uniform, lanes);
        }
        if let Some(known) = mask.lanes {
            lanes = self.both(known, lanes);
        }
        Mask::of_lanes(lanes)
    }

    /// A mask as one vector.
    pub fn vector(&self, mask: Mask<'m>, like: Value<'m>) -> Value<'m> {
        let condition = self.condition(like);
        let all = || self.builder.splat(condition.const_int(1, false), self.lanes);
        match (mask.uniform, mask.lanes) {
            (None, None) => all(),
            (None, Some(lanes)) => lanes,
            (Some(uniform), None) => self.builder.splat(uniform, self.lanes),
            (Some(uniform), Some(lanes)) => {
                self.both(lanes, self.builder.splat(uniform, self.lanes))
            }
        }
    }

    /// Whether any lane of a vector is on.
    pub fn any_lane(&self, lanes: Value<'m>) -> Value<'m> {
        let bits = lanes.context().int_type(self.lanes);
        let number = self.builder.bitcast(lanes, bits);
        self.builder.icmp(IntPredicate::NE, number, bits.zero())
    }

    /// Whether any lane is on.
    pub fn any(&self, mask: Mask<'m>, like: Value<'m>) -> Value<'m> {
        match (mask.uniform, mask.lanes) {
            (None, None) => self.condition(like).const_int(1, false),
            (Some(uniform), None) => uniform,
            (None, Some(lanes)) => self.any_lane(lanes),
            (Some(uniform), Some(lanes)) => self.both(self.any_lane(lanes), uniform),
        }
    }

    /// The lanes that are on in any of some masks, of which no two have a lane in common.
    pub fn union(&self, masks: &[Mask<'m>], like: Value<'m>) -> Mask<'m> {
        let Some((&first, rest)) = masks.split_first() else { return Mask::FULL };
        if rest.is_empty() {
            return first;
        }
        if rest.iter().all(|mask| mask.lanes == first.lanes) {
            let mut uniform = first.uniform;
            for mask in rest {
                uniform = match (uniform, mask.uniform) {
                    (Some(a), Some(b)) => {
                        Some(self.builder.select(a, a.ty().const_int(1, false), b))
                    }
                    _ => None,
                };
            }
            return Mask { uniform, lanes: first.lanes };
        }
        let mut lanes = self.vector(first, like);
        for &mask in rest {
            lanes = self.builder.or(lanes, self.vector(mask, like));
        }
        Mask::of_lanes(lanes)
    }
}
