//! Variables of the module.
//!
//! ```llvm
//! @place = internal addrspace(1) constant <{ ptr, [8 x i8] }> <{ ptr addrspacecast (ptr addrspace(1) @file to ptr), [8 x i8] c"…" }>
//! ```
//! becomes a packed structure of what is an address and what is not:
//! ```text
//!     %60 = OpSpecConstantOp %_ptr_CrossWorkgroup_uchar Bitcast %file
//!     %61 = OpSpecConstantOp %_ptr_Generic_uchar PtrCastToGeneric %60
//!     %62 = OpConstantComposite %_struct_50 %61 %words
//!  %place = OpVariable %_ptr_CrossWorkgroup__struct_50 CrossWorkgroup %62
//! ```
//! so that the layout is LLVM's, whatever a driver makes of types.

use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, Op, StorageClass, Word};
use schism_llvm::{Opcode, TypeKind, Value, ValueKind};
use schism_passes::gpu::lower_local_memory::SHARED;

use super::constants::elements;
use super::types::{is_i128, storage_class};
use super::{Lowered, Lowering, refuse};

/// The bytes of a constant, and the addresses among them.
struct Contents<'m> {
    bytes: Vec<u8>,
    /// Where an address is: of which global, and at which offset.
    addresses: Vec<(usize, Value<'m>, i64)>,
}

impl<'m> Lowering<'m> {
    /// Defines the variables that are used, each after those that it contains addresses of.
    pub fn all_globals(&mut self) -> Lowered<()> {
        for global in self.source.globals() {
            if global.name() == SHARED {
                self.local = global.is_used().then_some(global);
            } else if global.is_used() && !global.name().starts_with("llvm.") {
                self.global(global, &mut Vec::new())?;
            }
        }
        Ok(())
    }

    fn global(&mut self, global: Value<'m>, open: &mut Vec<Value<'m>>) -> Lowered<Word> {
        if let Some(&known) = self.globals.get(&global) {
            return Ok(known);
        }
        let name = global.name();
        if open.contains(&global) {
            return refuse(format!("`{name}`, a variable that contains its own address"));
        }
        open.push(global);
        let class = storage_class(space_of(global))?;
        let size = self.layout.abi_size(global.value_type());
        let (ty, initialiser) = match global.initializer() {
            Some(value) if !value.is_undef() => {
                let mut contents =
                    Contents { bytes: vec![0; size as usize], addresses: Vec::new() };
                self.collect(value, 0, &mut contents)?;
                contents.addresses.sort_by_key(|(place, ..)| *place);
                let (ty, value) = self.contents(&contents, open)?;
                (ty, Some(value))
            }
            None if global.is_declaration() && class != StorageClass::Workgroup => {
                return refuse(format!("`{name}`, a variable that the image only declares"));
            }
            _ => {
                let byte = self.int(8);
                (self.array(byte, size.max(1))?, None)
            }
        };
        let pointer = self.pointer_to(class, ty);
        let mut operands = vec![Operand::StorageClass(class)];
        operands.extend(initialiser.map(Operand::IdRef));
        let id = self.out.define(Op::Variable, pointer, operands);
        let align = global.alignment().max(1);
        self.out.decorate(id, Decoration::Alignment, vec![Operand::LiteralBit32(align)]);
        if global.is_global_constant() && class == StorageClass::CrossWorkgroup {
            self.out.decorate(id, Decoration::Constant, Vec::new());
        }
        self.out.name(id, &name);
        self.globals.insert(global, id);
        open.pop();
        Ok(id)
    }

    /// Adds a constant to the contents of a variable.
    fn collect(&self, value: Value<'m>, place: usize, into: &mut Contents<'m>) -> Lowered<()> {
        let ty = value.ty();
        if value.is_undef() || value.is_zero() {
            return Ok(());
        }
        let mut put = |number: u64, size: u64| {
            let bytes = number.to_le_bytes();
            into.bytes[place..place + size as usize].copy_from_slice(&bytes[..size as usize]);
        };
        if let Some(bits) = value.float_bits() {
            put(bits, self.layout.abi_size(ty));
            return Ok(());
        }
        match ty.kind() {
            TypeKind::Integer if value.is_constant_int() && ty.int_width() <= 64 => {
                put(value.zext_value(), u64::from(ty.int_width().div_ceil(8)));
                Ok(())
            }
            TypeKind::Integer if value.is_constant_int() && is_i128(ty) => {
                let words = self.int128_words(value);
                let Some(words) = words else {
                    return refuse(format!("a variable of type `{}`", ty.text()));
                };
                let bytes = words.map(u64::to_le_bytes);
                let size = ty.int_width().div_ceil(8) as usize;
                into.bytes[place..place + size].copy_from_slice(&bytes.as_flattened()[..size]);
                Ok(())
            }
            TypeKind::Array | TypeKind::Vector => {
                let size = self.layout.abi_size(ty.element_type());
                if ty.is_vector() && self.layout.size_in_bits(ty.element_type()) != size * 8 {
                    return refuse(format!("a variable of type `{}`", ty.text()));
                }
                for (element, index) in elements(value).into_iter().zip(0..) {
                    self.collect(element, place + index * size as usize, into)?;
                }
                Ok(())
            }
            TypeKind::Struct => {
                for (field, index) in elements(value).into_iter().zip(0..) {
                    let offset = self.layout.offset_of(ty, index) as usize;
                    self.collect(field, place + offset, into)?;
                }
                Ok(())
            }
            TypeKind::Pointer => match self.resolve(value)? {
                (Some(global), offset) => {
                    into.addresses.push((place, global, offset));
                    Ok(())
                }
                (None, number) => {
                    put(number.cast_unsigned(), 8);
                    Ok(())
                }
            },
            _ => refuse(format!("a variable that contains `{}`", ty.text())),
        }
    }

