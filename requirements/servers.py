"""Fetches the jars of tests, demo and bench, once per user; says nothing if it has them."""

import sys

from pyspark_zkgroup.delta.jars import delta_jars
from pyspark_zkgroup.errors import SandboxError
from zkgroup_sandbox.kafka_jars import kafka_jars
from zkgroup_sandbox.kafka_source_jars import kafka_source_jars

# The tests' own. Those of the matrix are fetched by it.
LINES = ("3.9", "4.1")


def main() -> None:
    for line in LINES:
        kafka_jars(line, say)
    delta_jars(say)
    kafka_source_jars(say)


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    try:
        main()
    except SandboxError as error:
        sys.exit(f"setup: {error}")
