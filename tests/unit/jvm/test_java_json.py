"""What Scala's JSON parser and Jackson each make of a text."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.jvm.java_json import NotJsonError, parse_jackson, parse_scala, text_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '{"a":1,"b":[true,false,null,"x"],"c":{}}',
            {"a": 1, "b": [True, False, None, "x"], "c": {}},
        ),
        ("[]", []),
        ("\x00 \t{ } \n", {}),
        (r'{"a":"\"\\\/\b\f\n\r\t"}', {"a": '"\\/\b\f\n\r\t'}),
        (r'{"a":"\u0041\ud83d\ude00"}', {"a": "A\U0001f600"}),
        (r'{"a":"\.\u12\q"}', {"a": r"\.\u12\q"}),
        ('{"a":"tab\there"}', {"a": "tab\there"}),
        ('{"a":-5,"b":- 5,"c":-0}', {"a": -5, "b": -5, "c": 0}),
        ('{"a":2147483647,"b":-2147483648}', {"a": 2147483647, "b": -2147483648}),
        ('{"a":1,"a":2}', {"a": 2}),
        ('{"a":0,"b":9}', {"a": 0, "b": 9}),
    ],
)
def test_scala_reads(text: str, expected: object) -> None:
    assert parse_scala(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "1",
            '"a"',
            "null",
            "{",
            "[1",
            '{"a"}',
            '{"a":}',
            '{"a":1,}',
            "[1,]",
            "{} x",
            "{1:2}",
        ),
        *(
            '{"a":1.0}',
            '{"a":1e3}',
            '{"a":1.}',
            '{"a":2147483648}',
            '{"a":-2147483649}',
            '{"a":01}',
        ),
        *(
            '{"a":"\n"}',
            '{"a":"\x1a"}',
            "\x1a{}",
            '{"a":"x',
            '{"a":NaN}',
            '{"a":truex}',
            '{"a":+1}',
        ),
        *('{"a":' + "9" * 50 + "}", "{'a':1}", '{"a":-}', "[1 2]", '{"a":1 "b":2}'),
    ],
)
def test_scala_refuses(text: str) -> None:
    with pytest.raises(NotJsonError):
        parse_scala(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":1.5,"b":12345678901,"c":1e3}', {"a": 1.5, "b": 12345678901, "c": 1000.0}),
        (" \t\n\r{} and more", {}),
        (r'{"a":"\u0041\/"}', {"a": "A/"}),
    ],
)
def test_jackson_reads(text: str, expected: object) -> None:
    assert parse_jackson(text, mend_backslashes=False) == expected


def test_jackson_repairs_backslashes_from_1_0_1_on() -> None:
    text = r'{"wl\.x":1}'
    with pytest.raises(NotJsonError):
        parse_jackson(text, mend_backslashes=False)
    assert parse_jackson(text, mend_backslashes=True) == {r"wl\.x": 1}


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", '{"a":1,}', '{"a":01}', '{"a":NaN}', '{"a":Infinity}', '{"a":"\t"}', "\x0b{}"),
        *("\ufeff{}", "{'a':1}", '{"a":+1}', '{"a":"\\"', "[" * 100_000),
    ],
)
def test_jackson_refuses(text: str) -> None:
    with pytest.raises(NotJsonError):
        parse_jackson(text, mend_backslashes=True)


def test_huge_numbers_are_read_but_are_no_ints() -> None:
    found = parse_jackson('{"a":' + "9" * 5000 + "}", mend_backslashes=False)
    assert found["a"] > 2**63


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert text_of(b'{"a\xff":1}') == '{"a\ufffd":1}'
    assert text_of(None) == ""
