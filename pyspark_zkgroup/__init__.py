"""Spark Structured Streaming reads Kafka as a member of a ZooKeeper consumer group:
`format("zkgroup")`.

Every Spark query of a machine imports this module to look for data sources, so it opens nothing and
loads nothing before it is asked for: not even pyspark, which the command line does without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark_zkgroup._version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pyspark_zkgroup.spark.listener import ProgressListener
    from pyspark_zkgroup.spark.progress import progress, progress_frame, read_progress
    from pyspark_zkgroup.spark.running import run_until_stopped, stop_on_sigterm
    from pyspark_zkgroup.spark.source import DefaultSource
    from pyspark_zkgroup.spark.stopping import stop

__all__ = [
    "DefaultSource",
    "ProgressListener",
    "__version__",
    "progress",
    "progress_frame",
    "read_progress",
    "register",
    "run_until_stopped",
    "stop",
    "stop_on_sigterm",
]

_LATER = {
    "DefaultSource": "pyspark_zkgroup.spark.source",
    "ProgressListener": "pyspark_zkgroup.spark.listener",
    "read_progress": "pyspark_zkgroup.spark.progress",
    "stop": "pyspark_zkgroup.spark.stopping",
    "run_until_stopped": "pyspark_zkgroup.spark.running",
    "stop_on_sigterm": "pyspark_zkgroup.spark.running",
    "progress": "pyspark_zkgroup.spark.progress",
    "progress_frame": "pyspark_zkgroup.spark.progress",
}


def register(spark: SparkSession) -> None:
    """Register the source in `spark`, a session that was started before the package was installed.

    Raises DependencyError if Spark's Python workers cannot import the package, or if their Python
    has another version than the driver's.

        register(spark)
        orders = spark.readStream.format("zkgroup").options(**options).load()
    """
    import os

    from pyspark.sql.utils import is_remote

    from pyspark_zkgroup.spark.source import DefaultSource
    from pyspark_zkgroup.spark.worker_python import check_worker_python

    if not is_remote():  # the workers of Spark Connect are the server's
        check_worker_python(os.environ.get("PYSPARK_PYTHON", "python3"))
    spark.dataSource.register(DefaultSource)


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)
