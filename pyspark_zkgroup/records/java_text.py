"""Bytes as the text Java makes of them: what is not UTF-8 becomes U+FFFD.

Java and Python agree on how many of them, but for a surrogate (ED, then A0 to BF): Java replaces
all of it at once, Python each of its bytes.
"""

from __future__ import annotations

import codecs

_REPLACEMENT = "\ufffd"
_ERRORS = "zkgroup-java"


def java_text(data: bytes) -> str:
    return data.decode("utf-8", _ERRORS)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    data, at = error.object, error.start
    if data[at] != 0xED or not 0xA0 <= _byte(data, at + 1) <= 0xBF:
        return _REPLACEMENT, error.end
    is_whole = 0x80 <= _byte(data, at + 2) <= 0xBF
    return _REPLACEMENT, at + (3 if is_whole else 2)


def _byte(data: bytes, at: int) -> int:
    return data[at] if at < len(data) else 0


codecs.register_error(_ERRORS, _replaced)