    /// The variable and the offset that a constant address is, or the number.
    fn resolve(&self, value: Value<'m>) -> Lowered<(Option<Value<'m>>, i64)> {
        if value.is_global_variable() {
            return Ok((Some(value), 0));
        }
        if value.is_zero() || value.is_undef() {
            return Ok((None, 0));
        }
        if value.is_function() {
            return refuse(format!("the address of the function `{}`", value.name()));
        }
        if value.kind() == ValueKind::ConstantExpr {
            match value.const_opcode() {
                Opcode::AddrSpaceCast | Opcode::BitCast => return self.resolve(value.operand(0)),
                Opcode::IntToPtr if value.operand(0).is_constant_int() => {
                    return Ok((None, value.operand(0).sext_value()));
                }
                Opcode::GetElementPtr => {
                    let (global, offset) = self.resolve(value.operand(0))?;
                    let (more, terms) = self.gep_terms(value)?;
                    if terms.is_empty() {
                        return Ok((global, offset.wrapping_add(more)));
                    }
                }
                _ => {}
            }
        }
        refuse("a variable that contains a computed address")
    }

    /// The type and the constant for contents.
    fn contents(
        &mut self,
        contents: &Contents<'m>,
        open: &mut Vec<Value<'m>>,
    ) -> Lowered<(Word, Word)> {
        let Contents { bytes, addresses } = contents;
        if addresses.is_empty() {
            return self.words(bytes);
        }
        let mut parts = Vec::new();
        let mut begin = 0;
        for &(place, global, offset) in addresses {
            if place > begin {
                parts.push(self.words(&bytes[begin..place])?);
            }
            parts.push(self.constant_address(global, offset, open)?);
            begin = place + 8;
        }
        if begin < bytes.len() {
            parts.push(self.words(&bytes[begin..])?);
        }
        let (types, values): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let ty = self.structure(&types);
        self.out.decorate(ty, Decoration::CPacked, Vec::new());
        let values = values.into_iter().map(Operand::IdRef).collect();
        Ok((ty, self.out.declare(Op::ConstantComposite, Some(ty), values)))
    }

    /// Bytes, as an array of the widest integers that fit.
    fn words(&mut self, bytes: &[u8]) -> Lowered<(Word, Word)> {
        let width = [8, 4, 2, 1].into_iter().find(|width| bytes.len().is_multiple_of(*width));
        let width = width.unwrap_or(1);
        let bits = 8 * width as u32;
        let element = self.int(bits);
        if bytes.is_empty() {
            let ty = self.array(element, 1)?;
            return Ok((ty, self.null(ty)));
        }
        let ty = self.array(element, (bytes.len() / width) as u64)?;
        if bytes.iter().all(|&byte| byte == 0) {
            return Ok((ty, self.null(ty)));
        }
        let number = |chunk: &[u8]| {
            chunk.iter().rev().fold(0_u64, |number, &byte| number << 8 | u64::from(byte))
        };
        let words: Vec<Operand> = bytes
            .chunks(width)
            .map(|chunk| Operand::IdRef(self.number(bits, number(chunk))))
            .collect();
        Ok((ty, self.out.declare(Op::ConstantComposite, Some(ty), words)))
    }

    /// A generic address as a constant, and its type.
    fn constant_address(
        &mut self,
        global: Value<'m>,
        offset: i64,
        open: &mut Vec<Value<'m>>,
    ) -> Lowered<(Word, Word)> {
        let variable = self.global(global, open)?;
        let own = self.pointer(space_of(global))?;
        let generic = self.pointer(0)?;
        let mut address = self.operation(own, Op::Bitcast, &[variable]);
        if offset != 0 {
            let offset = self.number(64, offset.cast_unsigned());
            address = self.operation(own, Op::InBoundsPtrAccessChain, &[address, offset]);
        }
        Ok((generic, self.operation(generic, Op::PtrCastToGeneric, &[address])))
    }

    /// An operation on constants.
    fn operation(&mut self, ty: Word, op: Op, operands: &[Word]) -> Word {
        let mut all = vec![Operand::LiteralSpecConstantOpInteger(op)];
        all.extend(operands.iter().map(|&id| Operand::IdRef(id)));
        self.out.declare(Op::SpecConstantOp, Some(ty), all)
    }

    /// The address of a variable, where it is used.
    pub fn address_of(&mut self, global: Value<'m>) -> Lowered<Word> {
        if self.local == Some(global) {
            return match self.values.get(&global) {
                Some(&parameter) => Ok(parameter),
                None => refuse("local memory in a function that is not part of the kernel"),
            };
        }
        let variable = self.global(global, &mut Vec::new())?;
        let pointer = self.pointer(space_of(global))?;
        let address = self.emit_of(Op::Bitcast, pointer, &[variable]);
        if global.ty().address_space() != 0 {
            return Ok(address);
        }
        let generic = self.pointer(0)?;
        Ok(self.emit_of(Op::PtrCastToGeneric, generic, &[address]))
    }
}

/// The address space that a variable is in. That of one which was not moved is the generic one,
/// where no variable can be.
fn space_of(global: Value<'_>) -> u32 {
    match global.ty().address_space() {
        0 => 1,
        space => space,
    }
}
