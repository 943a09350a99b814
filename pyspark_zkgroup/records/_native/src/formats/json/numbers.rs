//! Numbers and Base64 as Java reads and writes them.

use std::str::FromStr;

/// Java computes this power of ten to round, and has no numbers of that size.
const DROPPED_PLACES_MAX: i64 = 536_870_919;

/// Of digits, perhaps with a minus before them. None if it does not fit.
pub fn int(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = minus(text);
    if digits.len() > 18 {
        return parsed(text);
    }
    let digit = |found: i64, byte: &u8| found * 10 + i64::from(byte.wrapping_sub(b'0'));
    let found = digits.iter().fold(0, digit);
    Some(if is_negative { -found } else { found })
}

/// Of few digits and no exponent. None for others. A double holds both the digits and the power of
/// ten exactly, so their quotient is the nearest double.
#[inline(always)]
pub fn short_double(text: &[u8]) -> Option<f64> {
    const POWERS: [f64; 16] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (is_negative, rest) = minus(text);
    if rest.len() > 16 {
        return None;
    }
    let (mut digits, mut places) = (0u64, None);
    for byte in rest {
        match byte {
            b'0'..=b'9' => {
                digits = digits * 10 + u64::from(byte - b'0');
                places = places.map(|count: usize| count + 1);
            }
            b'.' => places = Some(0),
            _ => return None,
        }
    }
    if digits >= 1 << 53 {
        return None;
    }
    let found = digits as f64 / POWERS.get(places.unwrap_or(0))?;
    Some(if is_negative { -found } else { found })
}

/// As the standard library reads it. None if that cannot.
#[inline(always)]
pub fn parsed<T: FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether there is a minus, and what follows it.
#[inline(always)]
fn minus(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    }
}

/// With digits of ASCII, a point and an exponent as `java.math.BigDecimal` takes them; rounded half
/// up. None if it does not fit.
pub fn decimal(text: &[u8], precision: u8, scale: u8) -> Option<i128> {
    let (is_negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let mark = rest.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (significand, exponent) = match mark {
        Some(at) => (rest.get(..at)?, exponent(rest.get(at + 1..)?)?),
        None => (rest, 0),
    };
    let mut digits = Vec::with_capacity(significand.len());
    let mut fraction = None;
    let mut count = 0usize;
    for byte in significand {
        match byte {
            b'0'..=b'9' => {
                count += 1;
                if !digits.is_empty() || *byte != b'0' {
                    digits.push(byte - b'0');
                }
                fraction = fraction.map(|places: i64| places + 1);
            }
            b'.' if fraction.is_none() => fraction = Some(0),
            _ => return None,
        }
    }
    if count == 0 {
        return None;
    }
    let shift = exponent - fraction.unwrap_or(0) + i64::from(scale);
    if shift < -DROPPED_PLACES_MAX {
        return None;
    }
    let unsigned = shifted(&digits, shift)?;
    if unsigned >= 10u128.checked_pow(u32::from(precision))? {
        return None;
    }
    let found = i128::try_from(unsigned).ok()?;
    Some(if is_negative { -found } else { found })
}

/// Whether it holds digits of other scripts, which Java reads.
pub fn has_other_digits(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text).unwrap_or_default();
    text.chars().any(|one| !one.is_ascii() && one.is_numeric())
}

fn exponent(text: &[u8]) -> Option<i64> {
    let digits = match text {
        [b'+' | b'-', rest @ ..] => rest,
        rest => rest,
    };
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    if digits.is_empty() || digits.len() - zeros > 10 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let found: i64 = parsed(text)?;
    i32::try_from(found).ok().map(i64::from)
}

/// These digits times ten to that power. None if there are more than 38 of them.
fn shifted(digits: &[u8], shift: i64) -> Option<u128> {
    if digits.is_empty() {
        return Some(0);
    }
    let kept = digits.len() as i64 + shift;
    if kept > 38 {
        return None;
    }
    if kept < 0 {
        return Some(0);
    }
    let kept = kept as usize;
    let mut found = 0u128;
    for at in 0..kept {
        found = found * 10 + u128::from(digits.get(at).copied().unwrap_or(0));
    }
    let is_half = digits.get(kept).is_some_and(|next| *next >= 5);
    Some(found + u128::from(is_half))
}

/// As `Double.toString` writes it. None where versions of Java differ: with more than 15 digits,
/// where ten to the power of the last one is no double itself, or from 2^53 on (before version 19
/// Java writes 2.9484049967908e18 with three digits too many).
pub fn java_double(value: f64) -> Option<String> {
    if value == 0.0 {
        return Some(if value.is_sign_negative() { "-0.0" } else { "0.0" }.to_owned());
    }
    let text = format!("{value:e}");
    let (significand, exponent) = text.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let sign = if significand.starts_with('-') { "-" } else { "" };
    let digits: String = significand.chars().filter(char::is_ascii_digit).collect();
    let last_digit = exponent + 1 - digits.len() as i32;
    let is_beyond = value.abs() >= 9_007_199_254_740_992.0;
    if digits.len() > 15 || is_beyond || !(-22..=22).contains(&last_digit) {
        return None;
    }
    Some(if (-3..7).contains(&exponent) {
        if exponent < 0 {
            let zeros = "0".repeat((-exponent - 1) as usize);
            format!("{sign}0.{zeros}{digits}")
        } else {
            let whole = exponent as usize + 1;
            let padded = format!("{digits:0<width$}", width = whole + 1);
            let (before, behind) = padded.split_at(whole);
            format!("{sign}{before}.{behind}")
        }
    } else {
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() { "0" } else { rest };
        format!("{sign}{first}.{rest}E{exponent}")
    })
}

