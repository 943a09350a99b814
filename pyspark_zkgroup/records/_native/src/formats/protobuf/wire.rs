//! Tags, numbers and lengths as Java's reader of Protobuf takes them: bits that do not fit are
//! dropped, and more than ten bytes are damage.

use crate::formats::protobuf::program::Number;
use crate::formats::protobuf::read::{Bad, Found};

/// Messages and groups within each other, as in Java's reader.
pub const DEPTH_MAX: usize = 100;

pub const VARINT: u32 = 0;
pub const EIGHT: u32 = 1;
pub const SIZED: u32 = 2;
pub const GROUP: u32 = 3;
pub const GROUP_END: u32 = 4;
pub const FOUR: u32 = 5;

pub struct Wire<'a> {
    bytes: &'a [u8],
}

impl<'a> Wire<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    #[inline(always)]
    pub fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    /// A field's number, and how it is written.
    #[inline(always)]
    pub fn tag(&mut self) -> Found<(u32, u32)> {
        let tag = self.varint()? as u32;
        if tag >> 3 == 0 {
            return Err(Bad::new("a field in it has the number 0"));
        }
        Ok((tag >> 3, tag & 7))
    }

    #[inline(always)]
    pub fn varint(&mut self) -> Found<u64> {
        if let [first @ 0..=0x7f, rest @ ..] = self.bytes {
            self.bytes = rest;
            return Ok(u64::from(*first));
        }
        self.long()
    }

    #[inline(always)]
    pub fn array<const SIZE: usize>(&mut self) -> Found<[u8; SIZE]> {
        let (found, rest) = self.bytes.split_first_chunk::<SIZE>().ok_or_else(unfinished)?;
        self.bytes = rest;
        Ok(*found)
    }

    #[inline(always)]
    pub fn sized(&mut self) -> Found<&'a [u8]> {
        let length = self.varint()? as i32;
        let split = usize::try_from(length).ok().and_then(|at| self.bytes.split_at_checked(at));
        let (found, rest) = split.ok_or_else(|| {
            Bad::new(format!("it claims {length} bytes where {} are left", self.bytes.len()))
        })?;
        self.bytes = rest;
        Ok(found)
    }

    /// What lies between the tags of a group; the first one has been read.
    pub fn group(&mut self, number: u32, depth: usize) -> Found<&'a [u8]> {
        let begin = self.bytes;
        loop {
            let before = self.bytes.len();
            let (inner, written) = self.tag()?;
            if written == GROUP_END {
                if inner != number {
                    return Err(Bad::new("a group in it ends that did not begin"));
                }
                return Ok(begin.get(..begin.len() - before).unwrap_or_default());
            }
            self.skip(inner, written, depth)?;
        }
    }

    /// Behind a field that is not asked for; `depth` is that of the message around it.
    pub fn skip(&mut self, number: u32, written: u32, depth: usize) -> Found<()> {
        match written {
            VARINT => drop(self.varint()?),
            EIGHT => drop(self.array::<8>()?),
            SIZED => drop(self.sized()?),
            FOUR => drop(self.array::<4>()?),
            GROUP => drop(self.group(number, deeper(depth)?)?),
            GROUP_END => return Err(Bad::new("a group in it ends that did not begin")),
            _ => return Err(Bad::new(format!("a field in it has the wire type {written}"))),
        }
        Ok(())
    }

    fn long(&mut self) -> Found<u64> {
        let mut found = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array::<1>()?;
            found |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                // Java does not look at the bits of a tenth byte: it takes the highest one as set.
                return Ok(found | u64::from(shift == 63) << 63);
            }
        }
        Err(unfinished())
    }
}

/// The depth of what lies within.
pub fn deeper(depth: usize) -> Found<usize> {
    if depth >= DEPTH_MAX {
        return Err(Bad::new("it is nested too deeply"));
    }
    Ok(depth + 1)
}

#[cold]
fn unfinished() -> Box<Bad> {
    Bad::new("a value in it does not end")
}

impl Number {
    pub fn written(self) -> u32 {
        match self {
            Self::Fixed32 => FOUR,
            Self::Fixed64 => EIGHT,
            _ => VARINT,
        }
    }

    /// Numbers of 32 bits have no others.
    #[inline(always)]
    pub fn read(self, wire: &mut Wire<'_>) -> Found<u64> {
        Ok(match self {
            Self::Int64 | Self::UInt64 => wire.varint()?,
            Self::Int32 | Self::UInt32 => u64::from(wire.varint()? as u32),
            Self::SInt64 => {
                let folded = wire.varint()?;
                folded >> 1 ^ (folded & 1).wrapping_neg()
            }
            Self::SInt32 => {
                let folded = wire.varint()? as u32;
                u64::from(folded >> 1 ^ (folded & 1).wrapping_neg())
            }
            Self::Fixed32 => u64::from(u32::from_le_bytes(wire.array()?)),
            Self::Fixed64 => u64::from_le_bytes(wire.array()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Wire;

    #[test]
    fn numbers_have_ten_bytes_at_most() {
        let number = |bytes: &[u8]| Wire::new(bytes).varint().ok();
        assert_eq!(number(&[0x7f]), Some(127));
        assert_eq!(number(&[0x80, 1]), Some(128));
        assert_eq!(number(&[0x80]), None);
        let mut longest = [0xff; 10];
        assert_eq!(number(&longest), None);
        longest[9] = 0x7f;
        assert_eq!(number(&longest), Some(u64::MAX));
        longest[9] = 0;
        assert_eq!(number(&longest), Some(u64::MAX));
        assert_eq!(number(&[0x80, 0x80, 0]), Some(0));
    }

    #[test]
    fn groups_end_where_they_began() {
        let skipped = |bytes: &[u8]| {
            let mut wire = Wire::new(bytes);
            let (number, written) = wire.tag().ok()?;
            wire.skip(number, written, 0).ok()?;
            Some(wire.bytes.len())
        };
        assert_eq!(skipped(&[0x0b, 0x13, 0x14, 0x0c, 9]), Some(1));
        assert_eq!(skipped(&[0x0b, 0x13, 0x0c, 0x14]), None);
        assert_eq!(skipped(&[0x0b, 0x08, 1]), None);
        assert_eq!(skipped(&[0x0c]), None);
        assert_eq!(skipped(&[0x0e]), None);
        assert_eq!(skipped(&[0x03]), None);
        let nested = |depth: usize| [vec![0x0b; depth], vec![0x0c; depth]].concat();
        assert_eq!(skipped(&nested(100)), Some(0));
        assert_eq!(skipped(&nested(101)), None);
    }
}
