//! Reads one value, as Java's DynamicMessage and Spark's from_protobuf do: of a field that occurs
//! twice the last one counts, but messages become one and repeated fields grow; only one field of a
//! oneof stays.

use std::mem;

use crate::formats::build::{Builder, Data};
use crate::formats::parsed::{too_large, ROW_BYTES_MAX};
use crate::formats::protobuf::program::{
    Absent, Enum, Field, Message, Node, Number, Program, Width,
};
use crate::formats::protobuf::wire::{deeper, Wire, EIGHT, FOUR, GROUP, SIZED, VARINT};
use crate::java_text;

const ELEMENT_BYTES: usize = 9;

/// Why a value cannot be read, and the fields around it, the innermost first.
pub struct Bad {
    path: Vec<String>,
    what: String,
}

impl Bad {
    #[cold]
    pub fn new(what: impl Into<String>) -> Box<Self> {
        Box::new(Self { path: Vec::new(), what: what.into() })
    }
}

pub type Found<T> = Result<T, Box<Bad>>;

/// A field's value until its message ends.
enum Slot<'a> {
    Empty,
    Number(u64),
    Bytes(&'a [u8]),
    /// A message is what all its parts say, one after the other.
    Parts(Vec<&'a [u8]>),
}

/// Why it is bad, if it is, and about how many bytes of columns it takes.
pub fn row(program: &Program, body: &[u8], out: &mut Builder) -> (Option<String>, usize) {
    let mut reader = Reader { program, slots: Vec::new(), taken: 0, is_partial: false };
    let done = match program.root() {
        Some(Node::Message(root)) => reader.message(root, &[body], out, 0),
        Some(Node::Bad(reason)) => Err(Bad::new(reason.clone())),
        _ => Err(unknown()),
    };
    let reason = done.err().map(|bad| {
        let path = bad.path.iter().rev().map(|name| format!("{name}."));
        let path = path.collect::<String>();
        match path.strip_suffix('.') {
            Some(path) => format!("{path}: {}", bad.what),
            None => bad.what,
        }
    });
    (reason, reader.taken)
}

struct Reader<'a> {
    program: &'a Program,
    /// Of the messages that are open, the innermost last.
    slots: Vec<Slot<'a>>,
    /// About how many bytes of columns its values take.
    taken: usize,
    /// Required fields may be missing.
    is_partial: bool,
}

impl<'a> Reader<'a> {
    fn message(
        &mut self,
        message: &'a Message,
        parts: &[&'a [u8]],
        out: &mut Builder,
        depth: usize,
    ) -> Found<()> {
        self.take(message.weight)?;
        let base = self.open(message);
        let Data::Struct(children) = &mut out.data else {
            return Err(unknown());
        };
        for part in parts {
            self.walk(message, base, part, children, depth)?;
        }
        for (at, field) in message.fields.iter().enumerate() {
            if let Some(child) = field.to.and_then(|to| children.get_mut(to)) {
                if field.is_repeated {
                    child.close();
                    continue;
                }
                let slot = self.slot(base + at);
                self.close(field, slot, child, depth).map_err(|bad| named(field, bad))?;
            }
        }
        for place in &message.missing {
            children.get_mut(*place).ok_or_else(unknown)?.push_null();
        }
        self.slots.truncate(base);
        out.close();
        Ok(())
    }

    /// Seconds and nanoseconds as microseconds.
    fn time(&mut self, message: &'a Message, parts: &[&'a [u8]], depth: usize) -> Found<i64> {
        let base = self.open(message);
        for part in parts {
            self.walk(message, base, part, &mut [], depth)?;
        }
        let mut both = [0i64; 2];
        for (at, field) in message.fields.iter().enumerate() {
            let found = match (self.slot(base + at), &field.default) {
                (Slot::Number(found), _) => found as i64,
                (_, Some(Absent::Number(found))) => *found as i64,
                _ => self.absent(field).map(|()| 0)?,
            };
            *field.to.and_then(|to| both.get_mut(to)).ok_or_else(unknown)? = found;
        }
        self.slots.truncate(base);
        let [seconds, nanos] = both;
        let micros = seconds.checked_mul(1_000_000);
        let micros = micros.and_then(|micros| micros.checked_add(i64::from(nanos as i32) / 1000));
        micros.ok_or_else(|| Bad::new(format!("{seconds} s are too many")))
    }

