"""What operators ask of this member: to leave the group, and to stay outside or to end the query.

Brokers bring nothing to a member, so it looks for itself, now and then, in the planner's thread:
into the notes of another group's offsets. Where it may not read them, or no broker answers, nothing
is asked of it, and the next look comes later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from pyspark_zkgroup.group.noted_requests import (
    Heard,
    NotedRequest,
    decode_note,
    heard,
    requests_group,
)
from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka import group_wire
from pyspark_zkgroup.kafka.error_codes import Meaning
from pyspark_zkgroup.kafka.group_coordinator import GroupCoordinator
from pyspark_zkgroup.kafka.wire import BrokerError
from pyspark_zkgroup.model import StoredOffset, TopicPartition
from pyspark_zkgroup.protocols.kafka.kept_member import KeptMember

_LOOK_EVERY_S = 3.0
_AFTER_SILENCE_S = 10.0
_AFTER_REFUSAL_S = 60.0
_TIMEOUT_S = 1.0
_log = logging.getLogger("pyspark_zkgroup.group")


class Asked:
    def __init__(self, kept: KeptMember, connected: Callable[[], GroupCoordinator]) -> None:
        self.kept = kept
        self._connected = connected
        self._coordinator: GroupCoordinator | None = None
        self._heard: Heard | None = None
        self._look_at = kept.clock.monotonic() + _LOOK_EVERY_S
        self._was_refused = False

    @property
    def request(self) -> NotedRequest | None:
        return None if self._heard is None else self._heard.request

    def is_due(self) -> bool:
        return self.kept.clock.monotonic() >= self._look_at

    def look(self, among: Sequence[TopicPartition]) -> None:
        """`among` are the partitions whose notes are for us."""
        now = self.kept.clock.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_EVERY_S
        if not self.kept.ids or not among:
            return
        if self._coordinator is None:
            self._coordinator = self._connected().of(requests_group(self.kept.group))
        request = group_wire.fetch_request(self._coordinator.group, among)
        response = self._coordinator.ask(request, timeout_s=_TIMEOUT_S)
        answer = None if response is None else group_wire.fetch_answer(response)
        if answer is None or isinstance(answer, BrokerError):
            self._unread(self._coordinator, answer)
            return
        self._was_refused = False
        notes = {
            partition: decode_note(stored.note)
            for partition, stored in answer.items()
            if isinstance(stored, StoredOffset)
        }
        before, self._heard = self._heard, heard(notes, self.kept.ids, self._heard)
        if self._heard is not None and before is None:
            _log.info("Leaving group %s after this batch: %s", self.kept.group, self._heard.request)
        elif self._heard is None and before is not None:
            _log.info("Joining group %s again: the request was withdrawn", self.kept.group)

    def _unread(self, coordinator: GroupCoordinator, answer: BrokerError | None) -> None:
        code = coordinator.unanswered if answer is None else answer.code
        coordinator.forget()
        if codes.meaning_of("offset fetch", code) is not Meaning.REFUSED:
            self._look_at = self.kept.clock.monotonic() + _AFTER_SILENCE_S
            return
        self._look_at = self.kept.clock.monotonic() + _AFTER_REFUSAL_S
        if not self._was_refused:
            self._was_refused = True
            _log.info(
                "`zkgroup stop` and `zkgroup members drain` do not reach this query: offsets of "
                "group %s cannot be read: %s",
                requests_group(self.kept.group),
                answer or coordinator.trouble,
            )
