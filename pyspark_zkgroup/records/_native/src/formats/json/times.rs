//! Dates and times as Spark's default patterns read them.

/// The offsets of a time zone, for local times within a span.
pub struct Zone {
    first_offset_s: i64,
    /// From which local time on an offset counts, and what it is.
    changes: Vec<(i64, i64)>,
    span_s: (i64, i64),
}

/// The length of 400 years.
const CYCLE_S: i64 = 146_097 * 86_400;

impl Zone {
    /// `changes` are instants in seconds, with the offset that begins there. They cover the span, whose
    /// last 400 years stand for all that come.
    pub fn new(first_offset_s: i64, changes: &[(i64, i64)], span_s: (i64, i64)) -> Self {
        let mut before = first_offset_s;
        let mut local = Vec::with_capacity(changes.len());
        for (at, after) in changes {
            // In a gap, and while a local time comes twice, the offset before counts, as in Java.
            local.push((at.saturating_add(before.max(*after)), *after));
            before = *after;
        }
        Self { first_offset_s, changes: local, span_s }
    }

    fn offset_s(&self, local_s: i64) -> Option<i64> {
        let (from, to) = self.span_s;
        if local_s < from {
            return None;
        }
        // The calendar repeats itself, and so do the rules of the far future.
        let local_s = if local_s >= to { to - CYCLE_S + (local_s - to) % CYCLE_S } else { local_s };
        let place = self.changes.partition_point(|(from, _)| *from <= local_s);
        let found = place.checked_sub(1).and_then(|last| self.changes.get(last));
        Some(found.map_or(self.first_offset_s, |change| change.1))
    }
}

const GMT: &[u8] = b"GMT";
/// Before that day Spark reads days of the Julian calendar from a bare number.
const GREGORIAN_FROM: i32 = -141_427;

/// Days since 1970.
pub fn date(text: &[u8]) -> Option<i32> {
    if let Some(found) = plain_date(text) {
        return Some(found);
    }
    let cleaned = without_gmt(text);
    plain_date(&cleaned).or_else(|| {
        let days = java_int(text)?;
        (days >= GREGORIAN_FROM).then_some(days)
    })
}

pub enum Time {
    Micros(i64),
    Bad,
    /// Spark reads it, and it is not read here.
    Refused(&'static str),
}

/// Microseconds since 1970.
pub fn timestamp(text: &[u8], zone: &Zone) -> Time {
    match moment(text, zone) {
        Time::Bad => moment(&without_gmt(text), zone),
        found => found,
    }
}

fn moment(text: &[u8], zone: &Zone) -> Time {
    let Some(found) = parse(text) else {
        let is_clock = trimmed(text).iter().take(3).any(|byte| matches!(byte, b':' | b'T'));
        return if is_clock { Time::Refused("a time without a date") } else { Time::Bad };
    };
    let Some(local_s) = found.local_s() else {
        return Time::Bad;
    };
    let offset_s = match found.zone {
        Some(name) => offset_of(name),
        None => match zone.offset_s(local_s) {
            None => return Time::Refused("a time before 2 January 1970 in a region's time zone"),
            known => known,
        },
    };
    match offset_s {
        None if found.zone.is_some_and(may_be_region) => {
            Time::Refused("a time with the name of a zone")
        }
        None => Time::Bad,
        Some(offset_s) => local_s
            .checked_sub(offset_s)
            .and_then(|utc_s| found.micros(utc_s))
            .map_or(Time::Bad, Time::Micros),
    }
}

fn may_be_region(name: &[u8]) -> bool {
    name.first().is_some_and(u8::is_ascii_alphabetic)
}

/// The same without a zone, which must not be given.
pub fn timestamp_ntz(text: &[u8]) -> Option<i64> {
    let found = parse(text)?;
    if found.zone.is_some() {
        return None;
    }
    found.micros(found.local_s()?)
}

fn without_gmt(text: &[u8]) -> Vec<u8> {
    let mut made = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        if let Some(behind) = rest.strip_prefix(GMT) {
            rest = behind;
        } else {
            made.push(*first);
            rest = behind;
        }
    }
    made
}

/// As `Integer.parseInt` takes it.
fn java_int(text: &[u8]) -> Option<i32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Without blanks and control characters around it.
fn trimmed(text: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| *byte <= b' ' || *byte == 0x7f;
    let from = text.iter().position(|byte| !is_blank(byte)).unwrap_or(text.len());
    let to = text.iter().rposition(|byte| !is_blank(byte)).map_or(from, |last| last + 1);
    text.get(from..to).unwrap_or_default()
}

