"""Makes Spark sessions that can write Delta, and says what another one lacks."""

from __future__ import annotations

import os
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.jars.cache import Say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OF_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
SETTINGS = {
    **_OF_DELTA,
    # Over TCP each Python task waits some 40 ms for its first byte.
    "spark.python.unix.domain.socket.enabled": "true",
    # A job's output is read by lines.
    "spark.ui.showConsoleProgress": "false",
}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def session(name: str = "zkgroup", say: Say = _say) -> SparkSession:
    """Return a session with Delta's jars and extensions, Unix sockets, unchecked access to Arrow's
    memory in the driver's JVM, and workers that use this Python. Under plain Python the jars come
    from the user's cache; a submitted job brings its own.

    `name`: the application's name. `say`: receives a message for each download, by default printed.

        spark = session("orders to Delta")
    """
    from pyspark.sql import SparkSession

    from pyspark_zkgroup.delta.jars import delta_jars

    # Otherwise Spark starts the first python3 of the path, which may lack this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    for setting, value in SETTINGS.items():
        builder = builder.config(setting, value)
    if not _brings_jars():
        builder = builder.config("spark.jars", ",".join(map(str, delta_jars(say))))
    before = SparkSession.getActiveSession()
    spark = builder.getOrCreate()
    try:
        check_session(spark)
    except DeltaError:
        if before is None:
            spark.stop()
        raise
    _read_arrow_unchecked(spark)
    return spark


def _read_arrow_unchecked(spark: SparkSession) -> None:
    """Without this, Spark's JVM checks each access to the columns that tasks send.

    Arrow asks for the property when its first class is loaded, by the first query that needs it.
    """
    jvm: Any = spark._jvm
    jvm.java.lang.System.getProperties().putIfAbsent("arrow.enable_unsafe_memory_access", "true")


def check_session(spark: SparkSession) -> None:
    """Raise DeltaError with what is missing, and the lines to add."""
    check_has_jvm(spark)
    if find_spec("delta") is None:
        raise DeltaError(
            "The Python package delta-spark is not installed for this Python",
            "Run: python -m pip install 'pyspark-zkgroup[delta]'",
        )
    jvm: Any = spark._jvm
    if type(jvm.io.delta.tables.DeltaTable).__name__ == "JavaPackage":
        raise DeltaError(
            "This Spark session has no Delta jars: Spark has no class io.delta.tables.DeltaTable",
            _REMEDY,
        )
    # Databricks has Delta without any setting. Another catalog may know Delta's tables, too.
    missing = [name for name, value in _OF_DELTA.items() if not _is_set(spark, name, value)]
    if missing and "DATABRICKS_RUNTIME_VERSION" not in os.environ:
        raise DeltaError(f"This Spark session lacks Delta's {' and '.join(missing)}", _REMEDY)


def check_has_jvm(spark: SparkSession) -> None:
    """Raise DeltaError in a Spark Connect session, whose driver is another process."""
    if type(spark).__module__.startswith("pyspark.sql.connect."):
        raise DeltaError.of("no_jvm")


def _is_set(spark: SparkSession, name: str, value: str) -> bool:
    given = spark.conf.get(name, "") or ""
    return bool(given) if name.endswith("catalog") else value in given


_REMEDY = (
    "Create it with spark = pyspark_zkgroup.delta.session() before any other session; or submit "
    'with --jars "$(python -m pyspark_zkgroup.delta.jars)" '
    + " ".join(f"--conf {name}={value}" for name, value in _OF_DELTA.items())
)


def _brings_jars() -> bool:
    from pyspark.find_spark_home import _find_spark_home

    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return True
    given = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    if any(word in ("--jars", "--packages") or word.startswith("spark.jars") for word in given):
        return True
    return any((Path(_find_spark_home()) / "jars").glob("delta-spark*.jar"))
