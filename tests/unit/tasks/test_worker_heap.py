"""In separate processes: a frozen heap would mix with that of pytest."""

from __future__ import annotations

import subprocess
import sys

FROZEN_ONCE = """
import gc
from pyspark_zkgroup.tasks import reading
from pyspark_zkgroup.tasks.worker_heap import freeze_once

class Ring:
    pass

def ring():
    one, other = Ring(), Ring()
    one.other, other.other = other, one

ring()
freeze_once()
frozen = gc.get_freeze_count()
assert frozen > 10_000, frozen
assert not [o for o in gc.get_objects() if isinstance(o, Ring)], "garbage was kept"
gc.unfreeze()
assert not [o for o in gc.get_objects() if isinstance(o, Ring)], "garbage was frozen"
freeze_once()
assert gc.get_freeze_count() == 0, "a second call freezes again"
ring()
assert gc.collect() >= 2, "what comes later is not collected"
"""

NATIVE_MISSING = """
import sys
sys.modules["pyspark_zkgroup.records._decoder"] = None
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.formats.shaping import RowShape
from pyspark_zkgroup.spark.source import Asked, ZkGroupStreamReader
options = {"zookeeper.connect": "localhost:1", "group.id": "g", "subscribe": "t"}
reader = ZkGroupStreamReader(lambda: Asked(parse(options), RowShape()))
for _ in range(3):
    reader.planner
"""


UNCOLLECTED = """
import gc
from pyspark_zkgroup.tasks.worker_heap import uncollected

collections = []
gc.callbacks.append(lambda phase, info: collections.append(info))
with uncollected():
    from pyspark_zkgroup.tasks import reading
assert collections == [], collections
assert gc.get_freeze_count() > 10_000, gc.get_freeze_count()
kept = [[] for _ in range(2000)]
assert collections, "what comes later is not collected"
gc.disable()
with uncollected():
    pass
assert not gc.isenabled()
"""


def test_what_is_loaded_is_frozen_once_and_garbage_is_not() -> None:
    run(FROZEN_ONCE)


def test_the_driver_says_once_that_reading_will_be_slow() -> None:
    (line,) = run(NATIVE_MISSING).splitlines()
    assert " WARNING zkgroup: [ZKG-141] Reading will be slow" in line
    assert "Rust toolchain" in line


def test_nothing_is_collected_during_imports_and_all_afterwards() -> None:
    run(UNCOLLECTED)


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr
