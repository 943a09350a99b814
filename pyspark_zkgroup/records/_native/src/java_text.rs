//! Bytes as the text Java makes of them: what is not UTF-8 becomes U+FFFD.
//!
//! Java and Rust agree on how many of them, but for a surrogate (ED, then A0 to BF): Java replaces
//! all of it at once, Rust each of its bytes.

const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

pub fn append(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut rest = bytes;
    while let Err(error) = std::str::from_utf8(rest) {
        let (good, bad) = rest.split_at(error.valid_up_to());
        out.extend_from_slice(good);
        out.extend_from_slice(REPLACEMENT);
        let length = match bad {
            [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..] => 3,
            [0xed, 0xa0..=0xbf, ..] => 2,
            // None: it ends too early, and so do the bytes.
            _ => error.error_len().unwrap_or(bad.len()),
        };
        rest = bad.get(length..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    fn text(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        super::append(&mut out, bytes);
        String::from_utf8_lossy(&out).replace('\u{fffd}', "?")
    }

    #[test]
    fn what_is_text_stays() {
        assert_eq!(text(b""), "");
        assert_eq!(text("h\u{e9}\u{20ac}\u{1f600}".as_bytes()), "h\u{e9}\u{20ac}\u{1f600}");
    }

    #[test]
    fn what_is_not_is_replaced_as_java_does() {
        assert_eq!(text(b"a\xffb"), "a?b");
        assert_eq!(text(b"a\xc3"), "a?");
        assert_eq!(text(b"\xf0\x9f\x98"), "?");
        assert_eq!(text(b"\xe0\x80\x80"), "???");
        assert_eq!(text(b"\xed\xa0\x80x"), "?x");
        assert_eq!(text(b"\xed\xa0x"), "?x");
        assert_eq!(text(b"\xed\xbf"), "?");
    }
}
