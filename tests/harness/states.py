"""The states of a member with protocol=kafka: the diagram in DESIGN.md.

    python -m tests.harness.states          writes it

Each edge is found by calling the pure transitions of protocols/kafka/rules/member.py with every
meaning of a broker's answer, so the diagram shows what the code does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pyspark_zkgroup.kafka.consumer_protocol import MemberAssignment
from pyspark_zkgroup.kafka.error_codes import NONE, SILENCE, Meaning, Request, meaning_of
from pyspark_zkgroup.protocols.kafka.rules import member as rules
from pyspark_zkgroup.protocols.kafka.rules.member import Joined, Member, Turn

DESIGN = Path(__file__).resolve().parents[2] / "DESIGN.md"
BEGIN, END = "<!-- states: made by python -m tests.harness.states -->", "<!-- end of states -->"
CODES = (SILENCE, *range(-1, 120))
JOINED = Joined("m-1", 1, leads=False)
ENDED = "[*]"

UNJOINED = Member()
JOINING = rules.begin_join(UNJOINED, frozenset()).member
SYNCING = rules.join_answered(JOINING, NONE, JOINED).member
STABLE = rules.sync_answered(SYNCING, NONE, MemberAssignment(frozenset())).member
DUE = rules.ask_to_join(STABLE, "the group rebalances")

Edge = tuple[str, str, str, str]
"""From, to, what happened, and the next step."""


def state(member: Member) -> str:
    if member.fatal:
        return ENDED
    return "join_due" if member.phase == "stable" and member.rejoin else member.phase


def codes_of(request: Request) -> dict[Meaning, int]:
    """Return a code of each meaning that an answer to the request may have."""
    return {meaning_of(request, code): code for code in reversed(CODES)}


def edges() -> Iterator[Edge]:
    for member in (UNJOINED, DUE):
        yield _edge(member, "begin_join", rules.begin_join(member, frozenset()))
    asked = rules.ask_to_join(STABLE, "topics have changed")
    yield _edge(STABLE, "ask_to_join", Turn(asked, "rest"))
    for member in (SYNCING, STABLE, DUE):
        lost = rules.membership_given_up(member, "silent for too long")
        yield _edge(member, "membership_given_up", Turn(lost, "rest"))
    for meaning, code in codes_of("join").items():
        turn = rules.join_answered(JOINING, code, JOINED)
        yield _edge(JOINING, f"join {meaning.name}", turn)
    for meaning, code in codes_of("sync").items():
        turn = rules.sync_answered(SYNCING, code, MemberAssignment(frozenset()))
        yield _edge(SYNCING, f"sync {meaning.name}", turn)
    requests: tuple[Request, ...] = ("heartbeat", "commit")
    for request in requests:
        for member in (SYNCING, STABLE, DUE):
            for meaning, code in codes_of(request).items():
                turn = rules.heartbeat_answered(member, code, member.generation, request)
                yield _edge(member, f"{request} {meaning.name}", turn)


def _edge(before: Member, event: str, turn: Turn) -> Edge:
    return state(before), state(turn.member), event, turn.step


def drawn() -> str:
    """Return the diagram, without answers that keep the state and ask for nothing."""
    labels: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for before, after, event, step in edges():
        if before == after and step == "rest":
            continue
        names = labels.setdefault((before, after, step), {})
        cause, _, meaning = event.partition(" ")
        names.setdefault(cause, [])
        if meaning and meaning not in names[cause]:
            names[cause].append(meaning)
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> unjoined"]
    for (before, after, step), names in labels.items():
        texts = [" ".join((cause, ", ".join(found))).strip() for cause, found in names.items()]
        then = "" if step == "rest" else f" / {step}"
        lines.append(f"    {before} --> {after}: {'; '.join(texts)}{then}")
    return "\n".join([*lines, "```"])


def main() -> None:
    text = DESIGN.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    DESIGN.write_text(f"{before}{BEGIN}\n{drawn()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
