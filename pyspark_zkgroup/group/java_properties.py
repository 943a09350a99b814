r"""What \p{...} means to java.util.regex among the characters of topic names."""

from __future__ import annotations

import string

from pyspark_zkgroup.group.java_cursor import JavaRefusalError, UntellableError
from pyspark_zkgroup.group.java_nodes import ALPHABET

LETTERS = frozenset(string.ascii_letters)
LOWER = frozenset(string.ascii_lowercase)
UPPER = frozenset(string.ascii_uppercase)
DIGITS = frozenset(string.digits)
PUNCTUATION = frozenset("._-")
WORD = LETTERS | DIGITS | {"_"}
_NONE: frozenset[str] = frozenset()


def _nothing(names: str) -> dict[str, frozenset[str]]:
    """Names separated by blanks, of which no topic has any character."""
    return dict.fromkeys(names.split(), _NONE)


_CATEGORIES = {
    **_nothing("Cn Lt Lm Lo Mn Me Mc Nl No Zs Zl Zp Cc Cf Co Cs Ps Pe Sm Sc Sk So Pi Pf M Z C S"),
    "Lu": UPPER,
    "Ll": LOWER,
    "LC": LETTERS,
    "L": LETTERS,
    "Nd": DIGITS,
    "N": DIGITS,
    "Pd": frozenset("-"),
    "Pc": frozenset("_"),
    "Po": frozenset("."),
    "P": PUNCTUATION,
    "LD": LETTERS | DIGITS,
    "L1": ALPHABET,
    "all": ALPHABET,
}
_POSIX = {
    "ASCII": ALPHABET,
    "Alnum": LETTERS | DIGITS,
    "Alpha": LETTERS,
    "Blank": _NONE,
    "Cntrl": _NONE,
    "Digit": DIGITS,
    "Graph": ALPHABET,
    "Lower": LOWER,
    "Print": ALPHABET,
    "Punct": PUNCTUATION,
    "Space": _NONE,
    "Upper": UPPER,
    "XDigit": frozenset(string.hexdigits),
}
_JAVA = {
    "javaLowerCase": LOWER,
    "javaUpperCase": UPPER,
    "javaAlphabetic": LETTERS,
    "javaIdeographic": _NONE,
    "javaTitleCase": _NONE,
    "javaDigit": DIGITS,
    "javaDefined": ALPHABET,
    "javaLetter": LETTERS,
    "javaLetterOrDigit": LETTERS | DIGITS,
    "javaJavaIdentifierStart": LETTERS | {"_"},
    "javaJavaIdentifierPart": WORD,
    "javaUnicodeIdentifierStart": LETTERS,
    "javaUnicodeIdentifierPart": WORD,
    "javaIdentifierIgnorable": _NONE,
    "javaSpaceChar": _NONE,
    "javaWhitespace": _NONE,
    "javaISOControl": _NONE,
    "javaMirrored": _NONE,
}
_PROPERTIES = {**_CATEGORIES, **_POSIX, **_JAVA}
_BINARY = {
    "ALPHABETIC": LETTERS,
    "LETTER": LETTERS,
    "IDEOGRAPHIC": _NONE,
    "LOWERCASE": LOWER,
    "UPPERCASE": UPPER,
    "TITLECASE": _NONE,
    "WHITE_SPACE": _NONE,
    "WHITESPACE": _NONE,
    "CONTROL": _NONE,
    "PUNCTUATION": PUNCTUATION,
    "HEX_DIGIT": frozenset(string.hexdigits),
    "HEXDIGIT": frozenset(string.hexdigits),
    "ASSIGNED": ALPHABET,
    "NONCHARACTER_CODE_POINT": _NONE,
    "NONCHARACTERCODEPOINT": _NONE,
    "DIGIT": DIGITS,
    "ALNUM": LETTERS | DIGITS,
    "BLANK": _NONE,
    "GRAPH": ALPHABET,
    "PRINT": ALPHABET,
    "WORD": WORD,
    "JOIN_CONTROL": _NONE,
    "JOINCONTROL": _NONE,
}
_CASED = frozenset(
    {"Lu", "Ll", "Lt", "Lower", "Upper", "javaLowerCase", "javaUpperCase", "javaTitleCase"}
)
_SCRIPTS = {
    "LATIN": LETTERS,
    "LATN": LETTERS,
    "COMMON": DIGITS | PUNCTUATION,
    "ZYYY": DIGITS | PUNCTUATION,
    **_nothing(
        "GREEK GREK CYRILLIC CYRL ARABIC ARAB HEBREW HEBR HAN HANI HIRAGANA HIRA KATAKANA KANA "
        "HANGUL HANG THAI DEVANAGARI DEVA ARMENIAN ARMN GEORGIAN GEOR INHERITED ZINH"
    ),
}
_BLOCKS = {
    "BASICLATIN": ALPHABET,
    **_nothing("LATIN1SUPPLEMENT LATINEXTENDEDA GREEK CYRILLIC ARABIC HEBREW"),
}


def property_set(name: str, any_case: bool) -> frozenset[str]:
    """The characters of \\p{name}. `any_case` is the flag i."""
    if "=" in name:
        return _by_kind(name, any_case)
    if name.startswith("In"):
        return _block(name[2:])
    if name.startswith("Is"):
        short = name[2:]
        if short.upper() in _BINARY:
            any_letter = any_case and short.upper() in ("LOWERCASE", "UPPERCASE", "TITLECASE")
            return LETTERS if any_letter else _BINARY[short.upper()]
        return _property(short, any_case) if short in _PROPERTIES else _script(short)
    if name in _PROPERTIES:
        return _property(name, any_case)
    raise JavaRefusalError(f"the unknown character property {{{name}}}")


def _by_kind(text: str, any_case: bool) -> frozenset[str]:
    kind, _, value = text.partition("=")
    if kind.lower() in ("sc", "script"):
        return _script(value)
    if kind.lower() in ("blk", "block"):
        return _block(value)
    if kind.lower() in ("gc", "general_category") and value in _PROPERTIES:
        return _property(value, any_case)
    raise JavaRefusalError(f"the unknown Unicode property {{{text}}}")


def _property(name: str, any_case: bool) -> frozenset[str]:
    return LETTERS if any_case and name in _CASED else _PROPERTIES[name]


def _script(name: str) -> frozenset[str]:
    if name.upper() not in _SCRIPTS:
        raise UntellableError(f"the script {name!r}")
    return _SCRIPTS[name.upper()]


def _block(name: str) -> frozenset[str]:
    key = name.upper().replace(" ", "").replace("_", "").replace("-", "")
    if key not in _BLOCKS:
        raise UntellableError(f"the Unicode block {name!r}")
    return _BLOCKS[key]
