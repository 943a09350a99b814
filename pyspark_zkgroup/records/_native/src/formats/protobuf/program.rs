//! The steps that turn messages into a column: a tree as deep as the column, even of messages that
//! contain themselves.

/// A name, numbers and texts; `Node` documents what they mean.
pub type Step = (String, Vec<i64>, Vec<String>);

/// A node by its place in the program.
pub type Place = usize;

pub enum Node {
    Number(Number, Width),
    Bool,
    /// Whether it must be UTF-8. Else what is not becomes U+FFFD, as in Java.
    Text(bool),
    Bytes,
    Enum(Enum),
    Message(Message),
    /// Seconds and nanoseconds, in this order, as microseconds.
    Time(Message),
    /// A message that is not asked for.
    Skipped,
    /// Why no message is read.
    Bad(String),
}

/// How a number is written.
#[derive(Clone, Copy)]
pub enum Number {
    Int32,
    Int64,
    UInt32,
    UInt64,
    SInt32,
    SInt64,
    Fixed32,
    Fixed64,
}

/// Bytes of a value in the column.
#[derive(Clone, Copy)]
pub enum Width {
    Four,
    Eight,
    Sixteen,
}

pub struct Enum {
    /// Any number is a value of it.
    pub is_open: bool,
    /// It becomes its name.
    pub is_text: bool,
    pub name: String,
    /// By number.
    values: Vec<(i32, Box<[u8]>)>,
}

#[derive(Default)]
pub struct Message {
    /// By number.
    pub fields: Vec<Field>,
    /// How many there are.
    pub oneofs: usize,
    /// Places of the struct that it has no field for.
    pub missing: Vec<usize>,
    /// Bytes of columns, apart from texts and elements.
    pub weight: usize,
}

pub struct Field {
    pub number: u32,
    pub name: String,
    pub node: Place,
    /// None if it is only there to clear others of its oneof.
    pub to: Option<usize>,
    pub is_repeated: bool,
    pub is_required: bool,
    /// Zero is like no value.
    pub is_implicit: bool,
    /// Between the tags of a group, not behind a length.
    pub is_group: bool,
    pub oneof: Option<usize>,
    /// Of a field that is not there.
    pub default: Option<Absent>,
}

pub enum Absent {
    Number(u64),
    Bytes(Vec<u8>),
    Message,
}

pub struct Program {
    nodes: Vec<Node>,
}

impl Program {
    /// The last step is the root. None if a step is unknown, or asks for one that does not
    /// come before it.
    pub fn new(steps: &[Step]) -> Option<Self> {
        let mut nodes = Vec::new();
        for step in steps {
            nodes.push(node(step, &nodes)?);
        }
        matches!(nodes.last(), Some(Node::Message(_) | Node::Bad(_))).then_some(Self { nodes })
    }

    pub fn root(&self) -> Option<&Node> {
        self.nodes.last()
    }

    #[inline(always)]
    pub fn node(&self, place: Place) -> Option<&Node> {
        self.nodes.get(place)
    }
}

impl Message {
    /// The place of a field. `hint` is tried first: fields mostly come in their order.
    #[inline(always)]
    pub fn find(&self, number: u32, hint: usize) -> Option<usize> {
        if self.fields.get(hint).is_some_and(|field| field.number == number) {
            return Some(hint);
        }
        self.fields.binary_search_by_key(&number, |field| field.number).ok()
    }
}

impl Enum {
    pub fn label(&self, number: i32) -> Option<&[u8]> {
        let at = self.values.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.values.get(at).map(|(_, label)| &label[..])
    }
}