fn signed(text: &[u8]) -> (i64, &[u8]) {
    match text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        rest => (1, rest),
    }
}

fn number(digits: &[u8], least: usize, most: usize) -> Option<i64> {
    if digits.len() < least || digits.len() > most || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |value, byte| value * 10 + i64::from(byte - b'0')))
}

/// `y`, `y-m` or `y-m-d`; behind a day anything may follow a blank or a T.
fn plain_date(text: &[u8]) -> Option<i32> {
    let text = trimmed(text);
    if text.is_empty() {
        return None;
    }
    let (sign, rest) = signed(text);
    let end = rest.iter().position(|byte| matches!(byte, b' ' | b'T')).unwrap_or(rest.len());
    let mut parts = rest.get(..end)?.splitn(3, |byte| *byte == b'-');
    let year = number(parts.next()?, 4, 7)?;
    let month = parts.next();
    let day = parts.next();
    if day.is_none() && end < rest.len() {
        return None;
    }
    let month = month.map_or(Some(1), |part| number(part, 1, 2))?;
    let day = day.map_or(Some(1), |part| number(part, 1, 2))?;
    i32::try_from(days(sign * year, month, day)?).ok()
}

struct Moment<'a> {
    days: i64,
    seconds: i64,
    micros: i64,
    zone: Option<&'a [u8]>,
}

impl Moment<'_> {
    fn local_s(&self) -> Option<i64> {
        self.days.checked_mul(86_400)?.checked_add(self.seconds)
    }

    fn micros(&self, utc_s: i64) -> Option<i64> {
        // Java multiplies first, and so knows a little less of the past than 64 bits hold.
        if utc_s < 0 && self.micros > 0 {
            let from_next = utc_s.checked_add(1)?.checked_mul(1_000_000)?;
            return from_next.checked_add(self.micros - 1_000_000);
        }
        utc_s.checked_mul(1_000_000)?.checked_add(self.micros)
    }
}

/// `y[-m[-d[T or blank h:m:s[.fraction][zone]]]]`. A time without a date, which means today, is not
/// taken.
fn parse(text: &[u8]) -> Option<Moment<'_>> {
    let text = trimmed(text);
    if text.is_empty() {
        return None;
    }
    let (sign, rest) = signed(text);
    let end = rest.iter().position(|byte| matches!(byte, b' ' | b'T')).unwrap_or(rest.len());
    let mut parts = rest.get(..end)?.split(|byte| *byte == b'-');
    let year = number(parts.next()?, 4, 6)?;
    let month = parts.next();
    let day = parts.next();
    if parts.next().is_some() || (day.is_none() && end < rest.len()) {
        return None;
    }
    let month = month.map_or(Some(1), |part| number(part, 1, 2))?;
    let day = day.map_or(Some(1), |part| number(part, 1, 2))?;
    let mut found =
        Moment { days: days(sign * year, month, day)?, seconds: 0, micros: 0, zone: None };
    if end < rest.len() {
        read_clock(rest.get(end + 1..)?, &mut found)?;
    }
    Some(found)
}

fn read_clock<'a>(text: &'a [u8], found: &mut Moment<'a>) -> Option<()> {
    let mut parts = text.splitn(3, |byte| *byte == b':');
    let hour = number(parts.next()?, 1, 2)?;
    let minute = parts.next().map_or(Some(0), |part| number(part, 1, 2))?;
    let mut second = 0;
    if let Some(rest) = parts.next() {
        let size = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        second = number(rest.get(..size)?, 1, 2)?;
        let mut rest = rest.get(size..)?;
        if let [b'.', behind @ ..] = rest {
            let size = behind.iter().take_while(|byte| byte.is_ascii_digit()).count();
            for at in 0..6 {
                let digit = behind.get(..size)?.get(at).map_or(0, |byte| byte - b'0');
                found.micros = found.micros * 10 + i64::from(digit);
            }
            rest = behind.get(size..)?;
        }
        if !rest.is_empty() {
            found.zone = Some(trimmed(rest));
        }
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    found.seconds = (hour * 60 + minute) * 60 + second;
    Some(())
}

