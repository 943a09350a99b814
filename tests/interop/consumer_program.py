"""Programs on the jars of the brokers' own Kafka: its consumer, and its assignors."""

from __future__ import annotations

import os

from pyspark_zkgroup.jars.java import find_java
from tests.interop.old_kafka import FLAGS, HERE, compiled
from zkgroup_sandbox.kafka_jars import KAFKA_VERSIONS, kafka_jars
from zkgroup_sandbox.pyspark_jars import logging_jars

LINE = "3.9"


def command(program: str, *arguments: str, line: str = LINE) -> list[str]:
    java = find_java()
    jars = sorted(kafka_jars(line, print).glob("*.jar"))
    classes = compiled(java, HERE / f"{program}.java", KAFKA_VERSIONS[line], jars)
    path = os.pathsep.join(map(str, [classes, *logging_jars(), *jars]))
    return [str(java), *FLAGS, "-cp", path, program, *arguments]
