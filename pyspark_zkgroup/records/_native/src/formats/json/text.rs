//! What becomes text: strings, and JSON as Jackson writes it.

use crate::formats::build::Builder;
use crate::formats::json::row::special;
use crate::formats::json::token::{Text, Token};
use crate::formats::json::{escape, numbers, Outcome, Row, Step, Stop};
use crate::formats::kind::Kind;
use crate::formats::parsed::ROW_BYTES_MAX;

impl Row<'_> {
    /// Anything becomes text: what is not a string is written again.
    pub(super) fn text(&mut self, token: Token, kind: &Kind, out: &mut Builder) -> Step {
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
            self.refuse("a fraction as STRING that versions of Java write differently");
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
        escape::unescape(raw, &mut self.scratch);
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
