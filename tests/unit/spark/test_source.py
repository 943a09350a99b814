"""What Spark meets first: the schema at `load()`, and what a reader is refused for. No JVM."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    VariantType,
)

from pyspark_zkgroup import schema
from pyspark_zkgroup.errors import DependencyError, OptionError
from pyspark_zkgroup.formats.shaping import RowShape
from pyspark_zkgroup.schema import spark_ddl
from pyspark_zkgroup.spark.columns import columns_of
from pyspark_zkgroup.spark.source import DefaultSource, ZkGroupStreamReader
from tests.harness.decoder import needs_decoder
from tests.harness.given_options import LEAST

COLUMNS = (
    StructType()
    .add("key", BinaryType())
    .add("value", BinaryType())
    .add("topic", StringType())
    .add("partition", IntegerType())
    .add("offset", LongType())
    .add("timestamp", TimestampType())
    .add("timestampType", IntegerType())
)
CORRUPT = StructType().add("bytes", BinaryType()).add("reason", StringType())
HEADER = StructType().add("key", StringType()).add("value", BinaryType())
WITH_HEADERS = StructType([*COLUMNS.fields]).add("headers", ArrayType(HEADER))

Reader = Callable[[DefaultSource, StructType], Any]


def stream_reader(source: DefaultSource, given: StructType) -> Any:
    """The error of a reader that is refused comes with Spark's first question."""
    reader = source.streamReader(given)
    reader.getDefaultReadLimit()
    return reader


def shape_of(reader: Any) -> RowShape:
    return reader.asked.shape if isinstance(reader, ZkGroupStreamReader) else reader._shape


READERS = pytest.mark.parametrize("reader", [stream_reader, DefaultSource.reader])


def source(**options: str) -> DefaultSource:
    return DefaultSource({**LEAST, **options})


def test_the_schema_is_known_at_load_and_headers_are_asked_for() -> None:
    assert source().schema() == spark_ddl(schema.COLUMNS)
    assert source(INCLUDEHEADERS="True").schema() == spark_ddl(schema.WITH_HEADERS)


def test_a_wrong_option_fails_at_load() -> None:
    with pytest.raises(OptionError, match="'thraeds'"):
        source(thraeds="4").schema()


@READERS
@pytest.mark.parametrize(
    "given",
    [
        COLUMNS,
        WITH_HEADERS,
        StructType(COLUMNS.fields[::-1]),
        StructType().add("value", StringType()),
        StructType().add("offset", LongType()).add("key", StringType()),
    ],
)
def test_the_schema_names_the_columns(reader: Reader, given: StructType) -> None:
    assert shape_of(reader(source(), given)).columns == columns_of(given)


@READERS
@pytest.mark.parametrize(
    ("given", "what", "remedy"),
    [
        (StructType(), "names no column", "Name some of: key, value, topic, partition"),
        (
            StructType().add("Value", BinaryType()),
            "'Value', which records do not have",
            "Did you mean 'value'? Name some of: key, value,",
        ),
        (StructType().add("x", BinaryType()), "'x', which records do not have", "Name some of"),
        (
            StructType().add("key", BinaryType()).add("key", StringType()),
            "'key' twice",
            "Name it once",
        ),
        (
            StructType().add("partition", StringType()),
            "gives the column 'partition' the type STRING, but it is INT",
            "Write 'partition INT' in the schema, and cast it after load()",
        ),
        (
            StructType().add("value", LongType()),
            "gives the column 'value' the type BIGINT, but it is BINARY or STRING",
            "Write 'value BINARY'",
        ),
        (
            StructType().add("headers", ArrayType(StringType())),
            "the type array<string>, but it is array<struct<key:string,value:binary>>",
            "Write 'headers array<struct<key:string,value:binary>>'",
        ),
        (
            StructType().add("value", BinaryType(), nullable=False),
            "declares 'value' NOT NULL",
            "Remove NOT NULL",
        ),
        (
            StructType().add("headers", ArrayType(HEADER, containsNull=False)),
            "declares 'headers.element' NOT NULL",
            "Remove NOT NULL",
        ),
    ],
)
def test_a_schema_that_rows_cannot_have_is_refused(
    reader: Reader, given: StructType, what: str, remedy: str
) -> None:
    with pytest.raises(OptionError) as caught:
        reader(source(), given)
    assert what in caught.value.what
    assert remedy in caught.value.remedy


@READERS
def test_headers_are_not_asked_for_and_left_out(reader: Reader) -> None:
    with pytest.raises(OptionError, match=r"'includeHeaders' is 'true', but \.schema"):
        reader(source(includeHeaders="true"), COLUMNS)
    assert reader(source(includeHeaders="true"), WITH_HEADERS)


VALUE = StructType().add("id", LongType())


