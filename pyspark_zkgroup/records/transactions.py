"""Finds the record batches of an answer that belong to aborted transactions.

A broker names a transaction by its producer and first offset. The producer's batches are left out
from there to its next abort marker, which is a separate control batch. The producer may begin
another transaction after it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from pyspark_zkgroup.model import AbortedTransaction
from pyspark_zkgroup.records.record_batch import Head, is_abort_marker


class Aborted:
    def __init__(self, transactions: Iterable[AbortedTransaction]) -> None:
        self._to_come = deque(sorted(transactions, key=lambda t: t.first_offset))
        self._producers: set[int] = set()

    def leaves_out(self, head: Head, data: bytes) -> bool:
        """Return whether to leave out a batch. Call once for every batch of magic 2, in the order
        of offsets. `data` is what follows the head.
        """
        if not head.has_producer:
            return False
        while self._to_come and self._to_come[0].first_offset <= head.last_offset:
            self._producers.add(self._to_come.popleft().producer_id)
        if head.producer_id not in self._producers:
            return False
        if head.is_control:
            if is_abort_marker(head, data):
                self._producers.discard(head.producer_id)
            return True
        return head.is_transactional
