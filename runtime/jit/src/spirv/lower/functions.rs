//! Functions, their blocks, and phis.

use std::collections::HashSet;

use rspirv::dr::{self, Instruction, Operand};
use rspirv::spirv::{
    Capability, Decoration, FunctionControl, FunctionParameterAttribute, Op, StorageClass, Word,
};
use schism_llvm::{Block, Opcode, TypeKind, Value, ValueKind};
use schism_passes::check::recursion;
use schism_passes::spec::builtins::DYNAMIC_ALIGN;

use super::types::{held_in, is_i128};
use super::{Lowered, Lowering, hoisted_loads, refuse, sums};

impl<'m> Lowering<'m> {
    /// Lowers all functions with bodies.
    pub fn all_functions(&mut self) -> Lowered<()> {
        let mut functions = self.source.functions();
        functions.retain(|function| !function.is_declaration());
        // OpenCL's kernels need no stack.
        if let Some(feature) = recursion::feature(functions.iter().copied()) {
            return refuse(feature);
        }
        for &function in &functions {
            let id = self.out.fresh();
            self.functions.insert(function, id);
        }
        for function in functions {
            self.one_function(function)?;
        }
        Ok(())
    }

    fn one_function(&mut self, function: Value<'m>) -> Lowered<()> {
        let is_entry = function == self.entry;
        self.function = function;
        self.values.clear();
        self.blocks.clear();
        self.on_edges.clear();
        self.displacements.clear();
        self.locals.clear();
        let result = function.value_type().return_type();
        if is_entry && result.kind() != TypeKind::Void {
            return refuse("a kernel with a result");
        }
        let result = self.ty(result)?;
        let mut lowered = dr::Function::new();
        let mut types = Vec::new();
        // What the parameters are in LLVM where SPIR-V passes something else.
        let mut copies = Vec::new();
        let mut parameter = |this: &mut Self, ty: Word| {
            let id = this.out.fresh();
            types.push(ty);
            let one = Instruction::new(Op::FunctionParameter, Some(ty), Some(id), Vec::new());
            lowered.parameters.push(one);
            id
        };
        for (value, index) in function.params().into_iter().zip(0..) {
            if let Some(size) = function.byval_size(index) {
                let byte = self.int(8);
                let bytes = self.array(byte, size)?;
                // A driver takes arrays for addresses.
                let bytes = self.structure(&[bytes]);
                let ty = self.pointer_to(StorageClass::Function, bytes);
                let id = parameter(self, ty);
                let by_value = FunctionParameterAttribute::ByVal;
                let by_value = Operand::FunctionParameterAttribute(by_value);
                self.out.decorate(id, Decoration::FuncParamAttr, vec![by_value]);
                let align = function.enum_attribute(index + 1, schism_llvm::enum_kind("align"));
                let align = align.map_or(1, |align| align.value() as u32);
                let align = vec![Operand::LiteralBit32(align)];
                self.out.decorate(id, Decoration::Alignment, align);
                copies.push((value, id));
                continue;
            }
            let ty = self.ty(value.ty())?;
            let id = parameter(self, ty);
            self.out.name(id, &value.name());
            self.describe_parameter(function, index, id);
            self.values.insert(value, id);
        }
        let mut given_local = None;
        if let Some(local) = self.local.filter(|_| is_entry) {
            let ty = self.pointer(local.ty().address_space())?;
            let id = parameter(self, ty);
            self.out.name(id, "local");
            given_local = Some((local, id));
        }
        if self.in_line && is_entry {
            let ty = self.int(32);
            self.sizes = Some(std::array::from_fn(|_| parameter(self, ty)));
        }
        let id = self.functions[&function];
        let mut operands = vec![Operand::IdRef(result)];
        operands.extend(types.into_iter().map(Operand::IdRef));
        let ty = self.out.declare(Op::TypeFunction, None, operands);
        let is_apart = function.has_function_attribute("noinline");
        let control = if is_apart && !is_entry {
            FunctionControl::DONT_INLINE
        } else {
            FunctionControl::NONE
        };
        let control = Operand::FunctionControl(control);
        let define = vec![control, Operand::IdRef(ty)];
        lowered.def = Some(Instruction::new(Op::Function, Some(result), Some(id), define));
        lowered.end = Some(Instruction::new(Op::FunctionEnd, None, None, Vec::new()));
        self.out.name(id, &function.name());
        self.body(function, copies, given_local, &mut lowered)?;
        self.out.module.functions.push(lowered);
        Ok(())
    }

    /// What LLVM knows of a pointer that is a parameter.
    fn describe_parameter(&mut self, function: Value<'m>, index: u32, id: Word) {
        let attribute = |name| function.enum_attribute(index + 1, schism_llvm::enum_kind(name));
        let known = [
            ("noalias", FunctionParameterAttribute::NoAlias),
            ("readonly", FunctionParameterAttribute::NoWrite),
            ("readnone", FunctionParameterAttribute::NoReadWrite),
        ];
        for (name, ours) in known {
            if attribute(name).is_some() {
                let ours = vec![Operand::FunctionParameterAttribute(ours)];
                self.out.decorate(id, Decoration::FuncParamAttr, ours);
            }
        }
        if let Some(align) = attribute("align") {
            let align = vec![Operand::LiteralBit32(align.value() as u32)];
            self.out.decorate(id, Decoration::Alignment, align);
        }
    }

