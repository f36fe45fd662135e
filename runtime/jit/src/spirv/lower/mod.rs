//! LLVM IR to SPIR-V, in the form that OpenCL's kernels have.
//!
//! ```llvm
//! define ptx_kernel void @twice(ptr addrspace(1) %p0) {
//!   %at = getelementptr inbounds float, ptr addrspace(1) %p0, i64 %x
//!   %value = load float, ptr addrspace(1) %at, align 4
//! ```
//! becomes
//! ```text
//!    %twice = OpFunction %void None %type
//!       %p0 = OpFunctionParameter %_ptr_CrossWorkgroup_uchar
//!       %60 = OpBitcast %_ptr_CrossWorkgroup_float %p0
//!       %61 = OpInBoundsPtrAccessChain %_ptr_CrossWorkgroup_float %60 %x
//!       %at = OpBitcast %_ptr_CrossWorkgroup_uchar %61
//!       %62 = OpBitcast %_ptr_CrossWorkgroup_float %at
//!    %value = OpLoad %float %62 Aligned 4
//! ```
//!
//! LLVM's pointers have no type of what they point to, and SPIR-V's have one: between instructions
//! all are pointers to bytes. Control flow needs no structure in kernels, so each block of LLVM's
//! becomes one of SPIR-V's.
//!
//! An integer of 7 bits, as LLVM sometimes makes, is held in the next larger one of SPIR-V, and its
//! other bits are always 0. A single bit is a `bool`.
//!
//! | file | what |
//! |---|---|
//! | `assembler` | the module's sections, and what it requires |
//! | `types` | types |
//! | `constants` | constants |
//! | `globals` | variables of the module, and what they contain |
//! | `hoisted_loads` | loads that drivers hoist to the kernel's begin |
//! | `functions` | functions, blocks, phis |
//! | `instructions` | arithmetic, comparisons, casts |
//! | `memory` | addresses, loads, stores, copies |
//! | `atomics` | atomic accesses, fences |
//! | `calls` | calls, LLVM's intrinsics |
//! | `overflow` | intrinsics that tell whether a result fits, or make it fit |
//! | `reductions` | reductions of vectors of integers |
//! | `registers` | where a work-item is, barriers |
//! | `int128` | integers of more than 64 bits |
//! | `sub_groups` | operations of sub-groups |
//! | `sums` | loops whose order of operations drivers change |
//! | `uniform` | instructions that drivers take for the same in all work-items |
//!
//! What cannot be lowered is [refused](Refusal) by its name.

mod assembler;
mod atomics;
mod calls;
mod constants;
mod functions;
mod globals;
mod hoisted_loads;
mod instructions;
mod int128;
mod memory;
mod overflow;
mod reductions;
mod registers;
mod sub_groups;
mod sums;
mod types;
mod uniform;

use std::collections::{BTreeMap, HashMap, HashSet};

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{
    AddressingModel, BuiltIn, Capability, ExecutionMode, ExecutionModel, MemoryModel, Op,
    OpenclStd100Op as OpenCl, SourceLanguage, Word,
};
use schism_llvm::{AsModule, Block, DataLayout, ModuleRef, Value};

use crate::gpu::builtins::DEVICE_BARRIER;
use crate::gpu::options::GpuOptions;
use assembler::Assembler;

/// What the module has that SPIR-V's kernels cannot.
#[derive(Debug)]
pub struct Refusal(pub String);

/// A result of lowering.
pub type Lowered<T> = Result<T, Refusal>;

/// The parameters of an entry that is launched in one dimension: the sizes of its groups, and how
/// many groups there are, each a 32-bit number for x, y and z.
const SIZES: usize = 6;

/// Refuses with a text.
fn refuse<T>(what: impl Into<String>) -> Lowered<T> {
    Err(Refusal(what.into()))
}

/// A module as SPIR-V.
pub struct Binary {
    /// The words.
    pub words: Vec<u32>,
    /// Whether the entry takes the group's local memory, after all other parameters.
    pub takes_local: bool,
    /// Whether the entry has operations of sub-groups.
    pub sub_groups: bool,
}

