//! Tokens of JSON, as Jackson's parser makes them with the features that Spark sets: single quotes
//! and NaN are allowed, comments, leading zeros and raw control characters are not.
//!
//! It is stepped through like Jackson's, because Spark's rows of malformed values follow from where
//! that one stands after a value of the wrong type.

use crate::formats::quoted::Quoted;

const DEPTH_MAX: usize = 1000;
const NAME_LENGTH_MAX: usize = 50_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token {
    StartObject,
    EndObject,
    StartArray,
    EndArray,
    Name,
    String,
    Int,
    Float,
    NotANumber,
    True,
    False,
    Null,
}

/// Nothing can be read from here on; see `Tokens::wrong`.
#[derive(Debug, PartialEq)]
pub struct Malformed;

pub(super) type Read<T> = Result<T, Malformed>;

/// A part of the source, without its quotes.
#[derive(Clone, Copy, Default)]
pub struct Text {
    pub from: usize,
    pub to: usize,
    pub is_escaped: bool,
    pub is_single_quoted: bool,
}

#[derive(Clone, Copy, Default)]
pub struct Frame {
    /// What ends it; nothing around the record itself.
    closing: u8,
    is_begun: bool,
    name: Option<Text>,
}

pub struct Tokens<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    /// The innermost object or array; the record itself lies in one that has no end.
    frame: Frame,
    around: Vec<Frame>,
    /// What the last call of `next` found; None at the end.
    pub token: Option<Token>,
    /// The value behind a name, which is looked at together with it.
    ahead: Option<Token>,
    pub text: Text,
    pub(super) what_is_wrong: &'static str,
}

impl<'a> Tokens<'a> {
    /// `bytes` are UTF-8.
    pub fn new(bytes: &'a [u8], around: Vec<Frame>) -> Self {
        Self {
            bytes,
            at: 0,
            frame: Frame::default(),
            around,
            token: None,
            ahead: None,
            text: Text::default(),
            what_is_wrong: "",
        }
    }

    pub fn into_frames(mut self) -> Vec<Frame> {
        self.around.clear();
        self.around
    }

    /// What is malformed, and at which byte.
    pub fn wrong(&self) -> (&'static str, usize) {
        (self.what_is_wrong, self.at)
    }

