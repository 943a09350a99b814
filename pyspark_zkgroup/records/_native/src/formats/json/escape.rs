//! Escapes in strings.

/// Appends the text that an escaped string stands for. False if it holds half of a surrogate pair,
/// which takes three bytes that no other character has.
pub fn unescape(raw: &[u8], out: &mut Vec<u8>) -> bool {
    let mut is_whole = true;
    let mut rest = raw;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let (before, escape) = rest.split_at(at);
        out.extend_from_slice(before);
        let (character, length) = match escape {
            [_, b'u', ..] => match (unit(escape), escape.get(6..).map_or(0, unit)) {
                (high @ 0xd800..=0xdbff, low @ 0xdc00..=0xdfff) => {
                    (char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)), 12)
                }
                (half @ 0xd800..=0xdfff, _) => {
                    is_whole = false;
                    let low = |shift: u32| (half >> shift) as u8 & 0x3f | 0x80;
                    out.extend_from_slice(&[0xed, low(6), low(0)]);
                    rest = escape.get(6..).unwrap_or_default();
                    continue;
                }
                (one, _) => (char::from_u32(one), 6),
            },
            [_, b'b', ..] => (Some('\u{8}'), 2),
            [_, b'f', ..] => (Some('\u{c}'), 2),
            [_, b'n', ..] => (Some('\n'), 2),
            [_, b'r', ..] => (Some('\r'), 2),
            [_, b't', ..] => (Some('\t'), 2),
            [_, other, ..] => (Some(char::from(*other)), 2),
            _ => (None, 1),
        };
        let character = character.unwrap_or('?');
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        rest = escape.get(length..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    is_whole
}

/// Halves of surrogate pairs become `?`.
pub fn replace_halves(text: &mut Vec<u8>) {
    let mut made = Vec::with_capacity(text.len());
    let mut rest = text.as_slice();
    while let [byte, behind @ ..] = rest {
        if let [0xed, 0xa0..=0xbf, _, behind @ ..] = rest {
            made.push(b'?');
            rest = behind;
        } else {
            made.push(*byte);
            rest = behind;
        }
    }
    *text = made;
}

/// Of the escape at the beginning of these bytes; 0 if there is none.
fn unit(escape: &[u8]) -> u32 {
    match escape {
        [b'\\', b'u', digits @ ..] => digits
            .get(..4)
            .and_then(|four| std::str::from_utf8(four).ok())
            .and_then(|four| u32::from_str_radix(four, 16).ok())
            .unwrap_or(0),
        _ => 0,
    }
}
