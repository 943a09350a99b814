//! Arrow arrays under construction. Whatever was appended last can be taken back: a value that turns
//! out to be bad half-way leaves nothing.

use std::borrow::Cow;

use crate::array::Array;
use crate::formats::kind::{Kind, Scalar};

pub struct Builder {
    /// A byte for each value; bits only at the end.
    valid: Vec<u8>,
    pub data: Data,
}

pub enum Data {
    /// One byte each; bits only at the end.
    Bools(Vec<u8>),
    Fixed {
        width: usize,
        bytes: Vec<u8>,
    },
    Bytes {
        ends: Vec<i32>,
        bytes: Vec<u8>,
    },
    List {
        ends: Vec<i32>,
        child: Box<Builder>,
    },
    Struct(Vec<Builder>),
}

impl Builder {
    pub fn new(kind: &Kind) -> Self {
        let data = match kind {
            Kind::Scalar(scalar) => scalar_data(*scalar),
            Kind::Array(element) => list(Self::new(element)),
            Kind::Map(key, value) => {
                let key = Self::of(scalar_data(*key));
                list(Self::of(Data::Struct(vec![key, Self::new(value)])))
            }
            Kind::Struct(fields) => Data::Struct(fields.kinds.iter().map(Self::new).collect()),
        };
        Self::of(data)
    }

    pub fn text() -> Self {
        Self::of(scalar_data(Scalar::String))
    }

    fn of(data: Data) -> Self {
        Self { valid: Vec::new(), data }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.valid.len()
    }

    pub fn push_null(&mut self) {
        match &mut self.data {
            Data::Bools(values) => values.push(0),
            Data::Fixed { width, bytes } => bytes.resize(bytes.len() + *width, 0),
            Data::Bytes { ends, bytes } => ends.push(bytes.len() as i32),
            Data::List { ends, child } => ends.push(child.len() as i32),
            Data::Struct(fields) => fields.iter_mut().for_each(Self::push_null),
        }
        self.valid.push(0);
    }

    #[inline(always)]
    pub fn push_fixed(&mut self, value: &[u8]) {
        if let Data::Fixed { bytes, .. } = &mut self.data {
            bytes.extend_from_slice(value);
            self.valid.push(1);
        }
    }

    pub fn push_bool(&mut self, value: bool) {
        if let Data::Bools(values) = &mut self.data {
            values.push(u8::from(value));
            self.valid.push(1);
        }
    }

    #[inline(always)]
    pub fn push_bytes(&mut self, value: &[u8]) {
        if let Data::Bytes { ends, bytes } = &mut self.data {
            bytes.extend_from_slice(value);
            ends.push(bytes.len() as i32);
            self.valid.push(1);
        }
    }

    /// The elements of a list, or the fields of a struct, are there.
    #[inline(always)]
    pub fn close(&mut self) {
        if let Data::List { ends, child } = &mut self.data {
            ends.push(child.len() as i32);
        }
        self.valid.push(1);
    }

    /// None if it holds no bytes, or not that many values.
    pub fn bytes_at(&self, row: usize) -> Option<&[u8]> {
        let Data::Bytes { ends, bytes } = &self.data else {
            return None;
        };
        let begin = row.checked_sub(1).map_or(Some(0), |before| ends.get(before).copied())?;
        bytes.get(begin as usize..*ends.get(row)? as usize)
    }

    pub fn truncate(&mut self, len: usize) {
        self.valid.truncate(len);
        match &mut self.data {
            Data::Bools(values) => values.truncate(len),
            Data::Fixed { width, bytes } => bytes.truncate(len * *width),
            Data::Bytes { ends, bytes } => {
                ends.truncate(len);
                bytes.truncate(end(ends));
            }
            Data::List { ends, child } => {
                ends.truncate(len);
                child.truncate(end(ends));
            }
            Data::Struct(fields) => fields.iter_mut().for_each(|field| field.truncate(len)),
        }
    }

    /// Takes out values `from..to`; what follows them moves up.
    pub fn remove(&mut self, from: usize, to: usize) {
        self.valid.drain(from..to);
        match &mut self.data {
            Data::Bools(values) => drop(values.drain(from..to)),
            Data::Fixed { width, bytes } => drop(bytes.drain(from * *width..to * *width)),
            Data::Bytes { ends, bytes } => {
                let (low, high) = cut(ends, from, to);
                bytes.drain(low..high);
            }
            Data::List { ends, child } => {
                let (low, high) = cut(ends, from, to);
                child.remove(low, high);
            }
            Data::Struct(fields) => fields.iter_mut().for_each(|field| field.remove(from, to)),
        }
    }

    pub fn finish(self) -> Array<'static> {
        let length = self.valid.len();
        let nulls = self.valid.iter().filter(|one| **one == 0).count();
        let validity = (nulls > 0).then(|| Cow::Owned(bits(&self.valid)));
        let (buffers, children) = match self.data {
            Data::Bools(values) => (vec![bits(&values)], vec![]),
            Data::Fixed { bytes, .. } => (vec![bytes], vec![]),
            Data::Bytes { ends, bytes } => (vec![offsets(&ends), bytes], vec![]),
            Data::List { ends, child } => (vec![offsets(&ends)], vec![child.finish()]),
            Data::Struct(fields) => (vec![], fields.into_iter().map(Self::finish).collect()),
        };
        let rest = buffers.into_iter().map(|buffer| Some(Cow::Owned(buffer)));
        let buffers = std::iter::once(validity).chain(rest).collect();
        Array::new(length, nulls, buffers).with_children(children)
    }
}

fn list(child: Builder) -> Data {
    Data::List { ends: Vec::new(), child: Box::new(child) }
}

fn scalar_data(scalar: Scalar) -> Data {
    let width = match scalar {
        Scalar::Boolean => return Data::Bools(Vec::new()),
        Scalar::String | Scalar::Binary => {
            return Data::Bytes { ends: Vec::new(), bytes: Vec::new() }
        }
        Scalar::TinyInt => 1,
        Scalar::SmallInt => 2,
        Scalar::Int | Scalar::Float | Scalar::Date => 4,
        Scalar::BigInt
        | Scalar::Double
        | Scalar::Timestamp
        | Scalar::TimestampNtz
        | Scalar::Interval => 8,
        Scalar::Decimal { .. } => 16,
    };
    Data::Fixed { width, bytes: Vec::new() }
}

fn end(ends: &[i32]) -> usize {
    ends.last().map_or(0, |end| *end as usize)
}

/// Takes ends `from..to` out, and says what lies between them.
fn cut(ends: &mut Vec<i32>, from: usize, to: usize) -> (usize, usize) {
    let low = end(ends.get(..from).unwrap_or_default());
    let high = end(ends.get(..to).unwrap_or_default());
    ends.drain(from..to);
    for one in ends.iter_mut().skip(from) {
        *one -= (high - low) as i32;
    }
    (low, high)
}

fn bits(values: &[u8]) -> Vec<u8> {
    let packed =
        |eight: &[u8]| eight.iter().enumerate().fold(0u8, |byte, (at, one)| byte | (one & 1) << at);
    values.chunks(8).map(packed).collect()
}

fn offsets(ends: &[i32]) -> Vec<u8> {
    let mut made = Vec::with_capacity(4 * (ends.len() + 1));
    made.extend_from_slice(&0i32.to_ne_bytes());
    for end in ends {
        made.extend_from_slice(&end.to_ne_bytes());
    }
    made
}