/// Lowers a module with one kernel, the function `entry`, for ranges of so many dimensions. The
/// argument for the group's local memory is large enough for what that has to be aligned to,
/// wherever it begins.
pub fn lower<'m>(
    module: &'m impl AsModule,
    entry: Value<'m>,
    dimensions: u32,
    options: &GpuOptions,
) -> Lowered<Binary> {
    let mut lowering = Lowering::new(module.handle(), entry);
    lowering.local_align = options.local_align;
    lowering.group = options.group;
    lowering.sub_groups = has_sub_groups(module);
    lowering.waits = lowering.sub_groups || has_barriers(module);
    lowering.in_line = is_in_line(module, dimensions);
    let takes_local = lowering.module()?;
    let sub_groups = lowering.sub_groups;
    Ok(Binary { words: lowering.out.finish(), takes_local, sub_groups })
}

/// Whether a kernel with a range of so many dimensions is launched in one.
pub fn is_in_line(module: &impl AsModule, dimensions: u32) -> bool {
    dimensions > 1 && has_sub_groups(module)
}

fn has_sub_groups(module: &impl AsModule) -> bool {
    let functions = module.handle().functions().into_iter();
    let mut operations = functions.filter(|it| Lowering::is_sub_group_operation(&it.name()));
    operations.any(Value::is_used)
}

fn has_barriers(module: &impl AsModule) -> bool {
    module.handle().function(DEVICE_BARRIER).is_some_and(Value::is_used)
}

/// A value of each kind that a function has, by its value in LLVM.
struct Lowering<'m> {
    out: Assembler,
    source: ModuleRef<'m>,
    layout: DataLayout<'m>,
    entry: Value<'m>,
    /// Functions that are lowered, by their values in LLVM.
    functions: HashMap<Value<'m>, Word>,
    /// Variables of the module.
    globals: HashMap<Value<'m>, Word>,
    /// Variables that the device sets.
    inputs: BTreeMap<u32, Word>,
    /// The group's local memory: its symbol in LLVM.
    local: Option<Value<'m>>,
    /// Of what its address has to be a multiple; a driver aligns arguments of bytes by none.
    local_align: u64,
    /// The work-items of a group in each dimension, or zeros.
    group: [u32; 3],
    /// Whether there are operations of sub-groups.
    sub_groups: bool,
    /// Whether work-items wait for each other.
    waits: bool,
    /// Whether the entry is launched in one dimension although it has more, and then its
    /// parameters for that.
    in_line: bool,
    sizes: Option<[Word; SIZES]>,

    // Of the function that is being lowered:
    function: Value<'m>,
    values: HashMap<Value<'m>, Word>,
    blocks: HashMap<Block<'m>, Word>,
    /// What a phi takes and what needs instructions where control comes from.
    on_edges: HashMap<(Value<'m>, Block<'m>), Word>,
    /// Addresses at a constant distance from others. They are computed where they are used: LLVM
    /// computes them before loops, and where such a loop has barriers, drivers for processors
    /// keep each of them in memory for each work-item.
    displacements: HashSet<Value<'m>>,
    /// Blocks that leave a loop which combines numbers, and what hides how often it runs.
    sums: HashSet<Block<'m>>,
    hidden_false: Option<Word>,
    /// Loads that a driver hoists to the kernel's begin.
    hoisted_loads: HashSet<Value<'m>>,
    locals: Vec<Instruction>,
    code: Vec<Instruction>,
}

impl<'m> Lowering<'m> {
    fn new(source: ModuleRef<'m>, entry: Value<'m>) -> Self {
        Self {
            out: Assembler::new(),
            source,
            layout: source.data_layout(),
            entry,
            functions: HashMap::new(),
            globals: HashMap::new(),
            inputs: BTreeMap::new(),
            local: None,
            local_align: 1,
            group: [0; 3],
            sub_groups: false,
            waits: false,
            in_line: false,
            sizes: None,
            function: entry,
            values: HashMap::new(),
            blocks: HashMap::new(),
            on_edges: HashMap::new(),
            displacements: HashSet::new(),
            sums: HashSet::new(),
            hidden_false: None,
            hoisted_loads: HashSet::new(),
            locals: Vec::new(),
            code: Vec::new(),
        }
    }

