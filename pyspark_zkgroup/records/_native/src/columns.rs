//! Rows on their way into one Arrow batch, as the buffers that Arrow wants: numbers in the order of
//! the machine's bytes, places in 32 bits, one bit for each value that is not null.
//!
//! The buffers keep their memory from one batch to the next, unless one record took much more.

use std::borrow::Cow;

use crate::array::Array;
use crate::batch::Reason;
use crate::headers::Headers;

const KEPT_BYTES_MAX: usize = 32 * 1024 * 1024;
const COLUMN_BYTES_MAX: usize = i32::MAX as usize;

#[derive(Default)]
pub struct Binary {
    pub data: Vec<u8>,
    pub ends: Vec<u8>,
    pub validity: Vec<u8>,
    pub nulls: usize,
}

impl Binary {
    pub fn clear(&mut self) {
        if self.data.capacity() > KEPT_BYTES_MAX {
            self.data = Vec::new();
        }
        self.data.clear();
        self.ends.clear();
        self.ends.extend_from_slice(&0i32.to_ne_bytes());
        self.validity.clear();
        self.nulls = 0;
    }

    #[inline(always)]
    pub fn push(&mut self, row: usize, value: Option<&[u8]>) {
        if let Some(bytes) = value {
            self.data.extend_from_slice(bytes);
        }
        self.end(row, value.is_some());
    }

    /// The data of this row are there.
    #[inline(always)]
    pub fn end(&mut self, row: usize, is_valid: bool) {
        if row.is_multiple_of(8) {
            self.validity.push(0);
        }
        if !is_valid {
            self.nulls += 1;
        } else if let Some(bits) = self.validity.last_mut() {
            *bits |= 1 << (row % 8);
        }
        // `Columns::has_room` keeps it below 2 GiB.
        self.ends.extend_from_slice(&(self.data.len() as i32).to_ne_bytes());
    }

    pub fn array(&self, rows: usize) -> Array<'_> {
        let validity = (self.nulls > 0).then_some(Cow::Borrowed(&self.validity[..]));
        let rest = [Some(Cow::Borrowed(&self.ends[..])), Some(Cow::Borrowed(&self.data[..]))];
        let [ends, data] = rest;
        Array::new(rows, self.nulls, vec![validity, ends, data])
    }

    /// Back to that many rows, which had so many bytes and nulls.
    pub fn truncate(&mut self, rows: usize, bytes: usize, nulls: usize) {
        self.data.truncate(bytes);
        self.ends.truncate(4 * (rows + 1));
        self.validity.truncate(rows.div_ceil(8));
        if let Some(bits) = self.validity.last_mut().filter(|_| !rows.is_multiple_of(8)) {
            *bits &= (1 << (rows % 8)) - 1;
        }
        self.nulls = nulls;
    }
}

/// What rows have in common.
struct Run {
    topic: String,
    partition: i32,
    timestamp_type: i32,
    rows_end: usize,
}

pub struct Limits {
    pub rows_max: usize,
    pub bytes_max: usize,
    pub unpacked_bytes_max: usize,
}

pub struct Row<'a> {
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    /// As they came.
    pub headers: &'a [u8],
    pub offset: i64,
    pub timestamp_us: i64,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Column {
    Key,
    Value,
    Topic,
    Partition,
    Offset,
    Timestamp,
    TimestampType,
    Headers,
}

impl Column {
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "key" => Self::Key,
            "value" => Self::Value,
            "topic" => Self::Topic,
            "partition" => Self::Partition,
            "offset" => Self::Offset,
            "timestamp" => Self::Timestamp,
            "timestampType" => Self::TimestampType,
            "headers" => Self::Headers,
            _ => return None,
        })
    }
}

pub struct Columns {
    pub rows: usize,
    asked: Vec<Column>,
    // None where they are not asked for.
    keys: Option<Binary>,
    values: Option<Binary>,
    headers: Option<Headers>,
    offsets: Option<Vec<u8>>,
    timestamps_us: Option<Vec<u8>>,
    runs: Vec<Run>,
    has_topics: bool,
    topic_bytes: usize,
}

impl Columns {
    /// Only these columns take memory, and count against the limits.
    pub fn new(asked: Vec<Column>) -> Self {
        let has = |column| asked.contains(&column);
        let mut made = Self {
            rows: 0,
            keys: has(Column::Key).then(Binary::default),
            values: has(Column::Value).then(Binary::default),
            headers: has(Column::Headers).then(Headers::default),
            offsets: has(Column::Offset).then(Vec::new),
            timestamps_us: has(Column::Timestamp).then(Vec::new),
            runs: Vec::new(),
            has_topics: has(Column::Topic),
            topic_bytes: 0,
            asked,
        };
        made.clear();
        made
    }

    pub fn clear(&mut self) {
        self.rows = 0;
        for binary in [&mut self.keys, &mut self.values].into_iter().flatten() {
            binary.clear();
        }
        if let Some(headers) = &mut self.headers {
            headers.clear();
        }
        for numbers in [&mut self.offsets, &mut self.timestamps_us].into_iter().flatten() {
            numbers.clear();
        }
        self.runs.clear();
        self.topic_bytes = 0;
    }

    /// The rows that follow are of this partition, and of this type of time.
    pub fn begin_run(&mut self, topic: &str, partition: i32, timestamp_type: i32) {
        if let Some(last) = self.runs.last() {
            if last.partition == partition
                && last.timestamp_type == timestamp_type
                && last.topic == topic
            {
                return;
            }
        }
        self.runs.push(Run {
            topic: topic.to_owned(),
            partition,
            timestamp_type,
            rows_end: self.rows,
        });
    }

