//! A field where it occurs within its message.

use crate::formats::build::{Builder, Data};
use crate::formats::protobuf::program::{Field, Message, Node};
use crate::formats::protobuf::read::{named, unknown, Bad, Found, Reader, Slot, ELEMENT_BYTES};
use crate::formats::protobuf::wire::{deeper, Wire, GROUP, SIZED, VARINT};

/// A field where it occurs within its message.
pub(super) struct Occurrence<'r, 'a> {
    pub(super) reader: &'r mut Reader<'a>,
    pub(super) message: &'a Message,
    pub(super) base: usize,
    pub(super) at: usize,
    pub(super) depth: usize,
}

impl<'a> Occurrence<'_, 'a> {
    /// False if it is written as no value of its type is.
    #[inline(always)]
    pub(super) fn read(
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

fn element<'b>(field: &Field, children: &'b mut [Builder]) -> Found<&'b mut Builder> {
    match field.to.and_then(|to| children.get_mut(to)).map(|child| &mut child.data) {
        Some(Data::List { child, .. }) => Ok(child),
        _ => Err(unknown()),
    }
}
