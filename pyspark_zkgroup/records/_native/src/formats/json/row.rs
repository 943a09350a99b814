//! The values of a record, one token after the other.

use crate::formats::build::{Builder, Data};
use crate::formats::json::numbers::{self, Base64};
use crate::formats::json::times::{self, Time};
use crate::formats::json::token::{Text, Token};
use crate::formats::json::{escape, Outcome, Row, Step, Stop};
use crate::formats::kind::{Fields, Kind, Scalar};
use crate::formats::parsed::ROW_BYTES_MAX;

impl Row<'_> {
    pub(super) fn root(&mut self, kind: &Kind, out: &mut Builder) -> Step {
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
        loop {
            let mut place = hint;
            if !self.next_is_field(fields, hint)? {
                if !self.until(Token::EndObject)? {
                    break;
                }
                let Some(found) = self.place(fields, hint) else {
                    self.tokens.skip_children()?;
                    continue;
                };
                place = found;
            }
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
            let Data::Struct(pair) = &mut child.data else {
                return Ok(Outcome::Failed);
            };
            let [keys, values] = pair.as_mut_slice() else {
                return Ok(Outcome::Failed);
            };
            keys.push_bytes(self.unescaped(key).0);
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
        numbers::int(self.tokens.raw(self.tokens.text))
    }

    fn float<F: Floating>(&mut self, token: Token) -> Option<F> {
        let text = self.tokens.text;
        let raw = self.tokens.raw(text);
        match token {
            Token::Int if raw == b"-0" => F::read(b"0"), // the whole number has no sign
            Token::Int | Token::Float => F::read(raw),
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

    /// False if it holds half of a surrogate pair, which becomes `?`, as in Java.
    pub(super) fn unescaped(&mut self, text: Text) -> (&[u8], bool) {
        let raw = self.tokens.raw(text);
        if !text.is_escaped {
            return (raw, true);
        }
        self.scratch.clear();
        let is_whole = escape::unescape(raw, &mut self.scratch);
        if !is_whole {
            escape::replace_halves(&mut self.scratch);
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

    /// See `Tokens::next_is_field`.
    #[inline(always)]
    fn next_is_field(&mut self, fields: &Fields, place: usize) -> Result<bool, Stop> {
        match fields.quoted.get(place) {
            Some(name) => Ok(self.tokens.next_is_field(name)?),
            None => Ok(false),
        }
    }

    #[inline(always)]
    fn until(&mut self, end: Token) -> Result<bool, Stop> {
        Ok(self.tokens.next()?.is_some_and(|token| token != end))
    }

    #[inline(always)]
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Stop> {
        self.taken += bytes;
        if self.taken > ROW_BYTES_MAX {
            return Err(Stop::TooLarge);
        }
        Ok(())
    }
}

fn push<const WIDTH: usize>(out: &mut Builder, found: Option<[u8; WIDTH]>) -> bool {
    if let Some(bytes) = found {
        out.push_fixed(&bytes);
    }
    found.is_some()
}

pub(super) trait Floating: Sized {
    fn read(text: &[u8]) -> Option<Self>;
}

impl Floating for f32 {
    fn read(text: &[u8]) -> Option<Self> {
        numbers::parsed(text)
    }
}

impl Floating for f64 {
    fn read(text: &[u8]) -> Option<Self> {
        numbers::short_double(text).or_else(|| numbers::parsed(text))
    }
}

pub(super) fn special<F: Floating>(text: &[u8]) -> Option<F> {
    match text {
        b"NaN" => F::read(b"NaN"),
        b"+INF" | b"+Infinity" | b"Infinity" => F::read(b"inf"),
        b"-INF" | b"-Infinity" => F::read(b"-inf"),
        _ => None,
    }
}
