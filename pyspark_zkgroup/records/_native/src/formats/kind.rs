//! The type that a column is to have.

use std::collections::HashMap;

use crate::formats::quoted::Quoted;

const VALUE_BYTES: usize = 9;

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
    Interval,
}

#[derive(Debug)]
pub enum Kind {
    Scalar(Scalar),
    Array(Box<Kind>),
    Map(Scalar, Box<Kind>),
    Struct(Fields),
}

#[derive(Debug, Default)]
pub struct Fields {
    pub names: Vec<Box<str>>,
    pub quoted: Vec<Quoted>,
    pub kinds: Vec<Kind>,
    /// About how many bytes of columns one of it takes, apart from texts and elements.
    pub weight: usize,
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
    /// See `Fields::weight`.
    pub fn weight(&self) -> usize {
        match self {
            Self::Scalar(_) | Self::Array(_) | Self::Map(..) => VALUE_BYTES,
            Self::Struct(fields) => fields.weight,
        }
    }

    /// From words in preorder: `struct 2 a bigint b array string`, `decimal 12 2`,
    /// `map string double`.
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
            "interval" => Scalar::Interval,
            "decimal" => {
                let precision: u8 = words.next()?.parse().ok()?;
                let scale = words.next()?.parse().ok()?;
                if precision > 38 || scale > precision {
                    return None;
                }
                Scalar::Decimal { precision, scale }
            }
            "array" => return Some(Self::Array(Box::new(Self::read(words)?))),
            "map" => {
                let Self::Scalar(key) = Self::read(words)? else {
                    return None;
                };
                return Some(Self::Map(key, Box::new(Self::read(words)?)));
            }
            "struct" => {
                let count: usize = words.next()?.parse().ok()?;
                let mut fields = Fields::default();
                for place in 0..count {
                    let name = words.next()?;
                    fields.names.push(name.into());
                    fields.quoted.push(Quoted::new(name));
                    fields.places.insert(name.as_bytes().into(), place);
                    let kind = Self::read(words)?;
                    fields.weight += kind.weight();
                    fields.kinds.push(kind);
                }
                return Some(Self::Struct(fields));
            }
            _ => return None,
        };
        Some(Self::Scalar(scalar))
    }
}
