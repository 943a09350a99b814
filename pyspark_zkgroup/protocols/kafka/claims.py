"""Commits and claims of a member of a broker's group: what was decided of each partition, written
under the member's generation. docs/protocol-kafka.md has the rules.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka.error_codes import Meaning
from pyspark_zkgroup.kafka.member_wire import Write
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.kafka.holdings import KafkaHoldings, Tokens
from pyspark_zkgroup.protocols.kafka.requests import GroupRequests
from pyspark_zkgroup.protocols.kafka.rules.fencing import (
    GroupOffset,
    GroupProgress,
    metadata_of,
    position,
)
from pyspark_zkgroup.protocols.kafka.rules.member import Member
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.protocols.start_lookup import log_skipped, look_up_starts
from pyspark_zkgroup.ranges.positions import Starting

_FOR_NOW = frozenset(
    {Meaning.IN_DOUBT, Meaning.AGAIN, Meaning.REBALANCE, Meaning.GONE, Meaning.UNSENT}
)
_log = logging.getLogger("pyspark_zkgroup.group")


class KafkaClaims:
    def __init__(
        self,
        holdings: KafkaHoldings,
        requests: GroupRequests,
        brokers: Brokers,
        starting: Starting,
        tokens: Tokens,
        *,
        may_lose: bool,
    ) -> None:
        self.holdings = holdings
        self.requests = requests
        self.brokers = brokers
        self.starting = starting
        self.tokens = tokens
        self.may_lose = may_lose
        self.fresh: frozenset[str] = frozenset()
        """Topics that a new query has found when it looked first."""
        self.is_put_off = False
        """The last commit was not done, and another try of the same may be: until then nothing is
        given back.

        The coordinator moves, so a commit is refused; all is given back for a join, which finds the
        new coordinator; the next owner of the partition reads the finished batch again.
        """
        self.unknown_to_brokers: set[TopicPartition] = set()
        """A commit of theirs was answered that there is no such partition."""
        self._led_generation = (-1, -1)
        self._skipped: dict[TopicPartition, int] = {}

    def commit_finished(self, member: Member) -> bool:
        """Whether all finished work of what is held is committed now."""
        known = self.holdings.known
        untold = self._drop_what_was_voided(member)
        writes: dict[TopicPartition, Write] = {}
        before: dict[TopicPartition, GroupProgress] = {}
        for partition in sorted(self.holdings.held):
            at = known[partition]
            if at.unsettled and member.may_commit and partition not in untold:
                sent = at.sent(self.tokens.next)
                before[partition] = at
                known[partition] = sent
                writes[partition] = Write(at.done, metadata_of(sent.newest))
        answers = self.requests.write(member, writes)
        self.is_put_off = bool(untold) or any(found in _FOR_NOW for found in answers.values())
        for partition, found in answers.items():
            sent = known[partition]
            if found is Meaning.DONE:
                known[partition] = GroupProgress(sent.newest, sent.done, sent.done)
            elif found is not Meaning.IN_DOUBT:
                known[partition] = before[partition]
        self._note_unknown(answers)
        return not self.holdings.unsettled

    def _note_unknown(self, answers: Mapping[TopicPartition, Meaning]) -> None:
        """The answer may come from a broker whose metadata lags: what is finished stays unsettled
        until metadata has shown for long enough that the partition is gone.
        """
        unknown = {p for p, found in answers.items() if found is Meaning.GONE}
        asked = unknown | (self.unknown_to_brokers - answers.keys())
        self.unknown_to_brokers = asked & self.holdings.held

    def give_up_on(self, gone: Collection[TopicPartition]) -> None:
        """Deleted with their offsets: there is nothing left to commit to."""
        for partition in sorted(self.holdings.held & set(gone)):
            _log.warning(catalogue.warning("ZKG-160", partition=partition))
            self.holdings.held.discard(partition)
            self.holdings.replayed.discard(partition)
            del self.holdings.known[partition]
        self.unknown_to_brokers -= set(gone)

    def _drop_what_was_voided(self, member: Member) -> set[TopicPartition]:
        """Before the first commit after a replay. What is not told now is committed later.

        Two drivers on one checkpoint, both in its replay: one includes a range; the other takes it
        for another member's, moves the fence and leaves it out; its batch reaches the sink, which
        skips that of the first, which would commit what was never written. It sees here that the
        fence has moved, since that came before the other's batch.
        """
        holdings = self.holdings
        asked = {p for p in holdings.replayed & holdings.held if holdings.known[p].unsettled}
        if not asked or not member.may_commit:
            return set()
        found = self.requests.read(sorted(asked))
        for partition, committed in found.items():
            holdings.replayed.discard(partition)
            if not holdings.known[partition].is_untouched(committed):
                _log.warning(catalogue.warning("ZKG-180", partition=partition))
                holdings.held.discard(partition)
                del holdings.known[partition]
        return asked - found.keys()

    def claim(self, member: Member, wanted: Collection[TopicPartition]) -> None:
        """What has become held is in the holdings; the rest, with the reason, in `waiting`."""
        waiting, known = self.holdings.waiting, self.holdings.known
        waiting.clear()
        if not wanted:
            return
        committed = self.requests.read(wanted)
        positions: dict[TopicPartition, int] = {}
        nowhere: dict[TopicPartition, GroupOffset] = {}
        for partition in sorted(wanted):
            if partition not in committed:
                waiting[partition] = f"its offset is not told: {self.requests.trouble}"
                continue
            at = position(known.get(partition), committed[partition])
            if at is None:
                nowhere[partition] = committed[partition]
            else:
                positions[partition] = at
                self._say_rebuilt(partition, committed[partition], at)
        if nowhere and member.leader_is_zkgroup and not member.leads:
            waiting |= dict.fromkeys(nowhere, "its first position is the group's leader's to write")
        elif nowhere:
            positions |= self._first_positions(nowhere)
        self._write_claims(member, positions)

    def lead(self, member: Member, ours: Collection[TopicPartition]) -> bool:
        """First positions for all members that leave them to us, once in each generation."""
        this = (member.life, member.generation)
        if not member.leads or self._led_generation == this:
            return True
        committed = self.requests.read(ours)
        nowhere = [
            p
            for p, found in committed.items()
            if found.offset is None and p not in self.holdings.known
        ]
        writes = {
            p: Write(at, metadata_of(self.tokens.next(), first=True))
            for p, at in self._first_positions(nowhere).items()
        }
        answers = self.requests.write(member, writes)
        self._log_skipped(p for p, found in answers.items() if found is Meaning.DONE)
        complete = len(committed) == len(ours) and len(writes) == len(nowhere)
        if complete and all(found is Meaning.DONE for found in answers.values()):
            self._led_generation = this
        return self._led_generation == this

    def move_fence(self, member: Member, read: Mapping[TopicPartition, GroupOffset]) -> None:
        """The value that was read, under a token of ours: whatever plan stood on it is void."""
        writes = {
            p: Write(found.offset, metadata_of(self.tokens.next()))
            for p, found in read.items()
            if found.offset is not None
        }
        self.requests.write(member, writes)

    def _write_claims(self, member: Member, positions: Mapping[TopicPartition, int]) -> None:
        holdings = self.holdings
        tokens = {p: self.tokens.next() for p in positions}
        writes = {p: Write(at, metadata_of(tokens[p])) for p, at in positions.items()}
        answers = self.requests.write(member, writes)
        doubtful = [p for p, outcome in answers.items() if outcome is Meaning.IN_DOUBT]
        # Our token tells that it was done after all.
        found = self.requests.read(doubtful)
        claimed: list[TopicPartition] = []
        for partition, outcome in answers.items():
            at, token = positions[partition], tokens[partition]
            if outcome is Meaning.DONE or (
                partition in found and found[partition] == GroupOffset(at, metadata_of(token))
            ):
                holdings.held.add(partition)
                holdings.known[partition] = GroupProgress(token, at, at)
                claimed.append(partition)
            else:
                trouble = f" ({self.requests.trouble})" if self.requests.trouble else ""
                holdings.waiting[partition] = f"its claim was {outcome.value}{trouble}"
        self._log_skipped(claimed)

    def _log_skipped(self, written: Iterable[TopicPartition]) -> None:
        """Of first positions that are now the group's: another member may have written others."""
        records = {p: self._skipped[p] for p in written if p in self._skipped}
        log_skipped(self.requests.kept.group, records)
        self._skipped.clear()

    def _first_positions(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """A partition for which none can be found now is left out, with the reason in `waiting`."""
        found: dict[TopicPartition, int] = {}
        try:
            topics = sorted({p.topic for p in partitions})
            read = self.requests.read([p for p in self._siblings(topics) if p.topic in self.fresh])
            read_already = {p.topic for p, at in read.items() if at.offset is not None}
            for topic in topics:
                known_topic = topic not in self.fresh or topic in read_already
                named = [p for p in partitions if p.topic == topic]
                starts = look_up_starts(
                    self.brokers,
                    self.starting,
                    named,
                    known_topic=known_topic,
                    may_lose=self.may_lose,
                )
                found |= starts.positions
                self._skipped |= starts.skipped
        except ServerError as error:
            self.holdings.waiting |= {
                p: f"its first position is not known: {error}" for p in partitions if p not in found
            }
        return found

    def _siblings(self, topics: Collection[str]) -> list[TopicPartition]:
        numbers = self.brokers.partitions()
        return [TopicPartition(t, n) for t in topics for n in numbers.get(t, ())]

    def _say_rebuilt(self, partition: TopicPartition, committed: GroupOffset, at: int) -> None:
        if committed.offset is None:
            _log.warning(
                catalogue.warning(
                    "ZKG-102", partition=partition, source="this query's progress", offset=at
                )
            )
