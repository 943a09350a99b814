"""KafkaMicroBatchSourceSuite but for its starting positions, which stand in starting.py; and what
else reads streams.
"""

from __future__ import annotations

from typing import Final

from tests.spark_suites.case import Suite, case

MODES = "spark/test_query_shapes.py::test_modes_that_spark_does_not_have_for_python_sources"

LIMITS: Final = Suite(
    "KafkaMicroBatchSourceSuite: how much a batch takes",
    (
        case(
            "SPARK-26718 Rate limit set to Long.Max should not overflow",
            "unit/ranges/test_limits.py::test_until",
            "unit/options/test_parse.py::test_what_an_option_sets",
        ),
        case(
            "maxOffsetsPerTrigger",
            "broker/test_batch_size.py::"
            "test_the_limit_is_shared_by_backlog_and_a_restart_continues_alike",
            "spark/test_triggers.py::test_available_now_and_once_drain_everything_and_commit_it",
        ),
        case(
            "minOffsetsPerTrigger",
            "broker/test_batch_size.py::"
            "test_too_few_offsets_are_held_back_until_there_are_more_or_time_is_over",
            "spark/test_batch_size.py::test_the_least_the_most_and_how_long",
        ),
        case(
            "compositeReadLimit",
            "broker/test_batch_size.py::test_at_least_and_at_most_together",
            "spark/test_batch_size.py::test_the_least_the_most_and_how_long",
        ),
        case(
            "SPARK-30656: minPartitions",
            "broker/test_batch_size.py::"
            "test_threads_are_cut_into_more_tasks_and_a_replay_gives_the_same",
            "spark/test_batch_size.py::test_bytes_and_tasks_of_a_job_that_ends_by_itself",
        ),
        case(
            "minPartitions is supported",
            "unit/ranges/test_splitting.py::test_at_least_so_many",
            "unit/options/test_batch_size.py::test_whole_numbers_from_one",
        ),
        case(
            "SPARK-22956: currentPartitionOffsets should be set when no new data comes in",
            "unit/ranges/test_limits.py::test_until",
            "spark/test_query_shapes.py::test_two_sources_of_one_group_of_which_one_has_nothing",
        ),
        case(
            "Trigger.AvailableNow",
            "broker/test_batch_size.py::test_available_now_takes_all_there_was_within_the_most",
            "broker/test_group_life.py::test_available_now_ends_at_the_ends_it_saw_first",
            "spark/test_triggers.py::test_available_now_and_once_drain_everything_and_commit_it",
        ),
        case(
            "AvailableNow should throw error when topic partitions got unavailable",
            "broker/test_data_loss.py::test_a_topic_is_deleted_with_unread_records",
            "broker/test_available_now.py::test_a_topic_recreated_with_fewer_partitions",
            "unit/planning/test_fixed_ends.py::test_a_partition_that_is_gone_is_a_loss_after_a_while",
            why="An error with failOnDataLoss=true; with false a warning, where Spark's source "
            "fails all the same.",
        ),
        case(
            "AvailableNow should throw error when offset(s) got unavailable",
            "broker/test_data_loss.py::test_an_offset_beyond_the_end_at_the_start_of_a_query",
            "broker/test_available_now.py::"
            "test_a_log_that_ends_before_the_end_it_was_to_be_read_to",
            "broker/test_available_now.py::test_records_are_deleted_between_the_plan_and_its_tasks",
            "unit/planning/test_fixed_ends.py::test_an_end_that_is_too_low_is_doubted_then_reported_once",
            why="An error with failOnDataLoss=true; with false a warning, where Spark's source "
            "fails all the same.",
        ),
        case(
            "SPARK-53560: no crash looping during uncommitted batch retry in AvailableNow trigger",
            "broker/test_replays.py::"
            "test_an_unfinished_batch_is_read_again_exactly_also_after_a_second_crash",
            "broker/test_available_now.py::test_a_replay_while_the_topic_gains_partitions",
        ),
    ),
)

