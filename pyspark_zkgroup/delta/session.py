"""A Spark session with Delta, for jobs."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.jars.cache import Say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Over TCP each Python task waits some 40 ms for its first byte.
    "spark.python.unix.domain.socket.enabled": "true",
    # A job's output is read by lines.
    "spark.ui.showConsoleProgress": "false",
}


def session(name: str, say: Say) -> SparkSession:
    """Spark with Delta, for jobs. A job run by plain Python gets Delta's jars from the cache of the
    user; one that was submitted has brought its own.
    """
    from pyspark.sql import SparkSession

    from pyspark_zkgroup.delta.jars import delta_jars

    # Else Spark starts the first python3 of the path, which may lack this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    for setting, value in SETTINGS.items():
        builder = builder.config(setting, value)
    if not _brings_jars():
        builder = builder.config("spark.jars", ",".join(map(str, delta_jars(say))))
    spark = builder.getOrCreate()
    if type(spark._jvm.io.delta.tables.DeltaTable).__name__ == "JavaPackage":  # type: ignore[union-attr]
        spark.stop()
        raise DeltaError(
            "Spark has no class io.delta.tables.DeltaTable",
            'Submit with --jars "$(python -m pyspark_zkgroup.delta.jars)"',
        )
    return spark


def _brings_jars() -> bool:
    from pyspark.find_spark_home import _find_spark_home

    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return True
    given = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    if any(word in ("--jars", "--packages") or word.startswith("spark.jars") for word in given):
        return True
    return any((Path(_find_spark_home()) / "jars").glob("delta-spark*.jar"))
