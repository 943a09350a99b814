//! Goes through the record batches of one answer, one Arrow batch at a time.

use crate::batch::{frame, Batch, Frame, Read, Reason, Records, Wanted, RECORDS_AT};
use crate::codecs::Unpacker;
use crate::columns::{Columns, Limits};
use crate::transactions::Aborted;

pub enum Step {
    /// The columns are full. They are to be taken before the next step.
    Full,
    /// These bytes, whole batches or messages, are for the reference: an old format, or compressed
    /// in a way that is refused here. They belong to no transaction that was aborted.
    Reference { at: usize, end: usize },
    /// Everything has been read; the columns may hold rows.
    End,
}

/// The batch at `offset` is not what a broker keeps.
pub struct Damaged {
    pub offset: i64,
    pub reason: Reason,
}

pub struct Feed<B> {
    source: B,
    at: usize,
    end: usize,
    wanted: Wanted,
    aborted: Aborted,
    offset: i64,
    open: Option<Open>,
}

struct Open {
    records: Records,
    at: usize,
    end: usize,
    is_packed: bool,
}

impl<B: AsRef<[u8]>> Feed<B> {
    /// None if the source does not reach from `at` to `end`.
    pub fn new(source: B, at: usize, end: usize, wanted: Wanted, aborted: Aborted) -> Option<Self> {
        source.as_ref().get(at..end)?;
        let offset = wanted.start;
        Some(Self { source, at, end, wanted, aborted, offset, open: None })
    }

    pub fn step(
        &mut self,
        limits: &Limits,
        unpacker: &mut Unpacker,
        columns: &mut Columns,
    ) -> Result<Step, Damaged> {
        self.advance(limits, unpacker, columns)
            .map_err(|reason| Damaged { offset: self.offset, reason })
    }

    fn advance(
        &mut self,
        limits: &Limits,
        unpacker: &mut Unpacker,
        columns: &mut Columns,
    ) -> Result<Step, Reason> {
        let bytes = self.source.as_ref().get(..self.end).unwrap_or_default();
        loop {
            if let Some(open) = &mut self.open {
                let records = if open.is_packed {
                    unpacker.unpacked()
                } else {
                    bytes.get(open.at..open.end).unwrap_or_default()
                };
                if open.records.read(records, &self.wanted, limits, columns)? == Read::Full {
                    return Ok(Step::Full);
                }
                self.open = None;
                unpacker.shrink();
            }
            if self.at >= self.end {
                return Ok(Step::End);
            }
            let at = self.at;
            let found = next(bytes, at)?;
            self.offset = found.offset;
            self.at = at + found.size;
            if found.is_old {
                while let Ok(Frame { size, offset, is_old: true }) = next(bytes, self.at) {
                    self.offset = offset;
                    self.at += size;
                }
                return Ok(Step::Reference { at, end: self.at });
            }
            let whole = bytes.get(at..self.at).unwrap_or_default();
            let batch = Batch::parse(whole)?;
            let packed = whole.get(RECORDS_AT..).unwrap_or_default();
            if self.aborted.leaves_out(&batch, packed)? || batch.is_control {
                continue;
            }
            let is_packed = batch.codec != 0 && !packed.is_empty();
            if is_packed && unpacker.unpack(batch.codec, packed, limits.unpacked_bytes_max).is_err()
            {
                unpacker.shrink();
                return Ok(Step::Reference { at, end: self.at });
            }
            self.open = Some(Open {
                records: Records::new(batch),
                at: at + RECORDS_AT,
                end: self.at,
                is_packed,
            });
        }
    }
}

fn next(bytes: &[u8], at: usize) -> Result<Frame, Reason> {
    frame(bytes.get(at..).unwrap_or_default())
}
