"""Do the zkgroup members of a group assign by the same rule? JVM members do not say theirs."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark_zkgroup.group.java_order import compare_key
from pyspark_zkgroup.group.registration import Registration


def conflict(own: Registration, others: Mapping[str, Registration]) -> str | None:
    """Why `own` must not join: the first other zkgroup member that assigns differently, or None.

    The order of round-robin decides nothing under range, so it is not compared there.
    """
    for consumer in sorted(others, key=compare_key):
        other = others[consumer]
        if other.strategy is None or _rule(other) == _rule(own):
            continue
        return (
            f"{consumer} of the same group assigns partitions by {_named(other)}, "
            f"this member by {_named(own)}: both would claim the same partitions"
        )
    return None


def _rule(registration: Registration) -> tuple[str | None, str | None]:
    ordered = registration.strategy == "roundrobin"
    return registration.strategy, registration.order if ordered else None


def _named(registration: Registration) -> str:
    strategy, order = _rule(registration)
    return f"{strategy} ({order} order)" if order else str(strategy)
