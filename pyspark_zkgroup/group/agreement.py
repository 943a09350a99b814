"""Checks that the zkgroup members of a group assign by the same rule.

A JVM member does not publish its rule, so it is not compared.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark_zkgroup.jvm.java_order import compare_key
from pyspark_zkgroup.jvm.registration import Registration

_NAMED = 5


def conflict(own: Registration, others: Mapping[str, Registration]) -> str | None:
    """Return why `own` must not join, or None: the zkgroup members that assign differently.

    The order of round-robin has no effect under range, so it is not compared there.
    """
    by_rule: dict[str, list[str]] = {}
    odd = [
        consumer
        for consumer, other in others.items()
        if other.strategy is not None and _rule(other) != _rule(own)
    ]
    for consumer in sorted(odd, key=compare_key)[:_NAMED]:
        by_rule.setdefault(_named(others[consumer]), []).append(consumer)
    if not by_rule:
        return None
    said = "; ".join(
        f"{', '.join(consumers)} of the same group {'uses' if len(consumers) == 1 else 'use'}"
        f" the strategy {rule}"
        for rule, consumers in by_rule.items()
    )
    more = f" ({len(odd) - _NAMED} more differ)" if len(odd) > _NAMED else ""
    return f"{said}{more}, but this member uses {_named(own)}. They would claim the same partitions"


def _rule(registration: Registration) -> tuple[str | None, str | None]:
    ordered = registration.strategy == "roundrobin"
    return registration.strategy, registration.order if ordered else None


def _named(registration: Registration) -> str:
    strategy, order = _rule(registration)
    return f"{strategy} ({order} order)" if order else str(strategy)
