//! Why a record is bad.

use crate::formats::json::token::Token;
use crate::formats::json::{Outcome, Reason, Row};
use crate::formats::kind::{Fields, Kind, Scalar};

impl Row<'_> {
    #[cold]
    pub(super) fn failed(&mut self, kind: &Kind, token: Token) -> Outcome {
        if self.reason.is_none() {
            let what = format!("found {}, expected {}", shown(token), expected(kind));
            self.reason = Some(Reason { path: Vec::new(), what });
        }
        Outcome::Failed
    }

    /// What Spark would read goes before any other reason.
    #[cold]
    pub(super) fn refuse(&mut self, what: &str) {
        self.reason = Some(Reason { path: Vec::new(), what: format!("not supported: {what}") });
    }

    /// The first reason comes out through the objects around it: each adds its field.
    #[cold]
    pub(super) fn name_reason(&mut self, fields: &Fields, place: usize, had_reason: bool) {
        if let (false, Some(reason), Some(name)) =
            (had_reason, &mut self.reason, fields.names.get(place))
        {
            reason.path.push(name.to_string());
        }
    }

    pub(super) fn reason_text(&mut self) -> String {
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
