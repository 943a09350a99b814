"""Patterns of topics: what is supported, and what is refused by name."""

from __future__ import annotations

import re
import tracemalloc

import pytest

from pyspark_zkgroup.errors import SubscriptionError
from pyspark_zkgroup.jvm.patterns import clean, compile_expression, is_unsupported

NAMES = ["a", "b", "A", "ab", "aab", "abab", "a-b", "a.b", "a_b", "b1", "1", "_", "wl.one", "Zed"]


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
        *("wl.*", "wl[._].*|Zed", r"\w+", r"[^\d]+", "a|b|", "[a-c]{2}", "(?:a|b)+?", r"^a$"),
        *(r"a\.b", "(a)(b)?", "[a-]", "[-a]", "[^^]", "[^A-Z]+", r"[\w.]+", r"[a\-b]+", "()a"),
        *(
            "a{2}b",
            "(ab)*",
            ".+",
            "a$|^b",
            "a*?b",
            "a{2}?b",
            r"\_",
            "x]|a}",
            "[!-/]",
            "[a&]",
            r"[^\W\d_]",
        ),
        *("(?!wl).*", "^(?!wl|a).*$", "(?=a)(?!ab).*|b", "(?!a$).*", "(?i)A.*|zed", "(?i)(?!WL).*"),
    ],
)
def test_a_supported_pattern_means_what_it_means_to_python(expression: str) -> None:
    matches = compile_expression(expression)
    assert list(filter(matches, NAMES)) == [n for n in NAMES if re.fullmatch(expression, n)]


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("a(?=b)b", "the lookahead (?= in this place is not supported. Write it at the beginning"),
        ("(?:(?!wl).*)", "the lookahead (?! in this place is not supported"),
        ("(?!a)*b", "a repetition of a lookahead is not supported"),
        ("(?<=a)b", "the lookbehind (?<= is not supported"),
        ("(?<!a)b", "the lookbehind (?<! is not supported"),
        ("(?>a)", "the atomic group (?> is not supported. Write (?: instead"),
        ("(?<n>a)", "the named group (?< is not supported. Write ( without a name"),
        ("a(?i)b", "a flag such as (?i) in this place is not supported. Write both cases"),
        ("a++", "the possessive repetition ++ is not supported. Write + instead"),
        ("a{2}+", "the possessive repetition {2}+ is not supported. Write {2} instead"),
        ("a{1}{2}", "a repetition of a repetition is not supported"),
        ("^*a", "a repetition of ^ or $ is not supported"),
        (r"(a)\1", r"the back reference \1 is not supported"),
        (r"\Qa.b\E", r"\Q is not supported. Put a backslash before each special character"),
        (r"\p{Lower}", r"\p is not supported. List the characters, such as [A-Za-z]"),
        (r"\bab", r"\b is not supported"),
        ("[a-z&&[^b]]", "&& within brackets is not supported"),
        ("{2}", "a '{' that repeats nothing is not supported"),
        ("[a[b]]", r"'[' within brackets is not supported. Write \[ for the character"),
        ("[]a]", r"']' right after '[' is not supported. Write \] for the character"),
        ("[a-c-e]", r"'-' in this place within brackets is not supported. Write \- for a hyphen"),
        (r"[\w-.]", "'-' in this place within brackets is not supported"),
        (r"[a-\d]", "'-' in this place within brackets is not supported"),
        ("caf\u00e9", "the character 'é' is not supported. Names of topics have letters"),
        ("(?:a{1000}){1000}", "an expression with so many repetitions is not supported"),
        ("a{1000}" * 100, "an expression with so many repetitions is not supported"),
        ("(" * 60 + ")" * 60, "more than 50 groups within each other is not supported"),
        ("a" * 1001, "an expression of 1001 characters is not supported. Use at most 1000"),
    ],
)
def test_an_unsupported_pattern_is_refused_by_name(expression: str, told: str) -> None:
    assert is_unsupported(expression)
    with pytest.raises(SubscriptionError) as refused:
        compile_expression(expression)
    assert told in f"{refused.value}"


@pytest.mark.parametrize(
    "expression",
    ["(", ")", "[", "[a", "*a", "a**", "a{", "a{x}", "a{1,2}", "\\", "[b-a]", "a|*", "(" * 49],
)
def test_what_is_no_regular_expression_is_refused(expression: str) -> None:
    assert not is_unsupported(expression)
    with pytest.raises(SubscriptionError, match="is not a regular expression"):
        compile_expression(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "((((((((.*)*)*)*)*)*)*)*)*!",
        *("(?:a*)*b", "(?:a|a)*b", "(a|aa)+b", ".*.*.*.*.*.*.*.*b", "(?:.*a){12}.*b"),
    ],
)
def test_no_pattern_of_another_member_stalls_this_one(expression: str) -> None:
    """Each of them takes a backtracking matcher longer than this test may run."""
    assert not compile_expression(expression)("a" * 249)
    assert not any(map(compile_expression(expression), ("a" * n for n in range(250))))


def test_a_hostile_pattern_costs_little_memory() -> None:
    tracemalloc.start()
    try:
        for expression in ("(" * 100_000, "[" * 100_000, "a{999}" * 150, "(" + "a|" * 499 + ")"):
            is_unsupported(expression)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
