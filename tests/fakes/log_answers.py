"""What a broker answers of the logs that it keeps, to questions about offsets and epochs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka.protocol.consumer import ListOffsetsResponse, OffsetForLeaderEpochResponse

from pyspark_zkgroup.model import TopicPartition
from tests.fakes.broker_log import Log

UNKNOWN_TOPIC = 3
Logs = Mapping[TopicPartition, Log]


def epoch_ends(logs: Logs, request: Any) -> Any:
    kind = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
    topics = []
    for topic in request.topics:
        answers = []
        for asked in topic.partitions:
            log = logs.get(TopicPartition(topic.topic, asked.partition))
            code = UNKNOWN_TOPIC if log is None else log.refusal(asked.current_leader_epoch)
            is_told = log is not None and not code
            answers.append(
                kind.EpochEndOffset(
                    error_code=code,
                    partition=asked.partition,
                    leader_epoch=asked.leader_epoch if is_told else -1,
                    end_offset=log.end_of(asked.leader_epoch) if log and is_told else -1,
                )
            )
        topics.append(kind(topic=topic.topic, partitions=answers))
    return OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=topics)


def log_offsets(logs: Logs, request: Any) -> Any:
    kind = ListOffsetsResponse.ListOffsetsTopicResponse
    topics = []
    for topic in request.topics:
        answers = []
        for asked in topic.partitions:
            log = logs.get(TopicPartition(topic.name, asked.partition_index))
            offset, epoch = -1, -1
            code = UNKNOWN_TOPIC if log is None else log.refusal(asked.current_leader_epoch)
            if log is not None and not code:
                epoch = log.epoch
                is_start = asked.timestamp == -2
                offset = log.start if is_start else log.visible_end(request.isolation_level)
            answers.append(
                kind.ListOffsetsPartitionResponse(
                    partition_index=asked.partition_index,
                    error_code=code,
                    timestamp=-1,
                    offset=offset,
                    leader_epoch=epoch,
                )
            )
        topics.append(kind(name=topic.name, partitions=answers))
    return ListOffsetsResponse(throttle_time_ms=0, topics=topics)
