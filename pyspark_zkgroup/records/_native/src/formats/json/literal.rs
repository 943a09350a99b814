//! Strings, numbers and words of JSON, and the blanks between them.

use crate::formats::json::token::{Malformed, Read, Text, Token, Tokens};

const NUMBER_LENGTH_MAX: usize = 1000;

impl<'a> Tokens<'a> {
    /// Objects and arrays are only begun.
    #[inline(always)]
    pub(super) fn value(&mut self, first: u8) -> Read<Token> {
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
    pub(super) fn string(&mut self, quote: u8) -> Read<Text> {
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
    pub(super) fn blank(&mut self) -> Read<Option<u8>> {
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
    pub(super) fn some(&mut self) -> Read<u8> {
        match self.blank()? {
            Some(byte) => Ok(byte),
            None => Err(self.error("it ends early")),
        }
    }

    #[cold]
    pub(super) fn error(&mut self, what: &'static str) -> Malformed {
        self.what_is_wrong = what;
        Malformed
    }
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
