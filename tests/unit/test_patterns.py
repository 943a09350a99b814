"""Expressions as java.util.regex reads them. What is expected here was seen on Java 17."""

from __future__ import annotations

import re

import pytest

from pyspark_zkgroup.errors import SubscriptionError
from pyspark_zkgroup.group.patterns import clean, compile_expression, difference, untellable

NAMES = ["a", "b", "A", "ab", "aab", "abab", "a-b", "a.b", "a_b", "b1", "1", "_", "wl.one", "Zed"]


def matched(expression: str) -> list[str]:
    return list(filter(compile_expression(expression), NAMES))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("'a3, b5 ,x-1'", "a3|b5|x-1"),
        ('"a"', "a"),
        ("\t a b \n", "ab"),
        ("a|b", "a|b"),
        ("''", ""),
    ],
)
def test_cleaning(expression: str, expected: str) -> None:
    assert clean(expression) == expected
    assert clean(expected) == expected


@pytest.mark.parametrize(
    "expression",
    [
        *("wl.*", "(?!wl).*", "wl[._].*|Zed", r"\w+", r"[^\d]+", "a|b|", "(?i)A.*", "[a-c]{2}"),
        *("(?:a|b)+?", r"^a$", r"a\.b", r"\bab", "(a)(b)?", "a(?=b)b", "(?<=a)b|a", "(?i:AB)+"),
        *(r"\x61\u0062", "[]a]", "[a-]", r"(a)b\1", "[^^]", r"a\Z"),
    ],
)
def test_what_both_read_alike_is_matched_alike(expression: str) -> None:
    assert difference(expression) is None
    assert matched(expression) == [name for name in NAMES if re.fullmatch(expression, name)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("[a-z&&[^b]]+", ["a"]),
        ("[a&&b]", []),
        ("[a[b]]+", ["a", "b", "ab", "aab", "abab"]),
        ("[^a[b]]", ["A", "1", "_"]),
        (r"\p{Lower}+", ["a", "b", "ab", "aab", "abab"]),
        (r"\P{L}", ["1", "_"]),
        (r"\pL+", ["a", "b", "A", "ab", "aab", "abab", "Zed"]),
        (r"\p{IsLatin}", ["a", "b", "A"]),
        (r"\p{javaUpperCase}.*", ["A", "Zed"]),
        (r"\Qa.b\E", ["a.b"]),
        (r"\Qwl.\Eo.e", ["wl.one"]),
        ("(?<n>a)", ["a"]),
        (r"(?<n>a)b\k<n>b", ["abab"]),
        (r"a\z", ["a"]),
        (r"\h*a", ["a"]),
        (r"\X", ["a", "b", "A", "1", "_"]),
        ("a(?i)B", ["ab"]),
        (r"\0141", ["a"]),
        ("a{1}{2}", ["a"]),
        ("(?iu)\u212a|a", ["a", "A"]),
        ("(?:a|ab)++b", ["ab", "aab"]),
        ("(?x)a#b", ["a"]),
        (r"(?<=a|ab)b|a", ["a"]),
    ],
)
def test_what_python_reads_otherwise_is_read_as_java_does(
    expression: str, expected: list[str]
) -> None:
    assert difference(expression) is not None
    assert matched(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        *("(", ")", "[", "[a", "*a", "a**", "a{", "a{x}", "a{1,2}", "{", "\\", r"\y", r"[\1]"),
        *("[b-a]", "(?z)", "(?P<n>a)", "(?#a)", "(?<1>a)", "(?<n>a)(?<n>b)", r"\k<n>", r"\p{Foo}"),
        *(r"\x6", r"\u006", r"\0", "[]", r"[a-\d]", "(?$a)", r"\p{", r"\p{}", r"\x{110000}"),
    ],
)
def test_what_java_refuses_is_refused(expression: str) -> None:
    with pytest.raises(SubscriptionError, match=r"java\.util\.regex refuses"):
        compile_expression(expression)
    told = difference(expression)
    assert told is not None
    assert "java.util.regex refuses" in told
    assert untellable(expression) is None


@pytest.mark.parametrize(
    "expression",
    ["(?<=a+)b", r"(a|b)*\1", "[a&&]", r"\p{IsDeseret}", r"\p{InArrows}", r"(?<=(a)\1)b"],
)
def test_what_depends_on_the_java_runtime_is_said(expression: str) -> None:
    assert untellable(expression) is not None
    assert "depends on the Java runtime" in (difference(expression) or "")
    with pytest.raises(SubscriptionError, match="depends on the Java runtime"):
        compile_expression(expression)


def test_a_difference_names_the_expression_and_the_reason() -> None:
    assert difference("[a-z&&[^b]]") == (
        "'[a-z&&[^b]]': Python reads && inside brackets as two literals"
    )


def test_a_name_as_long_as_can_be_is_no_trouble() -> None:
    name = "a" * 249
    assert compile_expression("(?:a|a[a&&a])*")(name)
    assert not compile_expression("(?:(?:a|a[a&&a])*)*b")(name)
    assert compile_expression("(?:(?:[a&&a])++|b)*")(name)


@pytest.mark.parametrize(
    "expression", ["(?:a*)*b", "(?:a|a)*b", "(a|aa)+b", ".*.*.*.*.*.*.*.*b", "(?:.*a){12}.*b"]
)
def test_no_expression_of_others_stalls_us(expression: str) -> None:
    assert not compile_expression(expression)("a" * 249)


@pytest.mark.parametrize("expression", ["(" * 60 + ")" * 60, "(" * 100_000, "[" * 100_000])
def test_deep_nesting_is_not_followed(expression: str) -> None:
    assert "within each other" in (untellable(expression) or "")