    fn open(&mut self, message: &Message) -> usize {
        let base = self.slots.len();
        let count = message.fields.len() + message.oneofs;
        self.slots.resize_with(base + count, || Slot::Empty);
        base
    }

    fn slot(&mut self, at: usize) -> Slot<'a> {
        self.slots.get_mut(at).map_or(Slot::Empty, |slot| mem::replace(slot, Slot::Empty))
    }

    fn walk(
        &mut self,
        message: &'a Message,
        base: usize,
        part: &'a [u8],
        children: &mut [Builder],
        depth: usize,
    ) -> Found<()> {
        let mut wire = Wire::new(part);
        let mut hint = 0;
        while !wire.is_at_end() {
            let (number, written) = wire.tag()?;
            let Some(at) = message.find(number, hint) else {
                wire.skip(number, written, depth)?;
                continue;
            };
            let field = message.fields.get(at).ok_or_else(unknown)?;
            hint = if field.is_repeated { at } else { at + 1 };
            let mut place = Occurrence { reader: self, message, base, at, depth };
            let is_read = place.read(field, &mut wire, number, written, children);
            if !is_read.map_err(|bad| named(field, bad))? {
                wire.skip(number, written, depth)?;
            }
        }
        Ok(())
    }

    /// The value of a field whose message has ended.
    fn close(
        &mut self,
        field: &'a Field,
        slot: Slot<'a>,
        out: &mut Builder,
        depth: usize,
    ) -> Found<()> {
        let node = self.program.node(field.node).ok_or_else(unknown)?;
        match (slot, &field.default) {
            (Slot::Number(found), _) => self.number(node, found, out),
            (Slot::Empty, Some(Absent::Number(found))) => self.number(node, *found, out),
            (Slot::Bytes(found), _) => self.bytes(node, found, out),
            (Slot::Empty, Some(Absent::Bytes(found))) => self.bytes(node, found, out),
            (Slot::Parts(parts), _) => self.nested(node, &parts, out, depth),
            (Slot::Empty, Some(Absent::Message)) => self.nested(node, &[], out, depth),
            (Slot::Empty, None) => {
                self.absent(field)?;
                out.push_null();
                Ok(())
            }
        }
    }

    fn absent(&self, field: &Field) -> Found<()> {
        if field.is_required && !self.is_partial {
            return Err(Bad::new("it is required, but missing"));
        }
        Ok(())
    }

    fn partial<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = mem::replace(&mut self.is_partial, true);
        let found = read(self);
        self.is_partial = before;
        found
    }

    fn nested(
        &mut self,
        node: &'a Node,
        parts: &[&'a [u8]],
        out: &mut Builder,
        depth: usize,
    ) -> Found<()> {
        match node {
            Node::Message(message) => self.message(message, parts, out, deeper(depth)?),
            Node::Time(message) => {
                let micros = self.time(message, parts, deeper(depth)?)?;
                out.push_fixed(&micros.to_ne_bytes());
                Ok(())
            }
            _ => Err(unknown()),
        }
    }

    #[inline(always)]
    fn number(&mut self, node: &Node, found: u64, out: &mut Builder) -> Found<()> {
        match node {
            Node::Number(_, Width::Four) => out.push_fixed(&(found as u32).to_ne_bytes()),
            Node::Number(_, Width::Eight) => out.push_fixed(&found.to_ne_bytes()),
            Node::Number(_, Width::Sixteen) => out.push_fixed(&u128::from(found).to_ne_bytes()),
            Node::Bool => out.push_bool(found != 0),
            Node::Enum(one) if one.is_text => return self.label(one, found as i32, out),
            Node::Enum(_) => out.push_fixed(&(found as u32).to_ne_bytes()),
            _ => return Err(unknown()),
        }
        Ok(())
    }

    fn label(&mut self, one: &Enum, number: i32, out: &mut Builder) -> Found<()> {
        if let Some(label) = one.label(number) {
            self.take(label.len())?;
            out.push_bytes(label);
            return Ok(());
        }
        // The name that Java gives it.
        let label = format!("UNKNOWN_ENUM_VALUE_{}_{number}", one.name);
        self.take(label.len())?;
        out.push_bytes(label.as_bytes());
        Ok(())
    }

    #[inline(always)]
    fn bytes(&mut self, node: &Node, found: &[u8], out: &mut Builder) -> Found<()> {
        self.take(found.len())?;
        if matches!(node, Node::Text(false)) && std::str::from_utf8(found).is_err() {
            let mut text = Vec::with_capacity(found.len());
            java_text::append(&mut text, found);
            self.take(text.len())?;
            out.push_bytes(&text);
            return Ok(());
        }
        out.push_bytes(found);
        Ok(())
    }

    #[inline(always)]
    fn take(&mut self, bytes: usize) -> Found<()> {
        self.taken += bytes;
        if self.taken > ROW_BYTES_MAX {
            return Err(Bad::new(too_large()));
        }
        Ok(())
    }
}

