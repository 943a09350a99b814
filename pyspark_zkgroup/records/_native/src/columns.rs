//! Rows on their way into one Arrow batch, as the buffers that Arrow wants: numbers in the order of
//! the machine's bytes, places in 32 bits, one bit for each value that is not null.
//!
//! The buffers keep their memory from one batch to the next, unless one record took much more.

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

pub struct Columns {
    pub rows: usize,
    pub keys: Binary,
    pub values: Binary,
    pub headers: Option<Headers>,
    pub offsets: Vec<u8>,
    pub timestamps_us: Vec<u8>,
    runs: Vec<Run>,
    topic_bytes: usize,
}

/// The columns that hold the same in every row of a run.
#[derive(Default)]
pub struct Common {
    pub topics: Vec<u8>,
    pub topic_ends: Vec<u8>,
    pub partitions: Vec<u8>,
    pub timestamp_types: Vec<u8>,
}

impl Columns {
    pub fn new(with_headers: bool) -> Self {
        let mut made = Self {
            rows: 0,
            keys: Binary::default(),
            values: Binary::default(),
            headers: with_headers.then(Headers::default),
            offsets: Vec::new(),
            timestamps_us: Vec::new(),
            runs: Vec::new(),
            topic_bytes: 0,
        };
        made.clear();
        made
    }

    pub fn clear(&mut self) {
        self.rows = 0;
        self.keys.clear();
        self.values.clear();
        if let Some(headers) = &mut self.headers {
            headers.clear();
        }
        self.offsets.clear();
        self.timestamps_us.clear();
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
        let size = row.key.map_or(0, <[u8]>::len) + row.value.map_or(0, <[u8]>::len);
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
        let bytes = self.keys.data.len() + self.values.data.len() + size;
        self.rows < limits.rows_max
            && bytes <= limits.bytes_max.min(COLUMN_BYTES_MAX)
            && self.topic_bytes + topic_size <= COLUMN_BYTES_MAX
    }

    #[inline(always)]
    fn push_fields(&mut self, row: &Row<'_>) {
        self.keys.push(self.rows, row.key);
        self.values.push(self.rows, row.value);
        self.offsets.extend_from_slice(&row.offset.to_ne_bytes());
        self.timestamps_us.extend_from_slice(&row.timestamp_us.to_ne_bytes());
        self.rows += 1;
        if let Some(run) = self.runs.last_mut() {
            run.rows_end = self.rows;
            self.topic_bytes += run.topic.len();
        }
    }

    pub fn common(&self) -> Common {
        let mut made = Common::default();
        made.topics.reserve_exact(self.topic_bytes);
        made.topic_ends.reserve_exact(4 * (self.rows + 1));
        made.topic_ends.extend_from_slice(&0i32.to_ne_bytes());
        made.partitions.reserve_exact(4 * self.rows);
        made.timestamp_types.reserve_exact(4 * self.rows);
        let mut row = 0;
        for run in &self.runs {
            while row < run.rows_end {
                made.topics.extend_from_slice(run.topic.as_bytes());
                made.topic_ends.extend_from_slice(&(made.topics.len() as i32).to_ne_bytes());
                made.partitions.extend_from_slice(&run.partition.to_ne_bytes());
                made.timestamp_types.extend_from_slice(&run.timestamp_type.to_ne_bytes());
                row += 1;
            }
        }
        made
    }
}
