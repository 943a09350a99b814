"""Batch reads and what is cut into tasks: KafkaRelationSuite, KafkaDontFailOnDataLossSuite,
KafkaOffsetRangeCalculatorSuite.
"""

from __future__ import annotations

from typing import Final

from tests.spark_suites.case import Suite, case

REFUSED = "unit/options/test_starting.py::test_what_is_refused"
TO_AN_END = "broker/test_batch_read.py::test_it_ends_at_the_given_offsets"
TIMES = "broker/test_batch_read.py::test_from_a_time_to_a_time"
AT_LEAST = "unit/ranges/test_splitting.py::test_at_least_so_many"
AT_MOST = "unit/ranges/test_splitting.py::test_at_most_so_many_rows"
BOTH = "unit/ranges/test_splitting.py::test_the_rows_come_first_and_then_the_number"
WITHOUT = "unit/ranges/test_splitting.py::test_without_either_each_range_is_a_task"
TRANSACTIONS = "broker/test_batch_read.py::test_transactions"
PYTHON_HAS_NONE = "Spark gives Python sources no say in where their tasks run."

RELATION: Final = Suite(
    "KafkaRelationSuite",
    (
        case(
            "explicit earliest to latest offsets",
            TO_AN_END,
            "broker/test_batch_read.py::test_records_gone_that_a_given_start_means",
            "spark/test_batch.py::test_when_a_frame_looks_again",
            why="Not alike in one thing: Spark asks a Python source once for the tasks of a frame, "
            "so that its later actions end where the first one did.",
        ),
        case(
            "default starting and ending offsets",
            "unit/ranges/test_batch_ranges.py::test_without_options_it_reads_from_the_start_to_the_end",
            "unit/options/test_starting.py::"
            "test_a_batch_read_starts_at_earliest_and_needs_no_group",
        ),
        case(
            "explicit offsets",
            TO_AN_END,
            "spark/test_batch.py::test_given_starts_and_ends",
        ),
        case(
            "default starting and ending offsets with headers",
            "spark/test_batch.py::test_the_whole_topic_with_headers",
        ),
        case("timestamp provided for starting and ending", TIMES),
        case("timestamp provided for starting, offset provided for ending", TIMES),
        case(
            "timestamp provided for ending, offset provided for starting",
            "unit/ranges/test_batch_ranges.py::test_a_given_start_behind_the_end",
            "broker/test_batch_read.py::test_what_goes_before_what",
        ),
        case("timestamp provided for starting, ending not provided", TIMES),
        case("timestamp provided for ending, starting not provided", TIMES),
        case("global timestamp provided for starting and ending", TIMES),
        case(
            "no matched offset for timestamp - startingOffsets",
            "broker/test_batch_read.py::test_a_starting_time_that_no_record_has",
        ),
        case(
            "preferences on offset related options",
            "broker/test_batch_read.py::test_what_goes_before_what",
            "unit/options/test_starting.py::"
            "test_the_time_for_all_goes_before_times_and_these_before_offsets",
        ),
        case(
            "no matched offset for timestamp - endingOffsets",
            "broker/test_batch_read.py::test_an_ending_time_that_no_record_has",
        ),
        case(
            "reuse same dataframe in query",
            "spark/test_batch.py::test_when_a_frame_looks_again",
        ),
        case(
            "test late binding start offsets",
            "broker/test_batch_read.py::test_records_gone_that_a_given_start_means",
        ),
        case(
            "bad batch query options",
            REFUSED,
            "unit/options/test_spark_cases.py::test_what_is_wrong_in_streams_and_in_batch_reads",
            "spark/test_batch.py::test_errors_are_shown_in_spark_too",
        ),
        case("read Kafka transactional messages: read_committed", TRANSACTIONS),
        case("read Kafka transactional messages: read_uncommitted", TRANSACTIONS),
        case(
            "SPARK-30656: minPartitions",
            "broker/test_batch_read.py::test_as_many_tasks_as_threads",
        ),
        case(
            "topic-partition for start offset and end offset must match",
            REFUSED,
            "broker/test_batch_read.py::test_every_partition_is_named",
        ),
        case("unresolved start offset greater than end offset", REFUSED),
        case(
            "resolved start offset greater than end offset (without latest)",
            "unit/ranges/test_batch_ranges.py::test_a_given_start_behind_the_end",
        ),
        case(
            "resolved start offset greater than end offset (with latest)",
            "broker/test_batch_read.py::test_an_end_before_a_given_start_is_refused",
        ),
        case(
            "V1, V2 Source is used when set through SQLConf",
            why="Python sources have one implementation.",
        ),
    ),
)

