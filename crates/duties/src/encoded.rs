//! How many bytes a value takes on the wire, without writing it.
//!
//! The form is postcard's. The log asks for the size of every command and part, to bound what it
//! sends and keeps; a serializer that only counts cannot fall behind when a type gets a field.

use serde::ser::{self, Serialize};
use std::fmt;

/// How many bytes postcard would write for a value.
pub(crate) fn encoded<T: Serialize + ?Sized>(value: &T) -> usize {
    let mut sizer = Sizer(0);
    // It fails only for types that have no length beforehand, and there are none.
    match value.serialize(&mut sizer) {
        Ok(()) => sizer.0,
        Err(Lengthless) => usize::MAX,
    }
}

/// Counts instead of writing.
struct Sizer(usize);

impl Sizer {
    /// Seven bits in a byte.
    fn varint(&mut self, value: u128) -> Result<(), Lengthless> {
        let bits = u128::BITS - value.leading_zeros();
        self.bytes(bits.div_ceil(7).max(1) as usize)
    }

    /// The sign is the lowest bit.
    fn zigzag(&mut self, value: i128) -> Result<(), Lengthless> {
        self.varint(((value << 1) ^ (value >> 127)) as u128)
    }

    fn bytes(&mut self, count: usize) -> Result<(), Lengthless> {
        self.0 = self.0.saturating_add(count);
        Ok(())
    }

    fn counted(&mut self, count: usize) -> Result<(), Lengthless> {
        self.varint(count as u128)
    }
}

/// A sequence that does not know its length cannot be written.
#[derive(Debug)]
struct Lengthless;

impl fmt::Display for Lengthless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence without a length")
    }
}

impl std::error::Error for Lengthless {}

impl ser::Error for Lengthless {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Lengthless
    }
}

type Counted = Result<(), Lengthless>;

impl ser::Serializer for &mut Sizer {
    type Ok = ();
    type Error = Lengthless;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fn serialize_bool(self, _: bool) -> Counted {
        self.bytes(1)
    }
    fn serialize_i8(self, _: i8) -> Counted {
        self.bytes(1)
    }
    fn serialize_i16(self, value: i16) -> Counted {
        self.zigzag(value.into())
    }
    fn serialize_i32(self, value: i32) -> Counted {
        self.zigzag(value.into())
    }
    fn serialize_i64(self, value: i64) -> Counted {
        self.zigzag(value.into())
    }
    fn serialize_i128(self, value: i128) -> Counted {
        self.zigzag(value)
    }
    fn serialize_u8(self, _: u8) -> Counted {
        self.bytes(1)
    }
    fn serialize_u16(self, value: u16) -> Counted {
        self.varint(value.into())
    }
    fn serialize_u32(self, value: u32) -> Counted {
        self.varint(value.into())
    }
    fn serialize_u64(self, value: u64) -> Counted {
        self.varint(value.into())
    }
    fn serialize_u128(self, value: u128) -> Counted {
        self.varint(value)
    }
    fn serialize_f32(self, _: f32) -> Counted {
        self.bytes(4)
    }
    fn serialize_f64(self, _: f64) -> Counted {
        self.bytes(8)
    }
    fn serialize_char(self, value: char) -> Counted {
        self.bytes(1 + value.len_utf8())
    }
    fn serialize_str(self, value: &str) -> Counted {
        self.counted(value.len())?;
        self.bytes(value.len())
    }
    fn serialize_bytes(self, value: &[u8]) -> Counted {
        self.counted(value.len())?;
        self.bytes(value.len())
    }
    fn serialize_none(self) -> Counted {
        self.bytes(1)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Counted {
        self.bytes(1)?;
        value.serialize(self)
    }
    fn serialize_unit(self) -> Counted {
        Ok(())
    }
    fn serialize_unit_struct(self, _: &'static str) -> Counted {
        Ok(())
    }
    fn serialize_unit_variant(self, _: &'static str, index: u32, _: &'static str) -> Counted {
        self.varint(index.into())
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Counted {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        value: &T,
    ) -> Counted {
        self.varint(index.into())?;
        value.serialize(self)
    }
    fn serialize_seq(self, len: Option<usize>) -> Result<Self, Lengthless> {
        self.counted(len.ok_or(Lengthless)?)?;
        Ok(self)
    }
    fn serialize_tuple(self, _: usize) -> Result<Self, Lengthless> {
        Ok(self)
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Lengthless> {
        Ok(self)
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Lengthless> {
        self.varint(index.into())?;
        Ok(self)
    }
    fn serialize_map(self, len: Option<usize>) -> Result<Self, Lengthless> {
        self.counted(len.ok_or(Lengthless)?)?;
        Ok(self)
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Lengthless> {
        Ok(self)
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Lengthless> {
        self.varint(index.into())?;
        Ok(self)
    }
    fn is_human_readable(&self) -> bool {
        false
    }
}

/// All that consists of several values counts one after the other.
macro_rules! one_after_the_other {
    ($($what:ident: $one:ident($($key:ty)?)),* $(,)?) => {$(
        impl ser::$what for &mut Sizer {
            type Ok = ();
            type Error = Lengthless;

            fn $one<T: Serialize + ?Sized>(
                &mut self,
                $(_: $key,)?
                value: &T,
            ) -> Counted {
                value.serialize(&mut **self)
            }

            fn end(self) -> Counted {
                Ok(())
            }
        }
    )*};
}

one_after_the_other! {
    SerializeSeq: serialize_element(),
    SerializeTuple: serialize_element(),
    SerializeTupleStruct: serialize_field(),
    SerializeTupleVariant: serialize_field(),
    SerializeStruct: serialize_field(&'static str),
    SerializeStructVariant: serialize_field(&'static str),
}

impl ser::SerializeMap for &mut Sizer {
    type Ok = ();
    type Error = Lengthless;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Counted {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Counted {
        value.serialize(&mut **self)
    }

    fn end(self) -> Counted {
        Ok(())
    }
}
