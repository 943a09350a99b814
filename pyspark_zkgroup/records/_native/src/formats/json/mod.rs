//! JSON, with the rows of Spark's `from_json` in PERMISSIVE mode.
//!
//! It follows JacksonParser.scala step by step, also where a value has the wrong type: Spark leaves
//! its parser where it is, and the surrounding object continues from there.

mod escape;
mod literal;
mod numbers;
mod reason;
mod row;
mod text;
mod times;
mod token;

use crate::formats::build::Builder;
pub use crate::formats::json::times::Zone;
use crate::formats::json::token::{Frame, Malformed, Tokens};
use crate::formats::kind::Kind;
use crate::formats::parsed::{push_empty, too_large, Parsed, Parser, BATCH_BYTES_MAX};
use crate::java_text;

pub struct JsonParser {
    kind: Kind,
    zone: Zone,
}

/// What became of a value. After `Failed` nothing has been appended.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Good,
    Partial,
    Failed,
}

enum Stop {
    Malformed,
    TooLarge,
}

impl From<Malformed> for Stop {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

type Step = Result<Outcome, Stop>;

impl JsonParser {
    /// None if the words are no type that a record of JSON can have.
    pub fn new<'a>(mut words: impl Iterator<Item = &'a str>, zone: Zone) -> Option<Self> {
        let kind = Kind::read(&mut words)?;
        if words.next().is_some() || matches!(kind, Kind::Scalar(_)) {
            return None;
        }
        Some(Self { kind, zone })
    }

    /// Why the record is bad, if it is. The frames are those of the record before, emptied.
    fn row(
        &self,
        bytes: &[u8],
        out: &mut Builder,
        taken: &mut usize,
        frames: &mut Vec<Frame>,
    ) -> Option<String> {
        let before = out.len();
        let mut row = Row {
            zone: &self.zone,
            tokens: Tokens::new(bytes, std::mem::take(frames)),
            scratch: Vec::new(),
            reason: None,
            is_refused: false,
            taken: 0,
        };
        let outcome = row.root(&self.kind, out);
        *taken += row.taken;
        let reason = match outcome {
            Ok(Outcome::Good) => None,
            Ok(Outcome::Partial | Outcome::Failed) => Some(row.reason_text()),
            Err(Stop::Malformed) => {
                let (what, at) = row.tokens.wrong();
                Some(format!("not JSON: {what} at byte {at}"))
            }
            Err(Stop::TooLarge) => Some(too_large()),
        };
        if !matches!(outcome, Ok(Outcome::Good | Outcome::Partial)) {
            out.truncate(before);
            push_empty(out);
        }
        *frames = row.tokens.into_frames();
        reason
    }
}

impl Parser for JsonParser {
    fn parse<'a>(&mut self, values: impl Iterator<Item = Option<&'a [u8]>>) -> Parsed {
        let mut out = Builder::new(&self.kind);
        let mut reasons = Builder::text();
        let (mut rows, mut bad, mut bytes) = (0, 0, 0);
        let (mut text, mut frames) = (Vec::new(), Vec::new());
        for value in values {
            let reason = match value {
                None => {
                    out.push_null();
                    None
                }
                Some(value) => {
                    let value = utf8(value, &mut text);
                    bytes += value.len();
                    self.row(value, &mut out, &mut bytes, &mut frames)
                }
            };
            rows += 1;
            match reason {
                None => reasons.push_null(),
                Some(reason) => {
                    bad += 1;
                    reasons.push_bytes(reason.as_bytes());
                }
            }
            if bytes >= BATCH_BYTES_MAX {
                break;
            }
        }
        Parsed { rows, values: out.finish(), reasons: reasons.finish(), bad, unknown: None }
    }
}

/// As Java reads it: what is not UTF-8 becomes U+FFFD.
fn utf8<'a>(value: &'a [u8], text: &'a mut Vec<u8>) -> &'a [u8] {
    if std::str::from_utf8(value).is_ok() {
        return value;
    }
    text.clear();
    java_text::append(text, value);
    text
}

struct Reason {
    path: Vec<String>,
    what: String,
}

struct Row<'a> {
    zone: &'a Zone,
    tokens: Tokens<'a>,
    scratch: Vec<u8>,
    reason: Option<Reason>,
    /// What is written holds something that Java writes otherwise.
    is_refused: bool,
    /// About how many bytes of columns its values take.
    taken: usize,
}