    /// Lowers everything; whether the entry takes local memory.
    fn module(&mut self) -> Lowered<bool> {
        for capability in [Capability::Kernel, Capability::Addresses, Capability::Int8] {
            self.out.require(capability);
        }
        self.out.library();
        self.all_globals()?;
        self.all_functions()?;
        let kernel = self.functions[&self.entry];
        let name = self.entry.name();
        let mut operands = vec![
            Operand::ExecutionModel(ExecutionModel::Kernel),
            Operand::IdRef(kernel),
            Operand::LiteralString(name),
        ];
        operands.extend(self.inputs.values().map(|&input| Operand::IdRef(input)));
        let out = &mut self.out.module;
        out.entry_points.push(Instruction::new(Op::EntryPoint, None, None, operands));
        // Drivers have functions for generic addresses, such as those of atomics, for newer
        // languages only. Of OpenCL C one driver always takes the oldest version, unless an option
        // says otherwise; of OpenCL's C++ there is none that old.
        let language = Operand::SourceLanguage(SourceLanguage::OpenCL_CPP);
        let source = vec![language, Operand::LiteralBit32(100_000)];
        out.debug_string_source.push(Instruction::new(Op::Source, None, None, source));
        // A multiplication and an addition stay two operations.
        let mode =
            vec![Operand::IdRef(kernel), Operand::ExecutionMode(ExecutionMode::ContractionOff)];
        out.execution_modes.push(Instruction::new(Op::ExecutionMode, None, None, mode));
        self.hint_scalar(kernel);
        self.require_sub_groups(kernel);
        self.require_group(kernel);
        let out = &mut self.out.module;
        let model = vec![
            Operand::AddressingModel(AddressingModel::Physical64),
            Operand::MemoryModel(MemoryModel::OpenCL),
        ];
        out.memory_model = Some(Instruction::new(Op::MemoryModel, None, None, model));
        Ok(self.local.is_some())
    }

    /// Says of some kernels that they have vectors of their own. Drivers for processors then compute
    /// one work-item after the other. These are the kernels that call code which is not to be
    /// optimised, such as that which copies the values of messages: drivers make all of that for
    /// all lanes of a vector, which takes some 9 seconds for each kernel.
    fn hint_scalar(&mut self, kernel: Word) {
        /// Vectors of 4 integers of 32 bits.
        const HINT: u32 = 4 << 16 | 2;
        let mut functions = self.functions.keys();
        if functions.any(|function| function.has_function_attribute("optnone")) {
            let mode = vec![
                Operand::IdRef(kernel),
                Operand::ExecutionMode(ExecutionMode::VecTypeHint),
                Operand::LiteralBit32(HINT),
            ];
            let out = &mut self.out.module;
            out.execution_modes.push(Instruction::new(Op::ExecutionMode, None, None, mode));
        }
    }

    /// Says how many work-items groups have, if code is for one size of groups.
    fn require_group(&mut self, kernel: Word) {
        let [x, y, z] = self.group;
        if x == 0 {
            return;
        }
        let size = if self.in_line { [x * y * z, 1, 1] } else { [x, y, z] };
        let mut mode =
            vec![Operand::IdRef(kernel), Operand::ExecutionMode(ExecutionMode::LocalSize)];
        mode.extend(size.map(Operand::LiteralBit32));
        let out = &mut self.out.module;
        out.execution_modes.push(Instruction::new(Op::ExecutionMode, None, None, mode));
    }

    /// Appends an instruction with a result.
    fn emit(&mut self, op: Op, ty: Word, operands: Vec<Operand>) -> Word {
        let id = self.out.fresh();
        self.code.push(Instruction::new(op, Some(ty), Some(id), operands));
        id
    }

    /// Appends an instruction whose operands are all results.
    fn emit_of(&mut self, op: Op, ty: Word, operands: &[Word]) -> Word {
        self.emit(op, ty, operands.iter().map(|&id| Operand::IdRef(id)).collect())
    }

    /// Appends an instruction without a result.
    fn emit_void(&mut self, op: Op, operands: Vec<Operand>) {
        self.code.push(Instruction::new(op, None, None, operands));
    }

    /// Appends a call of OpenCL's library.
    fn emit_library(&mut self, function: OpenCl, ty: Word, arguments: &[Word]) -> Word {
        let library = self.out.library();
        let mut operands =
            vec![Operand::IdRef(library), Operand::LiteralExtInstInteger(function as u32)];
        operands.extend(arguments.iter().map(|&id| Operand::IdRef(id)));
        self.emit(Op::ExtInst, ty, operands)
    }

    /// The variable in which the device leaves a value.
    fn input(&mut self, builtin: BuiltIn, ty: Word) -> Word {
        if let Some(&known) = self.inputs.get(&(builtin as u32)) {
            return known;
        }
        let variable = self.input_variable(builtin, ty);
        self.inputs.insert(builtin as u32, variable);
        variable
    }
}
