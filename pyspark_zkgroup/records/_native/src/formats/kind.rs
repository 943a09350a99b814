//! The type that a column is to have.

use std::collections::HashMap;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    Boolean,
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    Float,
    Double,
    Decimal { precision: u8, scale: u8 },
    String,
    Binary,
    Date,
    Timestamp,
    TimestampNtz,
}

#[derive(Debug)]
pub enum Kind {
    Scalar(Scalar),
    Array(Box<Kind>),
    /// Keys are text.
    Map(Box<Kind>),
    Struct(Fields),
}

#[derive(Debug)]
pub struct Fields {
    pub names: Vec<Box<str>>,
    pub kinds: Vec<Kind>,
    places: HashMap<Box<[u8]>, usize>,
}

impl Fields {
    /// `hint` is tried first: fields mostly come in their order.
    #[inline(always)]
    pub fn place(&self, name: &[u8], hint: usize) -> Option<usize> {
        if self.names.get(hint).is_some_and(|one| one.as_bytes() == name) {
            return Some(hint);
        }
        self.places.get(name).copied()
    }
}

impl Kind {
    /// From words in preorder: `struct 2 a bigint b array string`, `decimal 12 2`, `map double`.
    pub fn read<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Self> {
        let scalar = match words.next()? {
            "boolean" => Scalar::Boolean,
            "tinyint" => Scalar::TinyInt,
            "smallint" => Scalar::SmallInt,
            "int" => Scalar::Int,
            "bigint" => Scalar::BigInt,
            "float" => Scalar::Float,
            "double" => Scalar::Double,
            "string" => Scalar::String,
            "binary" => Scalar::Binary,
            "date" => Scalar::Date,
            "timestamp" => Scalar::Timestamp,
            "timestamp_ntz" => Scalar::TimestampNtz,
            "decimal" => {
                let precision: u8 = words.next()?.parse().ok()?;
                let scale = words.next()?.parse().ok()?;
                if precision > 38 || scale > precision {
                    return None;
                }
                Scalar::Decimal { precision, scale }
            }
            "array" => return Some(Self::Array(Box::new(Self::read(words)?))),
            "map" => return Some(Self::Map(Box::new(Self::read(words)?))),
            "struct" => {
                let count: usize = words.next()?.parse().ok()?;
                let mut fields =
                    Fields { names: Vec::new(), kinds: Vec::new(), places: HashMap::new() };
                for place in 0..count {
                    let name = words.next()?;
                    fields.names.push(name.into());
                    fields.places.insert(name.as_bytes().into(), place);
                    fields.kinds.push(Self::read(words)?);
                }
                return Some(Self::Struct(fields));
            }
            _ => return None,
        };
        Some(Self::Scalar(scalar))
    }
}
