"""The right-hand sides are what `new String(bytes, UTF_8)` of Java 17 gave."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.records.java_text import java_text

JAVA = [
    (b"", ""),
    (b"trace-id", "trace-id"),
    (b"h\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "h\u00e9\u20ac\U0001f600"),
    (b"a\xffb", "a\ufffdb"),
    (b"\xc0\x80", "\ufffd\ufffd"),
    (b"a\xc3", "a\ufffd"),
    (b"\xc3A", "\ufffdA"),
    (b"\xe0\x80\x80", "\ufffd\ufffd\ufffd"),
    (b"\xe1\x80A", "\ufffdA"),
    (b"\xf0\x90\xbf", "\ufffd"),
    (b"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"),
    (b"\xf8\x80", "\ufffd\ufffd"),
    (b"\xed\x9f\xbf", "\ud7ff"),
    # Surrogates, where Java alone replaces all of it at once.
    (b"\xed\xa0\x80", "\ufffd"),
    (b"\xed\xbf\xbfA", "\ufffdA"),
    (b"\xed\xa0A", "\ufffdA"),
    (b"\xed\xa0", "\ufffd"),
    (b"\xed\xa0\xed\xa0\x80", "\ufffd\ufffd"),
    (b"\xed\xa0\x80\x80", "\ufffd\ufffd"),
]


@pytest.mark.parametrize(("data", "text"), JAVA, ids=[data.hex() for data, _ in JAVA])
def test_it_is_what_java_makes_of_it(data: bytes, text: str) -> None:
    assert java_text(data) == text
