"""Programs on the jars of the brokers' own Kafka: its consumer, and its assignors."""

from __future__ import annotations

import os

from pyspark_zkgroup.sandbox.java import find_java
from pyspark_zkgroup.sandbox.kafka_jars import KAFKA_VERSIONS, kafka_jars
from pyspark_zkgroup.sandbox.pyspark_jars import logging_jars
from tests.interop.old_kafka import FLAGS, HERE, compiled

LINE = "3.9"


def command(program: str, *arguments: str) -> list[str]:
    java = find_java()
    jars = sorted(kafka_jars(LINE, java, print).glob("*.jar"))
    classes = compiled(java, HERE / f"{program}.java", KAFKA_VERSIONS[LINE], jars)
    path = os.pathsep.join(map(str, [classes, *logging_jars(), *jars]))
    return [str(java), *FLAGS, "-cp", path, program, *arguments]
