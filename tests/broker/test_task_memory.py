"""What a task holds in memory does not grow with its ranges."""

from __future__ import annotations

import subprocess
import sys
import uuid

import pytest

from tests.harness.record_batches import Record, batch
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.kafka_wire import Connection, parse_addresses

ROWS, ROWS_PER_BATCH, PARTITIONS = 10_000_000, 1000, 4
ABOVE_IDLE_MAX_BYTES = 250 << 20

# Writing 5 there restarts the count of the largest size.
READING = """
import sys
from pathlib import Path
from pyspark_zkgroup.tasks import reading
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.plan import TaskInput, TaskRange

def size(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])

bootstrap, topic, each = sys.argv[1], sys.argv[2], int(sys.argv[3])
ranges = [TaskRange(TopicPartition(topic, n), OffsetRange(0, each)) for n in range(4)]
given = TaskInput("member-0", tuple(ranges)), FetchSettings((bootstrap,))
idle = size("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
rows = sum(b.num_rows for b in reading.read(*given))
print(rows, size("VmHWM") - idle)
"""


@pytest.mark.long
def test_ten_million_records(sandbox: Sandbox) -> None:
    topic = f"memory-{uuid.uuid4().hex[:8]}"
    sandbox.create_topic(topic, PARTITIONS)
    ready = batch([Record(n, b"k%04d" % n, b"%0100d" % n) for n in range(ROWS_PER_BATCH)])
    connection = Connection(parse_addresses(sandbox.bootstrap_servers)[0], 10.0)
    for _ in range(ROWS // ROWS_PER_BATCH // PARTITIONS):
        for partition in range(PARTITIONS):
            answer = connection.produce(topic, {partition: ready}, 5000)
            assert answer[partition].error == 0
    connection.close()
    each = ROWS // PARTITIONS
    command = [sys.executable, "-c", READING, sandbox.bootstrap_servers, topic, str(each)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=280)
    rows, above_idle = (int(word) for word in done.stdout.split())
    assert rows == ROWS
    print(f"{above_idle / 2**20:.0f} MiB above idle")
    assert above_idle < ABOVE_IDLE_MAX_BYTES
