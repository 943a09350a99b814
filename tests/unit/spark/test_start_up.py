"""What the processes of a query import: each of them delays the first batch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = """
import json, sys
import pyarrow, pyspark.sql.streaming.datasource, pyspark.sql.types
from pyspark_zkgroup.spark.source import DefaultSource
from pyspark.sql.types import StructType
options = {"group.id": "billing", "subscribe": "orders", **json.loads(sys.argv[1])}
source = DefaultSource(options)
"""
OPTIONS = SOURCE + "source.schema()\n"
READER = """
from pyspark.sql.types import LongType
reader = source.streamReader(StructType().add("offset", LongType()))
"""
PLANNER = SOURCE + READER + "reader.planner\n"
PICKLED = SOURCE + READER + "from pyspark.cloudpickle import dumps\ndumps(reader.read)\n"
TASK = """
import pickle, sys
import pyspark_zkgroup.tasks.reading
from pyspark_zkgroup.formats.shaping import RowShape
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.spark.source import ZkGroupPartition, ZkGroupStreamReader
"""
TELL = "print(*sys.modules)\n"

KAFKA = {"kafka.bootstrap.servers": "127.0.0.1:1"}
ZOOKEEPER = {"zookeeper.connect": "127.0.0.1:1"}
NEVER = ("rich", "click", "pyarrow.compute", "pyspark_zkgroup.cli", "pyspark_zkgroup.inspect")
FORMATS = tuple(
    f"pyspark_zkgroup.{room}"
    for room in ("formats.avro", "formats.json", "formats.protobuf", "registry.http")
)
OPTIONS_NEED_NONE = ("kafka", "kazoo", "grpc", "re2", "ssl", "urllib.request", "http")


def loaded(program: str, options: dict[str, str], directory: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", program + TELL, json.dumps(options)],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def forbidden(modules: set[str], *names: str) -> list[str]:
    return sorted(
        m for m in modules if any(m == name or m.startswith(f"{name}.") for name in names)
    )


def protocols(*names: str) -> tuple[str, ...]:
    return tuple(f"pyspark_zkgroup.protocols.{name}" for name in names)


@pytest.mark.parametrize("options", [KAFKA, ZOOKEEPER], ids=["kafka", "zookeeper"])
def test_options_are_parsed_without_servers_formats_or_registry(
    options: dict[str, str], tmp_path: Path
) -> None:
    modules = loaded(OPTIONS, options, tmp_path)

    assert "pyspark_zkgroup.options.parse" in modules
    assert forbidden(modules, *NEVER, *FORMATS, *OPTIONS_NEED_NONE, *protocols("choice")) == []


def test_a_format_is_imported_where_an_option_asks_for_it(tmp_path: Path) -> None:
    options = {**KAFKA, "value.format": "avro", "value.avro.schema": '"long"'}

    modules = loaded(OPTIONS, options, tmp_path)

    assert "pyspark_zkgroup.formats.avro.schema" in modules
    assert forbidden(modules, *NEVER, "pyspark_zkgroup.formats.protobuf", "kafka", "kazoo") == []


@pytest.mark.parametrize(
    ("options", "own", "others"),
    [
        (KAFKA, "kafka", ("assign", "coordinator", "light", "zookeeper", "owned.membership")),
        (ZOOKEEPER, "zookeeper", ("assign", "coordinator", "kafka", "light")),
    ],
    ids=["kafka", "zookeeper"],
)
def test_a_planner_imports_its_own_protocol(
    options: dict[str, str], own: str, others: tuple[str, ...], tmp_path: Path
) -> None:
    modules = loaded(PLANNER, options, tmp_path)

    assert f"pyspark_zkgroup.protocols.{own}.membership" in modules
    assert forbidden(modules, *NEVER, *FORMATS, *protocols(*others)) == []
    if own == "kafka":
        assert forbidden(modules, "kazoo", "pyspark_zkgroup.zk.session") == []


@pytest.mark.parametrize("options", [KAFKA, ZOOKEEPER], ids=["kafka", "zookeeper"])
def test_who_pickles_the_reader_for_the_tasks_reads_no_options(
    options: dict[str, str], tmp_path: Path
) -> None:
    modules = loaded(PICKLED, options, tmp_path)

    assert forbidden(modules, *NEVER, *FORMATS, *OPTIONS_NEED_NONE, "pyspark_zkgroup.options") == []


def test_a_task_imports_neither_options_nor_protocols(tmp_path: Path) -> None:
    modules = loaded(TASK, {}, tmp_path)

    rooms = ("options", "planning", "protocols", "zk", "group", "jvm")
    apart = tuple(f"pyspark_zkgroup.{room}" for room in rooms)
    assert forbidden(modules, *NEVER, *FORMATS, *apart, "kazoo") == []