TOPICS: Final = Suite(
    "KafkaMicroBatchSourceSuite: topics that come and go",
    (
        case(
            "subscribing topic by pattern with topic deletions",
            "broker/test_group_life.py::test_a_topic_is_deleted_and_the_others_are_read_on",
            "broker/test_group_life.py::"
            "test_a_topic_that_matches_the_pattern_later_is_read_from_its_beginning",
            "broker/test_data_loss.py::test_a_topic_is_deleted_with_unread_records",
        ),
        case(
            "SPARK-41375: empty partitions should not record to latest offset",
            "broker/test_data_loss.py::test_a_topic_that_was_read_whole_may_be_deleted",
            "broker/test_group_life.py::test_more_threads_than_partitions",
            why="A plan without partitions is legal here: a member may hold nothing. What was read "
            "is in the group, not only in the plan.",
        ),
        case(
            "subscribe topic by pattern with topic recreation between batches",
            "broker/test_data_loss.py::test_a_topic_recreated_while_no_member_ran",
            "broker/test_data_loss.py::test_a_recreated_topic_that_zookeeper_does_not_know",
        ),
        case(
            "topic-level offsets tolerate a new topic matching subscribePattern after the start",
            "unit/options/test_spark_cases.py::test_a_word_for_a_whole_topic_is_not_known",
            "unit/ranges/test_positions.py::test_what_appears_after_the_first_plan_starts_at_earliest",
            why="Words for whole topics in startingOffsets are refused by name: see "
            "JsonUtilsSuite.",
        ),
        case(
            "delete a topic when a Spark job is running",
            "contract/test_fetch_ahead.py::"
            "test_a_topic_that_is_gone_is_left_out_where_that_is_wanted",
            "contract/test_fetch_ahead.py::"
            "test_a_log_that_was_cut_is_left_out_where_that_is_wanted",
        ),
        case(
            "stress test with multiple topics and partitions",
            "sim/test_seeds.py::test_a_hundred_and_fifty_seeds_keep_every_promise",
            "chaos/test_chaos.py::test_one_fault_of_each_kind_loses_nothing_and_repeats_nothing"
            "_in_the_table",
            why="Topics are deleted, recreated and grown at random moments: in virtual time every "
            "day; grown on real servers as well, before a release.",
        ),
    ),
)

CHECKPOINT: Final = Suite(
    "KafkaMicroBatchSourceSuite: what the checkpoint has",
    (
        case(
            "(de)serialization of initial offsets",
            "broker/test_first_position.py::test_latest_is_resolved_once_and_survives_a_crash",
            why="Where a query began is written to the group, not to a file of the source.",
        ),
        case(
            "initial offset are written with an extra byte in the beginning (SPARK-19517)",
            why="A file of Spark's own source, which there is none of here.",
        ),
        case(
            "deserialization of initial offset written by Spark 2.1.0 (SPARK-19517)",
            "unit/test_plan.py::test_the_golden_plan_is_read_and_written_to_the_letter",
            why="What an older version wrote is kept as a golden file and read.",
        ),
        case(
            "deserialization of initial offset written by future version",
            "unit/test_plan.py::test_a_plan_from_the_future_is_refused_with_both_numbers",
        ),
        case(
            "default config of includeHeader doesn't break existing query from Spark 2.4",
            why="No earlier version had other columns.",
        ),
        case(
            "async progress tracking",
            "spark/test_query_shapes.py::test_progress_that_is_tracked_asynchronously",
            "broker/test_available_now.py::test_logs_that_lag_behind_what_the_sink_has_taken",
            why="Rows that the sink has taken are committed to the group at the next boundary, "
            "whatever Spark has logged by then; sinks for which Spark has no such tracking are "
            "refused by Spark.",
        ),
    ),
)

