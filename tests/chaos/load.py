"""A producer at a steady pace that knows every acknowledged offset, and finds partitions that are
added while it runs; and another one for transactions.
"""

from __future__ import annotations

import threading
import time

from tests.chaos.transactions import Transactions, merged
from zkgroup_sandbox.produce import Produced, Producer, json_event

PACE_S = 0.1
LOOK_FOR_PARTITIONS_S = 2.0
# What was held up while no broker answered is made good at no more than this multiple of the pace.
CATCH_UP = 3


class Load:
    def __init__(
        self, bootstrap_servers: str, topic: str, per_second: float, transactions: Transactions
    ) -> None:
        self._producer = Producer(bootstrap_servers, topic)
        self.transactions = transactions
        self._per_second = per_second
        self._acknowledged = Produced(topic)
        self._ending = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="chaos-load", daemon=True)

    def start(self) -> Load:
        self._thread.start()
        self.transactions.start()
        return self

    @property
    def so_far(self) -> Produced:
        """Of transactions, those that are known to be committed."""
        plain = self._acknowledged
        return merged(plain.topic, (plain.ranges, self.transactions.ranges()))

    @property
    def failed(self) -> BaseException | None:
        return self._error or self.transactions.failed

    def stop(self) -> None:
        self._ending.set()
        if self._thread.ident is not None:
            self._thread.join()
            self.transactions.stop()
        self._producer.close()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            began, done, number = time.monotonic(), 0, 0
            look_at = began + LOOK_FOR_PARTITIONS_S
            while not self._ending.wait(PACE_S):
                now = time.monotonic()
                if now >= look_at:
                    self._producer.refresh()
                    look_at = now + LOOK_FOR_PARTITIONS_S
                due = int((now - began) * self._per_second) - done
                count = min(due, int(self._per_second * PACE_S * CATCH_UP))
                if count > 0:
                    self._send(number, count)
                    number += count
                    done += count
        except BaseException as error:  # noqa: BLE001 - raised by stop(), in the caller's thread
            self._error = error

    def _send(self, first: int, count: int) -> None:
        partitions = self._producer.partitions
        spread = {
            partition: [json_event(n) for n in range(first + i, first + count, len(partitions))]
            for i, partition in enumerate(partitions)
        }
        self._producer.send(spread)
        self._acknowledged = self._producer.produced.copy()
