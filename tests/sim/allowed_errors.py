"""Which errors may end a query, given the faults of its scene."""

from __future__ import annotations

from collections.abc import Collection

from pyspark_zkgroup.errors import (
    AssignmentError,
    DataLossError,
    FencedError,
    OffsetBeyondEndError,
    OffsetOutOfRangeError,
    PlanError,
    ServerError,
)
from tests.sim.query import Driver


def is_allowed(
    driver: Driver, error: BaseException, faults: Collection[str], *, set_back: bool
) -> bool:
    """`set_back`: a JVM member has committed an offset that is lower than the one before."""
    process, query = driver.process, driver.query
    cut_off = process.access.refusals + process.kafka_refusals > 0
    return (
        (isinstance(error, ServerError) and (cut_off or "leader" in faults))
        or (isinstance(error, FencedError) and query.static)
        or (isinstance(error, PlanError) and query.twins)
        or (
            isinstance(
                error,
                OffsetBeyondEndError | OffsetOutOfRangeError | ServerError | DataLossError,
            )
            and "recreated" in faults
        )
        or (isinstance(error, OffsetOutOfRangeError) and "retention" in faults)
        or (
            # The group was set back to what is no longer kept: by a JVM zombie, or by a
            # snapshot of ZooKeeper.
            isinstance(error, DataLossError)
            and "retention" in faults
            and (set_back or "rolled back" in faults)
        )
        or (isinstance(error, AssignmentError) and "misfit" in query.name)
    )
