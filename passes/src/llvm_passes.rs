//! LLVM's passes that passes of ours run themselves: before, to get the form that they read, or
//! after, to remove what they leave. Those between our passes are steps of
//! [`pipeline`](crate::pipeline).
//!
//! A list is in the syntax of LLVM's `opt -passes=`. It runs over one function, unless it says
//! something else.

/// Defines the lists, and [`ALL`].
macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident = $passes:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $passes;)*

        /// All of them.
        pub const ALL: &[&str] = &[$($name),*];
    };
}

lists! {
    // Of several passes.

    /// Loops with one preheader and one latch, whose values are used outside by phis alone.
    LOOP_SIMPLIFY = "loop-simplify,lcssa";
    /// Branches that are decided.
    SIMPLIFY_CFG = "simplifycfg";
    /// Branches that are decided, and the form of the loops that are left.
    SIMPLIFY_CFG_AND_LOOPS = "simplifycfg,loop-simplify,lcssa";
    /// Of a module: functions and globals that nothing uses.
    GLOBAL_DCE = "globaldce";
    /// Of a module: functions and globals that nothing uses, and declarations.
    GLOBAL_DCE_AND_DECLARATIONS = "globaldce,strip-dead-prototypes";
    /// Of a module: bodies that were linked become part of their callers.
    INLINE_BODIES = "always-inline,globaldce";

    // Of the front end.

    /// `fold-ir-constants`: what follows from loads that became constants. `instsimplify` folds
    /// comparisons and negations, `simplifycfg` the branches on them.
    FOLD_CONSTANTS = "sccp,instsimplify,simplifycfg,dce";
    /// `fold-ir-constants`: variables to registers.
    PROMOTE = "sroa";
    /// `spec-constants`: what follows from constants in memory.
    FOLD_LOADED_CONSTANTS = "early-cse,sccp,instsimplify,simplifycfg,dce";
    /// `line-tables`, of a module: debug information but for places in the source.
    ONLY_LINE_TABLES = "strip-nonlinetable-debuginfo";
    /// `lower-unwind`, of a module: landing pads that nothing reaches.
    SIMPLIFY_UNWINDING = "function(simplifycfg)";
    /// `lower-unwind`, of a module: invokes become calls.
    LOWER_INVOKE = "function(lower-invoke,simplifycfg)";
    /// `simplify`, of a module: locals to registers.
    SIMPLIFY_LOCALS = "always-inline,globalopt,function(sroa,early-cse,simplifycfg)";
    /// `inline-refused`, of a module: locals to registers, with inlining from the bottom up.
    SIMPLIFY_INLINE = "cgscc(inline,function(sroa,early-cse,simplifycfg))";
    /// Of a module: locals to registers alone, where what is loaded from one may be the address of
    /// another.
    SIMPLIFY_NESTED_LOCALS = "\
        function(sroa,early-cse,instsimplify,sroa,early-cse,instsimplify,sroa,early-cse,simplifycfg,dse,adce)";
    /// `simplify` and `inline-refused`, of a module: what the lists above have made dead.
    SIMPLIFY_REMOVE = "\
        function(instsimplify,sroa,early-cse,simplifycfg,dse,adce,simplifycfg),\
        globalopt,globaldce,constmerge,strip-dead-prototypes";

    // Of GPUs.

    /// `promote-locals`: locals to registers, and what only computed their unused bits.
    PROMOTE_LOCALS = "sroa,bdce";
    /// `address-spaces`, of a module: copies of aggregates to registers.
    PROMOTE_COPIES = "function(sroa)";
    /// `address-spaces`, of a module: the address spaces of pointers that are computed.
    INFER_ADDRESS_SPACES = "function(infer-address-spaces,instsimplify,dse,dce),strip-dead-prototypes";
    /// `infer-alignment`: the alignment of accesses, from that of parameters.
    INFER_ALIGNMENT = "alignment-from-assumptions";
    /// `thread-headers`: the variables by which it threads jumps.
    THREADED_VARIABLES = "mem2reg,instsimplify,simplifycfg";
    /// `vectorize-relaxed`: addresses that are computed twice.
    EQUAL_ADDRESSES = "early-cse";
    /// `unroll-policy`: loops that are marked, and elements of arrays to registers.
    UNROLL_MARKED = "loop(loop-rotate,indvars,loop-unroll-full),sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg";
    /// `select-elements`: the arrays whose elements are selected.
    SELECTED_ELEMENTS = "sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,early-cse,dce";
    /// Of a module: what lives longer than a block is in memory.
    REGISTERS_TO_MEMORY = "function(reg2mem)";
    /// Of a module: instructions that nothing uses.
    DCE = "function(dce)";

    // Of the CPU.

    /// `split-at-barriers`, of a module, before: fewer values live across barriers then, and what is
    /// the same for all work-items is seen to be. Calls of barriers are convergent, so they are not
    /// cloned.
    BEFORE_SPLIT_AT_BARRIERS = "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,\
        jump-threading,correlated-propagation,instcombine<no-verify-fixpoint>,jump-threading,simplifycfg)";
    /// `split-at-barriers`, of a module, after: the old body, and places of single values.
    AFTER_SPLIT_AT_BARRIERS = "function(simplifycfg<no-switch-to-lookup;keep-loops>,sroa,early-cse<memssa>,\
        instcombine<no-verify-fixpoint>,simplifycfg)";
    /// `split-at-barriers`: loops with barriers of a small constant trip count.
    UNROLL_AROUND_BARRIERS = "loop-simplify,lcssa,loop-unroll<O3;no-partial;no-peeling;no-runtime;full-unroll-max=16>,\
        sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg";
    /// `forward-group-memory`, before: loops that `vectorize` marks become straight code, with
    /// addresses that are known.
    BEFORE_FORWARD_GROUP_MEMORY = "simplifycfg,loop-simplify,lcssa,loop(loop-unroll-full),simplifycfg,early-cse<memssa>,\
        instcombine<no-verify-fixpoint>,simplifycfg";
    /// `vectorize`, before: the form in which loops are vectorised. Small loops of a constant trip
    /// count become straight code, so that locals which they index become values. What these loops
    /// loaded moves out of the loops around them then.
    BEFORE_VECTORIZE = "lower-expect,sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,\
        simplifycfg,loop-mssa(loop-rotate,licm),loop(loop-unroll-full),sroa,early-cse<memssa>,\
        instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),loop-simplify,lcssa";
    /// `vectorize`, before, where iterations are independent: one counter, which all that counts with
    /// it becomes, and of which the values after the loop are computed.
    BEFORE_VECTORIZE_ITERATIONS = "loop(indvars),early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,\
        loop-simplify,lcssa";
    /// `vectorize`: what tables hold that are filled before a loop may be loaded there, too.
    LOADS_OF_TABLES = "early-cse<memssa>,loop-mssa(licm),loop-simplify,lcssa";
    /// `vectorize` and `split-clamps`, after loops were divided: the side that a loop does not take,
    /// and loops without effect.
    AFTER_SPLIT_RANGE = "simplifycfg,early-cse<memssa>,instcombine<no-verify-fixpoint>,\
        simplifycfg,loop-simplify,lcssa,loop(loop-deletion),simplifycfg,loop-simplify,lcssa";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without this option `instcombine` ends the process where one round leaves something to do, a
    /// check meant for LLVM's own tests.
    #[test]
    fn no_pass_may_end_the_process() {
        for passes in ALL {
            for (at, _) in passes.match_indices("instcombine") {
                let pass = &passes[at..];
                assert!(pass.starts_with("instcombine<no-verify-fixpoint>"), "{pass}");
            }
        }
    }
}
