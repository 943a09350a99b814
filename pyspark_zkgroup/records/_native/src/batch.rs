//! The head of a record batch, and the records in it.
//!
//! ```text
//! base offset 8, length 4, leader epoch 4, magic 1, crc 4, attributes 2, last offset delta 4,
//! first timestamp 8, max timestamp 8, producer id 8, producer epoch 2, base sequence 4, count 4
//! ```
//!
//! Old messages share the first 17 bytes with it up to `crc`; no more of them is looked at here.

use crate::columns::{Columns, Limits, Row};
use crate::cursor::Cursor;

const OVERHEAD: i64 = 12; // offset and length, which the length does not count
const SIZE_MIN: [i64; 3] = [26, 34, 61]; // by magic
const ATTRIBUTES_AT: usize = 21;
pub const RECORDS_AT: usize = 61;

const CODEC_MASK: u8 = 0x07;
const APPEND_TIME_BIT: u8 = 0x08;
const TRANSACTIONAL_BIT: u8 = 0x10;
const CONTROL_BIT: u8 = 0x20;

// The Arrow column holds microseconds, a record milliseconds, both in 64 bits.
const TIMESTAMP_MS_MAX: i64 = i64::MAX / 1000;

const ABORT: i16 = 0;

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
    pub is_transactional: bool,
    pub producer_id: i64,
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
            is_transactional: attributes & TRANSACTIONAL_BIT != 0,
            base_offset: i64::from_be_bytes(field(frame, 0)?),
            last_offset_delta: i32::from_be_bytes(field(frame, 23)?),
            first_timestamp_ms: i64::from_be_bytes(field(frame, 27)?),
            max_timestamp_ms: i64::from_be_bytes(field(frame, 35)?),
            producer_id: i64::from_be_bytes(field(frame, 43)?),
            count: i32::from_be_bytes(field(frame, 57)?),
        })
    }

    pub fn has_producer(&self) -> bool {
        self.producer_id >= 0
    }

    pub fn last_offset(&self) -> i64 {
        self.base_offset.saturating_add(i64::from(self.last_offset_delta))
    }

    /// Whether this control batch ends a transaction without effect.
    pub fn is_abort_marker(&self, records: &[u8]) -> Result<bool, Reason> {
        if self.count <= 0 {
            return Ok(false); // compaction has emptied it
        }
        if self.codec != 0 {
            return Err("the marker of a transaction in it is compressed".to_owned());
        }
        let marker = record(&mut Cursor::new(records, 0)).ok_or_else(unfinished)?;
        let key = marker.key.unwrap_or_default();
        match (field(key, 0).map(i16::from_be_bytes), field(key, 2).map(i16::from_be_bytes)) {
            (Some(0..), Some(kind)) => Ok(kind == ABORT),
            _ => Err("a control record in it has no type".to_owned()),
        }
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
    delta_min: i64,
}

impl Records {
    pub fn new(batch: Batch) -> Self {
        Self { at: 0, left: batch.count, delta_min: 0, batch }
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
            let record = record(&mut cursor).ok_or_else(unfinished)?;
            let offset = self.offset(&record)?;
            let timestamp_ms = self.timestamp_ms(&record)?;
            if wanted.start <= offset && offset < wanted.until {
                let row = Row {
                    key: record.key,
                    value: record.value,
                    headers: record.headers,
                    offset,
                    timestamp_us: timestamp_ms * 1000,
                };
                if !columns.push(&row, limits, wanted.topic.len())? {
                    return Ok(Read::Full);
                }
            }
            self.delta_min = i64::from(record.offset_delta) + 1;
            self.left -= 1;
            self.at = cursor.at;
        }
        if self.at == bytes.len() {
            Ok(Read::All)
        } else {
            Err(format!("{} bytes in it follow its last record", bytes.len() - self.at))
        }
    }

    #[inline(always)]
    fn offset(&self, record: &Record) -> Result<i64, Reason> {
        let base = self.batch.base_offset;
        let delta = i64::from(record.offset_delta);
        base.checked_add(delta)
            .filter(|_| delta >= self.delta_min)
            .filter(|_| delta <= i64::from(self.batch.last_offset_delta))
            .ok_or_else(|| format!("it holds a record with offset {base} + {delta}"))
    }

    /// Both ways compared with what a column of microseconds holds.
    #[inline(always)]
    fn timestamp_ms(&self, record: &Record) -> Result<i64, Reason> {
        let found = if self.batch.is_append_time {
            Some(self.batch.max_timestamp_ms)
        } else {
            self.batch.first_timestamp_ms.checked_add(record.timestamp_delta)
        };
        found
            .filter(|ms| (-TIMESTAMP_MS_MAX..=TIMESTAMP_MS_MAX).contains(ms))
            .ok_or_else(|| "it holds a record of a time that no calendar has".to_owned())
    }
}

struct Record<'a> {
    timestamp_delta: i64,
    offset_delta: i32,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
    /// As they came; see `headers`. Empty if there are none.
    headers: &'a [u8],
}

fn unfinished() -> Reason {
    "a record in it does not end where it says".to_owned()
}

#[inline(always)]
fn record<'a>(cursor: &mut Cursor<'a>) -> Option<Record<'a>> {
    let length = cursor.varint()?;
    let start = cursor.at;
    cursor.byte()?; // attributes, of which there are none
    let timestamp_delta = cursor.varlong()?;
    let offset_delta = cursor.varint()?;
    let key = cursor.nullable()?;
    let value = cursor.nullable()?;
    let header_count = cursor.varint()?;
    let headers = if header_count == 0 { &[] } else { headers(cursor, header_count)? };
    if usize::try_from(length) != Ok(cursor.at - start) {
        return None;
    }
    Some(Record { timestamp_delta, offset_delta, key, value, headers })
}

/// Goes behind them.
fn headers<'a>(cursor: &mut Cursor<'a>, count: i32) -> Option<&'a [u8]> {
    let start = cursor.at;
    for _ in 0..u32::try_from(count).ok()? {
        cursor.nullable()??;
        cursor.nullable()?;
    }
    Some(cursor.since(start))
}