    pub fn raw(&self, text: Text) -> &'a [u8] {
        self.bytes.get(text.from..text.to).unwrap_or_default()
    }

    /// The name that Jackson gives for the current token: that of the field it belongs to, if it
    /// lies in an object directly.
    pub fn name(&self) -> Option<Text> {
        if matches!(self.token, Some(Token::StartObject | Token::StartArray)) {
            self.around.last()?.name
        } else {
            self.frame.name
        }
    }

    pub fn next(&mut self) -> Read<Option<Token>> {
        let found = match self.ahead.take() {
            Some(value) => Some(self.entered(value)?),
            None => self.scan()?,
        };
        self.token = found;
        Ok(found)
    }

    /// Like two calls of `next`, if the first would find that field, written without blanks before
    /// its colon, and the second its value. Else false, and nothing has changed.
    #[inline(always)]
    pub fn next_is_field(&mut self, name: &Quoted) -> Read<bool> {
        if self.ahead.is_some() || self.frame.closing != b'}' {
            return Ok(false);
        }
        let mut from = self.at;
        if self.frame.is_begun {
            if self.bytes.get(from) != Some(&b',') {
                return Ok(false);
            }
            from += 1;
        }
        if self.bytes.get(from) == Some(&b' ') {
            from += 1;
        }
        let Some(length) = name.at_start_of(self.bytes.get(from..).unwrap_or_default()) else {
            return Ok(false);
        };
        self.at = from + length;
        self.frame.is_begun = true;
        self.frame.name = Some(Text { from: from + 1, to: self.at - 2, ..Text::default() });
        let byte = self.some()?;
        let value = self.value(byte)?;
        self.token = Some(self.entered(value)?);
        Ok(true)
    }

    pub fn skip_children(&mut self) -> Read<()> {
        if !matches!(self.token, Some(Token::StartObject | Token::StartArray)) {
            return Ok(());
        }
        let depth = self.around.len();
        while self.around.len() >= depth {
            self.next()?;
        }
        Ok(())
    }

    /// Jackson stands behind the end of a string and takes it for its inside.
    pub fn skip_string(&mut self) -> Read<()> {
        self.string(b'"').map(drop)
    }

    fn scan(&mut self) -> Read<Option<Token>> {
        let Some(mut byte) = self.blank()? else {
            return if self.around.is_empty() {
                Ok(None)
            } else {
                Err(self.error("it ends early"))
            };
        };
        let closing = self.frame.closing;
        if closing == 0 {
            let value = self.value(byte)?;
            return self.entered(value).map(Some);
        }
        if byte == closing {
            self.at += 1;
            self.frame = self.around.pop().unwrap_or_default();
            let is_object = closing == b'}';
            return Ok(Some(if is_object { Token::EndObject } else { Token::EndArray }));
        }
        if self.frame.is_begun {
            if byte != b',' {
                return Err(self.error("a comma is missing"));
            }
            self.at += 1;
            byte = self.some()?;
        }
        self.frame.is_begun = true;
        if closing == b']' {
            let value = self.value(byte)?;
            return self.entered(value).map(Some);
        }
        self.frame.name = Some(self.field_name(byte)?);
        if self.some()? != b':' {
            return Err(self.error("a colon is missing"));
        }
        self.at += 1;
        let byte = self.some()?;
        self.ahead = Some(self.value(byte)?);
        Ok(Some(Token::Name))
    }

    fn field_name(&mut self, quote: u8) -> Read<Text> {
        if quote != b'"' && quote != b'\'' {
            return Err(self.error("a field's name is missing"));
        }
        self.at += 1;
        let name = self.string(quote)?;
        if name.to - name.from > NAME_LENGTH_MAX && units(self.raw(name)) > NAME_LENGTH_MAX {
            return Err(self.error("a field's name is too long"));
        }
        Ok(name)
    }

    fn entered(&mut self, value: Token) -> Read<Token> {
        let closing = match value {
            Token::StartObject => b'}',
            Token::StartArray => b']',
            _ => return Ok(value),
        };
        if self.around.len() >= DEPTH_MAX {
            return Err(self.error("it is nested too deeply"));
        }
        self.around.push(self.frame);
        self.frame = Frame { closing, ..Frame::default() };
        Ok(value)
    }
}

/// How many characters of Java an escaped name has.
#[cold]
fn units(name: &[u8]) -> usize {
    let (mut count, mut rest) = (0, name);
    while let [first, behind @ ..] = rest {
        let (length, units) = match (first, behind) {
            (b'\\', [b'u', ..]) => (6, 1),
            (b'\\', _) | (0xc0..=0xdf, _) => (2, 1),
            (0xe0..=0xef, _) => (3, 1),
            (0xf0..=0xff, _) => (4, 2),
            _ => (1, 1),
        };
        count += units;
        rest = rest.get(length..).unwrap_or_default();
    }
    count
}

#[cfg(test)]
mod tests {
    use super::{Token, Tokens, NAME_LENGTH_MAX};

    #[test]
    fn a_name_is_as_long_as_java_counts_it() {
        let is_read = |character: &str, count: usize| {
            let text = format!("{{\"{}\":1}}", character.repeat(count));
            let mut tokens = Tokens::new(text.as_bytes(), Vec::new());
            tokens.next().expect("an object");
            tokens.next().is_ok_and(|token| token == Some(Token::Name))
        };
        for character in ["a", "\u{e9}", "\u{20ac}", "\\u0041", "\\n"] {
            assert!(is_read(character, NAME_LENGTH_MAX), "{character}");
            assert!(!is_read(character, NAME_LENGTH_MAX + 1), "{character}");
        }
        for pair in ["\u{1f600}", "\\ud83d\\ude00"] {
            assert!(is_read(pair, NAME_LENGTH_MAX / 2), "{pair}");
            assert!(!is_read(pair, NAME_LENGTH_MAX / 2 + 1), "{pair}");
        }
    }
}
