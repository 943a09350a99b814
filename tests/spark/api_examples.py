"""Runs the examples in the docstrings of public names, in one Spark session.

    python -m tests.spark.api_examples FILE

FILE is JSON: the `options` of the reader, a `directory`, and how many `rows` the topic has. Prints,
as JSON, for each example the error if it failed, or what the table lacks.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pyspark_zkgroup import delta
from tests.documents.reference import MODULES, example, public
from tests.harness.waiting import wait_until

STARTS_S = 60.0
ENDED = ("run_until_stopped", "stop_on_sigterm")
"""Their examples wait for the end of the query, so it ends by itself."""


class Examples:
    def __init__(
        self, spark: SparkSession, options: Mapping[str, str], directory: Path, rows: int
    ) -> None:
        self.spark = spark
        self.options = options
        self.directory = directory
        self.rows = rows

    def run(self, name: str, found: Any) -> str:
        """Return why the example failed; empty if it did not."""
        directory = self.directory / name
        directory.mkdir()
        text = example(found).replace("/data/", f"{directory}/").replace("9464", "0")
        options = {**self.options, "group.id": f"{self.options['group.id']}-{name}"}
        orders = self.spark.readStream.format("zkgroup").options(**options).load()
        needs_query = "query" in text and "query =" not in text
        query = self._query(orders, directory, name) if needs_query else None
        given: dict[str, Any] = {
            "spark": self.spark,
            "options": options,
            "orders": orders,
            "query": query,
            "appender": delta.appender,
            name: found,
        }
        try:
            if name == "alone":
                self.spark.range(3).write.format("delta").save(str(directory / "billing"))
            exec(compile(text, name, "exec"), given)
            return "" if given["query"] is query else self._missing(directory)
        except Exception:  # noqa: BLE001 - the test reports it
            return traceback.format_exc()
        finally:
            for left in self.spark.streams.active:
                left.stop()

    def _query(self, orders: DataFrame, directory: Path, name: str) -> StreamingQuery:
        writer = orders.writeStream.format("noop").option("checkpointLocation", f"{directory}/noop")
        if name in ENDED:
            return writer.trigger(availableNow=True).start()
        query = writer.start()

        def has_read() -> bool:
            return any(one["numInputRows"] for one in query.recentProgress)

        wait_until(has_read, STARTS_S, "the first rows")
        return query

    def _missing(self, directory: Path) -> str:
        table = str(directory / "billing")

        def count() -> int:
            return self.spark.read.format("delta").load(table).count()

        def is_full() -> bool:
            return (Path(table) / "_delta_log").exists() and count() >= self.rows

        wait_until(is_full, STARTS_S, f"{self.rows} rows")
        return "" if count() == self.rows else f"{count()} rows"


def main(path: Path) -> None:
    told = json.loads(path.read_text("utf-8"))
    spark = delta.session("examples", print)
    spark.sparkContext.setLogLevel("ERROR")
    examples = Examples(spark, told["options"], Path(told["directory"]), told["rows"])
    found = {
        name: examples.run(name, one) for module in MODULES for name, one in public(module).items()
    }
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
