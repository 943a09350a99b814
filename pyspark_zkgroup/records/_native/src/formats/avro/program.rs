//! The steps that turn a value of one schema into a column: a tree, but for schemas that contain
//! themselves, of which such parts are only skipped.

/// A name, numbers and texts; `Node` documents what they mean.
pub type Step = (String, Vec<i64>, Vec<String>);

/// A node by its place in the program.
pub type Place = usize;

pub enum Node {
    /// How many bytes of columns it takes.
    Null(usize),
    /// Reached only by values that the column cannot take.
    Bad(String),
    Boolean,
    Int(Number),
    Long(Number),
    Float(Number),
    Double,
    /// Bytes or text, behind their length.
    Bytes,
    Fixed(usize),
    /// Of `Fixed` bytes if there is a size, else of `Bytes`.
    Decimal {
        precision: u8,
        size: Option<usize>,
    },
    /// None where the column has no such symbol.
    Enum(Vec<Option<Box<[u8]>>>),
    Array(Place),
    Map(Place),
    Record(Record),
    Union(Vec<Place>),
    /// A struct that has a value in one of its fields, or in none.
    Member {
        value: Place,
        to: Option<usize>,
        others: Vec<usize>,
        weight: usize,
    },
    /// A value that is not in the record.
    Default {
        value: Place,
        bytes: Vec<u8>,
    },
}

/// What a number is written as.
#[derive(Clone, Copy)]
pub enum Number {
    Same,
    Long,
    Float,
    Double,
    /// Milliseconds as microseconds.
    Millis,
}

/// Fields as they were written, each with its place in the struct; then those that were not.
pub struct Record {
    pub fields: Vec<(Place, Option<usize>)>,
    pub names: Vec<String>,
    pub defaults: Vec<(Place, usize)>,
    pub missing: Vec<usize>,
    /// Bytes of columns, apart from texts and elements.
    pub weight: usize,
}

pub struct Program {
    nodes: Vec<Node>,
}

impl Program {
    /// The last step is the root. None if a step is unknown, or asks for one that is not there.
    pub fn new(steps: &[Step]) -> Option<Self> {
        let nodes = steps.iter().map(|step| node(step, steps.len())).collect::<Option<Vec<_>>>()?;
        (!nodes.is_empty()).then_some(Self { nodes })
    }

    pub fn root(&self) -> Place {
        self.nodes.len().saturating_sub(1)
    }

    #[inline(always)]
    pub fn node(&self, place: Place) -> Option<&Node> {
        self.nodes.get(place)
    }
}

fn node((name, numbers, texts): &Step, count: usize) -> Option<Node> {
    let mut numbers = Numbers { left: numbers.iter(), count };
    let text = || texts.first().cloned().unwrap_or_default();
    let found = match name.as_str() {
        "null" => Node::Null(numbers.size()?),
        "bad" => Node::Bad(text()),
        "boolean" => Node::Boolean,
        "int" => Node::Int(Number::Same),
        "int as long" => Node::Int(Number::Long),
        "int as float" => Node::Int(Number::Float),
        "int as double" => Node::Int(Number::Double),
        "long" => Node::Long(Number::Same),
        "long as float" => Node::Long(Number::Float),
        "long as double" => Node::Long(Number::Double),
        "milliseconds" => Node::Long(Number::Millis),
        "float" => Node::Float(Number::Same),
        "float as double" => Node::Float(Number::Double),
        "double" => Node::Double,
        "bytes" => Node::Bytes,
        "fixed" => Node::Fixed(numbers.size()?),
        "decimal" => {
            let precision = u8::try_from(numbers.size()?).ok().filter(|one| *one <= 38)?;
            Node::Decimal { precision, size: numbers.size() }
        }
        "enum" => {
            let known = |symbol: &String| Some(symbol.as_bytes().into());
            let symbols = texts.iter().map(|symbol| known(symbol).filter(|_| !symbol.is_empty()));
            Node::Enum(symbols.collect())
        }
        "array" => Node::Array(numbers.place()?),
        "map" => Node::Map(numbers.place()?),
        "record" => Node::Record(record(&mut numbers, texts)?),
        "union" => Node::Union(numbers.places()?),
        "member" => Node::Member {
            weight: numbers.size()?,
            value: numbers.place()?,
            to: numbers.target()?,
            others: numbers.sizes()?,
        },
        "default" => Node::Default { value: numbers.place()?, bytes: hex(&text())? },
        _ => return None,
    };
    Some(found)
}

fn record(numbers: &mut Numbers<'_>, texts: &[String]) -> Option<Record> {
    let weight = numbers.size()?;
    let fields = (0..numbers.size()?)
        .map(|_| Some((numbers.place()?, numbers.target()?)))
        .collect::<Option<Vec<_>>>()?;
    let defaults = (0..numbers.size()?)
        .map(|_| Some((numbers.place()?, numbers.size()?)))
        .collect::<Option<Vec<_>>>()?;
    let missing = numbers.sizes()?;
    Some(Record { fields, names: texts.to_vec(), defaults, missing, weight })
}

struct Numbers<'a> {
    left: std::slice::Iter<'a, i64>,
    count: usize,
}

impl Numbers<'_> {
    fn size(&mut self) -> Option<usize> {
        usize::try_from(*self.left.next()?).ok()
    }

    fn place(&mut self) -> Option<Place> {
        self.size().filter(|place| *place < self.count)
    }

    /// Below 0 there is none.
    fn target(&mut self) -> Option<Option<usize>> {
        self.left.next().map(|place| usize::try_from(*place).ok())
    }

    /// All that are left.
    fn sizes(&mut self) -> Option<Vec<usize>> {
        std::iter::from_fn(|| self.left.next()).map(|one| usize::try_from(*one).ok()).collect()
    }

    fn places(&mut self) -> Option<Vec<Place>> {
        let count = self.count;
        self.sizes()?.into_iter().map(|place| (place < count).then_some(place)).collect()
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok()).collect()
}