    /// False if there is no room for it. The first row always has room, whatever its size.
    #[inline(always)]
    pub fn push(
        &mut self,
        row: &Row<'_>,
        limits: &Limits,
        topic_size: usize,
    ) -> Result<bool, Reason> {
        let size = size(&self.keys, row.key) + size(&self.values, row.value);
        if self.headers.is_some() {
            return self.push_with_headers(row, size, limits, topic_size);
        }
        let has_room = self.has_room(limits, size, topic_size);
        if has_room {
            self.push_fields(row);
        }
        Ok(has_room)
    }

    /// The size of headers is known only once they are there.
    #[inline(never)]
    fn push_with_headers(
        &mut self,
        row: &Row<'_>,
        size: usize,
        limits: &Limits,
        topic_size: usize,
    ) -> Result<bool, Reason> {
        let Some(headers) = &mut self.headers else {
            return Ok(false);
        };
        let mark = headers.mark();
        let size_max = limits.unpacked_bytes_max.min(COLUMN_BYTES_MAX);
        let are_whole = headers.append(row.headers, size_max);
        let size = size + headers.bytes;
        let has_room = are_whole && self.has_room(limits, size, topic_size);
        if let Some(headers) = &mut self.headers {
            if has_room {
                headers.close_row(self.rows);
            } else {
                headers.rewind(&mark);
            }
        }
        if has_room {
            self.push_fields(row);
        }
        if are_whole {
            Ok(has_room)
        } else {
            Err(format!("the headers of a record in it take more than {size_max} bytes"))
        }
    }

    #[inline(always)]
    fn has_room(&self, limits: &Limits, size: usize, topic_size: usize) -> bool {
        if self.rows == 0 {
            return true;
        }
        let bytes = held(&self.keys) + held(&self.values) + size;
        self.rows < limits.rows_max
            && bytes <= limits.bytes_max.min(COLUMN_BYTES_MAX)
            && (!self.has_topics || self.topic_bytes + topic_size <= COLUMN_BYTES_MAX)
    }

    #[inline(always)]
    fn push_fields(&mut self, row: &Row<'_>) {
        if let Some(keys) = &mut self.keys {
            keys.push(self.rows, row.key);
        }
        if let Some(values) = &mut self.values {
            values.push(self.rows, row.value);
        }
        if let Some(offsets) = &mut self.offsets {
            offsets.extend_from_slice(&row.offset.to_ne_bytes());
        }
        if let Some(timestamps_us) = &mut self.timestamps_us {
            timestamps_us.extend_from_slice(&row.timestamp_us.to_ne_bytes());
        }
        self.rows += 1;
        if let Some(run) = self.runs.last_mut() {
            run.rows_end = self.rows;
            self.topic_bytes += run.topic.len();
        }
    }

    /// In the order in which they were asked for.
    pub fn arrays(&self) -> Vec<Array<'_>> {
        self.asked.iter().filter_map(|column| self.array(*column)).collect()
    }

    fn array(&self, column: Column) -> Option<Array<'_>> {
        let numbers = |bytes| Some(Array::new(self.rows, 0, vec![None, Some(bytes)]));
        match column {
            Column::Key => Some(self.keys.as_ref()?.array(self.rows)),
            Column::Value => Some(self.values.as_ref()?.array(self.rows)),
            Column::Headers => Some(self.headers.as_ref()?.array(self.rows)),
            Column::Topic => Some(self.topics()),
            Column::Offset => numbers(Cow::Borrowed(&self.offsets.as_ref()?[..])),
            Column::Timestamp => numbers(Cow::Borrowed(&self.timestamps_us.as_ref()?[..])),
            Column::Partition => numbers(Cow::Owned(self.repeated(|run| run.partition))),
            Column::TimestampType => numbers(Cow::Owned(self.repeated(|run| run.timestamp_type))),
        }
    }

    fn topics(&self) -> Array<'_> {
        let mut data = Vec::with_capacity(self.topic_bytes);
        let mut ends = Vec::with_capacity(4 * (self.rows + 1));
        ends.extend_from_slice(&0i32.to_ne_bytes());
        let mut row = 0;
        for run in &self.runs {
            while row < run.rows_end {
                data.extend_from_slice(run.topic.as_bytes());
                ends.extend_from_slice(&(data.len() as i32).to_ne_bytes());
                row += 1;
            }
        }
        Array::new(self.rows, 0, vec![None, Some(Cow::Owned(ends)), Some(Cow::Owned(data))])
    }

    /// A number that all rows of a run have in common.
    fn repeated(&self, number: impl Fn(&Run) -> i32) -> Vec<u8> {
        let mut made = Vec::with_capacity(4 * self.rows);
        for run in &self.runs {
            let bytes = number(run).to_ne_bytes();
            while made.len() < 4 * run.rows_end {
                made.extend_from_slice(&bytes);
            }
        }
        made
    }
}

#[inline(always)]
fn size(column: &Option<Binary>, value: Option<&[u8]>) -> usize {
    match (column, value) {
        (Some(_), Some(bytes)) => bytes.len(),
        _ => 0,
    }
}

#[inline(always)]
fn held(column: &Option<Binary>) -> usize {
    column.as_ref().map_or(0, |binary| binary.data.len())
}
