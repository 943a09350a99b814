"""Another Spark session that optimizes a Delta table again and again, and removes its old files.

    python -m tests.spark.optimizer TABLE

Prints a line after each round, and ends with its standard input.
"""

from __future__ import annotations

import sys

from deltalake import DeltaTable

from pyspark_zkgroup import delta
from tests.harness.starter import end_with_starter
from tests.harness.waiting import wait_until

OTHERS_COMMITS, PATIENCE_S = 5, 600.0


def main(table: str) -> None:
    end_with_starter()
    spark = delta.session("optimizer", lambda _: None)
    spark.sparkContext.setLogLevel("ERROR")
    while True:
        with delta.alone(spark, table):
            [found] = spark.sql(f"OPTIMIZE delta.`{table}`").collect()
            spark.sql(f"VACUUM delta.`{table}`")
            version = DeltaTable(table).version()
        print(f"{found.metrics.numFilesRemoved} files rewritten", flush=True)
        # The lock has no turns: a session that takes it again at once keeps the others out.
        wait_until(
            lambda seen=version: DeltaTable(table).version() > seen + OTHERS_COMMITS,  # type: ignore[misc]
            PATIENCE_S,
            "commits of others",
        )


if __name__ == "__main__":
    main(sys.argv[1])
