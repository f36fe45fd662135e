//! What comes before a tile: look-back that is decoupled (Merrill and Garland, "Single-pass
//! parallel prefix scan with decoupled look-back", 2016) and reproducible.
//!
//! A group publishes the value of its tile, and then finds out what comes before it from what
//! others have published. In the original, a group combines whatever it meets first, so that the
//! rounding of floats depends on chance. Here there are two levels, and each has one order:
//!
//! ```text
//! tiles    t0 t1 … t31 | t32 t33 … t63 | t64 …     a block has 32 tiles
//! blocks        B0     |      B1       | B2        B1 = the values of its tiles, as a tree
//! before                P1              P2         P2 = P1 · B1, always from the left
//! ```
//!
//! What comes before tile 66 is P2 and then the tree over t64 and t65. The last tile of a block
//! publishes the value of the block, and then what comes before the next one. The others
//! need not wait for that: from any P that is there they go on to theirs, by the values of the
//! blocks between.
//!
//! A state is a word whose upper half says what is there. A number of four bytes is in the lower
//! half, so that a thread that reads the state has the value, too; other values are elsewhere, and are
//! read after a fence.
//!
//! Groups get their tiles from a counter, so that all before are running or have ended. Still, one
//! may have ended since a closure panicked. Waits are bounded; after that the kernel panics, too,
//! and the caller runs another form of the algorithm.

use std::any::TypeId;
use std::mem::{MaybeUninit, transmute_copy};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::algorithms::groups::in_order::InOrder;
use crate::algorithms::groups::team::{LANES, Team, join, scan_lanes};
use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::atomic::memory_scope::Device;
use crate::kernel::atomic::{AtomicRef, fence};
use crate::kernel::element::Element;
use crate::kernel::pause::pause;

/// The value of a tile or a block is there.
const VALUE: u64 = 1 << 32;
/// What comes before the next block is there, too.
const BEFORE_NEXT: u64 = 2 << 32;

/// The part of a state that says what is there.
const FLAG: u64 = !(u32::MAX as u64);

/// Whether the state of a value contains it: of numbers of four bytes, all of which are
/// initialised.
#[inline(always)]
fn is_in_state<T: 'static>() -> bool {
    let own = TypeId::of::<T>();
    size_of::<T>() == 4
        && (own == TypeId::of::<u32>() || own == TypeId::of::<i32>() || own == TypeId::of::<f32>())
}

/// Looks at the same states before a group gives up: some 20 ms on a GPU.
pub(super) const MOST_LOOKS: u32 = 1 << 15;

/// After so many looks, one at whether others have given up.
pub(super) const PATIENCE: u32 = 1 << 6;

/// The state of a scan in the device's memory.
#[derive(Debug)]
pub(super) struct State<T: Element> {
    tiles: usize,
    blocks: usize,
    /// The next tile; whether a group has given up; a state of each tile, and of each block.
    words: Buffer<u64>,
    /// Of each tile, of each block, and what comes before the block behind it.
    values: Buffer<MaybeUninit<T>>,
}

impl<T: Element> State<T> {
    /// # Safety
    /// Only what is launched by `launches` from now on uses it, and it is not dropped before these.
    pub(super) unsafe fn new(
        queue: &Queue,
        launches: &InOrder<'_>,
        tiles: usize,
    ) -> Result<Self, LaunchError> {
        let blocks = tiles.div_ceil(LANES);
        Ok(Self {
            tiles,
            blocks,
            // SAFETY: zeros are numbers; the caller's promises.
            words: unsafe { launches.zeros(2 + tiles + blocks)? },
            values: Buffer::<T>::uninit(queue, tiles + 2 * blocks)?,
        })
    }

    /// What the kernel captures.
    pub(super) fn look_back(&mut self) -> LookBack<'_, T> {
        let Self { tiles, blocks, words, values } = self;
        LookBack {
            tiles: *tiles,
            blocks: *blocks,
            words: words.atomic_view(),
            values: values.view_mut(),
        }
    }
}

/// The delay before a group looks back for the first time, in nanoseconds: about as long as the groups
/// before it take to load their tiles. Groups that poll meanwhile slow down these loads. On an H100,
/// scans of 2^26 elements take .85 to .88 of the time that they take without a delay.
const DELAY: u32 = 1800;

