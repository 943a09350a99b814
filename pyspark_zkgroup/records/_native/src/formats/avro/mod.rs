//! Avro's binary encoding. How a schema becomes columns has been decided in Python: here is only the
//! program that came of it, one for each schema that records were written with.

mod decimal;
mod program;
mod read;

use crate::formats::avro::program::Program;
pub use crate::formats::avro::program::Step;
use crate::formats::kind::Kind;
use crate::formats::parsed::{push_empty, rows, Parsed, Parser};

/// Damaged records name any. Beyond this all are forgotten, and asked for again.
const SCHEMAS_MAX: usize = 1024;

/// What stands before the encoded value, and names the schema it was written with.
#[derive(Clone, Copy)]
enum Framing {
    Plain,
    Confluent,
    SingleObject,
}

pub struct AvroParser {
    kind: Kind,
    framing: Framing,
    programs: Vec<(u64, Program)>,
}

impl AvroParser {
    /// None if the words are no type, or there is no such framing.
    pub fn new<'a>(mut words: impl Iterator<Item = &'a str>, framing: &str) -> Option<Self> {
        let kind = Kind::read(&mut words)?;
        let framing = match framing {
            "plain" => Framing::Plain,
            "confluent" => Framing::Confluent,
            "single-object" => Framing::SingleObject,
            _ => return None,
        };
        words.next().is_none().then_some(Self { kind, framing, programs: Vec::new() })
    }

    /// For the records of this schema; that of plain ones is 0. False if the steps are no program.
    pub fn add(&mut self, schema: u64, steps: &[Step]) -> bool {
        let program = Program::new(steps);
        let is_one = program.is_some();
        if self.programs.len() >= SCHEMAS_MAX {
            self.programs.clear();
        }
        self.programs.extend(program.map(|program| (schema, program)));
        is_one
    }
}

impl Parser for AvroParser {
    fn parse<'a>(&mut self, values: impl Iterator<Item = Option<&'a [u8]>>) -> Parsed {
        let mut hint = 0;
        rows(&self.kind, push_empty, values, |value, out| {
            let (schema, body) = match self.framing.split(value) {
                Ok(found) => found,
                Err(reason) => return Ok((Some(reason.to_owned()), 0)),
            };
            if self.programs.get(hint).is_none_or(|(one, _)| *one != schema) {
                let found = self.programs.iter().position(|(one, _)| *one == schema);
                hint = found.ok_or(schema)?;
            }
            let (_, program) = self.programs.get(hint).ok_or(schema)?;
            Ok(read::row(program, body, out))
        })
    }
}

impl Framing {
    fn split<'a>(&self, value: &'a [u8]) -> Result<(u64, &'a [u8]), &'static str> {
        match (self, value) {
            (Self::Plain, body) => Ok((0, body)),
            (Self::Confluent, [0, a, b, c, d, body @ ..]) => {
                Ok((u64::from(u32::from_be_bytes([*a, *b, *c, *d])), body))
            }
            (Self::Confluent, _) => {
                Err("it does not begin with a zero byte and the four bytes of a schema's id")
            }
            (Self::SingleObject, [0xc3, 0x01, a, b, c, d, e, f, g, h, body @ ..]) => {
                Ok((u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]), body))
            }
            (Self::SingleObject, _) => {
                Err("it does not begin with the bytes C3 01 and the fingerprint of a schema")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AvroParser, Step, SCHEMAS_MAX};
    use crate::formats::parsed::Parser;

    fn step(name: &str, numbers: &[i64], texts: &[&str]) -> Step {
        (name.to_owned(), numbers.to_vec(), texts.iter().map(|one| (*one).to_owned()).collect())
    }

    fn parser(words: &str, steps: &[Step]) -> AvroParser {
        let mut made = AvroParser::new(words.split(' '), "plain").expect("a parser");
        assert!(made.add(0, steps));
        made
    }

    #[test]
    fn a_record_that_ends_early_leaves_nothing() {
        let steps = [
            step("int", &[], &[]),
            step("bytes", &[], &[]),
            step("record", &[20, 2, 0, 0, 1, 1, 0], &["a", "b"]),
        ];
        let mut parser = parser("struct 2 a int b string", &steps);
        let values: [&[u8]; 3] = [&[2, 2, b'x'], &[2, 4, b'x'], &[2, 0]];
        let parsed = parser.parse(values.iter().map(|value| Some(*value)));
        assert_eq!((parsed.rows, parsed.bad), (3, 1));
        let children = parsed.values.children;
        assert_eq!(children.iter().map(|one| one.nulls).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn an_unknown_schema_stops_before_its_row() {
        let mut parser = AvroParser::new(["int"].into_iter(), "confluent").expect("a parser");
        assert!(parser.add(1, &[step("int", &[], &[])]));
        let values: [&[u8]; 2] = [&[0, 0, 0, 0, 1, 2], &[0, 0, 0, 0, 2, 2]];
        let parsed = parser.parse(values.iter().map(|value| Some(*value)));
        assert_eq!((parsed.rows, parsed.unknown), (1, Some(2)));
    }

    #[test]
    fn schemas_that_damaged_records_name_are_forgotten() {
        let mut parser = AvroParser::new(["int"].into_iter(), "single-object").expect("a parser");
        for schema in 0..5000 {
            assert!(parser.add(schema, &[step("int", &[], &[])]));
            assert!(parser.programs.len() <= SCHEMAS_MAX);
        }
    }

    #[test]
    fn elements_of_no_bytes_end() {
        let steps = [
            step("null", &[9], &[]),
            step("array", &[0], &[]),
            step("int", &[], &[]),
            step("record", &[9, 2, 1, -1, 2, 0, 0], &["skipped", "a"]),
        ];
        let mut parser = parser("struct 1 a int", &steps);
        let count = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        let value: Vec<u8> = count.into_iter().chain([0, 2]).collect();
        let parsed = parser.parse([Some(&value[..])].into_iter());
        assert_eq!((parsed.rows, parsed.bad), (1, 0));
    }

    #[test]
    fn what_is_no_program_is_refused() {
        for steps in [
            vec![],
            vec![step("nothing", &[], &[])],
            vec![step("array", &[7], &[])],
            vec![step("record", &[9, 2, 0], &["a"])],
        ] {
            let mut parser = AvroParser::new(["int"].into_iter(), "plain").expect("a parser");
            assert!(!parser.add(0, &steps));
        }
    }
}