@needs_decoder
@READERS
def test_a_format_gives_a_column_its_type(reader: Reader) -> None:
    given = StructType().add("value", VALUE).add("corrupt", CORRUPT)
    made = reader(source(**{"value.format": "json"}), given)
    assert [name for name, _ in shape_of(made).formats] == ["value"]
    assert source(**{"value.format": "string"}).schema().startswith("key binary, value string,")


@READERS
@pytest.mark.parametrize(
    ("given", "options", "what"),
    [
        (StructType().add("value", VALUE), {}, "gives the column 'value' the type struct<id:"),
        (
            StructType().add("value", StringType()),
            {"value.format": "json"},
            "value is string, but JSON becomes STRUCT, ARRAY or MAP",
        ),
        (
            StructType().add("value", MapType(LongType(), LongType())),
            {"value.format": "json"},
            "the keys of value are bigint, but those of JSON are STRING",
        ),
        (
            StructType().add("value", StructType().add("v", VariantType())),
            {"value.format": "json"},
            "value.v is variant, which is not supported",
        ),
        (
            StructType().add("value", StructType().add("t", TimestampType())),
            {"value.format": "json"},
            "Option 'json.timeZone' is missing",
        ),
        (
            StructType().add("offset", LongType()).add("corrupt", CORRUPT),
            {"value.format": "json"},
            "names the column 'corrupt', but keys and values are read as bytes",
        ),
    ],
)
def test_a_type_that_a_format_cannot_give_is_refused(
    reader: Reader, given: StructType, options: dict[str, str], what: str
) -> None:
    with pytest.raises(OptionError) as caught:
        reader(source(**options), given)
    assert what in caught.value.what


@READERS
def test_fields_that_are_named_as_columns_are_shown_their_place(reader: Reader) -> None:
    with pytest.raises(OptionError) as caught:
        reader(source(**{"value.format": "json"}), VALUE)
    assert "'id', which records do not have" in caught.value.what
    assert "Fields of the values go into their column: value STRUCT<id: ...>. " in (
        caught.value.remedy
    )


def test_json_without_a_schema_is_refused_at_load() -> None:
    with pytest.raises(OptionError, match=r"'value\.format' is 'json', but there is no \.schema"):
        source(**{"value.format": "json"}).schema()
    with pytest.raises(OptionError, match="is 'Mars', which is no time zone"):
        source(**{"json.timeZone": "Mars"}).schema()


@pytest.mark.parametrize(
    "limits",
    [{"maxOffsetsPerTrigger": "9"}, {"maxBytesPerTrigger": "1m", "maxOffsetsPerTrigger": "9"}],
)
def test_a_limit_on_a_spark_that_does_not_tell_the_trigger(
    monkeypatch: pytest.MonkeyPatch, limits: dict[str, str]
) -> None:
    """Else a job whose one batch is cut would end as if it had read everything."""
    stream_reader(source(**limits), COLUMNS)
    monkeypatch.setattr("pyspark_zkgroup.spark.source.HAS_ADMISSION_CONTROL", False)
    with pytest.raises(OptionError) as caught:
        stream_reader(source(**limits), COLUMNS)
    assert all(name in caught.value.what for name in limits)
    assert "Set endsByItself=true for such a query" in caught.value.remedy
    for told in ("true", "false"):
        stream_reader(source(**limits, endsByItself=told), COLUMNS)
    stream_reader(source(minOffsetsPerTrigger="9"), COLUMNS)
    source(**limits).reader(COLUMNS)


@pytest.mark.parametrize("writer", [DefaultSource.writer, DefaultSource.streamWriter])
def test_it_writes_nothing(writer: Callable[..., Any]) -> None:
    with pytest.raises(OptionError, match="The format zkgroup only reads"):
        writer(source(), COLUMNS, False)


def test_an_error_of_ours_has_one_frame_of_ours_and_no_other_error() -> None:
    wrong = source(thraeds="4")
    reader = wrong.streamReader(COLUMNS)

    for ask in (wrong.schema, reader.initialOffset, lambda: reader.latestOffset({}, None)):
        with pytest.raises(OptionError) as caught:
            ask()
        paths = [Path(at.path) for at in caught.traceback]
        assert [at.name for at in paths if "pyspark_zkgroup" in at.parts] == ["plain_errors.py"]
        assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert "start" in inspect.signature(reader.latestOffset).parameters


def test_a_worker_without_a_package_names_its_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is started in a clone: workers of another Python import the package there."""

    def parse(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    monkeypatch.setattr("pyspark_zkgroup.options.parse", parse)
    for ask in (DefaultSource.schema, lambda made: stream_reader(made, COLUMNS)):
        with pytest.raises(DependencyError, match="does not have the package pyarrow") as error:
            ask(source())
        assert sys.executable in str(error.value)
        assert "export PYSPARK_PYTHON=$(which python)" in str(error.value)
