"""The orders of hash maps, as Scala 2.11.12 and Java 17 gave them."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.jvm.scala_order import children, immutable_map, mutable_map

MANY = [*(f"t{n}" for n in range(1, 14)), "AaAa", "BBBB", "AaBB", "BBAa"]


@pytest.mark.parametrize(
    ("keys", "mutable", "immutable", "listed"),
    [
        (["collAa", "collBB"], "collBB collAa", "collAa collBB", "collAa collBB"),
        (list("abcdef"), "e b d a c f", "e f a b c d", "a b c d e f"),
        (
            ["collBB", "collAa", "x", "t7", "wl.one"],
            "wl.one x collAa collBB t7",
            "collBB collAa x wl.one t7",
            "x collBB collAa t7 wl.one",
        ),
        (
            MANY,
            "t1 t4 t11 t6 t9 t3 t10 t13 t2 t5 BBAa AaBB BBBB AaAa t8 t7 t12",
            "t13 t4 t5 t9 t3 t6 t2 t7 AaAa BBBB AaBB BBAa t10 t8 t12 t1 t11",
            "t4 t5 t6 t7 t8 t9 t10 t12 t11 t13 t1 t2 t3 AaAa BBBB AaBB BBAa",
        ),
        ([], "", "", ""),
    ],
)
def test_orders(keys: list[str], mutable: str, immutable: str, listed: str) -> None:
    assert mutable_map(keys) == mutable.split()
    assert immutable_map(keys) == immutable.split()
    assert children(keys) == listed.split()


def test_a_mutable_map_grows_at_its_thirteenth_key() -> None:
    keys = [f"t{n}" for n in range(1, 13)]
    assert " ".join(mutable_map(keys)) == "t1 t4 t11 t6 t9 t3 t10 t2 t5 t8 t12 t7"
    grown = "t1 t4 t11 t6 t9 t3 t10 t13 t2 t5 t8 t7 t12"
    assert " ".join(mutable_map([*keys, "t13"])) == grown


def test_a_key_that_comes_twice_keeps_its_first_place() -> None:
    for order in (mutable_map, immutable_map, children):
        assert order(["b", "a", "b"]) == order(["b", "a"])
