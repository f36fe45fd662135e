//! The steps of pipelines that a target of stage 2 runs itself, because they need the launch.

use std::fmt;

/// Defines the steps and their names.
macro_rules! steps {
    ($($(#[$doc:meta])* $Step:ident = $name:literal,)*) => {
        /// A step that a target of stage 2 runs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum TargetStep {
            $($(#[$doc])* $Step,)*
        }

        impl TargetStep {
            /// The step's name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Step => $name,)*
                }
            }
        }
    };
}

steps! {
    // Of several targets.
    /// Links the mathematics that the device has not.
    LinkDeviceLibrary = "link-device-library",
    /// Defines what reads the clock.
    DefineClock = "define-clock",
    /// Defines what a work-item does that waits for another.
    DefinePause = "define-pause",
    /// Chooses what is inlined before LLVM does.
    ChooseInlining = "choose-inlining",
    /// Has everything inlined that the kernel calls.
    InlineAll = "inline-all",
    /// Makes the kernel an entry, or the body of a loop over work-items.
    WrapKernel = "wrap-kernel",
    /// Gives builtins their bodies.
    ResolveBuiltins = "resolve-builtins",
    /// Keeps a multiplication and an addition two operations.
    UnfuseMultiplyAdd = "unfuse-multiply-add",
    /// Keeps the address of a function from being read as that of a descriptor.
    HideCode = "hide-code",
    /// Atomics that the device has for other sizes alone.
    NarrowAtomics = "narrow-atomics",
    /// Registers and barriers become those of the target.
    LowerRegisters = "lower-registers",
    /// Compares addresses as numbers, since in address spaces an address may be 0.
    CompareAddresses = "compare-addresses",
    /// Tells the passes which function is the kernel.
    NameKernel = "name-kernel",
    /// Writes the module that is legal for the target, for people.
    DumpLegalized = "dump-legalized",
    /// Removes fences between accesses of one work-item.
    DropOwnFences = "drop-own-fences",
    /// Removes hidden parameters that nothing reads.
    TrimParameters = "trim-parameters",
    /// Panics write their message.
    ExpandPanics = "expand-panics",
    /// Inlines what ends a work-item into the entry.
    EndWorkItems = "end-work-items",
    /// Removes what unwinding needs.
    ForgetUnwinding = "forget-unwinding",
    /// Writes the module that code is generated of, for people.
    DumpOptimized = "dump-optimized",

    // Of the CPU.
    /// Defines `dprintln!`.
    DefinePrint = "define-print",
    /// Gives the allocator's functions the names that LLVM knows.
    NameAllocator = "name-allocator",
    /// Tells LLVM that the iterations of the loop over work-items are independent.
    MarkParallelLoop = "mark-parallel-loop",
    /// Adds the function that the runtime calls.
    AddEntry = "add-entry",
    /// Defines how a work-item that panics is left.
    DefinePanicExit = "define-panic-exit",
    /// Has large frames touch each page.
    ProbeStack = "probe-stack",

    // Of PTX.
    /// Orders the atomics of a work-item.
    OrderAtomics = "order-atomics",
    /// Removes masks of numbers that are multiples.
    UnmaskMultiples = "unmask-multiples",
    /// Places what the entry got from other functions in its own source.
    AdoptLines = "adopt-lines",

    // Of SPIR-V.
    /// Calls through pointers choose among functions.
    DispatchCalls = "dispatch-calls",
    /// Integers of more bits than the device has.
    ExpandWideIntegers = "expand-wide-integers",
    /// Atomics that the device has not.
    ExpandAtomics = "expand-atomics",
    /// Fills of memory become loops.
    ExpandFills = "expand-fills",
    /// Brings branches into an order that drivers' vectorisers understand.
    ReorderBranches = "reorder-branches",
    /// Aggregates become their parts.
    SplitAggregates = "split-aggregates",

    // Of AMD's GPUs.
    /// Work-items end by a return of the entry.
    LeaveByReturn = "leave-by-return",
    /// Gives atomics and fences the target's scopes.
    NameScopes = "name-scopes",
    /// Tells LLVM how large groups are.
    BoundLaunches = "bound-launches",
}

/// The name.
impl fmt::Display for TargetStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
