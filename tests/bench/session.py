"""One Spark for both sources, with the settings that the documentation recommends."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pyspark_zkgroup.delta import SETTINGS
from pyspark_zkgroup.delta.jars import delta_jars
from pyspark_zkgroup.jars.cache import Say
from tests.bench.cases import SINKS
from tests.bench.machine import CORES
from zkgroup_sandbox.kafka_source_jars import kafka_source_jars

ROOT = Path(__file__).resolve().parents[2]
DRIVER_MEMORY = "2g"
UNIX_SOCKETS = "spark.python.unix.domain.socket.enabled"
PROGRESS_KEPT = 1_000


def settings(unix_sockets: bool) -> dict[str, str]:
    """The settings that the documentation recommends. They do not affect Spark's own source."""
    return {
        "spark.master": f"local[{CORES}]",
        "spark.driver.memory": DRIVER_MEMORY,
        "spark.driver.extraJavaOptions": "-Darrow.enable_unsafe_memory_access=true",
        UNIX_SOCKETS: str(unix_sockets).lower(),
    }


@contextmanager
def spark_session(
    scratch: Path,
    say: Say,
    *,
    unix_sockets: bool = True,
    delta: bool = False,
    more_jars: Sequence[Path] = (),
) -> Iterator[SparkSession]:
    """`delta` is for the peer's Delta sink: our commits need no jars."""
    jars = [*kafka_source_jars(say), *(delta_jars(say) if delta else ()), *more_jars]
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ.pop("PYSPARK_SUBMIT_ARGS", None)  # the memory of the tests' drivers
    # Workers import the bare source by its name.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
    )
    builder = SparkSession.builder.appName("zkgroup bench")
    given = {
        **(SETTINGS if delta else {}),
        **settings(unix_sockets),
        "spark.jars": ",".join(map(str, jars)),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": str(scratch),
        "spark.sql.streaming.numRecentProgressUpdates": str(PROGRESS_KEPT),
    }
    for name, value in given.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


class JavaCodecs:
    """Compresses as Kafka's Java producer does, by its own classes: their frames and block sizes
    are what consumers meet.
    """

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark.sparkContext._jvm
        self._kafka = jvm.org.apache.kafka.common

    def __call__(self, codec: str, data: bytes) -> bytes:
        buffer = self._kafka.utils.ByteBufferOutputStream(len(data) + 1024)
        stream = self._kafka.compress.Compression.of(codec).build().wrapForOutput(buffer, 2)
        stream.write(data)
        stream.close()
        filled = buffer.buffer()
        filled.flip()
        return bytes(self._kafka.utils.Utils.readBytes(filled))


@contextmanager
def fresh(directory: Path) -> Iterator[Path]:
    """For one run: a checkpoint, and what the sink writes."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def sink_of(frame: Any, sink: str, directory: Path) -> Any:
    """The frame's writer, with its checkpoint."""
    if sink not in SINKS:
        raise ValueError(f"no sink is called {sink!r}")
    writer = frame.writeStream.format(sink)
    writer = writer.option("checkpointLocation", str(directory / "checkpoint"))
    return writer.option("path", str(directory / "rows")) if sink == "parquet" else writer
