//! Shares the iterations of a loop out among the lanes of a group.

use schism_llvm::{Builder, IntPredicate, Value};

use super::independent::{self, Found};
use super::team::Team;
use crate::ir::cfg::Cfg;
use crate::ir::clone;

/// A loop that stores nothing has so many iterations at least to be shared out: joining what lanes have takes
/// some barriers.
const TO_JOIN: u64 = 32;

/// Shares a loop of [`independent::shareable`] out, unless the condition does not hold: then all lanes run the
/// clone, which is as the loop was. Lanes meet before and after, and all have then what the loop reduces.
/// ```llvm
/// before:
///   br i1 %apart, label %enter, label %ordered.loop
/// enter:
///   call void @barrier()
///   %own.sum = select i1 %is.first, i64 %start, i64 0
///   %has.some = icmp ult i64 %lane, %count
///   br i1 %has.some, label %loop, label %leave
/// loop:
///   %iteration = phi i64 [ %lane, %enter ], [ %iteration.next, %latch ]
///   %sum = phi i64 [ %own.sum, %enter ], [ %sum.next, %latch ]
///   …
/// latch:
///   …
///   %iteration.next = add nuw i64 %iteration, %lanes
///   %goes.on = icmp ult i64 %iteration.next, %count
///   br i1 %goes.on, label %loop, label %leave
/// leave:
///   %of.lane = phi i64 [ %own.sum, %enter ], [ %sum.next, %latch ]
///   call void @barrier()
///   …                                              ; %of.all, by Team::join
///   br label %after
/// ```
pub(super) fn share_out<'m>(cfg: &Cfg<'m>, found: &Found<'m>, team: Team<'m>) {
    let of = &found.of;
    let (preheader, header) = (cfg.blocks[of.preheader], cfg.blocks[of.header]);
    let (latch, end) = (cfg.blocks[of.latch], preheader.end());
    let (mut apart, count) = independent::precondition(cfg, found);
    let builder = Builder::before(end);
    if !found.reductions.is_empty() {
        apart = builder.and(apart, team.can_join(&builder));
    }
    if !found.has_stores() {
        let enough = count.ty().const_int(TO_JOIN, false);
        apart = builder.and(apart, builder.icmp(IntPredicate::UGE, count, enough));
    }
    let cloned = clone::clone_loop(cfg, of);
    let function = header.function();
    let [enter, leave] = ["enter", "leave"].map(|name| function.append_block(name));
    enter.move_after(preheader);
    leave.move_after(latch);
    builder.cond_br(apart, enter, cloned.block(header));
    end.erase();

    let last = latch.end();
    let stays = u32::from(last.successor(0) != header);
    let after = last.successor(1 - stays);
    last.set_successor(1 - stays, leave);

    let in_enter = Builder::at_end(enter);
    if found.has_stores() {
        team.meet(&in_enter);
    }
    // What the loop leaves, and what all lanes have of it then.
    let mut results: Vec<(Value<'m>, Value<'m>)> = Vec::new();
    for own in &found.reductions {
        let start = own.phi.incoming(preheader).expect("a loop's phi has an edge from before");
        let start = own.start(&in_enter, start, team);
        own.drop_promises();
        let builder = Builder::before(own.phi);
        let phi = builder.phi(start.ty()).with_name(&own.phi.name());
        phi.add_incoming(start, enter);
        phi.add_incoming(own.last, latch);
        own.phi.replace_with(phi);
        results.push((own.last, start));
    }
    let builder = Builder::at_end(leave);
    for (last, result) in &mut results {
        let partial = builder.phi(last.ty());
        partial.add_incoming(*result, enter);
        partial.add_incoming(*last, latch);
        *result = partial;
    }
    if found.has_stores() {
        team.meet(&builder);
    }
    let mut joined = leave;
    for ((_, result), own) in results.iter_mut().zip(&found.reductions) {
        let join = |builder: &Builder<'m>, left, right| own.join(builder, left, right);
        (joined, *result) = team.join(joined, *result, join);
    }
    Builder::at_end(joined).br(after);
    for phi in after.phis() {
        let new = Builder::before(phi).phi(phi.ty()).with_name(&phi.name());
        for (value, from) in phi.incoming_edges() {
            let is_own = |(last, _): &&(Value<'m>, Value<'m>)| from == latch && *last == value;
            let value = results.iter().find(is_own).map_or(value, |(_, result)| *result);
            new.add_incoming(value, if from == latch { joined } else { from });
        }
        phi.replace_with(new);
    }

    independent::renumber(cfg, found, (enter, team.lane, team.lanes), |builder, next| {
        let predicate = if stays == 0 { IntPredicate::ULT } else { IntPredicate::UGE };
        builder.icmp(predicate, next, count)
    });
    let has_some = in_enter.icmp(IntPredicate::ULT, team.lane, count);
    in_enter.cond_br(has_some, header, leave);
}
