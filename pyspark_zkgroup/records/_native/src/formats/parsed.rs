//! What every format makes of a column, and how much of it at a time.

use crate::array::Array;
use crate::formats::build::{Builder, Data};
use crate::formats::kind::Kind;

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

/// What turns the bytes of records into a column.
pub trait Parser {
    /// Of the values that follow each other, until they are done or the batch is large, or the next
    /// one names a schema that is not known yet.
    fn parse<'a>(&mut self, values: impl Iterator<Item = Option<&'a [u8]>>) -> Parsed;
}

/// What `rows` calls for each value: why it is bad, if it is, and about how many bytes it takes; or
/// the number of a schema that is not known yet.
pub type Row = Result<(Option<String>, usize), u64>;

/// See `Parser::parse`. A bad value leaves what `push_bad` appends.
pub fn rows<'a>(
    kind: &Kind,
    push_bad: fn(&mut Builder),
    values: impl Iterator<Item = Option<&'a [u8]>>,
    mut read: impl FnMut(&'a [u8], &mut Builder) -> Row,
) -> Parsed {
    let mut out = Builder::new(kind);
    let mut reasons = Builder::text();
    let (mut rows, mut bad, mut bytes) = (0, 0, 0);
    let mut unknown = None;
    for value in values {
        let before = out.len();
        let reason = match value.map(|value| (value.len(), read(value, &mut out))) {
            None => {
                out.push_null();
                None
            }
            Some((_, Err(schema))) => {
                unknown = Some(schema);
                break;
            }
            Some((length, Ok((reason, taken)))) => {
                bytes += length + taken;
                reason
            }
        };
        rows += 1;
        match reason {
            None => reasons.push_null(),
            Some(reason) => {
                out.truncate(before);
                push_bad(&mut out);
                bad += 1;
                bytes += reason.len();
                reasons.push_bytes(reason.as_bytes());
            }
        }
        if bytes >= BATCH_BYTES_MAX {
            break;
        }
    }
    Parsed { rows, values: out.finish(), reasons: reasons.finish(), bad, unknown }
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
