//! A SPIR-V module under construction: its sections, numbers for results, and what it requires.
//!
//! Types and constants are declared once, however often they are asked for; a capability is there
//! exactly if something used it.

use std::collections::{BTreeSet, HashMap};

use rspirv::binary::Assemble;
use rspirv::dr::{self, Instruction, Operand};
use rspirv::spirv::{Capability, Decoration, Op, Word};

/// The magic number of tools that are not registered.
const GENERATOR: Word = 0;

/// The version of SPIR-V that every OpenCL driver with SPIR-V takes.
const VERSION: (u8, u8) = (1, 2);

/// A module under construction.
pub struct Assembler {
    pub module: dr::Module,
    next: Word,
    declared: HashMap<Instruction, Word>,
    capabilities: BTreeSet<u32>,
    version: (u8, u8),
}

impl Assembler {
    pub fn new() -> Self {
        Self {
            module: dr::Module::new(),
            next: 1,
            declared: HashMap::new(),
            capabilities: BTreeSet::new(),
            version: VERSION,
        }
    }

    /// A number for a result.
    pub fn fresh(&mut self) -> Word {
        self.next += 1;
        self.next - 1
    }

    /// The module uses what that version of SPIR-V has.
    pub fn at_least(&mut self, version: (u8, u8)) {
        self.version = self.version.max(version);
    }

    /// The module uses a capability.
    pub fn require(&mut self, capability: Capability) {
        self.capabilities.insert(capability as u32);
    }

    /// A type or a constant, of which there is one in the module.
    pub fn declare(&mut self, op: Op, ty: Option<Word>, operands: Vec<Operand>) -> Word {
        let mut instruction = Instruction::new(op, ty, None, operands);
        if let Some(&known) = self.declared.get(&instruction) {
            return known;
        }
        let id = self.fresh();
        self.declared.insert(instruction.clone(), id);
        instruction.result_id = Some(id);
        self.module.types_global_values.push(instruction);
        id
    }

    /// A new global.
    pub fn define(&mut self, op: Op, ty: Word, operands: Vec<Operand>) -> Word {
        let id = self.fresh();
        let instruction = Instruction::new(op, Some(ty), Some(id), operands);
        self.module.types_global_values.push(instruction);
        id
    }

    /// Says something about a result.
    pub fn decorate(&mut self, target: Word, decoration: Decoration, with: Vec<Operand>) {
        let mut operands = vec![Operand::IdRef(target), Operand::Decoration(decoration)];
        operands.extend(with);
        let instruction = Instruction::new(Op::Decorate, None, None, operands);
        if !self.module.annotations.contains(&instruction) {
            self.module.annotations.push(instruction);
        }
    }

    /// Names a result, for people.
    pub fn name(&mut self, target: Word, name: &str) {
        if !name.is_empty() {
            let operands = vec![Operand::IdRef(target), Operand::LiteralString(name.to_owned())];
            self.module.debug_names.push(Instruction::new(Op::Name, None, None, operands));
        }
    }

    /// The instructions of OpenCL's library.
    pub fn library(&mut self) -> Word {
        if let Some(import) = self.module.ext_inst_imports.first() {
            return import.result_id.unwrap_or_default();
        }
        let id = self.fresh();
        let name = vec![Operand::LiteralString("OpenCL.std".to_owned())];
        let import = Instruction::new(Op::ExtInstImport, None, Some(id), name);
        self.module.ext_inst_imports.push(import);
        id
    }

    /// The module's words.
    pub fn finish(mut self) -> Vec<u32> {
        let mut header = dr::ModuleHeader::new(self.next);
        header.set_version(self.version.0, self.version.1);
        header.generator = GENERATOR;
        self.module.header = Some(header);
        let capabilities = self.capabilities.iter().filter_map(|&it| Capability::from_u32(it));
        self.module.capabilities = capabilities
            .map(|it| Instruction::new(Op::Capability, None, None, vec![Operand::Capability(it)]))
            .collect();
        self.module.assemble()
    }
}
