//! Reads one value, as Java's DynamicMessage and Spark's from_protobuf do: of a field that occurs
//! twice the last one counts, but messages become one and repeated fields grow; only one field of a
//! oneof stays.

mod occurrence;

use std::mem;

use crate::formats::build::{Builder, Data};
use crate::formats::parsed::{too_large, ROW_BYTES_MAX};
use crate::formats::protobuf::program::{Absent, Enum, Field, Message, Node, Program, Width};
use crate::formats::protobuf::read::occurrence::Occurrence;
use crate::formats::protobuf::wire::{deeper, Wire};
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
