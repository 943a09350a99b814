//! The head of a record batch, and the records in it.
//!
//! ```text
//! base offset 8, length 4, leader epoch 4, magic 1, crc 4, attributes 2, last offset delta 4,
//! first timestamp 8, max timestamp 8, producer id 8, producer epoch 2, base sequence 4, count 4
//! ```
//!
//! Old messages share the first 17 bytes with it up to `crc`; no more of them is looked at here.

use crate::columns::{Columns, Limits};
use crate::cursor::Cursor;

const OVERHEAD: i64 = 12; // offset and length, which the length does not count
const SIZE_MIN: [i64; 3] = [26, 34, 61]; // by magic
const ATTRIBUTES_AT: usize = 21;
pub const RECORDS_AT: usize = 61;

const CODEC_MASK: u8 = 0x07;
const APPEND_TIME_BIT: u8 = 0x08;
const CONTROL_BIT: u8 = 0x20;

// The Arrow column holds microseconds, a record milliseconds, both in 64 bits.
const TIMESTAMP_MS_MAX: i128 = (i64::MAX / 1000) as i128;

/// Why a record batch is not what a broker keeps.
pub type Reason = String;

pub struct Frame {
    pub size: usize,
    pub offset: i64,
    pub is_old: bool,
}

/// The record batch, or old message, at the beginning of these bytes.
pub fn frame(bytes: &[u8]) -> Result<Frame, Reason> {
    let left = bytes.len();
    let (Some(offset), Some(length), Some(magic)) =
        (field(bytes, 0), field(bytes, 8), bytes.get(16))
    else {
        return Err(format!("it ends after {left} bytes, within the head"));
    };
    let Some(size_min) = SIZE_MIN.get(usize::from(*magic)) else {
        return Err(format!("its format {magic} is unknown"));
    };
    let claimed = OVERHEAD + i64::from(i32::from_be_bytes(length));
    match usize::try_from(claimed) {
        Ok(size) if claimed >= *size_min && size <= left => {
            Ok(Frame { size, offset: i64::from_be_bytes(offset), is_old: *magic < 2 })
        }
        _ => Err(format!("it claims {claimed} bytes where {left} are left")),
    }
}

fn field<const SIZE: usize>(bytes: &[u8], at: usize) -> Option<[u8; SIZE]> {
    bytes.get(at..)?.first_chunk().copied()
}

pub struct Batch {
    pub codec: u8,
    pub is_control: bool,
    pub is_append_time: bool,
    base_offset: i64,
    last_offset_delta: i32,
    first_timestamp_ms: i64,
    max_timestamp_ms: i64,
    count: i32,
}

impl Batch {
    /// The head of a whole frame of magic 2, whose checksum fits.
    pub fn parse(frame: &[u8]) -> Result<Self, Reason> {
        Self::fields(frame).ok_or("its checksum does not fit".to_owned())
    }

    fn fields(frame: &[u8]) -> Option<Self> {
        let crc = u32::from_be_bytes(field(frame, 17)?);
        if crc32c::crc32c(frame.get(ATTRIBUTES_AT..)?) != crc {
            return None;
        }
        let attributes = *frame.get(ATTRIBUTES_AT + 1)?;
        Some(Self {
            codec: attributes & CODEC_MASK,
            is_control: attributes & CONTROL_BIT != 0,
            is_append_time: attributes & APPEND_TIME_BIT != 0,
            base_offset: i64::from_be_bytes(field(frame, 0)?),
            last_offset_delta: i32::from_be_bytes(field(frame, 23)?),
            first_timestamp_ms: i64::from_be_bytes(field(frame, 27)?),
            max_timestamp_ms: i64::from_be_bytes(field(frame, 35)?),
            count: i32::from_be_bytes(field(frame, 57)?),
        })
    }
}

/// What is asked for: rows outside of [start, until) are read like the others and left out.
pub struct Wanted {
    pub topic: String,
    pub partition: i32,
    pub start: i64,
    pub until: i64,
}

#[derive(Debug, PartialEq)]
pub enum Read {
    All,
    /// The columns have no room for the next record; it will be read again.
    Full,
}

/// A batch that is being read: how far, and what the next record must be.
pub struct Records {
    batch: Batch,
    at: usize,
    left: i32,
    expected: i128,
    stop: i128,
}

impl Records {
    pub fn new(batch: Batch) -> Self {
        let base = i128::from(batch.base_offset);
        Self {
            at: 0,
            left: batch.count,
            expected: base,
            stop: base + i128::from(batch.last_offset_delta) + 1,
            batch,
        }
    }

    /// `bytes` are the records of the batch, unpacked, the same at every call.
    pub fn read(
        &mut self,
        bytes: &[u8],
        wanted: &Wanted,
        limits: &Limits,
        columns: &mut Columns,
    ) -> Result<Read, Reason> {
        let kind = i32::from(self.batch.is_append_time);
        columns.begin_run(&wanted.topic, wanted.partition, kind);
        let mut cursor = Cursor::new(bytes, self.at);
        while self.left > 0 {
            let record = record(&mut cursor)
                .ok_or_else(|| "a record in it does not end where it says".to_owned())?;
            let offset = i128::from(self.batch.base_offset) + i128::from(record.offset_delta);
            if offset < self.expected || offset >= self.stop {
                return Err(format!("it holds a record with offset {offset}"));
            }
            let timestamp_ms = if self.batch.is_append_time {
                i128::from(self.batch.max_timestamp_ms)
            } else {
                i128::from(self.batch.first_timestamp_ms) + record.timestamp_delta
            };
            if !(-TIMESTAMP_MS_MAX..=TIMESTAMP_MS_MAX).contains(&timestamp_ms) {
                return Err(format!("it holds a record of the time {timestamp_ms} ms"));
            }
            if i128::from(wanted.start) <= offset && offset < i128::from(wanted.until) {
                let size = record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len);
                if !columns.has_room(limits, size, wanted.topic.len()) {
                    return Ok(Read::Full);
                }
                // Both were compared with what 64 bits hold.
                columns.push(record.key, record.value, offset as i64, timestamp_ms as i64 * 1000);
            }
            self.expected = offset + 1;
            self.left -= 1;
            self.at = cursor.at;
        }
        if self.at == bytes.len() {
            Ok(Read::All)
        } else {
            Err(format!("{} bytes in it follow its last record", bytes.len() - self.at))
        }
    }
}

struct Record<'a> {
    timestamp_delta: i128,
    offset_delta: i64,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
}

#[inline(always)]
fn record<'a>(cursor: &mut Cursor<'a>) -> Option<Record<'a>> {
    let length = cursor.varint()?;
    let start = cursor.at;
    // The reference reads the attributes like a number, and nobody looks at them.
    cursor.varint()?;
    let timestamp_delta = cursor.wide_varint()?;
    let offset_delta = cursor.varint()?;
    let key = cursor.nullable()?;
    let value = cursor.nullable()?;
    let headers = cursor.varint()?;
    if headers < 0 {
        return None;
    }
    for _ in 0..headers {
        std::str::from_utf8(cursor.nullable()??).ok()?;
        cursor.nullable()?;
    }
    if i64::try_from(cursor.at - start) != Ok(length) {
        return None;
    }
    Some(Record { timestamp_delta, offset_delta, key, value })
}
