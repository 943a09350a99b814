"""The command line tools of a present Kafka, each in a separate JVM."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from pyspark_zkgroup.jars.cache import Release
from pyspark_zkgroup.jars.java import find_java
from pyspark_zkgroup.jars.maven import release_jars
from tests.interop.old_kafka import FLAGS
from zkgroup_sandbox.kafka_jars import KAFKA_VERSIONS, RECORD, kafka_jars
from zkgroup_sandbox.pyspark_jars import logging_jars

LINE = "3.9"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
ANSWER_DEADLINE_S = 60.0


def run(tool: str, *arguments: str) -> str:
    """What it printed on the standard output."""
    done = subprocess.run(
        _command(tool, arguments, LINE),
        capture_output=True,
        text=True,
        timeout=ANSWER_DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, (tool, done.stdout, done.stderr)
    return done.stdout


def start(tool: str, *arguments: str, line: str = LINE) -> subprocess.Popen[bytes]:
    """One that does not end by itself."""
    return subprocess.Popen(
        _command(tool, arguments, line), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _command(tool: str, arguments: Sequence[str], line: str) -> list[str]:
    java = find_java()
    tools = Release(KAFKA_VERSIONS[line], "", artifact="kafka-tools")
    jars = release_jars(tools, RECORD, print)
    jars += sorted(kafka_jars(line, print).glob("*.jar"))
    path = os.pathsep.join(map(str, [*logging_jars(), *jars]))
    return [str(java), *FLAGS, "-cp", path, tool, *arguments]
