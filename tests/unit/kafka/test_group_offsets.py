"""What a coordinator's answers for single partitions mean for the whole request."""

from __future__ import annotations

import kafka.errors
import pytest

from pyspark_zkgroup.kafka.group_offsets import _whole
from pyspark_zkgroup.kafka.wire import error_of
from pyspark_zkgroup.model import TopicPartition

P, Q = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.mark.parametrize(
    "kind",
    [
        kafka.errors.CoordinatorLoadInProgressError,
        kafka.errors.CoordinatorNotAvailableError,
        kafka.errors.NotCoordinatorError,
        kafka.errors.RequestTimedOutError,
    ],
)
def test_a_coordinator_that_is_not_there_is_asked_again_for_all(kind: type) -> None:
    error = error_of("commit", kind.errno)  # type: ignore[attr-defined]
    assert error is not None
    assert _whole({P: None, Q: error}) is error


@pytest.mark.parametrize(
    "kind",
    [
        kafka.errors.GroupAuthorizationFailedError,
        kafka.errors.UnknownMemberIdError,
        # A retry would wait for a topic that was deleted.
        kafka.errors.UnknownTopicOrPartitionError,
    ],
)
def test_what_a_partition_is_refused_for_is_an_answer(kind: type) -> None:
    answers = {P: None, Q: error_of("commit", kind.errno)}  # type: ignore[attr-defined]
    assert _whole(answers) is answers
