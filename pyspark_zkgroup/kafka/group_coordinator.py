"""The broker that coordinates one group: found, asked, and found again when it has moved.

Belongs to one thread at a time, like the Cluster it asks over. An answer that does not come is a
value: what that means is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka import error_codes as broker_codes
from pyspark_zkgroup.kafka import group_wire, metadata
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.error_codes import Meaning
from pyspark_zkgroup.kafka.losses import Lost
from pyspark_zkgroup.kafka.wire import BrokerError

_GLANCE_S = 0.1


class GroupCoordinator:
    def __init__(self, cluster: Cluster, group: str) -> None:
        self.cluster = cluster
        self.group = group
        self.trouble = ""
        """Why the last request had no answer; empty when it had one."""
        self.unanswered = broker_codes.SILENCE
        """What an answer that did not come counts as: silence, or the code by which the brokers
        refuse for good to name the coordinator.
        """
        self._node: int | None = None

    def of(self, group: str) -> GroupCoordinator:
        """Return the coordinator of another group, asked over the same connections."""
        return GroupCoordinator(self.cluster, group)

    def forget(self) -> None:
        """It has moved, or does not answer: look it up before the next request."""
        self._node = None

    def ask(
        self,
        request: Any,
        *,
        timeout_s: float,
        abandoned: Callable[[], bool] | None = None,
    ) -> Any | None:
        """None without an answer in time. `abandoned` is looked at now and then by a request that
        may take minutes, as a join does.
        """
        node = self._find(timeout_s)
        if node is None:
            return None
        cluster = self.cluster
        if abandoned is None:
            response = cluster.ask_each({node: request}, timeout_s=timeout_s)[node]
        else:
            call = cluster.start(node, request, timeout_s=timeout_s)
            while cluster.first([call], timeout_s=_GLANCE_S) is None:
                if abandoned():
                    cluster.abandon([call])
                    return None
            response = call.answer
        if isinstance(response, Lost):
            self.trouble = response.reason
            self.forget()
            return None
        self.trouble = ""
        return response

    def close(self) -> None:
        self.cluster.close()

    def _find(self, timeout_s: float) -> int | None:
        if self._node is not None:
            return self._node
        cluster = self.cluster
        deadline = cluster.clock.monotonic() + timeout_s
        self.unanswered = broker_codes.SILENCE
        try:
            response = cluster.ask(
                lambda: group_wire.coordinator_request(self.group), timeout_s=timeout_s
            )
            found = group_wire.coordinator_answer(response)
            if isinstance(found, BrokerError):
                self.trouble = f"no coordinator: {found}"
                meaning = broker_codes.meaning_of("find coordinator", found.code)
                if meaning is Meaning.REFUSED:
                    self.unanswered = found.code
                return None
            if not cluster.knows(found):
                left_s = max(0.1, deadline - cluster.clock.monotonic())
                metadata.read(cluster, (), timeout_s=left_s)
        except ServerError as error:
            self.trouble = error.what
            return None
        self._node = found
        return found