fn node((name, numbers, texts): &Step, before: &[Node]) -> Option<Node> {
    let number = |kind| {
        let width = match numbers.first()? {
            4 => Width::Four,
            8 => Width::Eight,
            16 => Width::Sixteen,
            _ => return None,
        };
        Some(Node::Number(kind, width))
    };
    let found = match name.as_str() {
        "int32" => number(Number::Int32)?,
        "int64" => number(Number::Int64)?,
        "uint32" => number(Number::UInt32)?,
        "uint64" => number(Number::UInt64)?,
        "sint32" => number(Number::SInt32)?,
        "sint64" => number(Number::SInt64)?,
        "fixed32" => number(Number::Fixed32)?,
        "fixed64" => number(Number::Fixed64)?,
        "bool" => Node::Bool,
        "text" => Node::Text(*numbers.first()? != 0),
        "bytes" => Node::Bytes,
        "enum" => Node::Enum(enumeration(numbers, texts)?),
        "message" => Node::Message(message(numbers, texts, before)?),
        "time" => {
            let message = message(numbers, texts, before)?;
            let is_time = matches!(&message.fields[..], [seconds, nanos]
                if [seconds.to, nanos.to] == [Some(0), Some(1)]
                    || [seconds.to, nanos.to] == [Some(1), Some(0)]);
            is_time.then_some(Node::Time(message))?
        }
        "skipped" => Node::Skipped,
        "bad" => Node::Bad(texts.first()?.clone()),
        _ => return None,
    };
    Some(found)
}

/// `is_open, is_text`, the numbers; the name, and one for each of them.
fn enumeration(numbers: &[i64], texts: &[String]) -> Option<Enum> {
    let ([is_open, is_text, numbers @ ..], [name, labels @ ..]) = (numbers, texts) else {
        return None;
    };
    if numbers.len() != labels.len() {
        return None;
    }
    let values = numbers
        .iter()
        .zip(labels)
        .map(|(number, label)| Some((i32::try_from(*number).ok()?, label.as_bytes().into())));
    let mut values = values.collect::<Option<Vec<_>>>()?;
    values.sort_by_key(|(number, _)| *number);
    Some(Enum { is_open: *is_open != 0, is_text: *is_text != 0, name: name.clone(), values })
}

const REPEATED: i64 = 1;
const REQUIRED: i64 = 2;
const IMPLICIT: i64 = 4;
const GROUP: i64 = 8;
const DEFAULT: i64 = 16;

/// `weight`, how many fields, five numbers for each of them, the places that are missing; and two
/// texts for each field, its name and its default.
fn message(numbers: &[i64], texts: &[String], before: &[Node]) -> Option<Message> {
    let (&[weight, count], rest) = numbers.split_first_chunk::<2>()?;
    let count = usize::try_from(count).ok()?;
    let (fields, missing) = rest.split_at_checked(count.checked_mul(5)?)?;
    if texts.len() != 2 * count {
        return None;
    }
    let field = |(numbers, texts): (&[i64], &[String])| {
        let (&[number, node, to, flags, oneof], [name, default]) =
            (numbers.first_chunk::<5>()?, texts)
        else {
            return None;
        };
        let node = usize::try_from(node).ok()?;
        let default = if flags & DEFAULT == 0 {
            None
        } else {
            Some(match before.get(node)? {
                Node::Message(_) | Node::Time(_) => Absent::Message,
                Node::Text(_) | Node::Bytes => Absent::Bytes(hex(default)?),
                _ => Absent::Number(default.parse().ok()?),
            })
        };
        before.get(node)?;
        Some(Field {
            number: u32::try_from(number).ok()?,
            name: name.clone(),
            node,
            to: usize::try_from(to).ok(),
            is_repeated: flags & REPEATED != 0,
            is_required: flags & REQUIRED != 0,
            is_implicit: flags & IMPLICIT != 0,
            is_group: flags & GROUP != 0,
            oneof: usize::try_from(oneof).ok(),
            default,
        })
    };
    let fields = fields.chunks(5).zip(texts.chunks(2)).map(field).collect::<Option<Vec<_>>>()?;
    let missing = missing.iter().map(|place| usize::try_from(*place).ok());
    let oneofs = fields.iter().filter_map(|field| field.oneof).max().map_or(0, |last| last + 1);
    let is_sound = oneofs <= count && fields.is_sorted_by(|one, next| one.number < next.number);
    is_sound.then_some(Message {
        fields,
        oneofs,
        missing: missing.collect::<Option<_>>()?,
        weight: usize::try_from(weight).ok()?,
    })
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok()).collect()
}
