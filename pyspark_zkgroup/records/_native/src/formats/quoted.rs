//! The names of fields as JSON writes them, to be compared with a text a word at a time.

const WORD: usize = 16;
const NAME_LENGTH_MAX: usize = 255;

/// A name in quotes, and a colon.
#[derive(Debug, Default)]
pub struct Quoted {
    /// Zero for a name that needs an escape, or a very long one: it is never found.
    length: usize,
    word: u128,
    mask: u128,
    /// What is behind the first word.
    rest: Box<[u8]>,
}

impl Quoted {
    pub fn new(name: &str) -> Self {
        let needs_escape = |byte: u8| byte < b' ' || matches!(byte, b'"' | b'\\');
        if name.len() > NAME_LENGTH_MAX || name.bytes().any(needs_escape) {
            return Self::default();
        }
        let bytes = format!("\"{name}\":").into_bytes();
        let (mut word, mut mask) = ([0; WORD], [0; WORD]);
        for ((to, covered), byte) in word.iter_mut().zip(&mut mask).zip(&bytes) {
            (*to, *covered) = (*byte, 0xff);
        }
        Self {
            length: bytes.len(),
            word: u128::from_le_bytes(word),
            mask: u128::from_le_bytes(mask),
            rest: bytes.get(WORD..).unwrap_or_default().into(),
        }
    }

    /// How many bytes it takes, if `text` begins with it. It is not found in the last bytes of a
    /// text, which are no whole word.
    #[inline(always)]
    pub fn at_start_of(&self, text: &[u8]) -> Option<usize> {
        let (first, behind) = text.split_first_chunk::<WORD>()?;
        let is_here = self.length > 0
            && (u128::from_le_bytes(*first) ^ self.word) & self.mask == 0
            && (self.length <= WORD || behind.starts_with(&self.rest));
        is_here.then_some(self.length)
    }
}
