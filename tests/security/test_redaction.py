"""The expression that docs/security.md gives for spark.sql.redaction.string.regex."""

from __future__ import annotations

import re
from itertools import permutations

import pytest

from pyspark_zkgroup.options.parse import TABLE
from tests.harness.planted_secrets import redaction

SECRETS = [option.name for option in TABLE.options if option.secret]
HOSTILE = [
    "plain-s3cret",
    "with, a comma",
    "with] a bracket",
    "with], [both",
    'with "quotes" and ; semicolons',
    "two\nlines",
    "looks, like=an option",
    "a=b]c,d",
]


def _value(name: str, secret: str) -> str:
    if name == "zookeeper.auth":
        return f'["digest:first:open1", "digest:second:{secret}"]'
    if name.endswith("jaas.config"):
        return f'x.PlainLoginModule required username="a" password="{secret}";'
    if name == "kafka.ssl.keystore.key":
        return f"-----BEGIN PRIVATE KEY-----\n{secret}\n-----END PRIVATE KEY-----"
    return secret


@pytest.mark.parametrize("secret", HOSTILE)
@pytest.mark.parametrize("name", SECRETS)
def test_no_part_of_a_secret_stays_in_a_plan(name: str, secret: str) -> None:
    """As Spark prints the options of a stream, in each order and as the only ones."""
    given = {"group.id": "billing", name: _value(name, secret), "subscribePattern": "[a-z]+"}
    pieces = [piece for piece in re.split(r"[^\w-]+", secret) if len(piece) > 3]
    for names in (*permutations(given), (name,)):
        shown = ", ".join(f"{each}={given[each]}" for each in names)
        plan = re.sub(redaction(), "*", f"Relation zkgroup, [{shown}], [key#1, value#2]")
        left = plan.replace("group.id=billing", "").replace("subscribePattern=[a-z]+", "")
        assert [p for p in ["open1", *pieces] if re.search(rf"\b{re.escape(p)}\b", left)] == []
        if len(names) > 1:
            assert "group.id=billing" in plan
            assert "subscribePattern=[a-z]+" in plan


def test_each_option_ends_a_secret() -> None:
    for name in [
        *(option.name for option in TABLE.options),
        *(old.name for old in TABLE.old_names),
    ]:
        plan = re.sub(redaction(), "*", f"[zookeeper.auth=digest:a:b, {name}=5], [key#1]")
        assert plan.startswith("[*, ") or name in SECRETS, name
