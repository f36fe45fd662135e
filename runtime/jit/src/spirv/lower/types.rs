//! Types.

use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Op, StorageClass, Word};
use schism_llvm::{Type, TypeKind};

use super::{Lowered, Lowering, refuse};

/// The storage class of an address space, as LLVM numbers those of GPUs.
pub fn storage_class(space: u32) -> Lowered<StorageClass> {
    Ok(match space {
        0 => StorageClass::Generic,
        1 => StorageClass::CrossWorkgroup,
        3 => StorageClass::Workgroup,
        4 => StorageClass::UniformConstant,
        5 => StorageClass::Function,
        space => return refuse(format!("memory of address space {space}")),
    })
}

/// The bits of the SPIR-V integer that holds one of so many.
pub fn held_in(bits: u32) -> Lowered<u32> {
    match bits {
        1..=64 => Ok(bits.next_power_of_two().max(8)),
        bits => refuse(format!("an integer of {bits} bits")),
    }
}

impl<'m> Lowering<'m> {
    pub fn void(&mut self) -> Word {
        self.out.declare(Op::TypeVoid, None, Vec::new())
    }

    pub fn bool(&mut self) -> Word {
        self.out.declare(Op::TypeBool, None, Vec::new())
    }

    /// An integer of 8, 16, 32 or 64 bits.
    pub fn int(&mut self, bits: u32) -> Word {
        match bits {
            16 => self.out.require(Capability::Int16),
            64 => self.out.require(Capability::Int64),
            _ => {}
        }
        let operands = vec![Operand::LiteralBit32(bits), Operand::LiteralBit32(0)];
        self.out.declare(Op::TypeInt, None, operands)
    }

    pub fn float(&mut self, bits: u32) -> Word {
        match bits {
            16 => self.out.require(Capability::Float16),
            64 => self.out.require(Capability::Float64),
            _ => {}
        }
        self.out.declare(Op::TypeFloat, None, vec![Operand::LiteralBit32(bits)])
    }

    pub fn vector(&mut self, element: Word, length: u32) -> Lowered<Word> {
        match length {
            2..=4 => {}
            8 | 16 => self.out.require(Capability::Vector16),
            length => return refuse(format!("a vector of {length} elements")),
        }
        let operands = vec![Operand::IdRef(element), Operand::LiteralBit32(length)];
        Ok(self.out.declare(Op::TypeVector, None, operands))
    }

    pub fn array(&mut self, element: Word, length: u64) -> Lowered<Word> {
        if length == 0 {
            return refuse("an array without elements");
        }
        let length = self.number(64, length);
        let operands = vec![Operand::IdRef(element), Operand::IdRef(length)];
        Ok(self.out.declare(Op::TypeArray, None, operands))
    }

    pub fn structure(&mut self, fields: &[Word]) -> Word {
        let fields = fields.iter().map(|&field| Operand::IdRef(field)).collect();
        self.out.declare(Op::TypeStruct, None, fields)
    }

    /// A pointer to a type.
    pub fn pointer_to(&mut self, class: StorageClass, pointee: Word) -> Word {
        if class == StorageClass::Generic {
            self.out.require(Capability::GenericPointer);
        }
        let operands = vec![Operand::StorageClass(class), Operand::IdRef(pointee)];
        self.out.declare(Op::TypePointer, None, operands)
    }

    /// The type that every pointer of an address space has between instructions.
    pub fn pointer(&mut self, space: u32) -> Lowered<Word> {
        let class = storage_class(space)?;
        let byte = self.int(8);
        Ok(self.pointer_to(class, byte))
    }

    /// The type of LLVM's values.
    pub fn ty(&mut self, ty: Type<'m>) -> Lowered<Word> {
        Ok(match ty.kind() {
            TypeKind::Void => self.void(),
            TypeKind::Integer if ty.int_width() == 1 => self.bool(),
            TypeKind::Integer if is_i128(ty) => self.int128()?,
            TypeKind::Integer => {
                let bits = held_in(ty.int_width())?;
                self.int(bits)
            }
            TypeKind::Half => self.float(16),
            TypeKind::Float => self.float(32),
            TypeKind::Double => self.float(64),
            TypeKind::Pointer => self.pointer(ty.address_space())?,
            TypeKind::Vector => {
                let element = ty.element_type();
                if !is_whole(element) && !is_bit(element) {
                    return refuse(format!("the vector `{}`", ty.text()));
                }
                let element = self.ty(element)?;
                self.vector(element, ty.vector_size())?
            }
            TypeKind::Array => {
                let element = self.ty(ty.element_type())?;
                self.array(element, ty.array_length())?
            }
            TypeKind::Struct => {
                let fields = (0..ty.num_fields()).map(|index| self.ty(ty.field_type(index)));
                let fields = fields.collect::<Lowered<Vec<_>>>()?;
                self.structure(&fields)
            }
            _ => return refuse(format!("values of type `{}`", ty.text())),
        })
    }

    /// `bool`, or as many as the type is a vector of.
    pub fn bool_like(&mut self, ty: Type<'m>) -> Lowered<Word> {
        let one = self.bool();
        if ty.is_vector() { self.vector(one, ty.vector_size()) } else { Ok(one) }
    }
}

/// Whether this is an integer of one bit, or a vector of them.
pub fn is_bit(ty: Type<'_>) -> bool {
    let ty = if ty.is_vector() { ty.element_type() } else { ty };
    ty.kind() == TypeKind::Integer && ty.int_width() == 1
}

/// Whether this is a number of which all bits of SPIR-V's are used, or a vector of them.
pub fn is_whole(ty: Type<'_>) -> bool {
    let ty = if ty.is_vector() { ty.element_type() } else { ty };
    match ty.kind() {
        TypeKind::Integer => matches!(ty.int_width(), 8 | 16 | 32 | 64),
        TypeKind::Half | TypeKind::Float | TypeKind::Double => true,
        _ => false,
    }
}

/// The bits of one of the two numbers that hold an integer of more than 64 bits.
pub const HALF: u32 = 64;

/// Whether values of a type are held in two numbers.
pub fn is_i128(ty: Type<'_>) -> bool {
    ty.kind() == TypeKind::Integer && (HALF + 1..=2 * HALF).contains(&ty.int_width())
}

/// The bits of an integer, or of a vector's elements.
pub fn bits_of(ty: Type<'_>) -> Lowered<u32> {
    let element = if ty.is_vector() { ty.element_type() } else { ty };
    match element.kind() {
        TypeKind::Integer => Ok(element.int_width()),
        TypeKind::Half => Ok(16),
        TypeKind::Float => Ok(32),
        TypeKind::Double => Ok(64),
        _ => refuse(format!("a number of type `{}`", ty.text())),
    }
}
