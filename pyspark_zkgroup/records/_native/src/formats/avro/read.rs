//! Runs a program over the bytes of one value. Numbers and lengths are read as Java's decoder reads
//! them.

use std::collections::HashSet;

use crate::cursor::Cursor;
use crate::formats::avro::decimal::decimal;
use crate::formats::avro::program::{Node, Number, Place, Program, Record};
use crate::formats::build::{Builder, Data};
use crate::formats::parsed::{too_large, ROW_BYTES_MAX};

/// Of what is skipped: a schema that contains itself is as deep as the record says.
const DEPTH_MAX: usize = 200;
/// Up to here the keys of a map are compared with each other.
const COMPARED_MAX: usize = 16;
const ELEMENT_BYTES: usize = 9;

/// Why a value cannot be read, and the fields around it, the innermost first.
struct Bad {
    path: Vec<String>,
    what: String,
}

impl From<String> for Box<Bad> {
    #[cold]
    fn from(what: String) -> Self {
        Self::new(Bad { path: Vec::new(), what })
    }
}

type Found<T> = Result<T, Box<Bad>>;

/// Why it is bad, if it is, and about how many bytes of columns it takes.
pub fn row(program: &Program, body: &[u8], out: &mut Builder) -> (Option<String>, usize) {
    let mut reader = Reader { program, cursor: Cursor::new(body, 0), size: body.len(), taken: 0 };
    let reason = reader.read(program.root(), out).err().map(|bad| {
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
    cursor: Cursor<'a>,
    size: usize,
    /// About how many bytes of columns its values take.
    taken: usize,
}

impl<'a> Reader<'a> {
    fn read(&mut self, place: Place, out: &mut Builder) -> Found<()> {
        let program = self.program;
        match program.node(place).ok_or_else(unknown)? {
            Node::Null(weight) => {
                self.take(*weight)?;
                out.push_null();
            }
            Node::Bad(reason) => return Err(reason.clone().into()),
            Node::Boolean => {
                let [found] = self.array::<1>()?;
                if found > 1 {
                    return Err(format!("a boolean in it is the byte {found}").into());
                }
                out.push_bool(found == 1);
            }
            Node::Int(number) => {
                let found = self.int()?;
                match number {
                    Number::Long => out.push_fixed(&i64::from(found).to_ne_bytes()),
                    Number::Float => out.push_fixed(&(found as f32).to_ne_bytes()),
                    Number::Double => out.push_fixed(&f64::from(found).to_ne_bytes()),
                    _ => out.push_fixed(&found.to_ne_bytes()),
                }
            }
            Node::Long(number) => {
                let found = self.long()?;
                match number {
                    Number::Float => out.push_fixed(&(found as f32).to_ne_bytes()),
                    Number::Double => out.push_fixed(&(found as f64).to_ne_bytes()),
                    Number::Millis => {
                        let micros = found.checked_mul(1000);
                        let micros =
                            micros.ok_or_else(|| format!("{found} ms are no TIMESTAMP"))?;
                        out.push_fixed(&micros.to_ne_bytes());
                    }
                    _ => out.push_fixed(&found.to_ne_bytes()),
                }
            }
            Node::Float(number) => {
                let four = self.array::<4>()?;
                match number {
                    Number::Double => {
                        out.push_fixed(&f64::from(f32::from_le_bytes(four)).to_ne_bytes());
                    }
                    _ => out.push_fixed(&f32::from_le_bytes(four).to_ne_bytes()),
                }
            }
            Node::Double => {
                let eight = self.array::<8>()?;
                out.push_fixed(&f64::from_le_bytes(eight).to_ne_bytes());
            }
            Node::Bytes => {
                let found = self.sized()?;
                self.take(found.len())?;
                out.push_bytes(found);
            }
            Node::Fixed(size) => {
                let found = self.bytes(*size)?;
                self.take(found.len())?;
                out.push_bytes(found);
            }
            Node::Decimal { precision, size } => {
                let found = match size {
                    Some(size) => self.bytes(*size)?,
                    None => self.sized()?,
                };
                let found = decimal(found, *precision);
                let found = found.ok_or_else(|| format!("no decimal of {precision} digits"))?;
                out.push_fixed(&found.to_ne_bytes());
            }
            Node::Enum(symbols) => {
                let symbol = self.branch(symbols, "symbol")?;
                let symbol = symbol.as_ref().ok_or_else(no_symbol)?;
                self.take(symbol.len())?;
                out.push_bytes(symbol);
            }
            Node::Array(element) => {
                let Data::List { child, .. } = &mut out.data else {
                    return Err(unknown());
                };
                while let Some(count) = self.block()? {
                    for _ in 0..count {
                        self.take(ELEMENT_BYTES)?;
                        self.read(*element, child)?;
                    }
                }
                out.close();
            }
            Node::Map(value) => self.map(*value, out)?,
            Node::Record(record) => self.record(record, out)?,
            Node::Union(branches) => {
                let branch = *self.branch(branches, "branch of a union")?;
                self.read(branch, out)?;
            }
            Node::Member { value, to, others, weight } => {
                self.take(*weight)?;
                match (to, &mut out.data) {
                    (None, _) => self.skip(*value, 0)?,
                    (Some(to), Data::Struct(fields)) => {
                        self.read(*value, fields.get_mut(*to).ok_or_else(unknown)?)?;
                    }
                    _ => return Err(unknown()),
                }
                push_nulls(others, out);
                out.close();
            }
            Node::Default { value, bytes } => {
                let mut reader =
                    Reader { program, cursor: Cursor::new(bytes, 0), size: bytes.len(), taken: 0 };
                reader.read(*value, out)?;
                self.take(reader.taken)?;
            }
        }
        Ok(())
    }

    fn record(&mut self, record: &Record, out: &mut Builder) -> Found<()> {
        self.take(record.weight)?;
        let Data::Struct(children) = &mut out.data else {
            return Err(unknown());
        };
        for (at, (field, to)) in record.fields.iter().enumerate() {
            let done = match to.and_then(|to| children.get_mut(to)) {
                Some(child) => self.read(*field, child),
                None => self.skip(*field, 0),
            };
            done.map_err(|reason| named(record, at, reason))?;
        }
        for (value, to) in &record.defaults {
            self.read(*value, children.get_mut(*to).ok_or_else(unknown)?)?;
        }
        push_nulls(&record.missing, out);
        out.close();
        Ok(())
    }

    fn map(&mut self, value: Place, out: &mut Builder) -> Found<()> {
        let Data::List { child, .. } = &mut out.data else {
            return Err(unknown());
        };
        let start = child.len();
        while let Some(count) = self.block()? {
            for _ in 0..count {
                let Data::Struct(pair) = &mut child.data else {
                    return Err(unknown());
                };
                let [keys, values] = pair.as_mut_slice() else {
                    return Err(unknown());
                };
                let key = self.sized()?;
                self.take(ELEMENT_BYTES + key.len())?;
                keys.push_bytes(key);
                self.read(value, values)?;
                child.close();
            }
        }
        if has_key_twice(child, start) {
            return Err("a map in it has one key twice".to_owned().into());
        }
        out.close();
        Ok(())
    }

    /// Behind a value that is not asked for.
    fn skip(&mut self, place: Place, depth: usize) -> Found<()> {
        if depth > DEPTH_MAX {
            return Err("it is nested too deeply".to_owned().into());
        }
        let program = self.program;
        match program.node(place).ok_or_else(unknown)? {
            Node::Null(_) | Node::Default { .. } => {}
            Node::Bad(reason) => return Err(reason.clone().into()),
            Node::Boolean => drop(self.bytes(1)?),
            Node::Int(_) => drop(self.int()?),
            Node::Long(_) => drop(self.long()?),
            Node::Float(_) => drop(self.bytes(4)?),
            Node::Double => drop(self.bytes(8)?),
            Node::Bytes | Node::Decimal { size: None, .. } => drop(self.sized()?),
            Node::Fixed(size) | Node::Decimal { size: Some(size), .. } => drop(self.bytes(*size)?),
            Node::Enum(symbols) => drop(self.branch(symbols, "symbol")?),
            Node::Array(element) => self.skip_blocks(*element, false, depth)?,
            Node::Map(value) => self.skip_blocks(*value, true, depth)?,
            Node::Record(record) => {
                self.take(ELEMENT_BYTES)?; // records of records may have no bytes
                for (at, (field, _)) in record.fields.iter().enumerate() {
                    self.skip(*field, depth + 1).map_err(|reason| named(record, at, reason))?;
                }
            }
            Node::Union(branches) => {
                let branch = *self.branch(branches, "branch of a union")?;
                self.skip(branch, depth + 1)?;
            }
            Node::Member { value, .. } => self.skip(*value, depth + 1)?,
        }
        Ok(())
    }

    fn skip_blocks(&mut self, element: Place, has_keys: bool, depth: usize) -> Found<()> {
        while let Some(count) = self.block()? {
            for _ in 0..count {
                let begin = self.cursor.at;
                if has_keys {
                    self.sized()?;
                }
                self.skip(element, depth + 1)?;
                if self.cursor.at == begin {
                    break; // and so are all others
                }
            }
        }
        Ok(())
    }

    /// How many elements follow; None at the end.
    fn block(&mut self) -> Found<Option<u64>> {
        let count = self.long()?;
        if count == i64::MIN {
            return Err("a block in it claims 2^63 elements".to_owned().into());
        }
        if count < 0 {
            self.long()?; // its size in bytes
        }
        Ok(Some(count.unsigned_abs()).filter(|count| *count > 0))
    }

    fn branch<T>(&mut self, choices: &'a [T], what: &str) -> Found<&'a T> {
        let found = self.int()?;
        let choice = usize::try_from(found).ok().and_then(|at| choices.get(at));
        choice.ok_or_else(|| format!("its {what} is number {found} of {}", choices.len()).into())
    }

    #[inline(always)]
    fn int(&mut self) -> Found<i32> {
        self.cursor.varint().ok_or_else(|| self.unfinished())
    }

    #[inline(always)]
    fn long(&mut self) -> Found<i64> {
        self.cursor.varlong().ok_or_else(|| self.unfinished())
    }

    #[inline(always)]
    fn sized(&mut self) -> Found<&'a [u8]> {
        let length = self.long()?;
        match usize::try_from(length) {
            Ok(length) => self.bytes(length),
            Err(_) => Err(format!("it claims {length} bytes").into()),
        }
    }

    #[inline(always)]
    fn bytes(&mut self, length: usize) -> Found<&'a [u8]> {
        let left = self.size - self.cursor.at;
        self.cursor
            .take(length)
            .ok_or_else(|| format!("it claims {length} bytes where {left} are left").into())
    }

    #[inline(always)]
    fn array<const SIZE: usize>(&mut self) -> Found<[u8; SIZE]> {
        self.bytes(SIZE)?.first_chunk().copied().ok_or_else(unknown)
    }

    #[inline(always)]
    fn take(&mut self, bytes: usize) -> Found<()> {
        self.taken += bytes;
        if self.taken > ROW_BYTES_MAX {
            return Err(too_large().into());
        }
        Ok(())
    }

    #[cold]
    fn unfinished(&self) -> Box<Bad> {
        "a number in it does not end".to_owned().into()
    }
}

fn push_nulls(places: &[usize], out: &mut Builder) {
    if let Data::Struct(fields) = &mut out.data {
        for place in places {
            if let Some(field) = fields.get_mut(*place) {
                field.push_null();
            }
        }
    }
}

fn has_key_twice(pairs: &Builder, from: usize) -> bool {
    let Data::Struct(pair) = &pairs.data else {
        return false;
    };
    let Some(keys) = pair.first() else {
        return false;
    };
    let count = pairs.len() - from;
    let mut keys = (from..pairs.len()).filter_map(|at| keys.bytes_at(at));
    if count <= COMPARED_MAX {
        let keys: Vec<&[u8]> = if count < 2 { Vec::new() } else { keys.collect() };
        return keys.iter().enumerate().any(|(at, key)| keys.iter().take(at).any(|one| one == key));
    }
    let mut seen = HashSet::with_capacity(count);
    !keys.all(|key| seen.insert(key))
}

#[cold]
fn named(record: &Record, at: usize, mut bad: Box<Bad>) -> Box<Bad> {
    bad.path.extend(record.names.get(at).cloned());
    bad
}

#[cold]
fn no_symbol() -> Box<Bad> {
    "its symbol is not in the schema of the columns".to_owned().into()
}

/// A program that does not fit its columns.
#[cold]
fn unknown() -> Box<Bad> {
    "its schema does not fit the columns".to_owned().into()
}
