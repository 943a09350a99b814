//! What every format makes of a column, and how much of it at a time.

use crate::array::Array;
use crate::formats::build::{Builder, Data};

/// A record that takes more is bad.
pub const ROW_BYTES_MAX: usize = 256 * 1024 * 1024;
/// A batch ends with the record that reaches this.
pub const BATCH_BYTES_MAX: usize = 64 * 1024 * 1024;

/// One for each row; the reason is null where the row is good.
pub struct Parsed {
    pub rows: usize,
    pub values: Array<'static>,
    pub reasons: Array<'static>,
    pub bad: usize,
    /// The next row names this schema, which is not known yet.
    pub unknown: Option<u64>,
}

/// Of a record that cannot be read: a struct of nulls, else null.
pub fn push_empty(out: &mut Builder) {
    match &mut out.data {
        Data::Struct(fields) => {
            fields.iter_mut().for_each(Builder::push_null);
            out.close();
        }
        _ => out.push_null(),
    }
}

pub fn too_large() -> String {
    format!("it takes more than {ROW_BYTES_MAX} bytes of columns")
}
