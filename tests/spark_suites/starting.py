"""Where a stream starts: the part of KafkaMicroBatchSourceSuite that KafkaContinuousSourceSuite
shares, KafkaOffsetReaderSuite, KafkaOffsetRangeLimitSuite, ConsumerStrategySuite.
"""

from __future__ import annotations

from typing import Final

from tests.spark_suites.case import Suite, case

EVERY_START = (
    "unit/options/test_spark_cases.py::test_every_start_goes_with_every_way_of_naming_topics"
)
BY_TIME = (
    "broker/test_first_position.py::test_a_time_is_looked_up_once_and_written_for_the_whole_topic"
)
EACH_TIME = (
    "broker/test_first_position.py::test_a_time_for_each_partition_and_one_that_no_record_has"
)
NAMED = (
    "contract/test_assign.py::"
    "test_named_partitions_are_read_and_committed_and_nothing_is_registered"
)
NO_RECORD = "unit/ranges/test_starting_times.py::test_a_time_that_no_record_has_is_an_error"
PURE = (
    "unit/ranges/test_positions.py::test_a_word_holds_for_every_partition",
    "unit/ranges/test_positions.py::test_offsets_hold_for_their_partitions",
)
ASSIGNED = (
    "broker/test_assign_starts.py::test_every_kind_of_start_holds_for_the_partitions_that_are_read"
)
GIVEN = "broker/test_first_position.py::test_offsets_given_by_the_user"

STARTS: Final = Suite(
    "KafkaSourceSuiteBase: where a stream starts (each with failOnDataLoss true and false)",
    (
        case(
            "assign from latest offsets",
            EVERY_START,
            PURE[0],
            ASSIGNED,
        ),
        case("assign from earliest offsets", EVERY_START, NAMED),
        case(
            "assign from specific offsets",
            EVERY_START,
            PURE[1],
            "contract/test_assign.py::test_starts_are_given_for_the_partitions_that_are_read",
            "broker/test_assign_starts.py::test_a_start_that_is_gone_is_a_loss_like_any_other",
        ),
        case("assign from specific timestamps", EVERY_START, ASSIGNED),
        case("assign from global timestamp per topic", EVERY_START, ASSIGNED),
        case(
            "subscribing topic by name from latest offsets",
            "broker/test_first_position.py::test_latest_is_resolved_once_and_survives_a_crash",
            "broker/test_first_position.py::test_a_second_newcomer_neither_skips_nor_rereads",
            "broker/test_group_life.py::test_a_topic_gains_partitions",
        ),
        case(
            "subscribing topic by name from earliest offsets",
            "broker/test_group_life.py::test_a_lone_member_reads_all_and_commits_what_is_done",
        ),
        case(
            "subscribing topic by name from specific offsets",
            GIVEN,
            "unit/ranges/test_positions.py::test_an_offset_outside_of_the_partition",
        ),
        case("subscribing topic by name from specific timestamps", EACH_TIME),
        case("subscribing topic by name from global timestamp per topic", BY_TIME),
        case(
            "subscribing topic by pattern from latest offsets",
            "broker/test_group_life.py::"
            "test_a_topic_that_matches_the_pattern_later_is_read_from_its_beginning",
        ),
        case(
            "subscribing topic by pattern from earliest offsets",
            "broker/test_group_life.py::"
            "test_a_topic_that_matches_the_pattern_later_is_read_from_its_beginning",
            EVERY_START,
        ),
        case(
            "subscribing topic by pattern from specific offsets",
            EVERY_START,
            "unit/options/test_given.py::test_the_message_about_sources_of_topics",
            GIVEN,
        ),
        case("subscribing topic by pattern from specific timestamps", EVERY_START, EACH_TIME),
        case("subscribing topic by pattern from global timestamp per topic", BY_TIME),
        case(
            "subscribing topics from topic-level offsets",
            "unit/options/test_spark_cases.py::test_a_word_for_a_whole_topic_is_not_known",
            why="Refused by name: see JsonUtilsSuite.",
        ),
        case(
            "subscribing topic by name from specific timestamps with non-matching starting offset",
            EACH_TIME,
            NO_RECORD,
        ),
        case(
            "subscribing topic by name from global timestamp per topic with non-matching "
            "starting offset",
            NO_RECORD,
        ),
        case(
            "subscribing topic by pattern from specific timestamps with non-matching starting "
            "offset",
            NO_RECORD,
            EVERY_START,
        ),
        case(
            "subscribing topic by pattern from global timestamp per topic with non-matching "
            "starting offset",
            NO_RECORD,
            EVERY_START,
        ),
        case(
            "bad source options",
            "unit/options/test_spark_cases.py::test_what_is_wrong_in_streams_and_in_batch_reads",
            "unit/options/test_starting.py::test_what_is_refused",
            "unit/options/test_batch_size.py::test_more_at_the_least_than_at_the_most",
        ),
        case(
            "unsupported kafka configs",
            "unit/options/test_parse.py::test_a_refused_option_says_why_and_what_instead",
        ),
        case(
            "get offsets from case insensitive parameters",
            "unit/options/test_parse.py::test_what_an_option_sets",
            "unit/options/test_starting.py::test_ends",
        ),
    ),
)

