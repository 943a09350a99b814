"""Keeps the copy of the group's offsets in Kafka up to date (offsets.storage=kafka).

The fence comes first, the copy second: what is copied is already in ZooKeeper, in a node that only
we can have moved since. A copy never delays anything else: its time is limited, and what failed is
repeated at a later boundary.

One race remains: A commits 100 in ZooKeeper and stops before its copy is sent; its session ends, B
claims and copies 200; A continues and copies 100. The lease is checked right before, so A must stop
within these few lines. The copy is then too low until B commits again, or a day at most; since it
is marked as a copy, no member takes a position from it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import EventClock
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group.ownership import UNREAD
from pyspark_zkgroup.model import CommitRefused, StoredOffset, TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.rules import kafka_copy
from pyspark_zkgroup.protocols.owned.rules.kafka_copy import Copied
from pyspark_zkgroup.protocols.owned.setbacks import Setbacks
from pyspark_zkgroup.protocols.port import OffsetsInKafka

_START_S = 10.0
_NAME_S = 3.0
_WRITE_S_MAX = 2.0
_log = logging.getLogger("pyspark_zkgroup.group")


class KafkaCopy:
    def __init__(self, options: Options, store: OffsetsInKafka | None, clock: EventClock) -> None:
        self.beside = store
        if options.group.offsets_storage != "kafka":
            store = None
        elif store is None:
            raise ValueError("no way was given to the group's offsets in Kafka")
        self.store = store
        self.dual = options.group.dual_commit
        self.group = options.group.id
        self.clock = clock
        # A third of the session: waiting for the brokers must not end it.
        self._write_s = min(_WRITE_S_MAX, options.zookeeper.timeout_ms / 3000)
        self._copied: dict[TopicPartition, Copied] = {}
        self._compared: set[TopicPartition] = set()
        self.setbacks = Setbacks(clock)

    @property
    def notes(self) -> list[str]:
        trouble = self.setbacks.trouble
        return [f"the offsets in Kafka are behind: {trouble}"] if trouble else []

    def refuse_live_group(self) -> None:
        """Refuse to start next to a live group of this name in Kafka, if offsets are copied there.

        Without copies two groups of one name do no harm to each other: each reads everything, which
        may be intended, so a warning names them. Two groups of zkgroup members are refused: that is
        never intended.
        """
        if self.store is None:
            self._heed_namesakes()
            return
        members = self.store.group_members(timeout_s=_START_S)
        if members:
            raise kafka_copy.live_group(self.group, members)

    def _heed_namesakes(self) -> None:
        if self.beside is None:
            return
        try:
            members = self.beside.live_namesakes(timeout_s=_NAME_S)
        except ServerError as error:
            _log.info(
                "Cannot check whether Kafka's brokers have a group %r too: %s", self.group, error
            )
            return
        if refusal := kafka_copy.switched(self.group, members):
            raise refusal
        if members:
            _log.warning(
                catalogue.warning("ZKG-178", group=self.group, consumers=kafka_copy.named(members))
            )

    # -- reading

    def stored(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, StoredOffset]:
        if self.store is None or not partitions:
            return {}
        return self.store.group_offsets(partitions)

    def to_compare(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions whose offset in Kafka may count at a claim.

        If all members commit to both, only offsets from before the first zkgroup member can count:
        each is read once.
        """
        if self.store is None:
            return []
        return [p for p in partitions if not self.dual or p not in self._compared]

    def counting(self, offsets: Mapping[TopicPartition, int | None]) -> dict[TopicPartition, int]:
        """Return the offsets in Kafka that count instead of those in ZooKeeper, of partitions about
        to be claimed.
        """
        stored = self.stored(offsets.keys())
        found: dict[TopicPartition, int] = {}
        for partition, before in offsets.items():
            counts = kafka_copy.counting(before, stored.get(partition), dual=self.dual)
            if counts is not None and counts != before:
                found[partition] = counts
        self._compared.update(offsets)
        if found:
            both = kafka_copy.both_named(found, offsets, stored)
            _log.warning(catalogue.warning("ZKG-135", partitions=both))
        behind = [p for p in stored.keys() - found if kafka_copy.is_behind(offsets[p], stored[p])]
        if behind:
            both = kafka_copy.both_named(behind, offsets, stored)
            _log.warning(catalogue.warning("ZKG-136", partitions=both))
        return found

    # -- writing

    def write(self, context: MemberContext, *, has_lease: bool, last: bool = False) -> None:
        """Copy what is committed of all that is held, in one request, if any of it is new.

        The `last` copy is tried whatever became of those before.
        """
        if self.store is None or not has_lease:
            return
        now = self.clock.monotonic()
        known, held = context.holdings.known, context.holdings.held
        for partition in self._copied.keys() - held.keys():
            del self._copied[partition]
        certain = {p: known[p] for p in held if p in known and known[p].doubt is None}
        committed = {p: k.value for p, k in certain.items() if k.value != UNREAD}
        due = kafka_copy.due(committed, self._copied, now)
        allowed = due if last else self.setbacks.allowed(due, now)
        if allowed:
            self._write(self.store, context, allowed)

    def _write(
        self, store: OffsetsInKafka, context: MemberContext, due: Mapping[TopicPartition, int]
    ) -> None:
        try:
            refused = store.commit_group_offsets(
                due, kafka_copy.note_of(context.consumer), timeout_s=self._write_s
            )
        except ServerError as error:
            self.setbacks.unanswered(error.what)
            return
        now = self.clock.monotonic()
        self._copied.update((p, Copied(n, now)) for p, n in due.items() if p not in refused)
        reason = _refusal(store, refused, self._write_s) if refused else ""
        self.setbacks.answered(due.keys(), refused.keys(), context.holdings.held, reason)


def _refusal(
    store: OffsetsInKafka, refused: Mapping[TopicPartition, CommitRefused], timeout_s: float
) -> str:
    text = kafka_copy.refusal_text(refused)
    if any(one.group_is_live for one in refused.values()):
        try:
            members = kafka_copy.named(store.group_members(timeout_s=timeout_s))
        except ServerError as error:
            members = f"not known: {error.what}"
        text += f"; Kafka's brokers coordinate consumers in this group: {members}"
    return text
