"""Requests that got no answer: why, of each broker, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import kafka.errors

from pyspark_zkgroup.errors import AccessError, ServerError
from pyspark_zkgroup.kafka.auth import Refusal
from pyspark_zkgroup.kafka.lost_words import CLOSED, TLS_ENDED, words
from pyspark_zkgroup.kafka.settings import FetchSettings

# Errors of our side with which every other attempt will fail as well.
_LASTING = (
    kafka.errors.IncompatibleBrokerVersion,
    kafka.errors.InvalidReceiveError,
    kafka.errors.SaslAuthenticationFailedError,
    kafka.errors.UnsupportedSaslMechanismError,
)

_TIMEOUTS = (kafka.errors.KafkaTimeoutError, kafka.errors.RequestTimedOutError)


@dataclass(frozen=True, slots=True)
class Lost:
    """A request that got no answer, and why."""

    reason: str
    retryable: bool = True
    was_sent: bool = True
    """False when it waits: for the pause before another attempt to connect, or because the broker
    throttles this client."""
    unknown: bool = False
    """The broker is too old to know such a request."""
    refusal: AccessError | None = None
    """Where it is refused for good: who we are, or who the broker is."""


class Losses:
    """Remembers the newest reason of each broker until it answers."""

    def __init__(self, settings: FetchSettings, address_of: Callable[[int | str], str]) -> None:
        self._settings = settings
        self._address_of = address_of
        self._reasons: dict[int | str, str] = {}

    def forget(self, node: int | str) -> None:
        self._reasons.pop(node, None)

    def add(self, node: int | str, what: str) -> str:
        reason = f"{self._address_of(node)}: {what}"
        self._reasons[node] = reason
        return reason

    def of(
        self, node: int | str, error: kafka.errors.KafkaError, *, is_brief: bool = False
    ) -> Lost:
        """`is_brief`: there was next to no time, so that no answer says less than what was seen
        before.
        """
        if isinstance(error, kafka.errors.NodeNotReadyError):
            return Lost(self._reasons.get(node, str(error)), was_sent=False)
        if is_brief and node in self._reasons and isinstance(error, _TIMEOUTS):
            return Lost(self._reasons[node])
        said = words(error, answer_bytes_max=self._settings.record_batch_bytes_max)
        reason = self.add(node, said)
        if isinstance(error, Refusal):
            what = f"The broker {self._address_of(node)} {error.what}"
            return Lost(
                reason,
                retryable=False,
                refusal=AccessError.of("broker_refused", reason=what, remedy=error.remedy),
            )
        unknown = isinstance(error, kafka.errors.IncompatibleBrokerVersion)
        return Lost(reason, retryable=not isinstance(error, _LASTING), unknown=unknown)

    def unreachable(self, timeout_s: float, addresses: Iterable[str]) -> ServerError:
        reasons = "; ".join(dict.fromkeys(self._reasons.values()))
        reasons = f" ({reasons})" if reasons else ""
        asked, protocol = ", ".join(addresses), self._settings.security.protocol
        facts = {"timeout_s": timeout_s, "addresses": asked, "reasons": reasons}
        if CLOSED in reasons or TLS_ENDED in reasons:
            return ServerError.of("connections_closed", **facts, protocol=protocol)
        return ServerError.of("no_broker_answered", **facts)
