//! The column of headers: a list of them for each row, null where a record has none.

use std::borrow::Cow;

use crate::array::Array;
use crate::columns::Binary;
use crate::cursor::Cursor;
use crate::java_text;

/// What a header takes in addition to its key and value: a place in the column of each.
const HEADER_BYTES: usize = 8;

#[derive(Default)]
pub struct Headers {
    keys: Binary,
    values: Binary,
    count: usize,
    /// Of each row, where its headers end.
    ends: Vec<u8>,
    validity: Vec<u8>,
    nulls: usize,
    /// What keys and values take, and their places.
    pub bytes: usize,
    row_begin: usize,
}

/// How far the columns were before a row.
pub struct Mark {
    keys: usize,
    values: usize,
    value_nulls: usize,
    count: usize,
    bytes: usize,
}

impl Headers {
    pub fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
        self.count = 0;
        self.ends.clear();
        self.ends.extend_from_slice(&0i32.to_ne_bytes());
        self.validity.clear();
        self.nulls = 0;
        self.bytes = 0;
        self.row_begin = 0;
    }

    pub fn mark(&self) -> Mark {
        Mark {
            keys: self.keys.data.len(),
            values: self.values.data.len(),
            value_nulls: self.values.nulls,
            count: self.count,
            bytes: self.bytes,
        }
    }

    /// False if they would take more than that; what was added by then is there.
    pub fn append(&mut self, headers: &[u8], size_max: usize) -> bool {
        let bytes_max = self.bytes.saturating_add(size_max);
        let mut cursor = Cursor::new(headers, 0);
        while !cursor.is_at_end() {
            // They were gone through before: what is not there now was not there then.
            let (Some(Some(key)), Some(value)) = (cursor.nullable(), cursor.nullable()) else {
                return false;
            };
            let key_begin = self.keys.data.len();
            java_text::append(&mut self.keys.data, key);
            self.keys.end(self.count, true);
            self.values.push(self.count, value);
            self.count += 1;
            let key_size = self.keys.data.len() - key_begin;
            self.bytes += HEADER_BYTES + key_size + value.map_or(0, <[u8]>::len);
            if self.bytes > bytes_max {
                return false;
            }
        }
        true
    }

    pub fn rewind(&mut self, mark: &Mark) {
        self.keys.truncate(mark.count, mark.keys, 0);
        self.values.truncate(mark.count, mark.values, mark.value_nulls);
        self.count = mark.count;
        self.bytes = mark.bytes;
    }

    pub fn close_row(&mut self, row: usize) {
        if row.is_multiple_of(8) {
            self.validity.push(0);
        }
        if self.count == self.row_begin {
            self.nulls += 1;
        } else if let Some(bits) = self.validity.last_mut() {
            *bits |= 1 << (row % 8);
        }
        self.row_begin = self.count;
        // Each of them counts at least HEADER_BYTES, and all of them stay below 2 GiB.
        self.ends.extend_from_slice(&(self.count as i32).to_ne_bytes());
    }

    /// Lists of structs of a text and bytes.
    pub fn array(&self, rows: usize) -> Array<'_> {
        let pairs = Array::new(self.count, 0, vec![None])
            .with_children(vec![self.keys.array(self.count), self.values.array(self.count)]);
        let validity = (self.nulls > 0).then_some(Cow::Borrowed(&self.validity[..]));
        let ends = Some(Cow::Borrowed(&self.ends[..]));
        Array::new(rows, self.nulls, vec![validity, ends]).with_children(vec![pairs])
    }
}
