"""One small Spark session in the process of the tests, with Delta where there is one."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from pyspark_zkgroup.delta import SETTINGS
from pyspark_zkgroup.delta.jars import delta_jars

CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    # Of small tables. Fifty tasks for each commit's state is what Delta takes by default.
    "spark.databricks.delta.snapshotPartitions": "2",
}
SUBMIT = (
    "--driver-memory 768m"
    ' --driver-java-options "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.io.tmpdir={tmp}"'
    " pyspark-shell"
)
HAS_DELTA = importlib.util.find_spec("delta") is not None


def environment(tmp: Path) -> dict[str, str]:
    return {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": SUBMIT.format(tmp=tmp),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(tmp),
    }


@contextmanager
def session(tmp: Path) -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(tmp).items():
            patch.setenv(name, value)
        builder = SparkSession.builder.master("local[2]").appName("zkgroup-matrix")
        conf = dict(CONF)
        if HAS_DELTA:
            jars = delta_jars(print)
            conf |= {**SETTINGS, "spark.jars": ",".join(map(str, jars))}
        for name, value in conf.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("WARN")
        try:
            yield spark
        finally:
            spark.stop()
            _end_jvm()


def _end_jvm() -> None:
    """It would stay, with all its memory, until the tests' process ends."""
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=60)
    SparkContext._gateway = SparkContext._jvm = None
