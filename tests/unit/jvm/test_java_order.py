from __future__ import annotations

import pytest

from pyspark_zkgroup.jvm.java_order import compare_key, hash_code, signed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("t7-0", 3510054),
        ("[t7,0]", -1580903749),
        ("x-10", 3619732),
        ("[x,10]", -1577532561),
        ("[x,0]", 87659196),
        ("orders.eu-west_1-11", 159119704),
        ("[orders.eu-west_1,11]", -1604189567),
        ("\U0001f600", 1772899),
    ],
)
def test_hash_is_that_of_java(text: str, expected: int) -> None:
    assert hash_code(text) == expected


def test_colliding_names_have_equal_hashes() -> None:
    assert hash_code("collAa") == hash_code("collBB")


def test_order_is_by_utf_16_units() -> None:
    # U+FF61 is above the surrogates of U+1F600, though its code point is below it.
    assert sorted(["\uff61", "\U0001f600", "a"], key=compare_key) == ["a", "\U0001f600", "\uff61"]
    assert sorted(["c-2", "c-10", "c-1-0", "c-1", "c-0"], key=compare_key) == [
        "c-0",
        "c-1",
        "c-1-0",
        "c-10",
        "c-2",
    ]


def test_signed_wraps_like_an_int() -> None:
    assert signed(2**31) == -(2**31)
    assert signed(2**32 + 5) == 5