/// The delay pays from so many tiles on. The groups of fewer tiles all run at the same time.
const MANY: usize = 512;

/// Called by a sub-group after it has published what its tile has, and before it looks back.
#[inline(always)]
pub(super) fn delay_look_back(tiles: usize) {
    if tiles >= MANY {
        pause(DELAY);
    }
}

/// The kernel's side of a [`State`].
#[derive(Debug)]
pub(super) struct LookBack<'a, T: Element> {
    tiles: usize,
    blocks: usize,
    words: View<'a, AtomicU64>,
    values: ViewMut<'a, MaybeUninit<T>>,
}

impl<T: Element> LookBack<'_, T> {
    /// The next tile, with which the first work-item of a group makes the [`Team`]. Tiles are handed
    /// out in their order, so that the groups of those before a tile run already.
    #[inline(always)]
    pub(super) fn next_tile(&self) -> u32 {
        self.word(0).fetch_add(1, Relaxed) as u32
    }

    /// The tile of a group that was made so.
    #[inline(always)]
    pub(super) fn tile_of(&self, team: &Team<'_, T>) -> usize {
        let tile = team.number().load(Relaxed) as usize;
        // There are as many groups as tiles.
        if tile < self.tiles { tile } else { 0 }
    }

    /// `index` is less than the number of words.
    #[inline(always)]
    fn word(&self, index: usize) -> AtomicRef<'_, AtomicU64, Device> {
        // SAFETY: as above.
        AtomicRef::new(unsafe { self.words.raw().get_unchecked(index) })
    }

    #[inline(always)]
    fn state_of_tile(&self, tile: usize) -> AtomicRef<'_, AtomicU64, Device> {
        self.word(tile.wrapping_add(2))
    }

    #[inline(always)]
    fn state_of_block(&self, block: usize) -> AtomicRef<'_, AtomicU64, Device> {
        self.word(self.tiles.wrapping_add(block).wrapping_add(2))
    }

    /// Publishes a value, and says so in its state.
    ///
    /// # Safety
    /// `index` is that of the value, which no other thread publishes.
    #[inline(always)]
    unsafe fn publish(
        &self,
        state: AtomicRef<'_, AtomicU64, Device>,
        flag: u64,
        index: usize,
        value: T,
    ) {
        if is_in_state::<T>() {
            // SAFETY: a number of four bytes.
            let bits = unsafe { transmute_copy::<T, u32>(&value) };
            state.store(flag | u64::from(bits), Relaxed);
        } else {
            // SAFETY: the index is less than the number of values; the caller excludes others.
            unsafe { self.values.set_unchecked(index, MaybeUninit::new(value)) };
            state.store(flag, Release);
        }
    }

    /// A value whose state is `seen`.
    ///
    /// # Safety
    /// The state says that the value with this index is there, and after it was read there was
    /// [`after_states`](Self::after_states).
    #[inline(always)]
    unsafe fn get(&self, seen: u64, index: usize) -> T {
        if is_in_state::<T>() {
            // SAFETY: a number of four bytes.
            return unsafe { transmute_copy::<u32, T>(&(seen as u32)) };
        }
        // SAFETY: it was written, and there was a fence.
        unsafe { self.values.get_unchecked(index).assume_init() }
    }

    /// Between reading states and values.
    #[inline(always)]
    fn after_states(&self) {
        if !is_in_state::<T>() {
            fence::<Device>(Acquire);
        }
    }

    /// Publishes the `total` of the group's `tile`, and combines what comes before it, after
    /// `init`. All lanes of one sub-group call it, and get the same.
    #[inline(always)]
    pub(super) fn before(
        &self,
        team: &Team<'_, T>,
        tile: usize,
        total: T,
        init: Option<T>,
        op: impl Fn(T, T) -> T + Copy,
    ) -> Option<T> {
        let lane = team.sub_group.local_id();
        let (block, place) = (tile / LANES, tile % LANES);
        if lane == 0 {
            // SAFETY: each tile has one group, and that one lane 0 in this sub-group.
            unsafe { self.publish(self.state_of_tile(tile), VALUE, tile, total) };
        }
        delay_look_back(self.tiles);
        // The tiles of the block before this one.
        let mut in_block = None;
        if place != 0 {
            let other = (block * LANES).wrapping_add(lane);
            let mut looks = 0;
            let seen = loop {
                let seen = if lane < place { self.state_of_tile(other).load(Relaxed) } else { 0 };
                if team.sub_group.all(lane >= place || seen & FLAG == VALUE) {
                    break seen;
                }
                self.be_patient(team, &mut looks);
            };
            self.after_states();
            // SAFETY: it is there.
            let own = (lane < place).then(|| unsafe { self.get(seen, other) });
            // SAFETY: the sub-group's own memory; values of the first lanes.
            unsafe {
                if let Some(own) = own {
                    team.of_lane(lane).write(own);
                }
                team.sub_group.barrier();
                scan_lanes(team.sub_group, team.of_lane(0), own, op);
                in_block = Some(team.of_lane(place.wrapping_sub(1)).read());
            }
            team.sub_group.barrier();
        }
        let is_last = place == LANES - 1;
        let of_block = is_last.then(|| join(in_block, total, op));
        if let (Some(of_block), 0) = (of_block, lane) {
            let index = self.tiles.wrapping_add(block);
            // SAFETY: each block has one last tile.
            unsafe { self.publish(self.state_of_block(block), VALUE, index, of_block) };
        }
        let before_block = if block == 0 { init } else { Some(self.before_block(team, block, op)) };
        if let (Some(of_block), 0) = (of_block, lane) {
            let before_next = join(before_block, of_block, op);
            let index = self.tiles.wrapping_add(self.blocks).wrapping_add(block);
            // SAFETY: as above.
            unsafe { self.publish(self.state_of_block(block), BEFORE_NEXT, index, before_next) };
        }
        match in_block {
            Some(in_block) => Some(join(before_block, in_block, op)),
            None => before_block,
        }
    }

    /// What comes before `block`, which is not the first one: from the last place that is known.
    #[inline(always)]
    fn before_block(&self, team: &Team<'_, T>, block: usize, op: impl Fn(T, T) -> T + Copy) -> T {
        let lane = team.sub_group.local_id();
        // Lane 0 looks at the block before this one, lane 1 at the one before that.
        let other = block.wrapping_sub(1).wrapping_sub(lane);
        let mut looks = 0;
        let (seen, nearest) = loop {
            let seen = if lane < block { self.state_of_block(other).load(Relaxed) } else { 0 };
            let nearest = team.sub_group.ballot(seen & FLAG == BEFORE_NEXT).trailing_zeros();
            let missing = team.sub_group.ballot(seen & FLAG == 0).trailing_zeros();
            if nearest < missing {
                break (seen, nearest as usize);
            }
            self.be_patient(team, &mut looks);
        };
        self.after_states();
        if lane <= nearest {
            let kind = if lane == nearest { self.blocks } else { 0 };
            // SAFETY: it is there; the lane's own memory.
            unsafe {
                let value = self.get(seen, self.tiles.wrapping_add(kind).wrapping_add(other));
                team.of_lane(lane).write(value);
            }
        }
        team.sub_group.barrier();
        // SAFETY: the lanes up to the nearest have written theirs.
        let mut sum = unsafe { team.of_lane(nearest).read() };
        let mut next = nearest;
        while next != 0 {
            next = next.wrapping_sub(1);
            // SAFETY: as above.
            sum = op(sum, unsafe { team.of_lane(next).read() });
        }
        team.sub_group.barrier();
        sum
    }

    /// Called by all lanes of a sub-group between two looks.
    ///
    /// # Panics
    /// If there were too many of them.
    #[inline(always)]
    fn be_patient(&self, team: &Team<'_, T>, looks: &mut u32) {
        std::hint::spin_loop();
        *looks = looks.wrapping_add(1);
        if looks.is_multiple_of(PATIENCE) {
            let others = self.word(1).load(Relaxed) != 0;
            if team.sub_group.any(others || *looks >= MOST_LOOKS) {
                self.word(1).store(1, Relaxed);
                panic!("work-groups before this one have ended");
            }
        }
    }
}
