//! Reads what records are made of. Every length is compared with what is left before it is followed.

pub struct Cursor<'a> {
    bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// A number of 32 bits. As in Kafka's own client, bits that do not fit are dropped, and bytes
    /// that do not fit are damage.
    #[inline(always)]
    pub fn varint(&mut self) -> Option<i32> {
        match self.short() {
            Some(value) => Some(value),
            None => self.long::<32>().map(|folded| unfolded(u64::from(folded as u32)) as i32),
        }
    }

    /// A number of 64 bits.
    #[inline(always)]
    pub fn varlong(&mut self) -> Option<i64> {
        match self.short() {
            Some(value) => Some(i64::from(value)),
            None => self.long::<64>().map(unfolded),
        }
    }

    /// None at the end.
    #[inline(always)]
    pub fn byte(&mut self) -> Option<u8> {
        let found = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(found)
    }

    /// Bytes behind their length; below 0 it means null.
    #[inline(always)]
    pub fn nullable(&mut self) -> Option<Option<&'a [u8]>> {
        let length = self.varint()?;
        if length < 0 {
            return Some(None);
        }
        self.take(usize::try_from(length).ok()?).map(Some)
    }

    /// None, and no step further, if there are not that many.
    #[inline(always)]
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let found = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(found)
    }

    pub fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.at).unwrap_or_default()
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// One or two bytes, as almost all are.
    #[inline(always)]
    fn short(&mut self) -> Option<i32> {
        let first = *self.bytes.get(self.at)?;
        if first < 0x80 {
            self.at += 1;
            return Some(unfolded(u64::from(first)) as i32);
        }
        let second = *self.bytes.get(self.at + 1)?;
        if second < 0x80 {
            self.at += 2;
            return Some(unfolded(u64::from(first & 0x7f) | u64::from(second) << 7) as i32);
        }
        None
    }

    fn long<const BITS: u32>(&mut self) -> Option<u64> {
        let mut folded = 0u64;
        for shift in (0..BITS).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            folded |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(folded);
            }
        }
        None
    }
}

/// 0, -1, 1, -2 and so on are written as 0, 1, 2, 3.
#[inline(always)]
fn unfolded(folded: u64) -> i64 {
    (folded >> 1) as i64 ^ -((folded & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::Cursor;

    fn read(bytes: &[u8]) -> Option<(i32, usize)> {
        let mut cursor = Cursor::new(bytes, 0);
        cursor.varint().map(|value| (value, cursor.at))
    }

    fn read_long(bytes: &[u8]) -> Option<(i64, usize)> {
        let mut cursor = Cursor::new(bytes, 0);
        cursor.varlong().map(|value| (value, cursor.at))
    }

    #[test]
    fn numbers_of_every_length() {
        assert_eq!(read(&[0]), Some((0, 1)));
        assert_eq!(read(&[1]), Some((-1, 1)));
        assert_eq!(read(&[0x80, 1]), Some((64, 2)));
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Some((-2_147_483_648, 5)));
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x7f]), Some((-2_147_483_648, 5)));
        assert_eq!(read_long(&[0x80, 0x80, 1]), Some((8192, 3)));
        let mut longest = [0xff; 10];
        longest[9] = 1;
        assert_eq!(read_long(&longest), Some((i64::MIN, 10)));
        longest[9] = 0x7f;
        assert_eq!(read_long(&longest), Some((i64::MIN, 10)));
    }

    #[test]
    fn what_has_no_end_is_nothing() {
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[0x80]), None);
        assert_eq!(read(&[0x80; 3]), None);
        assert_eq!(read(&[0x80; 20]), None);
        assert_eq!(read(&[0x80, 0x80, 0x80, 0x80, 0x80, 0]), None);
        assert_eq!(read_long(&[0x80; 20]), None);
    }

    #[test]
    fn a_length_is_not_followed_beyond_the_end() {
        assert_eq!(Cursor::new(&[4, 7, 8], 0).nullable(), Some(Some(&[7u8, 8][..])));
        assert_eq!(Cursor::new(&[6, 7, 8], 0).nullable(), None);
        assert_eq!(Cursor::new(&[1], 0).nullable(), Some(None));
        let longest = [0xfe, 0xff, 0xff, 0xff, 0x0f];
        assert_eq!(Cursor::new(&longest, 0).nullable(), None);
    }
}
