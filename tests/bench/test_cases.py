"""Which cases there are, and which of them the reader's words choose."""

from __future__ import annotations

import pytest

from tests.bench.cases import (
    CASES,
    DECODE,
    EVERYTHING,
    MEMORY,
    SHORT,
    TRIGGER,
    BenchError,
    by_topic,
    chosen,
)
from tests.bench.course import Plan


def test_every_size_codec_and_sink_is_a_case() -> None:
    assert len(CASES) == 3 * 4 * 2 + 4 + 1 + 4
    assert {"100B-delta", "1kB-delta", "json-delta", "avro-delta"} < set(CASES)
    assert {"100B-none-noop", "1kB-zstd-parquet", "10kB-snappy-noop"} < set(CASES)
    assert {"json-flat", "json-nested", "avro-registry", "protobuf"} < set(CASES)
    assert {"100B-none-noop", "100B-snappy-noop", "1kB-none-noop"} < set(SHORT) < set(CASES)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("100B-none-noop", ("100B-none-noop",)),
        ("1kB-none-*, decode", ("1kB-none-noop", "1kB-none-parquet", DECODE)),
        ("memory 10kB-lz4-noop memory", ("10kB-lz4-noop", MEMORY)),
        ("trigger*", (TRIGGER,)),
        ("100B-lz4-value protobuf", ("100B-lz4-value", "protobuf")),
    ],
)
def test_words_choose_cases_in_the_order_of_the_bench(words: str, names: tuple[str, ...]) -> None:
    assert chosen(words) == names


def test_no_word_means_everything_or_the_short_bench() -> None:
    assert chosen(" , ") == EVERYTHING
    assert chosen("", short=True) == SHORT


def test_a_word_for_nothing_is_refused_and_names_are_shown() -> None:
    with pytest.raises(BenchError, match=r"'2kB-none'.* like 100B-none-noop.*decode or memory"):
        chosen("100B-none-noop,2kB-none")


def test_cases_on_the_same_records_share_a_topic() -> None:
    grouped = by_topic(["100B-none-noop", "100B-none-parquet", "100B-lz4-noop", "decode"])

    assert [(s.name, codec, len(cases)) for (s, codec), cases in grouped.items()] == [
        ("100B", "none", 2),
        ("100B", "lz4", 1),
    ]
    assert Plan(("avro-delta", "100B-delta"), 1, 1.0).records == {"avro-registry", "100B"}


def test_records_fill_batches_and_rows_are_scaled() -> None:
    plan = Plan(("100B-none-noop", "10kB-none-noop"), repeats=1, scale=0.001)
    sizes = [plan.scaled(CASES[name].size) for name in plan.names]

    assert [size.rows for size in sizes] == [4_000, 80]
    assert [size.batch_records for size in sizes] == [655, 6]