#[derive(Debug, PartialEq)]
pub enum Base64 {
    Bytes(Vec<u8>),
    Bad,
    /// Behind one character of four, or half of the padding: Jackson goes past the end of the string.
    CutShort,
}

/// As Jackson reads it: blanks may stand between groups of four, and padding is needed.
pub fn base64(text: &[u8]) -> Base64 {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut rest = text.iter();
    loop {
        let Some(first) = rest.by_ref().find(|byte| **byte > b' ') else {
            return Base64::Bytes(out);
        };
        let (Some(first), second) = (sextet(*first), rest.next()) else {
            return Base64::Bad;
        };
        let Some(second) = second else {
            return Base64::CutShort;
        };
        let Some(second) = sextet(*second) else {
            return Base64::Bad;
        };
        let high = first << 2 | second >> 4;
        match (rest.next(), rest.next()) {
            (Some(b'='), Some(b'=')) => out.push(high),
            (Some(b'='), None) => return Base64::CutShort,
            (Some(third), Some(b'=')) => match sextet(*third) {
                Some(third) => out.extend_from_slice(&[high, second << 4 | third >> 2]),
                None => return Base64::Bad,
            },
            (Some(third), Some(fourth)) => match (sextet(*third), sextet(*fourth)) {
                (Some(third), Some(fourth)) => {
                    let low = third << 6 | fourth;
                    out.extend_from_slice(&[high, second << 4 | third >> 2, low]);
                }
                _ => return Base64::Bad,
            },
            _ => return Base64::Bad,
        }
    }
}

fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{base64, decimal, int, java_double, short_double, Base64};

    #[test]
    fn decimals_round_half_up_and_must_fit() {
        assert_eq!(decimal(b"1.005", 5, 2), Some(101));
        assert_eq!(decimal(b"-1.005", 5, 2), Some(-101));
        assert_eq!(decimal(b"1e2", 5, 2), Some(10000));
        assert_eq!(decimal(b"1e3", 5, 2), None);
        assert_eq!(decimal(b"0.004", 5, 2), Some(0));
        assert_eq!(decimal(b".5", 1, 0), Some(1));
        assert_eq!(decimal(b"9.5", 1, 0), None);
        assert_eq!(decimal(b"0e999999999", 5, 2), Some(0));
        assert_eq!(decimal(b"1e-99999999", 5, 2), Some(0));
        assert_eq!(decimal(b"0e-999999999", 5, 2), None);
        assert_eq!(decimal(b"1e9999999999", 5, 2), None);
        assert_eq!(decimal(b"1e00000000000000000001", 5, 2), Some(1000));
        assert_eq!(decimal(&[b'9'; 38], 38, 0), Some(10i128.pow(38) - 1));
        assert_eq!(decimal(&[b'9'; 39], 38, 0), None);
        for bad in ["", ".", "-", "1e", "e1", "1.2.3", " 1", "0x1"] {
            assert_eq!(decimal(bad.as_bytes(), 5, 2), None, "{bad}");
        }
    }

    #[test]
    fn whole_numbers_are_those_of_64_bits() {
        for text in ["0", "-7", "123456789012345678", "-999999999999999999", "9223372036854775807"]
        {
            assert_eq!(int(text.as_bytes()), text.parse().ok(), "{text}");
        }
        assert_eq!(int(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(int(b"9223372036854775808"), None);
    }

    #[test]
    fn short_doubles_are_the_nearest_ones() {
        let mut state = 1u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let digits = state >> (8 + state % 50);
            let places = (state >> 32) as usize % 17;
            let sign = if state & 4 == 0 { "" } else { "-" };
            let mut text = format!("{digits:0width$}", width = places + 1);
            if places > 0 {
                text.insert(text.len() - places, '.');
            }
            let text = format!("{sign}{text}");
            if let Some(found) = short_double(text.as_bytes()) {
                let expected: f64 = text.parse().expect("a number");
                assert_eq!(found.to_bits(), expected.to_bits(), "{text}");
            }
        }
        assert_eq!(short_double(b"99.95"), Some(99.95));
        for other in ["9007199254740992", "1e2", "0.1234567890123456"] {
            assert_eq!(short_double(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn doubles_look_as_in_java() {
        for (value, text) in [
            (1.5, "1.5"),
            (1000.0, "1000.0"),
            (1e7, "1.0E7"),
            (1234567.5, "1234567.5"),
            (-0.001, "-0.001"),
            (0.00012, "1.2E-4"),
            (-0.0, "-0.0"),
            (100.0, "100.0"),
        ] {
            assert_eq!(java_double(value).as_deref(), Some(text));
        }
        assert_eq!(java_double(0.1 + 0.2), None);
        assert_eq!(java_double(4.9e-324), None);
        assert_eq!(java_double(1e23), None);
        assert_eq!(java_double(2.9484049967908e18), None);
    }

    #[test]
    fn base64_needs_its_padding() {
        assert_eq!(base64(b""), Base64::Bytes(vec![]));
        assert_eq!(base64(b"QUJD QQ=="), Base64::Bytes(b"ABCA".to_vec()));
        assert_eq!(base64(b"QUI="), Base64::Bytes(b"AB".to_vec()));
        assert_eq!(base64(b"QUI"), Base64::Bad);
        assert_eq!(base64(b"Q"), Base64::CutShort);
        assert_eq!(base64(b"QQ="), Base64::CutShort);
        assert_eq!(base64(b"Q*=="), Base64::Bad);
    }
}