    fn body(
        &mut self,
        function: Value<'m>,
        copies: Vec<(Value<'m>, Word)>,
        mut given_local: Option<(Value<'m>, Word)>,
        lowered: &mut dr::Function,
    ) -> Lowered<()> {
        let order = reverse_post_order(function);
        for &block in &order {
            let label = self.out.fresh();
            self.blocks.insert(block, label);
        }
        self.sums = sums::exits(&order);
        self.hidden_false = None;
        self.hoisted_loads = hoisted_loads::find(&order);
        let mut copies = copies.into_iter();
        let mut phis = Vec::new();
        for &block in &order {
            self.code.clear();
            if !self.sums.is_empty() && self.hidden_false.is_none() {
                self.hidden_false = Some(self.hidden_false()?);
            }
            if let Some((local, id)) = given_local.take() {
                let aligned = self.aligned_local(local, id)?;
                self.values.insert(local, aligned);
            }
            for (parameter, id) in copies.by_ref() {
                let own = self.pointer(5)?;
                let mut address = self.emit_of(Op::Bitcast, own, &[id]);
                if parameter.ty().address_space() == 0 {
                    let generic = self.pointer(0)?;
                    address = self.emit_of(Op::PtrCastToGeneric, generic, &[address]);
                }
                self.values.insert(parameter, address);
            }
            for instruction in block.instructions() {
                if instruction.opcode() == Some(Opcode::Phi) {
                    let ty = self.ty(instruction.ty())?;
                    phis.push((instruction, lowered.blocks.len(), self.code.len()));
                    let id = self.emit_of(Op::Phi, ty, &[]);
                    self.values.insert(instruction, id);
                    continue;
                }
                if instruction.is_terminator() {
                    self.prepare_edges(block)?;
                    self.terminator(instruction)?;
                    break;
                }
                if self.ends_work_item(instruction) {
                    if function != self.entry {
                        return refuse("a panic in a function that is not part of the kernel");
                    }
                    self.emit_void(Op::Return, Vec::new());
                    break;
                }
                if self.is_displacement(instruction)? {
                    self.displacements.insert(instruction);
                    continue;
                }
                if let Some(id) = self.instruction(instruction)? {
                    self.values.insert(instruction, id);
                }
            }
            let mut out = dr::Block::new();
            let label = Some(self.blocks[&block]);
            out.label = Some(Instruction::new(Op::Label, None, label, Vec::new()));
            out.instructions = std::mem::take(&mut self.code);
            lowered.blocks.push(out);
        }
        for (phi, block, place) in phis {
            let mut operands = Vec::new();
            let mut seen = HashSet::new();
            for (value, from) in phi.incoming_edges() {
                // A block may have several edges here, and some are never reached.
                let Some(&label) = self.blocks.get(&from) else { continue };
                if seen.insert(from) {
                    let value = match self.on_edges.get(&(value, from)) {
                        Some(&known) => known,
                        None => self.value(value)?,
                    };
                    operands.extend([value, label].map(Operand::IdRef));
                }
            }
            lowered.blocks[block].instructions[place].operands = operands;
        }
        if let Some(first) = lowered.blocks.first_mut() {
            first.instructions.splice(0..0, self.locals.drain(..));
        }
        Ok(())
    }

    /// Where the group's local memory begins in what is given for it.
    fn aligned_local(&mut self, local: Value<'m>, given: Word) -> Lowered<Word> {
        let align = u64::from(local.alignment());
        if align > self.local_align.max(DYNAMIC_ALIGN) {
            return refuse(format!("local memory aligned to {align} bytes"));
        }
        if align <= 1 {
            return Ok(given);
        }
        let (long, ty) = (self.int(64), self.pointer(local.ty().address_space())?);
        let address = self.emit_of(Op::ConvertPtrToU, long, &[given]);
        let (negated, mask) =
            (self.emit_of(Op::SNegate, long, &[address]), self.number(64, align - 1));
        let ahead = self.emit_of(Op::BitwiseAnd, long, &[negated, mask]);
        Ok(self.emit_of(Op::InBoundsPtrAccessChain, ty, &[given, ahead]))
    }

    /// Emits what phis take over an edge and is neither a plain constant nor in a register.
    fn prepare_edges(&mut self, block: Block<'m>) -> Lowered<()> {
        for phi in block.successors().into_iter().flat_map(Block::phis) {
            let Some(value) = phi.incoming(block) else { continue };
            let is_expression = value.is_a_constant() && !Self::is_plain(value);
            if is_expression || self.displacements.contains(&value) {
                let id = self.value(value)?;
                self.on_edges.insert((value, block), id);
            }
        }
        Ok(())
    }

    fn terminator(&mut self, end: Value<'m>) -> Lowered<()> {
        match end.opcode() {
            Some(Opcode::Return) => match end.get_operand(0) {
                Some(value) => {
                    let value = self.value(value)?;
                    self.emit_void(Op::ReturnValue, vec![Operand::IdRef(value)]);
                }
                None => self.emit_void(Op::Return, Vec::new()),
            },
            Some(Opcode::Br) if end.is_conditional() => {
                let mut condition = self.value(end.condition())?;
                if let Some(hidden) = self.hidden_false.filter(|_| self.sums.contains(&end.block()))
                {
                    let bool = self.bool();
                    condition = self.emit_of(Op::LogicalNotEqual, bool, &[condition, hidden]);
                }
                let [yes, no] = [0, 1].map(|index| self.blocks[&end.successor(index)]);
                if yes == no {
                    self.emit_void(Op::Branch, vec![Operand::IdRef(yes)]);
                } else {
                    let operands = [condition, yes, no].map(Operand::IdRef).to_vec();
                    self.emit_void(Op::BranchConditional, operands);
                }
            }
            Some(Opcode::Br) => {
                let to = self.blocks[&end.successor(0)];
                self.emit_void(Op::Branch, vec![Operand::IdRef(to)]);
            }
            Some(Opcode::Switch) => self.switch(end)?,
            Some(Opcode::Unreachable) => self.emit_void(Op::Unreachable, Vec::new()),
            _ => return refuse(format!("the instruction {:?}", end.opcode())),
        }
        Ok(())
    }

    fn switch(&mut self, end: Value<'m>) -> Lowered<()> {
        let on = end.operand(0);
        if is_i128(on.ty()) {
            return self.int128_switch(end);
        }
        let width = on.ty().int_width();
        let mut selector = self.value(on)?;
        let bits = held_in(width)?;
        if width == 1 {
            selector = self.bit_as_number(selector, 32);
        } else if bits < 32 {
            let word = self.int(32);
            selector = self.emit_of(Op::UConvert, word, &[selector]);
        }
        let other = self.blocks[&end.successor(0)];
        let mut operands = vec![Operand::IdRef(selector), Operand::IdRef(other)];
        for (case, block) in end.switch_cases() {
            operands.push(match bits {
                64 => Operand::LiteralBit64(case.zext_value()),
                _ => Operand::LiteralBit32(case.zext_value() as u32),
            });
            operands.push(Operand::IdRef(self.blocks[&block]));
        }
        self.emit_void(Op::Switch, operands);
        Ok(())
    }

    /// What a value is in the current block.
    pub fn value(&mut self, value: Value<'m>) -> Lowered<Word> {
        if let Some(&known) = self.values.get(&value) {
            return Ok(known);
        }
        if self.displacements.contains(&value) {
            return self.gep(value);
        }
        if value.is_a_constant() {
            return self.constant(value);
        }
        match value.kind() {
            ValueKind::Instruction => refuse("an instruction before what it uses"),
            _ => refuse(format!("a value of type `{}`", value.ty().text())),
        }
    }

    /// A local, of which the function has one as long as it runs.
    pub fn alloca(&mut self, local: Value<'m>) -> Lowered<Word> {
        let count = local.operand(0).as_unsigned();
        let Some(count) = count.filter(|_| !local.is_dynamic_alloca()) else {
            return refuse("locals of a size that is not constant");
        };
        let allocated = local.allocated_type();
        let size = self.layout.abi_size(allocated).saturating_mul(count).max(1);
        let byte = self.int(8);
        let contents = self.array(byte, size)?;
        let ty = self.pointer_to(StorageClass::Function, contents);
        let id = self.out.fresh();
        let class = vec![Operand::StorageClass(StorageClass::Function)];
        self.locals.push(Instruction::new(Op::Variable, Some(ty), Some(id), class));
        let align = vec![Operand::LiteralBit32(local.alignment())];
        self.out.decorate(id, Decoration::Alignment, align);
        let own = self.pointer(5)?;
        let address = self.emit_of(Op::Bitcast, own, &[id]);
        if local.ty().address_space() == 5 {
            return Ok(address);
        }
        self.out.require(Capability::GenericPointer);
        let generic = self.pointer(0)?;
        Ok(self.emit_of(Op::PtrCastToGeneric, generic, &[address]))
    }
}

/// Reachable blocks, each after those that dominate it.
fn reverse_post_order(function: Value<'_>) -> Vec<Block<'_>> {
    let mut order = Vec::new();
    let mut seen = HashSet::from([function.entry()]);
    let mut open = vec![(function.entry(), function.entry().successors())];
    while let Some((block, rest)) = open.last_mut() {
        match rest.pop() {
            Some(next) if seen.insert(next) => open.push((next, next.successors())),
            Some(_) => {}
            None => {
                order.push(*block);
                open.pop();
            }
        }
    }
    order.reverse();
    order
}