/// Of `Z`, `UTC`, `+h`, `+hh`, `+h:mm`, `+hh:m`, `+hhmm`, `+hh:mm:ss`, `+hhmmss`, and `UTC`, `GMT` or
/// `UT` before such an offset. Names of regions are not taken.
pub fn offset_of(name: &[u8]) -> Option<i64> {
    if matches!(name, b"Z" | b"UTC" | b"GMT" | b"UT") {
        return Some(0);
    }
    let offset = [b"UTC".as_slice(), b"GMT", b"UT"]
        .iter()
        .find_map(|prefix| name.strip_prefix(*prefix))
        .unwrap_or(name);
    let (sign, digits) = match offset {
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let parts: Vec<&[u8]> = digits.split(|byte| *byte == b':').collect();
    let seconds = match parts.as_slice() {
        [hours @ ([_] | [_, _])] => number(hours, 1, 2)? * 3600,
        [all @ ([_, _, _, _] | [_, _, _, _, _, _])] => {
            let second = all.get(4..6).map_or(Some(0), |part| number(part, 2, 2))?;
            clock(number(all.get(..2)?, 2, 2)?, number(all.get(2..4)?, 2, 2)?, second)?
        }
        [hours, minutes] => clock(number(hours, 1, 2)?, number(minutes, 1, 2)?, 0)?,
        [hours, minutes, seconds] => {
            clock(number(hours, 1, 2)?, number(minutes, 2, 2)?, number(seconds, 2, 2)?)?
        }
        _ => return None,
    };
    (seconds <= 18 * 3600).then_some(sign * seconds)
}

fn clock(hours: i64, minutes: i64, seconds: i64) -> Option<i64> {
    (minutes < 60 && seconds < 60).then_some((hours * 60 + minutes) * 60 + seconds)
}

/// Since 1970, in the calendar of today for all time.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::{date, timestamp, timestamp_ntz, Time, Zone};

    fn micros(found: Time) -> Option<i64> {
        match found {
            Time::Micros(found) => Some(found),
            _ => None,
        }
    }

    fn utc() -> Zone {
        Zone::new(0, &[], (i64::MIN, i64::MAX))
    }

    #[test]
    fn dates() {
        assert_eq!(date(b"1970-01-02"), Some(1));
        assert_eq!(date(b" 1970-1-2 "), Some(1));
        assert_eq!(date(b"1970"), Some(0));
        assert_eq!(date(b"1970-02-30"), None);
        assert_eq!(date(b"1970-01-02T junk"), Some(1));
        assert_eq!(date(b"1970-01 junk"), None);
        assert_eq!(date(b"123"), Some(123));
        assert_eq!(date(b"0000-01-01"), Some(-719_528));
        assert_eq!(date(b""), None);
    }

    #[test]
    fn times() {
        let read = |text: &str| micros(timestamp(text.as_bytes(), &utc()));
        assert_eq!(read("1970-01-01T00:00:01.5Z"), Some(1_500_000));
        assert_eq!(read("1970-01-01 00:00:01.1234567+01:00"), Some(1_123_456 - 3_600_000_000));
        assert_eq!(read("1970-01-01 0:0:1 UTC"), Some(1_000_000));
        assert_eq!(read("1970-01-01 00:00:00 GMT-2"), Some(7_200_000_000));
        assert_eq!(read("1969-12-31 23:59:59.5"), Some(-500_000));
        assert_eq!(read("1970-01-01 24:00:00"), None);
        assert_eq!(read("999999-01-01"), None);
        assert_eq!(read("12:00:00"), None);
        assert_eq!(timestamp_ntz(b"1970-01-01T00:00:01"), Some(1_000_000));
        assert_eq!(timestamp_ntz(b"1970-01-01T00:00:01Z"), None);
    }

    #[test]
    fn in_a_gap_and_in_an_overlap_the_earlier_offset_counts() {
        // Berlin in 2024: one hour more from the first, one less from the second.
        let changes = [(1_711_846_800, 7200), (1_729_990_800, 3600)];
        let zone = Zone::new(3600, &changes, (0, 1 << 40));
        let read = |text: &str| micros(timestamp(text.as_bytes(), &zone)).map(|us| us / 1_000_000);
        assert_eq!(read("2024-03-31 01:59:59"), Some(1_711_846_799));
        assert_eq!(read("2024-03-31 02:30:00"), Some(1_711_848_600));
        assert_eq!(read("2024-03-31 03:00:00"), Some(1_711_846_800));
        assert_eq!(read("2024-10-27 02:30:00"), Some(1_729_989_000));
        assert_eq!(read("2024-10-27 03:00:00"), Some(1_729_994_400));
        assert_eq!(read("1969-12-31 00:00:00"), None);
    }
}
