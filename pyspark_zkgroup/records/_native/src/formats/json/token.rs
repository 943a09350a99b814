//! Tokens of JSON, as Jackson's parser makes them with the features that Spark sets: single quotes
//! and NaN are allowed, comments, leading zeros and raw control characters are not.
//!
//! It is stepped through like Jackson's, because Spark's rows of malformed values follow from where
//! that one stands after a value of the wrong type.

use crate::formats::quoted::Quoted;

const DEPTH_MAX: usize = 1000;
const NUMBER_LENGTH_MAX: usize = 1000;
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

type Read<T> = Result<T, Malformed>;

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
    bytes: &'a [u8],
    at: usize,
    /// The innermost object or array; the record itself lies in one that has no end.
    frame: Frame,
    around: Vec<Frame>,
    /// What the last call of `next` found; None at the end.
    pub token: Option<Token>,
    /// The value behind a name, which is looked at together with it.
    ahead: Option<Token>,
    pub text: Text,
    what_is_wrong: &'static str,
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

    /// Objects and arrays are only begun.
    #[inline(always)]
    fn value(&mut self, first: u8) -> Read<Token> {
        match first {
            b'"' | b'\'' => {
                self.at += 1;
                self.text = self.string(first)?;
                Ok(Token::String)
            }
            b'0'..=b'9' | b'-' => self.number(),
            b'{' => self.one(Token::StartObject),
            b'[' => self.one(Token::StartArray),
            b't' => self.word(b"true", Token::True),
            b'f' => self.word(b"false", Token::False),
            b'n' => self.word(b"null", Token::Null),
            b'N' => self.word(b"NaN", Token::NotANumber),
            b'I' => self.word(b"Infinity", Token::NotANumber),
            b'+' => self.infinity(),
            _ => Err(self.error("a value is missing")),
        }
    }

    fn one(&mut self, token: Token) -> Read<Token> {
        self.at += 1;
        Ok(token)
    }

    fn word(&mut self, word: &[u8], token: Token) -> Read<Token> {
        let from = self.at;
        if !self.rest().starts_with(word) {
            return Err(self.error("a word is unknown"));
        }
        self.at += word.len();
        let behind = self.bytes.get(self.at).copied().unwrap_or(b' ');
        if behind.is_ascii_alphanumeric() || behind == b'_' || behind == b'$' {
            return Err(self.error("a word is unknown"));
        }
        self.text = Text { from, to: self.at, ..Text::default() };
        Ok(token)
    }

    /// With a sign before it.
    fn infinity(&mut self) -> Read<Token> {
        let from = self.at;
        self.at += 1;
        let token = if self.rest().starts_with(b"INF") {
            self.word(b"INF", Token::NotANumber)?
        } else {
            self.word(b"Infinity", Token::NotANumber)?
        };
        self.text.from = from;
        Ok(token)
    }

    #[inline(always)]
    fn number(&mut self) -> Read<Token> {
        let from = self.at;
        if self.rest().first() == Some(&b'-') {
            if self.rest().get(1) == Some(&b'I') {
                return self.infinity();
            }
            self.at += 1;
        }
        let digits_from = self.at;
        let mut length = self.digits();
        if length == 0 || (length > 1 && self.bytes.get(digits_from) == Some(&b'0')) {
            return Err(self.error("a number is malformed"));
        }
        let mut token = Token::Int;
        if self.rest().first() == Some(&b'.') {
            token = Token::Float;
            self.at += 1;
            length += self.needed_digits()?;
        }
        if let Some(b'e' | b'E') = self.rest().first() {
            token = Token::Float;
            self.at += 1;
            if let Some(b'+' | b'-') = self.rest().first() {
                self.at += 1;
            }
            length += self.needed_digits()?;
        }
        if length > NUMBER_LENGTH_MAX {
            return Err(self.error("a number is too long"));
        }
        self.text = Text { from, to: self.at, ..Text::default() };
        Ok(token)
    }

    #[inline(always)]
    fn digits(&mut self) -> usize {
        let from = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        self.at - from
    }

    fn needed_digits(&mut self) -> Read<usize> {
        match self.digits() {
            0 => Err(self.error("a number is malformed")),
            count => Ok(count),
        }
    }

    /// From behind the quote.
    #[inline(always)]
    fn string(&mut self, quote: u8) -> Read<Text> {
        let from = self.at;
        let mut is_escaped = false;
        loop {
            self.at += plain(self.rest(), quote);
            match self.rest() {
                [byte, ..] if *byte == quote => {
                    let to = self.at;
                    self.at += 1;
                    return Ok(Text { from, to, is_escaped, is_single_quoted: quote == b'\'' });
                }
                [b'\\', rest @ ..] => {
                    is_escaped = true;
                    let length = match rest {
                        [b'"' | b'\'' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
                        [b'u', a, b, c, d, ..]
                            if [a, b, c, d].iter().all(|one| one.is_ascii_hexdigit()) =>
                        {
                            6
                        }
                        _ => return Err(self.error("an escape is unknown")),
                    };
                    self.at += length;
                }
                [] => return Err(self.error("it ends early")),
                _ => return Err(self.error("a control character is not escaped")),
            }
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The next byte that is not blank.
    #[inline(always)]
    fn blank(&mut self) -> Read<Option<u8>> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(byte) if *byte < b' ' => {
                    return Err(self.error("a control character is not escaped"))
                }
                other => return Ok(other.copied()),
            }
        }
    }

    #[inline(always)]
    fn some(&mut self) -> Read<u8> {
        match self.blank()? {
            Some(byte) => Ok(byte),
            None => Err(self.error("it ends early")),
        }
    }

    #[cold]
    fn error(&mut self, what: &'static str) -> Malformed {
        self.what_is_wrong = what;
        Malformed
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

/// How many bytes follow that are neither the quote nor a backslash nor a control character.
#[inline(always)]
fn plain(bytes: &[u8], quote: u8) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let mut at = 0;
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*eight);
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let found = zeros(word ^ (ONES * u64::from(quote))) | zeros(word ^ (ONES * 0x5c)) | control;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|b| **b != quote && **b != b'\\' && **b >= b' ').count()
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
