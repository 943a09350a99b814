//! Protobuf's encoding. How messages become columns has been decided in Python: here are only the
//! programs that came of it, one for each kind of message.

mod program;
mod read;
mod wire;

use std::collections::HashMap;

use crate::cursor::Cursor;
use crate::formats::build::Builder;
use crate::formats::kind::Kind;
use crate::formats::parsed::{rows, Parsed, Parser};
use crate::formats::protobuf::program::Program;
pub use crate::formats::protobuf::program::Step;

/// Messages within each other that a record may name.
const PATH_MAX: i32 = 32;

/// Damaged records name any. Beyond this all are forgotten, and asked for again.
const FRAMES_MAX: usize = 1024;

/// A schema's id, and a message by its place in the schema, within the message before. Of records
/// without a frame it is the default.
pub type Frame = (u32, Vec<i32>);

pub struct ProtobufParser {
    kind: Kind,
    is_framed: bool,
    frames: Vec<Frame>,
    numbers: HashMap<Frame, usize>,
    /// By the number of the frame.
    programs: HashMap<usize, Program>,
}

impl ProtobufParser {
    /// None if the words are no type of a message.
    pub fn new<'a>(mut words: impl Iterator<Item = &'a str>, is_framed: bool) -> Option<Self> {
        let kind = Kind::read(&mut words)?;
        if words.next().is_some() || !matches!(kind, Kind::Struct(_)) {
            return None;
        }
        let (frames, numbers, programs) = (Vec::new(), HashMap::new(), HashMap::new());
        Some(Self { kind, is_framed, frames, numbers, programs })
    }

    /// What `Parsed::unknown` stands for.
    pub fn frame(&self, number: u64) -> Option<&Frame> {
        self.frames.get(usize::try_from(number).ok()?)
    }

    /// For the records with this frame. False if the steps are no program.
    pub fn add(&mut self, number: u64, steps: &[Step]) -> bool {
        match (usize::try_from(number), Program::new(steps)) {
            (Ok(number), Some(program)) => {
                self.programs.insert(number, program);
                true
            }
            _ => false,
        }
    }
}

impl Parser for ProtobufParser {
    fn parse<'a>(&mut self, values: impl Iterator<Item = Option<&'a [u8]>>) -> Parsed {
        let Self { kind, is_framed, frames, numbers, programs } = self;
        let mut last: (&[u8], usize) = (&[], usize::MAX);
        rows(kind, Builder::push_null, values, |value, out| {
            let (head, body) = match is_framed {
                true => match split(value) {
                    Some(found) => found,
                    None => return Ok((Some(NO_FRAME.to_owned()), 0)),
                },
                false => value.split_at(0),
            };
            if last.0 != head || last.1 == usize::MAX {
                let frame = frame(head);
                if frames.len() >= FRAMES_MAX && !numbers.contains_key(&frame) {
                    frames.clear();
                    numbers.clear();
                    programs.clear();
                }
                let number = *numbers.entry(frame).or_insert_with_key(|frame| {
                    frames.push(frame.clone());
                    frames.len() - 1
                });
                last = (head, number);
            }
            let program = programs.get(&last.1).ok_or(last.1 as u64)?;
            Ok(read::row(program, body, out))
        })
    }
}

const NO_FRAME: &str =
    "it does not begin with a zero byte, the four bytes of a schema's id and a message's place in it";

/// What stands before the encoded message.
#[inline(always)]
fn split(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut cursor = Cursor::new(value, 0);
    if cursor.byte()? != 0 {
        return None;
    }
    cursor.take(4)?;
    let count = cursor.varint().filter(|count| (0..=PATH_MAX).contains(count))?;
    for _ in 0..count {
        cursor.varint().filter(|place| *place >= 0)?;
    }
    value.split_at_checked(cursor.at)
}

fn frame(head: &[u8]) -> Frame {
    let mut cursor = Cursor::new(head, 5);
    let number = || {
        let (_, id) = head.split_first()?;
        id.first_chunk::<4>().map(|id| u32::from_be_bytes(*id))
    };
    let count = cursor.varint().unwrap_or(0);
    let mut path: Vec<i32> = (0..count).filter_map(|_| cursor.varint()).collect();
    if path.is_empty() {
        path.push(0); // the first message, as most are
    }
    (number().unwrap_or(0), path)
}

#[cfg(test)]
mod tests;
