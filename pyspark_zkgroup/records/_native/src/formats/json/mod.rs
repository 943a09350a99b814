//! JSON, with the rows of Spark's `from_json` in PERMISSIVE mode.
//!
//! It follows JacksonParser.scala step by step, also where a value has the wrong type: Spark leaves
//! its parser where it stands and lets the surrounding object go on from there.

mod numbers;
mod times;
mod token;

use crate::formats::build::{Builder, Data};
use crate::formats::json::numbers::Base64;
use crate::formats::json::times::Time;
pub use crate::formats::json::times::Zone;
use crate::formats::json::token::{Malformed, Text, Token, Tokens};
use crate::formats::kind::{Fields, Kind, Scalar};
use crate::formats::parsed::{
    push_empty, too_large, Parsed, Parser, BATCH_BYTES_MAX, ROW_BYTES_MAX,
};
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
    Malformed(Malformed),
    TooLarge,
}

impl From<Malformed> for Stop {
    fn from(found: Malformed) -> Self {
        Self::Malformed(found)
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

    /// Why the record is bad, if it is.
    fn row(&self, bytes: &[u8], out: &mut Builder, taken: &mut usize) -> Option<String> {
        let before = out.len();
        let mut row = Row {
            zone: &self.zone,
            tokens: Tokens::new(bytes),
            scratch: Vec::new(),
            reason: None,
            is_refused: false,
            taken: 0,
        };
        let outcome = row.root(&self.kind, out);
        *taken += row.taken;
        let reason = match outcome {
            Ok(Outcome::Good) => return None,
            Ok(Outcome::Partial) => return Some(row.reason_text()),
            Ok(Outcome::Failed) => row.reason_text(),
            Err(Stop::Malformed(found)) => {
                format!("not JSON: {} at byte {}", found.what, found.at)
            }
            Err(Stop::TooLarge) => too_large(),
        };
        out.truncate(before);
        push_empty(out);
        Some(reason)
    }
}

impl Parser for JsonParser {
    fn parse<'a>(&mut self, values: impl Iterator<Item = Option<&'a [u8]>>) -> Parsed {
        let mut out = Builder::new(&self.kind);
        let mut reasons = Builder::text();
        let (mut rows, mut bad, mut bytes) = (0, 0, 0);
        let mut text = Vec::new();
        for value in values {
            let reason = match value {
                None => {
                    out.push_null();
                    None
                }
                Some(value) => {
                    let value = utf8(value, &mut text);
                    bytes += value.len();
                    self.row(value, &mut out, &mut bytes)
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

impl<'a> Row<'a> {
    fn root(&mut self, kind: &Kind, out: &mut Builder) -> Step {
        let Some(first) = self.tokens.next()? else {
            out.push_null(); // nothing, or blanks
            return Ok(Outcome::Good);
        };
        match (kind, first) {
            (Kind::Struct(fields), Token::StartObject) => self.object(fields, out),
            (Kind::Array(element), Token::StartArray) => self.array(element, out),
            (Kind::Array(element), Token::StartObject) => self.array_of_one(element, out),
            (Kind::Map(_, value), Token::StartObject) => self.map(value, out),
            _ => Ok(self.failed(kind, first)),
        }
    }

    fn value(&mut self, kind: &Kind, out: &mut Builder) -> Step {
        let mut token = self.tokens.token;
        while token == Some(Token::Name) {
            token = self.tokens.next()?;
        }
        let token = match token {
            None | Some(Token::Null) => {
                out.push_null();
                return Ok(Outcome::Good);
            }
            Some(token) => token,
        };
        match (kind, token) {
            (Kind::Scalar(scalar), _) => self.scalar(*scalar, token, kind, out),
            (Kind::Struct(fields), Token::StartObject) => self.object(fields, out),
            (Kind::Array(element), Token::StartArray) => self.array(element, out),
            (Kind::Map(_, value), Token::StartObject) => self.map(value, out),
            _ => Ok(self.failed(kind, token)),
        }
    }

    fn object(&mut self, fields: &Fields, out: &mut Builder) -> Step {
        let row = out.len();
        let mut is_bad = false;
        let mut hint = 0;
        self.take(fields.weight)?;
        while self.until(Token::EndObject)? {
            let Some(place) = self.place(fields, hint) else {
                self.tokens.skip_children()?;
                continue;
            };
            hint = place + 1;
            let (Data::Struct(children), Some(kind)) = (&mut out.data, fields.kinds.get(place))
            else {
                continue;
            };
            let Some(child) = children.get_mut(place) else {
                continue;
            };
            let had_reason = self.reason.is_some();
            let before = child.len();
            let outcome = self.value(kind, child)?;
            if outcome != Outcome::Good {
                is_bad = true;
                self.name_reason(fields, place, had_reason);
            }
            if outcome == Outcome::Failed {
                self.tokens.skip_children()?;
            } else if before > row {
                child.remove(row, before); // the last one of a name counts
            }
        }
        if let Data::Struct(children) = &mut out.data {
            for child in children.iter_mut().filter(|child| child.len() == row) {
                child.push_null();
            }
        }
        out.close();
        Ok(if is_bad { Outcome::Partial } else { Outcome::Good })
    }

    fn array(&mut self, element: &Kind, out: &mut Builder) -> Step {
        let mut is_bad = false;
        let Data::List { child, .. } = &mut out.data else {
            return Ok(Outcome::Failed);
        };
        let start = child.len();
        while self.until(Token::EndArray)? {
            self.take(element.weight())?;
            let outcome = self.value(element, child)?;
            is_bad |= outcome == Outcome::Partial;
            if outcome == Outcome::Failed {
                child.truncate(start);
                return Ok(Outcome::Failed);
            }
        }
        out.close();
        Ok(if is_bad { Outcome::Partial } else { Outcome::Good })
    }

    /// A record that is an object is taken for an array of it.
    fn array_of_one(&mut self, element: &Kind, out: &mut Builder) -> Step {
        match (element, &mut out.data) {
            (Kind::Struct(fields), Data::List { child, .. }) => {
                let outcome = self.object(fields, child)?;
                out.close();
                Ok(outcome)
            }
            _ => Ok(self.failed(element, Token::StartObject)),
        }
    }

    fn map(&mut self, value: &Kind, out: &mut Builder) -> Step {
        let (mut is_bad, mut is_failed) = (false, false);
        let Data::List { child, .. } = &mut out.data else {
            return Ok(Outcome::Failed);
        };
        let start = child.len();
        while self.until(Token::EndObject)? {
            let key = self.tokens.name().unwrap_or_default();
            self.take(value.weight() + key.to - key.from)?;
            let key = self.unescaped(key).0.to_vec();
            let Data::Struct(pair) = &mut child.data else {
                return Ok(Outcome::Failed);
            };
            let [keys, values] = pair.as_mut_slice() else {
                return Ok(Outcome::Failed);
            };
            keys.push_bytes(&key);
            match self.value(value, values)? {
                Outcome::Failed => {
                    is_failed = true;
                    values.push_null();
                    self.tokens.skip_children()?;
                }
                outcome => is_bad |= outcome == Outcome::Partial,
            }
            child.close();
        }
        if is_failed {
            child.truncate(start);
            return Ok(Outcome::Failed);
        }
        out.close();
        Ok(if is_bad { Outcome::Partial } else { Outcome::Good })
    }

    fn scalar(&mut self, scalar: Scalar, token: Token, kind: &Kind, out: &mut Builder) -> Step {
        let text = self.tokens.text;
        let is_taken = match (scalar, token) {
            (Scalar::String, _) => return self.text(token, kind, out),
            (Scalar::Boolean, Token::True | Token::False) => {
                out.push_bool(token == Token::True);
                true
            }
            (Scalar::TinyInt, Token::Int) => {
                // Jackson takes bytes up to 255.
                let found = self.int().filter(|one| (-128..=255).contains(one));
                push(out, found.map(|one| (one as i8).to_ne_bytes()))
            }
            (Scalar::SmallInt, Token::Int) => {
                push(out, self.int().and_then(|one| i16::try_from(one).ok()).map(i16::to_ne_bytes))
            }
            (Scalar::Int, Token::Int) => {
                push(out, self.int().and_then(|one| i32::try_from(one).ok()).map(i32::to_ne_bytes))
            }
            (Scalar::BigInt, Token::Int) => push(out, self.int().map(i64::to_ne_bytes)),
            (Scalar::Timestamp, Token::Int) => {
                push(out, self.int().map(|one| one.wrapping_mul(1_000_000).to_ne_bytes()))
            }
            (Scalar::Float, _) => push(out, self.float::<f32>(token).map(f32::to_ne_bytes)),
            (Scalar::Double, _) => push(out, self.float::<f64>(token).map(f64::to_ne_bytes)),
            (Scalar::Decimal { precision, scale }, Token::Int | Token::Float) => {
                let found = numbers::decimal(self.tokens.raw(text), precision, scale);
                push(out, found.map(i128::to_ne_bytes))
            }
            (Scalar::Binary, Token::String) => return self.binary(text, kind, out),
            (_, Token::String) => {
                let zone = self.zone;
                let (text, _) = self.unescaped(text);
                match scalar {
                    Scalar::Decimal { precision, scale } if !text.is_empty() => {
                        let text: Vec<u8> = text.iter().copied().filter(|b| *b != b',').collect();
                        let found = numbers::decimal(&text, precision, scale);
                        if found.is_none() && numbers::has_other_digits(&text) {
                            self.refuse("a digit that is not 0 to 9");
                        }
                        push(out, found.map(i128::to_ne_bytes))
                    }
                    Scalar::Date => push(out, times::date(text).map(i32::to_ne_bytes)),
                    Scalar::Timestamp => match times::timestamp(text, zone) {
                        Time::Micros(found) => push(out, Some(found.to_ne_bytes())),
                        Time::Bad => false,
                        Time::Refused(what) => {
                            self.refuse(what);
                            false
                        }
                    },
                    Scalar::TimestampNtz => {
                        push(out, times::timestamp_ntz(text).map(i64::to_ne_bytes))
                    }
                    _ => false,
                }
            }
            _ => false,
        };
        Ok(if is_taken { Outcome::Good } else { self.failed(kind, token) })
    }

    fn int(&self) -> Option<i64> {
        std::str::from_utf8(self.tokens.raw(self.tokens.text)).ok()?.parse().ok()
    }

    fn float<F: Floating>(&mut self, token: Token) -> Option<F> {
        let text = self.tokens.text;
        let raw = self.tokens.raw(text);
        match token {
            Token::Int if raw == b"-0" => F::read("0"), // the whole number has no sign
            Token::Int | Token::Float => F::read(std::str::from_utf8(raw).ok()?),
            Token::NotANumber => special(raw),
            Token::String => match self.unescaped(text).0 {
                b"INF" | b"-NaN" | b"+NaN" => None,
                text => special(text),
            },
            _ => None,
        }
    }

    fn binary(&mut self, text: Text, kind: &Kind, out: &mut Builder) -> Step {
        // Jackson has read a string in single quotes to its end before it decodes it.
        let is_single_quoted = text.is_single_quoted;
        let (text, _) = self.unescaped(text);
        match numbers::base64(text) {
            Base64::Bytes(bytes) => {
                self.take(bytes.len())?;
                out.push_bytes(&bytes);
                return Ok(Outcome::Good);
            }
            Base64::CutShort if !is_single_quoted => self.tokens.skip_string()?,
            Base64::CutShort | Base64::Bad => {}
        }
        Ok(self.failed(kind, Token::String))
    }

    /// Anything becomes text: what is not a string is written anew.
    fn text(&mut self, token: Token, kind: &Kind, out: &mut Builder) -> Step {
        let text = self.tokens.text;
        if token == Token::String {
            self.take(text.to - text.from)?;
            if text.is_escaped {
                let (text, _) = self.unescaped(text);
                out.push_bytes(text);
            } else {
                out.push_bytes(self.tokens.raw(text));
            }
            return Ok(Outcome::Good);
        }
        let mut written = Vec::new();
        self.is_refused = false;
        let is_whole = self.write(token, &mut written)?;
        self.take(written.len())?;
        if self.is_refused {
            self.refuse("a number of more than 15 digits as STRING");
            return Ok(Outcome::Failed);
        }
        if !is_whole {
            return Ok(self.failed(kind, token));
        }
        out.push_bytes(&written);
        Ok(Outcome::Good)
    }

    /// The current token with all that is in it, as Jackson writes it. False where it cannot; then
    /// the tokens stand there.
    fn write(&mut self, first: Token, out: &mut Vec<u8>) -> Result<bool, Stop> {
        let mut depth = 0usize;
        let mut token = first;
        let mut is_first = true;
        loop {
            match token {
                Token::EndObject | Token::EndArray => {
                    let Some(less) = depth.checked_sub(1) else {
                        return Ok(false);
                    };
                    depth = less;
                    out.push(if token == Token::EndObject { b'}' } else { b']' });
                }
                _ => {
                    if !is_first && !matches!(out.last(), Some(b':' | b'{' | b'[')) {
                        out.push(b',');
                    }
                    match token {
                        Token::StartObject => out.push(b'{'),
                        Token::StartArray => out.push(b'['),
                        _ => self.write_scalar(token, out),
                    }
                    depth += usize::from(matches!(token, Token::StartObject | Token::StartArray));
                }
            }
            is_first = false;
            if depth == 0 {
                return Ok(true);
            }
            if out.len() > ROW_BYTES_MAX {
                return Err(Stop::TooLarge);
            }
            let Some(next) = self.tokens.next()? else {
                return Ok(false);
            };
            token = next;
        }
    }

    fn write_scalar(&mut self, token: Token, out: &mut Vec<u8>) {
        let text = self.tokens.text;
        match token {
            Token::Name => {
                let name = self.tokens.name().unwrap_or_default();
                self.write_quoted(name, out);
                out.push(b':');
            }
            Token::String => self.write_quoted(text, out),
            Token::Int => {
                let raw = self.tokens.raw(text);
                out.extend_from_slice(if raw == b"-0" { b"0" } else { raw });
            }
            Token::Float => {
                let raw = std::str::from_utf8(self.tokens.raw(text)).unwrap_or_default();
                let value: f64 = raw.parse().unwrap_or(f64::NAN);
                if !value.is_finite() {
                    out.extend_from_slice(special_text(value));
                    return;
                }
                match numbers::java_double(value) {
                    Some(written) => out.extend_from_slice(written.as_bytes()),
                    None => self.is_refused = true,
                }
            }
            Token::NotANumber => {
                let value = special(self.tokens.raw(text)).unwrap_or(f64::NAN);
                out.extend_from_slice(special_text(value));
            }
            Token::True => {
                out.extend_from_slice(b"true");
            }
            Token::False => {
                out.extend_from_slice(b"false");
            }
            _ => {
                out.extend_from_slice(b"null");
            }
        }
    }

    fn write_quoted(&mut self, text: Text, out: &mut Vec<u8>) {
        let raw = self.tokens.raw(text);
        self.scratch.clear();
        token::unescape(raw, &mut self.scratch);
        out.push(b'"');
        let mut rest = self.scratch.as_slice();
        while let [byte, behind @ ..] = rest {
            if let [0xed, second @ 0xa0..=0xbf, third, behind @ ..] = rest {
                let half = 0xd000 | u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f);
                out.extend_from_slice(format!("\\u{half:04X}").as_bytes());
                rest = behind;
                continue;
            }
            if let [first @ 0xf0..=0xf4, second, third, fourth, behind @ ..] = rest {
                // Jackson writes what needs two units of UTF-16 as two escapes.
                let bits = |byte: &u8| u32::from(byte & 0x3f);
                let point = u32::from(first & 0x07) << 18
                    | bits(second) << 12
                    | bits(third) << 6
                    | bits(fourth);
                let above = point.saturating_sub(0x10000);
                let (high, low) = (0xd800 + (above >> 10), 0xdc00 + (above & 0x3ff));
                out.extend_from_slice(format!("\\u{high:04X}\\u{low:04X}").as_bytes());
                rest = behind;
                continue;
            }
            rest = behind;
            let short = match byte {
                b'"' | b'\\' => *byte,
                0x08 => b'b',
                0x09 => b't',
                0x0a => b'n',
                0x0c => b'f',
                0x0d => b'r',
                0..=0x1f => {
                    out.extend_from_slice(format!("\\u{byte:04X}").as_bytes());
                    continue;
                }
                _ => {
                    out.push(*byte);
                    continue;
                }
            };
            out.extend_from_slice(&[b'\\', short]);
        }
        out.push(b'"');
    }

    /// False if it holds half of a surrogate pair, which becomes `?`, as in Java.
    fn unescaped(&mut self, text: Text) -> (&[u8], bool) {
        let raw = self.tokens.raw(text);
        if !text.is_escaped {
            return (raw, true);
        }
        self.scratch.clear();
        let is_whole = token::unescape(raw, &mut self.scratch);
        if !is_whole {
            token::replace_halves(&mut self.scratch);
        }
        (&self.scratch, is_whole)
    }

    #[inline(always)]
    fn place(&mut self, fields: &Fields, hint: usize) -> Option<usize> {
        let name = self.tokens.name()?;
        if !name.is_escaped {
            return fields.place(self.tokens.raw(name), hint);
        }
        let (name, is_whole) = self.unescaped(name);
        if is_whole {
            fields.place(name, hint)
        } else {
            None
        }
    }

    #[inline(always)]
    fn until(&mut self, end: Token) -> Result<bool, Stop> {
        Ok(self.tokens.next()?.is_some_and(|token| token != end))
    }

    #[inline(always)]
    fn take(&mut self, bytes: usize) -> Result<(), Stop> {
        self.taken += bytes;
        if self.taken > ROW_BYTES_MAX {
            return Err(Stop::TooLarge);
        }
        Ok(())
    }

    #[cold]
    fn failed(&mut self, kind: &Kind, token: Token) -> Outcome {
        if self.reason.is_none() {
            let what = format!("found {}, expected {}", shown(token), expected(kind));
            self.reason = Some(Reason { path: Vec::new(), what });
        }
        Outcome::Failed
    }

    /// What Spark would read goes before any other reason.
    #[cold]
    fn refuse(&mut self, what: &str) {
        self.reason = Some(Reason { path: Vec::new(), what: format!("not supported: {what}") });
    }

    /// The first reason comes out through the objects around it: each adds its field.
    #[cold]
    fn name_reason(&mut self, fields: &Fields, place: usize, had_reason: bool) {
        if let (false, Some(reason), Some(name)) =
            (had_reason, &mut self.reason, fields.names.get(place))
        {
            reason.path.push(name.to_string());
        }
    }

    fn reason_text(&mut self) -> String {
        match self.reason.take() {
            None => "it cannot be read".to_owned(),
            Some(mut reason) if !reason.path.is_empty() => {
                reason.path.reverse();
                format!("{}: {}", reason.path.join("."), reason.what)
            }
            Some(reason) => reason.what,
        }
    }
}

fn push<const WIDTH: usize>(out: &mut Builder, found: Option<[u8; WIDTH]>) -> bool {
    if let Some(bytes) = found {
        out.push_fixed(&bytes);
    }
    found.is_some()
}

trait Floating: Sized {
    fn read(text: &str) -> Option<Self>;
}

impl Floating for f32 {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Floating for f64 {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

fn special<F: Floating>(text: &[u8]) -> Option<F> {
    match text {
        b"NaN" => F::read("NaN"),
        b"+INF" | b"+Infinity" | b"Infinity" => F::read("inf"),
        b"-INF" | b"-Infinity" => F::read("-inf"),
        _ => None,
    }
}

fn special_text(value: f64) -> &'static [u8] {
    if value.is_nan() {
        b"\"NaN\""
    } else if value > 0.0 {
        b"\"Infinity\""
    } else {
        b"\"-Infinity\""
    }
}

fn shown(token: Token) -> &'static str {
    match token {
        Token::StartObject | Token::EndObject => "an object",
        Token::StartArray | Token::EndArray => "an array",
        Token::String | Token::Name => "a string",
        Token::Int => "a whole number",
        Token::Float | Token::NotANumber => "a number",
        Token::True | Token::False => "a boolean",
        Token::Null => "null",
    }
}

fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Struct(_) => "an object".to_owned(),
        Kind::Array(_) => "an array".to_owned(),
        Kind::Map(..) => "an object for a map".to_owned(),
        Kind::Scalar(Scalar::Decimal { precision, scale }) => {
            format!("DECIMAL({precision},{scale})")
        }
        Kind::Scalar(Scalar::TimestampNtz) => "TIMESTAMP_NTZ".to_owned(),
        Kind::Scalar(scalar) => format!("{scalar:?}").to_uppercase(),
    }
}
