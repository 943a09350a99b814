"""Records the classes that a Spark of the tests loads, for the Sparks after it to map.

    python -m tests.harness.spark_classes FILE

A JVM that is given FILE (-XX:SharedArchiveFile) needs 10 instead of 16 seconds of a core for a
session that writes and reads a table. One that is not the JVM of the recording, or whose jars are
others, does without it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from pyspark import SparkContext

from pyspark_zkgroup import delta

ENDS_S = 120.0


def record(file: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        recording = file.with_suffix(".part")
        # The JVM says of each class that it leaves out why.
        os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:ArchiveClassesAtExit={recording} -Xlog:cds=off"
        table = str(Path(scratch) / "table")
        spark = delta.session("classes")
        spark.range(100).write.format("delta").save(table)
        sink = spark.readStream.format("delta").load(table).writeStream.format("noop")
        checkpoint = str(Path(scratch) / "checkpoint")
        query = sink.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        spark.stop()
        jvm = SparkContext._gateway.proc  # type: ignore[union-attr]
        jvm.stdin.close()  # it ends, and writes
        jvm.wait(ENDS_S)
        recording.replace(file)


if __name__ == "__main__":
    record(Path(sys.argv[1]).absolute())
