//! Unpacks what a record batch is compressed with, and never more than it is allowed to.
//!
//! Whatever cannot be unpacked is only refused here: the reference then says why, so that no two
//! libraries have to agree on the reasons.

use std::io::Read;

use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{Decoder as ZstdDecoder, Operation};

pub const GZIP: u8 = 1;
pub const SNAPPY: u8 = 2;
pub const LZ4: u8 = 3;
pub const ZSTD: u8 = 4;

// Snappy as Java writes it: this header, two version numbers, then blocks that each follow their
// length.
const XERIAL: &[u8] = b"\x82SNAPPY\x00";
const XERIAL_HEAD_SIZE: usize = 16;

const GZIP_HEAD: &[u8] = b"\x1f\x8b";
const WINDOW_BITS: u8 = 15;

const LZ4_FRAME: &[u8] = b"\x04\x22\x4d\x18";

const STEP_MIN: usize = 64 * 1024;
const KEPT_BYTES_MAX: usize = 8 * 1024 * 1024;

#[derive(Debug)]
pub struct Refused;

impl<E: std::error::Error> From<E> for Refused {
    fn from(_: E) -> Self {
        Self
    }
}

/// Keeps its memory from one batch to the next.
#[derive(Default)]
pub struct Unpacker {
    sink: Sink,
    zstd: Option<ZstdDecoder<'static>>,
}

impl Unpacker {
    /// How many bytes there are now in `unpacked`.
    pub fn unpack(&mut self, codec: u8, data: &[u8], bytes_max: usize) -> Result<usize, Refused> {
        self.sink.begin(bytes_max, data.len());
        match codec {
            GZIP => gzip(data, &mut self.sink)?,
            SNAPPY => snappy(data, &mut self.sink)?,
            LZ4 => lz4(data, &mut self.sink)?,
            ZSTD => {
                let decoder = match self.zstd.take() {
                    Some(decoder) => decoder,
                    None => ZstdDecoder::new()?,
                };
                zstd(data, &mut self.sink, self.zstd.insert(decoder))?;
            }
            _ => return Err(Refused),
        }
        if self.sink.length > bytes_max {
            return Err(Refused);
        }
        Ok(self.sink.length)
    }

    pub fn unpacked(&self) -> &[u8] {
        self.sink.buffer.get(..self.sink.length).unwrap_or_default()
    }

    /// One large batch does not make the next thousand small ones take as much.
    pub fn shrink(&mut self) {
        if self.sink.buffer.len() > KEPT_BYTES_MAX {
            self.sink = Sink::default();
        }
    }
}

/// Grows in steps, and by one byte more than is allowed: who writes that byte has written too much.
#[derive(Default)]
struct Sink {
    buffer: Vec<u8>,
    length: usize,
    bytes_max: usize,
}

impl Sink {
    fn begin(&mut self, bytes_max: usize, packed_size: usize) {
        self.length = 0;
        self.bytes_max = bytes_max;
        self.grow(packed_size.saturating_mul(4).max(STEP_MIN));
    }

    fn grow(&mut self, size: usize) {
        let size = size.min(self.bytes_max.saturating_add(1));
        let more = size.saturating_sub(self.buffer.len());
        // If there is no memory left it does not grow, and the caller that needs the room is refused.
        if more > 0 && self.buffer.try_reserve_exact(more).is_ok() {
            self.buffer.resize(size, 0);
        }
    }

    /// Never empty.
    fn room(&mut self) -> Result<&mut [u8], Refused> {
        if self.length > self.bytes_max {
            return Err(Refused);
        }
        if self.length == self.buffer.len() {
            self.grow(self.length.saturating_mul(2));
        }
        let end = self.buffer.len().min(self.bytes_max.saturating_add(1));
        self.buffer.get_mut(self.length..end).filter(|room| !room.is_empty()).ok_or(Refused)
    }
}

/// One stream or several behind each other, each with the head of gzip or that of zlib.
fn gzip(data: &[u8], sink: &mut Sink) -> Result<(), Refused> {
    let mut rest = data;
    while !rest.is_empty() {
        let mut stream = if rest.starts_with(GZIP_HEAD) {
            Decompress::new_gzip(WINDOW_BITS)
        } else {
            Decompress::new(true)
        };
        let (mut read, mut written) = (0, 0);
        loop {
            let status = stream.decompress(rest, sink.room()?, FlushDecompress::None)?;
            let (read_now, written_now) = (stream.total_in() - read, stream.total_out() - written);
            (read, written) = (stream.total_in(), stream.total_out());
            rest = rest.get(usize::try_from(read_now)?..).ok_or(Refused)?;
            sink.length += usize::try_from(written_now)?;
            if status == Status::StreamEnd {
                break;
            }
            if read_now == 0 && written_now == 0 {
                return Err(Refused);
            }
        }
    }
    Ok(())
}

fn snappy(data: &[u8], sink: &mut Sink) -> Result<(), Refused> {
    if !data.starts_with(XERIAL) {
        return snappy_block(data, sink);
    }
    let mut rest = data.get(XERIAL_HEAD_SIZE..).unwrap_or_default();
    while let Some((size, behind)) = rest.split_first_chunk() {
        let size = usize::try_from(i32::from_be_bytes(*size))?;
        snappy_block(behind.get(..size).ok_or(Refused)?, sink)?;
        rest = behind.get(size..).ok_or(Refused)?;
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err(Refused)
    }
}

/// A block begins with its unpacked size, so a lie is known before any memory is taken.
fn snappy_block(data: &[u8], sink: &mut Sink) -> Result<(), Refused> {
    let mut size = 0u64;
    for (index, byte) in data.iter().take(5).enumerate() {
        size |= u64::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            return snappy_block_of(usize::try_from(size)?, data, sink);
        }
    }
    Err(Refused)
}

fn snappy_block_of(size: usize, data: &[u8], sink: &mut Sink) -> Result<(), Refused> {
    if size == 0 {
        return Ok(()); // whatever follows: the reference does not look at it either
    }
    let end = sink.length.checked_add(size).filter(|end| *end <= sink.bytes_max).ok_or(Refused)?;
    sink.grow(end.max(sink.length.saturating_mul(2)));
    let room = sink.buffer.get_mut(sink.length..end).ok_or(Refused)?;
    if snap::raw::Decoder::new().decompress(data, room)? != size {
        return Err(Refused);
    }
    sink.length = end;
    Ok(())
}

fn lz4(data: &[u8], sink: &mut Sink) -> Result<(), Refused> {
    let mut rest = data;
    while !rest.is_empty() {
        // The library takes 11 bytes at once, more than a frame to be skipped may have.
        if !rest.starts_with(LZ4_FRAME) {
            return Err(Refused);
        }
        let mut stream = lz4::Decoder::new(rest)?;
        loop {
            let count = stream.read(sink.room()?)?;
            if count == 0 {
                break;
            }
            sink.length += count;
        }
        let (behind, end) = stream.finish();
        end?;
        rest = behind;
    }
    Ok(())
}

fn zstd(data: &[u8], sink: &mut Sink, decoder: &mut ZstdDecoder<'_>) -> Result<(), Refused> {
    let mut rest = data;
    while !rest.is_empty() {
        decoder.reinit()?;
        loop {
            let status = decoder.run_on_buffers(rest, sink.room()?)?;
            rest = rest.get(status.bytes_read..).ok_or(Refused)?;
            sink.length += status.bytes_written;
            if status.remaining == 0 {
                break;
            }
            if status.bytes_read == 0 && status.bytes_written == 0 {
                return Err(Refused);
            }
        }
    }
    Ok(())
}
