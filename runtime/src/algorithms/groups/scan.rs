//! Scans that read their input once: a tile for each group, and look-back.

use std::sync::atomic::Ordering::Relaxed;

use crate::algorithms::groups::in_order::InOrder;
use crate::algorithms::groups::look_back::State;
use crate::algorithms::groups::team::{GROUP, LANES, Scratch, Team, Unit, join};
use crate::algorithms::operand::Function;
use crate::api::queue::Queue;
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::group::local::Local;
use crate::kernel::group::nd_item::NdItem;
use crate::kernel::group::nd_range::NdRange;
use crate::kernel::unroll::unroll_full;

/// Writes the scan of what `transform` makes of the elements, after `init`: of each with those
/// before it, or, if `exclusive`, of those before it; then there is an initial value.
///
/// # Errors
/// [`LaunchError::Panicked`] also if a group waited too long for another one.
pub(in crate::algorithms) fn scan<S, T, M, F>(
    queue: &Queue,
    input: View<'_, S>,
    output: ViewMut<'_, T>,
    init: Option<T>,
    (transform, op): (M, F),
    exclusive: bool,
) -> Result<(), LaunchError>
where
    S: Element,
    T: Element,
    M: Fn(S) -> T + Function,
    F: Fn(T, T) -> T + Function,
{
    let len = input.raw().len();
    let tiles = len.div_ceil(Scratch::<T>::TILE);
    let mut state;
    let mut launches = InOrder::new(queue);
    // SAFETY: it lives longer than `launches`, and the launch uses it.
    state = unsafe { State::<T>::new(queue, &launches, tiles)? };
    let look_back = state.look_back();
    let range = NdRange::from_groups(tiles, GROUP)?;
    let kernel = move |work_item: NdItem<'_, 1>, memory: Local<'_, Unit>| {
        let mut team = Team::<T>::with_number(work_item, memory, || look_back.next_tile());
        let tile = look_back.tile_of(&team);
        let begin = tile.wrapping_mul(Scratch::<T>::TILE);
        let rest = len.wrapping_sub(begin);
        let count = if rest < Scratch::<T>::TILE { rest } else { Scratch::<T>::TILE };
        // SAFETY: the tile is one of those of the input, and `i < count`.
        let element =
            |i: usize| transform(unsafe { *input.raw().get_unchecked(begin.wrapping_add(i)) });
        team.load(count, element);
        if !team.wait() {
            return;
        }
        // SAFETY: all work-items have loaded their elements and waited.
        let own = unsafe { team.fold_run(count, op) };
        if !team.scan_totals(own, op) {
            return;
        }
        if team.sub_group.group_id() == 0 {
            // SAFETY: so many work-items have a run that is not empty.
            let total = unsafe { team.total(count.div_ceil(Scratch::<T>::RUN), op) };
            let before = look_back.before(&team, tile, total, init, op);
            if team.sub_group.local_id() == 0 {
                if let Some(before) = before {
                    // SAFETY: no other work-item accesses it before the next barrier.
                    unsafe { team.shared().write(before) };
                }
                team.number().store(u32::from(before.is_some()), Relaxed);
            }
        }
        if !team.wait() {
            return;
        }
        // SAFETY: the first sub-group has written it if it says so.
        let before_tile =
            (team.number().load(Relaxed) != 0).then(|| unsafe { team.shared().read() });
        let (first, end) = team.run(count);
        if first != end {
            // SAFETY: all work-items before this one have a run.
            let in_tile = unsafe { team.before(op) };
            let mut sum = match in_tile {
                Some(in_tile) => Some(join(before_tile, in_tile, op)),
                None => before_tile,
            };
            let is_full = count == Scratch::<T>::TILE;
            let mut step = 0;
            while step < Scratch::<T>::RUN {
                unroll_full();
                let index = first.wrapping_add(step);
                if is_full || index < end {
                    // SAFETY: an element of the own run, which no other work-item accesses between these
                    // barriers.
                    let own = unsafe { team.element(index).read() };
                    let with = join(sum, own, op);
                    let result = if exclusive { sum.unwrap_or(own) } else { with };
                    // SAFETY: as above.
                    unsafe { team.element(index).write(result) };
                    sum = Some(with);
                }
                step += 1;
            }
        }
        // Elements of a work-item that ends here are those of the input.
        team.item.barrier();
        let is_full = count == Scratch::<T>::TILE;
        let mut row = 0;
        while row < Scratch::<T>::RUN {
            unroll_full();
            let index = (row * GROUP).wrapping_add(team.own);
            if is_full || index < count {
                // SAFETY: there was a barrier; the output is as long as the input, and this
                // work-item alone writes the place.
                unsafe {
                    output.set_unchecked(begin.wrapping_add(index), team.element(index).read())
                };
            }
            row += 1;
        }
    };
    // SAFETY: the input's and output's memory lives for this call, and the state longer than
    // `launches`.
    unsafe { launches.launch(range, Scratch::<T>::source(), kernel)? };
    launches.finish()
}

const _: () = assert!(GROUP.is_multiple_of(LANES));
