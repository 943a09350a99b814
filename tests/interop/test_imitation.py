"""Compares our imitation of JVM consumers with their own code, on random groups and patterns."""

from __future__ import annotations

import base64
import re
import subprocess
from pathlib import Path
from random import Random

import pytest

from pyspark_zkgroup.errors import SubscriptionError
from pyspark_zkgroup.inspect.jvm_consumers import imitate
from pyspark_zkgroup.inspect.jvm_version import JvmVersion
from pyspark_zkgroup.jvm import scala_order
from pyspark_zkgroup.jvm.patterns import clean, compile_expression, is_unsupported
from tests.interop.old_kafka import command
from tests.interop.random_expressions import NAMES, random_expression
from tests.interop.random_groups import RandomGroup, random_group

pytestmark = pytest.mark.interop

DEADLINE_S = 250
SILENT = Path(__file__).parent / "silent.properties"
SEED = 20

Claims = dict[str, str]


def long(version: str) -> object:
    return pytest.param(version, marks=pytest.mark.long)


@pytest.mark.parametrize(
    "version",
    [
        *("0.8.2.2", "0.10.2.2", "1.1.1"),
        *map(long, ("0.9.0.1", "0.10.1.1", "0.11.0.3", "1.0.0", "1.0.2")),
    ],
)
def test_members_own_what_the_jvm_code_assigns(version: str) -> None:
    random = Random(SEED)
    groups = [random_group(random) for _ in range(150)]
    for group, answer in zip(groups, _ask_jvm(version, groups), strict=True):
        topics = {topic: range(count) for topic, count in group.topics.items()}
        found = imitate(
            JvmVersion.parse(version), group.strategy, group.ids, topics, group.exclude_internal
        )
        owners = {f"{p.topic}:{p.partition}": str(thread) for p, thread in found.owners.items()}
        assert owners == _settled(answer), (group, found)
        if found.failure is not None:
            assert set(answer.values()) == {None}, (group, found)


def test_expressions_match_what_java_matches() -> None:
    random = Random(SEED)
    expressions = [clean(random_expression(random)) for _ in range(5000)]
    lines = [" ".join(NAMES), *(base64.b64encode(text.encode()).decode() for text in expressions)]
    answers = _run(command("1.1.1", "JavaExpressions"), lines)
    supported = 0
    for expression, answer in zip(expressions, answers, strict=True):
        try:
            matches = compile_expression(expression)
        except SubscriptionError:
            # What Java refuses may be called unsupported, but what it takes is never called none.
            assert answer == "refused" or is_unsupported(expression), expression
            continue
        supported += 1
        assert "".join("01"[matches(name)] for name in NAMES) == answer, expression
        python = "".join("01"[re.fullmatch(expression, name) is not None] for name in NAMES)
        assert python == answer, expression
    assert supported > len(expressions) / 10


def _ask_jvm(version: str, groups: list[RandomGroup]) -> list[dict[str, Claims | None]]:
    """Per group, what each member would claim, or None where it fails."""
    lines = []
    for group in groups:
        words = [group.strategy, "01"[group.exclude_internal], str(len(group.topics))]
        words += [str(word) for item in group.topics.items() for word in item]
        for member, data in group.ids.items():
            words += [member, base64.b64encode(data).decode()]
        lines.append(" ".join(words))
    return [_claims(line) for line in _run(command(version, "OldAssignors"), lines)]


def _claims(line: str) -> dict[str, Claims | None]:
    found: dict[str, Claims | None] = {}
    for word in line.split():
        member, _, text = word.partition("=")
        pairs = (claim.split(">") for claim in text.split(",") if claim)
        found[member] = None if text.startswith("FAIL:") else {each[0]: each[1] for each in pairs}
    return found


def _settled(claims: dict[str, Claims | None]) -> Claims:
    """All or nothing for each member, in the order in which they are listed."""
    owners: Claims = {}
    for member in scala_order.children(claims):
        own = claims[member]
        if own is not None and not own.keys() & owners.keys():
            owners |= own
    return owners


def _run(program: list[str], lines: list[str]) -> list[str]:
    """Without the consumers' log, which tells of every partition and takes most of the time."""
    at = program.index("-cp")
    done = subprocess.run(
        [*program[:at], f"-Dlog4j2.configurationFile={SILENT}", *program[at:]],
        input="\n".join(lines) + "\n",
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        timeout=DEADLINE_S,
        check=True,
    )
    return done.stdout.splitlines()