/// A field where it occurs within its message.
struct Occurrence<'r, 'a> {
    reader: &'r mut Reader<'a>,
    message: &'a Message,
    base: usize,
    at: usize,
    depth: usize,
}

impl<'a> Occurrence<'_, 'a> {
    /// False if it is written as no value of its type is.
    #[inline(always)]
    fn read(
        &mut self,
        field: &'a Field,
        wire: &mut Wire<'a>,
        number: u32,
        written: u32,
        children: &mut [Builder],
    ) -> Found<bool> {
        let node = self.reader.program.node(field.node).ok_or_else(unknown)?;
        let of_type = match node {
            Node::Number(kind, _) => kind.written(),
            Node::Bool | Node::Enum(_) => VARINT,
            Node::Message(_) | Node::Time(_) | Node::Skipped if field.is_group => GROUP,
            _ => SIZED,
        };
        if written != of_type {
            let is_packed = field.is_repeated && written == SIZED && !matches!(of_type, GROUP);
            if !is_packed {
                return self.other_type();
            }
            let mut packed = Wire::new(wire.sized()?);
            while !packed.is_at_end() {
                self.number(node, field, &mut packed, children)?;
            }
            return Ok(true);
        }
        match of_type {
            SIZED | GROUP => {
                let found = if of_type == SIZED {
                    wire.sized()?
                } else {
                    wire.group(number, deeper(self.depth)?)?
                };
                self.sized(node, field, found, children)?;
            }
            _ => self.number(node, field, wire, children)?,
        }
        Ok(true)
    }

    /// Spark takes such a record for one of another schema; in a message within, Java skips it.
    fn other_type(&self) -> Found<bool> {
        if self.depth == 0 {
            return Err(Bad::new("it is written as another type"));
        }
        Ok(false)
    }

    #[inline(always)]
    fn number(
        &mut self,
        node: &'a Node,
        field: &'a Field,
        wire: &mut Wire<'a>,
        children: &mut [Builder],
    ) -> Found<()> {
        let found = match node {
            Node::Number(kind, _) => kind.read(wire)?,
            Node::Bool => u64::from(wire.varint()? != 0),
            Node::Enum(one) => {
                let number = wire.varint()? as i32;
                if !one.is_open && one.label(number).is_none() {
                    if self.depth == 0 {
                        return Err(Bad::new(format!("{number} is no value of {}", one.name)));
                    }
                    return Ok(());
                }
                u64::from(number as u32)
            }
            _ => return Err(unknown()),
        };
        if field.is_repeated {
            let list = element(field, children)?;
            self.reader.take(ELEMENT_BYTES)?;
            return self.reader.number(node, found, list);
        }
        let is_none = field.is_implicit && found == 0;
        self.keep(field, if is_none { Slot::Empty } else { Slot::Number(found) }, children)
    }

    fn sized(
        &mut self,
        node: &'a Node,
        field: &'a Field,
        found: &'a [u8],
        children: &mut [Builder],
    ) -> Found<()> {
        if matches!(node, Node::Text(true)) && std::str::from_utf8(found).is_err() {
            return Err(Bad::new("it is not UTF-8"));
        }
        let is_message = matches!(node, Node::Message(_) | Node::Time(_));
        if field.is_repeated {
            let list = element(field, children)?;
            self.reader.take(ELEMENT_BYTES)?;
            return match is_message {
                true => self.reader.nested(node, &[found], list, self.depth),
                false => self.reader.bytes(node, found, list),
            };
        }
        if is_message {
            if let Some(Slot::Parts(parts)) = self.reader.slots.get_mut(self.base + self.at) {
                parts.push(found);
                return Ok(());
            }
            return self.keep(field, Slot::Parts(vec![found]), children);
        }
        let is_none = field.is_implicit && found.is_empty();
        self.keep(field, if is_none { Slot::Empty } else { Slot::Bytes(found) }, children)
    }

    #[inline(always)]
    fn keep(&mut self, field: &'a Field, value: Slot<'a>, children: &mut [Builder]) -> Found<()> {
        if let Some(oneof) = field.oneof {
            self.clear_other(oneof, children)?;
        }
        *self.reader.slots.get_mut(self.base + self.at).ok_or_else(unknown)? = value;
        Ok(())
    }

    /// A message that does not stay must be readable, too.
    fn clear_other(&mut self, oneof: usize, children: &mut [Builder]) -> Found<()> {
        let chosen = self.base + self.message.fields.len() + oneof;
        let before = self.reader.slot(chosen);
        *self.reader.slots.get_mut(chosen).ok_or_else(unknown)? = Slot::Number(self.at as u64);
        let at = match before {
            Slot::Number(at) if at != self.at as u64 => at as usize,
            _ => return Ok(()),
        };
        let Slot::Parts(parts) = self.reader.slot(self.base + at) else {
            return Ok(());
        };
        let other = self.message.fields.get(at).ok_or_else(unknown)?;
        let child = other.to.and_then(|to| children.get_mut(to)).ok_or_else(unknown)?;
        let node = self.reader.program.node(other.node).ok_or_else(unknown)?;
        let (length, depth) = (child.len(), self.depth);
        self.reader
            .partial(|reader| reader.nested(node, &parts, child, depth))
            .map_err(|bad| named(other, bad))?;
        child.truncate(length);
        Ok(())
    }
}

impl Number {
    fn written(self) -> u32 {
        match self {
            Self::Fixed32 => FOUR,
            Self::Fixed64 => EIGHT,
            _ => VARINT,
        }
    }

    /// Numbers of 32 bits have no others.
    #[inline(always)]
    fn read(self, wire: &mut Wire<'_>) -> Found<u64> {
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

fn element<'b>(field: &Field, children: &'b mut [Builder]) -> Found<&'b mut Builder> {
    match field.to.and_then(|to| children.get_mut(to)).map(|child| &mut child.data) {
        Some(Data::List { child, .. }) => Ok(child),
        _ => Err(unknown()),
    }
}

#[cold]
fn named(field: &Field, mut bad: Box<Bad>) -> Box<Bad> {
    bad.path.push(field.name.clone());
    bad
}

/// A program that does not fit its columns.
#[cold]
fn unknown() -> Box<Bad> {
    Bad::new("its schema does not fit the columns")
}