OFFSET_READER: Final = Suite(
    "KafkaOffsetReaderSuite",
    (
        case(
            "isolationLevel must give back default isolation level when not set",
            "unit/options/test_parse.py::test_the_least_that_must_be_given_and_every_default",
        ),
        case(
            "isolationLevel must give back READ_UNCOMMITTED, READ_COMMITTED when set",
            "unit/options/test_parse.py::test_what_an_option_sets",
            "unit/planning/test_cluster_view.py::test_an_option_reaches_the_tasks",
        ),
        case(
            "isolationLevel must throw exception when invalid isolation level set",
            "unit/options/test_spark_cases.py::test_what_is_wrong_in_streams_and_in_batch_reads",
        ),
        case(
            "SPARK-30656: getOffsetRangesFromUnresolvedOffsets - using specific offsets",
            "unit/ranges/test_batch_ranges.py::test_given_offsets",
            "unit/ranges/test_splitting.py::test_at_least_so_many",
        ),
        case(
            "SPARK-30656: getOffsetRangesFromUnresolvedOffsets - using special offsets",
            "unit/ranges/test_batch_ranges.py::test_without_options_it_reads_from_the_start_to_the_end",
            why="Ends are resolved before ranges are cut: a task always knows both.",
        ),
        case(
            "SPARK-30656: getOffsetRangesFromUnresolvedOffsets - multiple topic partitions",
            "broker/test_batch_read.py::test_as_many_tasks_as_threads",
            "unit/ranges/test_splitting.py::test_at_least_so_many",
        ),
        case(
            "SPARK-30656: getOffsetRangesFromResolvedOffsets",
            "unit/ranges/test_splitting.py::test_at_least_so_many",
        ),
        case(
            "SPARK-48383: START_OFFSET_DOES_NOT_MATCH_ASSIGNED error class",
            "broker/test_batch_read.py::test_every_partition_is_named",
            "unit/ranges/test_positions.py::test_partitions_are_checked_before_anything_is_written",
        ),
        case(
            "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED error class",
            "unit/ranges/test_starting_times.py::test_times_must_name_every_partition",
        ),
    ),
)

RANGE_LIMIT: Final = Suite(
    "KafkaOffsetRangeLimitSuite",
    (
        case(
            "all",
            why="Of words for whole topics, which are refused by name: see JsonUtilsSuite.",
        ),
    ),
)

STRATEGY: Final = Suite(
    "ConsumerStrategySuite",
    (
        case("createAdmin must create admin properly", why="No client of the JVM is made."),
        case(
            "AssignStrategy.assignedTopicPartitions must give back all assigned",
            NAMED,
            "broker/test_batch_read.py::test_a_pattern_and_single_partitions",
        ),
        case(
            "AssignStrategy.assignedTopicPartitions must skip invalid partitions",
            "contract/test_assign.py::test_a_partition_that_is_not_there_is_named",
            why="Not skipped: an error names them, in a new query.",
        ),
        case(
            "SubscribeStrategy.assignedTopicPartitions must give back all assigned",
            "unit/group/test_snapshot.py::test_the_target_covers_what_any_member_reads",
            "contract/test_log_offsets.py::test_all_topics_or_those_given",
        ),
        case(
            "SubscribePatternStrategy.assignedTopicPartitions must give back all assigned",
            "unit/group/test_snapshot.py::test_lists_mean_all_topics_but_internal_ones",
            "unit/jvm/test_patterns.py::test_a_supported_pattern_means_what_it_means_to_python",
        ),
    ),
)

SUITES: Final = (STARTS, OFFSET_READER, RANGE_LIMIT, STRATEGY)