ROWS: Final = Suite(
    "KafkaMicroBatchSourceSuite: rows and transactions",
    (
        case(
            "Kafka column types",
            "unit/test_schema.py::test_columns_are_what_spark_expects_for_the_ddl",
            "spark/test_rows_equal.py::test_all_codecs_nulls_and_headers_with_the_producers_time",
        ),
        case(
            "KafkaSource with watermark",
            "spark/test_rows_equal.py::test_a_topic_with_the_brokers_time",
            why="The column `timestamp` is that of Spark's source; watermarks on it are Spark's.",
        ),
        case(
            "SPARK-27494: read kafka record containing null key/values",
            "spark/test_rows_equal.py::test_all_codecs_nulls_and_headers_with_the_producers_time",
        ),
        case(
            "SPARK-56243: malformed record timestamp throws detailed error",
            "unit/records/test_reference_decoder.py::test_a_time_that_no_calendar_holds_is_an_error",
        ),
        case(
            "read Kafka transactional messages: read_committed",
            "contract/test_read_committed.py::test_what_is_read_of_transactions",
            "spark/test_rows_equal.py::test_transactions_committed_aborted_and_still_open",
        ),
        case(
            "read Kafka transactional messages: read_uncommitted",
            "contract/test_read_committed.py::test_what_is_read_of_transactions",
            "spark/test_rows_equal.py::test_transactions_committed_aborted_and_still_open",
        ),
        case(
            "SPARK-25495: FetchedData.reset should reset all fields",
            "contract/test_fetch_ahead.py::test_records_behind_the_end_are_not_handed_over",
            "contract/test_task.py::test_a_task_that_was_killed_half_way_returns_the_same",
            why="Records fetched beyond a range are dropped with the task: none is kept for the "
            "next.",
        ),
    ),
)

QUERY: Final = Suite(
    "KafkaMicroBatchSourceSuite: the query as a whole",
    (
        case(
            "cannot stop Kafka stream",
            "spark/test_triggers.py::test_a_stop_between_long_triggers_does_not_wait_for_the_next",
            "spark/test_stop.py::"
            "test_a_bare_stop_between_sink_and_commit_log_repeats_that_batch_at_most",
        ),
        case(
            "input row metrics",
            "unit/spark/test_member_progress.py::test_offsets_come_as_objects_or_as_text",
            why="Spark counts the rows itself; we read its count.",
        ),
        case(
            "test custom metrics - with rate limit",
            "spark/test_triggers.py::test_the_progress_shows_lag_and_whom_it_waits_for",
            why="A Python source has no `metrics`: the lag is in `latestOffset`.",
        ),
        case(
            "test custom metrics - no rate limit",
            "spark/test_progress.py::test_progress_of_a_member",
        ),
        case(
            "test custom metrics - corner cases",
            "unit/spark/test_member_progress.py::"
            "test_other_sources_and_queries_without_a_batch_are_passed_over",
        ),
        case(
            "SPARK-57438: metrics should not NPE when latestPartitionOffsets is null",
            "unit/spark/test_member_progress.py::test_before_anything_is_reported_the_plan_alone_tells",
        ),
        case(
            "allow group.id prefix",
            "unit/options/test_parse.py::test_a_refused_option_says_why_and_what_instead",
            why="Refused: the members of a group give one name.",
        ),
        case(
            "allow group.id override",
            "unit/options/test_parse.py::test_what_an_option_sets",
            "unit/options/test_parse.py::test_two_names_of_one_option_may_agree",
            why="`kafka.group.id` is `group.id`: the group itself, not a name for ACLs.",
        ),
        case(
            "ensure stream-stream self-join generates only one offset in log",
            "unit/planning/test_drain_box.py::test_two_planners_of_one_load_are_warned_of_each_other",
            why="Not alike: Spark makes a Python source for each side, two members that share "
            "the records. A warning says so; see docs/compared.md.",
        ),
        case(
            "V1 Source is used when disabled through SQLConf",
            why="Python sources have one implementation.",
        ),
        case("V2 Source is used by default", why="Python sources have one implementation."),
    ),
)

CONTINUOUS: Final = Suite(
    "KafkaContinuousSourceSuite, KafkaContinuousSourceTopicDeletionSuite, "
    "KafkaContinuousSourceStressForDontFailOnDataLossSuite",
    (case("all", MODES, why="Spark has no continuous processing for Python sources."),),
)

REAL_TIME: Final = Suite(
    "KafkaRealTimeModeSuite, KafkaRealTimeModeE2ESuite, KafkaRealTimeIntegrationSuite, "
    "KafkaRealTimeModeAggregationSuite, KafkaRealTimeModeWindowSuite, "
    "KafkaRealTimeModeSourceEvolutionSuite",
    (case("all", MODES, why="Spark has no real-time mode for Python sources."),),
)

SUITES: Final = (LIMITS, TOPICS, CHECKPOINT, ROWS, QUERY, CONTINUOUS, REAL_TIME)
