"""The pause between a commit and a release to a JVM member.

A JVM member reads the offsets of its share and then claims it, in two separate steps. It reads 479;
we commit 520 and release; it claims, continues at 479, and our last batch is read twice. Both sides
act on the same event, so this is more frequent than the few milliseconds between its steps suggest.
So if such members are in the group, a release waits until the last commit is older than those steps
take. Their retries, 2 s apart, allow this.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark_zkgroup.jvm.registration import Registration
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.owned.agenda import Agenda

_READ_THEN_CLAIM_S = 1.0


def outwait_readers(
    agenda: Agenda, kept: Collection[TopicPartition], members: Mapping[str, Registration]
) -> None:
    """Wait before releasing what is not in `kept`. Events stay for the next boundary."""
    holdings, clock = agenda.member.holdings, agenda.member.clock
    if not holdings.held.keys() - kept or all(m.is_zkgroup for m in members.values()):
        return
    while (left_s := holdings.committed_at + _READ_THEN_CLAIM_S - clock.monotonic()) > 0:
        agenda.wait(left_s)