DATA_LOSS: Final = Suite(
    "KafkaDontFailOnDataLossSuite, KafkaSourceStressForDontFailOnDataLossSuite",
    (
        case(
            "failOnDataLoss=false should not return duplicated records: microbatch",
            "broker/test_data_loss.py::test_with_losses_allowed_it_continues_from_the_logs_start",
            "broker/test_data_loss.py::test_retention_passes_a_member_that_lags",
            "broker/test_data_loss.py::test_what_is_skipped_is_committed_at_once",
            "broker/test_assign_starts.py::test_a_start_that_is_gone_is_a_loss_like_any_other",
        ),
        case(
            "failOnDataLoss=false should not return duplicated records: batch",
            "broker/test_batch_read.py::test_records_gone_that_a_given_start_means",
            "broker/test_batch_read.py::test_records_gone_before_the_groups_offset_was_reached",
            "contract/test_fetch_ahead.py::"
            "test_records_that_are_gone_are_left_out_where_that_is_wanted",
        ),
        case(
            "failOnDataLoss=false should not return duplicated records: continuous processing",
            why="Spark has no continuous processing for Python sources.",
        ),
        case(
            "stress test for failOnDataLoss=false",
            "sim/test_seeds.py::test_a_hundred_and_fifty_seeds_keep_every_promise",
            why="Retention, and recreated topics, at random moments in virtual time.",
        ),
    ),
)

CALCULATOR: Final = Suite(
    "KafkaOffsetRangeCalculatorSuite",
    (
        case("with no minPartition: N TopicPartitions to N offset ranges", WITHOUT),
        case("with no minPartition: empty ranges ignored", WITHOUT),
        case("N TopicPartitions to N offset ranges", AT_LEAST),
        case("N TopicPartitions to N offset ranges with executors", why=PYTHON_HAS_NONE),
        case("1 TopicPartition to N offset ranges", AT_LEAST),
        case("N skewed TopicPartitions to M offset ranges", AT_LEAST),
        case("SPARK-30656: ignore empty ranges and split the rest", AT_LEAST),
        case("SPARK-30656: N very skewed TopicPartitions to M offset ranges", AT_LEAST),
        case("SPARK-30656: minPartitions less than the length of topic partitions", AT_LEAST),
        case("range inexact multiple of minPartitions", AT_LEAST),
        case("empty ranges ignored", AT_LEAST),
        case(
            "SPARK-28489: never drop offsets",
            AT_LEAST,
            "property/test_splitting.py::test_every_offset_is_read_once_by_its_thread_and_in_order",
        ),
        case("SPARK-36576: 0 small unsplit ranges and 3 large split ranges", AT_LEAST),
        case("SPARK-36576: 1 small unsplit range and 2 large split ranges", AT_LEAST),
        case("SPARK-36576: 2 small unsplit ranges and 1 large split range", AT_LEAST),
        case("SPARK-46798: locations set when ranges unsplit", why=PYTHON_HAS_NONE),
        case("SPARK-46798: locations not set when ranges split", AT_LEAST, why=PYTHON_HAS_NONE),
        case("SPARK-49259: 1 TopicPartition to N offset ranges", AT_MOST),
        case("SPARK-49259: N TopicPartition to N offset ranges", AT_MOST),
        case("SPARK-49259: 1 TopicPartition with low minPartitions value", BOTH),
        case("SPARK-49259: 1 TopicPartition with high minPartitions value", BOTH),
    ),
)

SUITES: Final = (RELATION, DATA_LOSS, CALCULATOR)
