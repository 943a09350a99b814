"""What stands around the reading: offsets as text, options, errors, pools, logins, sinks."""

from __future__ import annotations

from typing import Final

from tests.spark_suites.case import Suite, case

GOLDEN = "unit/test_plan.py::test_the_golden_plan_is_read_and_written_to_the_letter"
SETS = "unit/options/test_parse.py::test_what_an_option_sets"
MESSAGE = "unit/options/test_given.py::test_the_message"
NO_WORD = "unit/options/test_spark_cases.py::test_a_word_for_a_whole_topic_is_not_known"
NOT_YET = "Newer than Spark 4.2. Refused by name."
AT_ONCE = "contract/test_task.py::test_tasks_that_run_at_the_same_time_return_the_same"
NOTHING_KEPT = "Nothing that was fetched outlives its task."
NO_TOKENS = (
    "Delegation tokens come to the JVM's processes; Python workers do not get them. A login by "
    "SCRAM, OAUTHBEARER or Kerberos takes their place."
)

OFFSET: Final = Suite(
    "KafkaSourceOffsetSuite",
    (
        case("basic serialization - deserialization", GOLDEN),
        case(
            "OffsetSeqLog serialization - deserialization",
            GOLDEN,
            why="The log is Spark's; ours is the text in it.",
        ),
        case("read Spark 2.1.0 offset format", GOLDEN),
        case(
            "comparison of offsets; only compare topic partitions co-exist in both offsets",
            "broker/test_replays.py::test_a_plan_that_was_never_logged_was_never_made",
            why="Spark compares offsets of Python sources as text, equal or not. The planner "
            "knows what belongs to this query.",
        ),
    ),
)

PROVIDER: Final = Suite(
    "KafkaSourceProviderSuite",
    (
        case("batch mode - options should be handled as case-insensitive", SETS),
        case(
            "micro-batch mode - options should be handled as case-insensitive",
            SETS,
            "unit/options/test_batch_size.py::test_a_delay",
            "contract/test_look_up_retries.py::"
            "test_who_does_not_answer_is_asked_again_so_many_times_and_then_left_out",
        ),
        case(
            "continuous mode - options should be handled as case-insensitive",
            why="Spark has no continuous processing for Python sources.",
        ),
        case(
            "partition.metadata.cache.ttl.ms validation",
            SETS,
            why="Newer than Spark 4.2, and no option here: `metadata.refresh.ms` says how often "
            "new partitions are looked for.",
        ),
        case(
            "SPARK-59328: disallowed Kafka options (three cases)",
            why="Newer than Spark 4.2, and a configuration of Spark's own source. Here the options "
            "that are known are all there are.",
        ),
    ),
)

JSON: Final = Suite(
    "JsonUtilsSuite",
    (
        case("parsing partitions", SETS),
        case("parsing partitionOffsets", SETS),
        case("parsing specificOffsets", SETS),
        case(
            "parsing specificOffsets with topic-level earliest/latest",
            NO_WORD,
            why=NOT_YET,
        ),
        case(
            "parsing specificOffsets mixing topic-level and partition-level values",
            NO_WORD,
            why=NOT_YET,
        ),
        case("parsing specificOffsets rejects a topic given in both forms", MESSAGE),
        case(
            "parsing specificOffsets rejects malformed json",
            MESSAGE,
            "unit/options/test_spark_cases.py::test_what_is_no_position",
        ),
    ),
)

ERRORS: Final = Suite(
    "KafkaExceptionsSuite",
    (
        case(
            "all",
            "unit/test_errors.py::test_each_error_has_a_separate_code",
            "unit/test_errors.py::test_the_text_holds_code_what_and_remedy",
            why="Spark's SQL states belong to errors of the JVM; ours have codes of their own.",
        ),
    ),
)

CONF: Final = Suite(
    "KafkaSparkConfSuite",
    (case("deprecated configs", why="No configuration of Spark's Kafka source is read here."),),
)

CONSUMER: Final = Suite(
    "KafkaDataConsumerSuite",
    (
        case(
            "SPARK-19886: Report error cause correctly in throwOnDataLoss",
            "unit/test_errors.py::test_an_error_travels_from_task_to_driver_whole",
            "contract/test_task.py::test_errors_reach_the_driver_whole",
        ),
        case(
            "new KafkaDataConsumer instance in case of Task retry",
            "contract/test_task.py::test_a_task_that_is_tried_again_returns_the_same",
            "contract/test_cluster.py::test_a_lease_that_fails_is_closed",
            "spark/test_triggers.py::test_a_task_that_is_tried_again_reads_the_same_rows",
        ),
        case(
            "same KafkaDataConsumer instance in case of same token",
            "contract/test_cluster.py::test_connections_are_kept",
            "contract/test_task.py::test_connections_are_warm_in_the_next_task",
            why=NO_TOKENS,
        ),
        case("new KafkaDataConsumer instance in case of token renewal", why=NO_TOKENS),
        case("SPARK-23623: concurrent use of KafkaDataConsumer", AT_ONCE),
        case(
            "SPARK-25151 Handles multiple tasks in executor fetching same (topic, partition) pair "
            "(three cases)",
            AT_ONCE,
            "contract/test_cluster.py::test_threads_get_clusters_of_their_own",
            why=NOTHING_KEPT,
        ),
    ),
)

POOL: Final = Suite(
    "InternalKafkaConsumerPoolSuite",
    (
        case(
            "basic multiple borrows and returns for single key; for multiple keys",
            "contract/test_cluster.py::test_a_lease_that_ends_well_is_lent_again",
            why="What is lent is a task's connections to all brokers, not one for each partition.",
        ),
        case(
            "borrow more than soft max capacity from pool (two cases)",
            "contract/test_cluster.py::test_the_pool_keeps_a_bounded_number",
        ),
        case(
            "evicting idle objects on background",
            "contract/test_kafka_python.py::test_the_manager_knows_our_settings",
            why="`kafka.connections.max.idle.ms` closes them, in the client.",
        ),
        case(
            "borrowing with different kafkaParams after invalidateKey, after reset",
            "unit/kafka/test_fetch_settings.py::test_settings_travel_and_are_a_key",
            "contract/test_cluster.py::test_a_lease_that_fails_is_closed",
        ),
    ),
)

FETCHED: Final = Suite("FetchedDataPoolSuite", (case("all", why=NOTHING_KEPT),))

TOKENS: Final = Suite(
    "KafkaDelegationTokenSuite",
    (
        case(
            "all",
            "broker/test_kafka_security.py::test_an_admitted_client_reads",
            "broker/test_kafka_security.py::test_a_refused_client_learns_why_at_once",
            "spark/test_secured.py::test_a_query_reads_and_shows_no_secret",
            why=NO_TOKENS,
        ),
    ),
)

SINK: Final = Suite(
    "KafkaSinkSuite, InternalKafkaProducerPoolSuite",
    (
        case(
            "all",
            "unit/spark/test_source.py::test_it_writes_nothing",
            why='zkgroup is a source: write with `format("kafka")`.',
        ),
    ),
)

SUITES: Final = (
    *(OFFSET, PROVIDER, JSON, ERRORS, CONF),
    *(CONSUMER, POOL, FETCHED, TOKENS, SINK),
)
