"""The two cores that everything shares, and what the report says of the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark_zkgroup.delta.jars import installed
from pyspark_zkgroup.jars.java import find_java
from pyspark_zkgroup.records.choice import slow_because

CORES = 2
BUSY_LOAD = 0.5


@dataclass(frozen=True)
class Machine:
    cpu: str
    cores: str
    memory_gb: float
    system: str
    python: str
    java: str
    pyspark: str
    pyarrow: str
    decoder: str
    load_at_start: float

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def pin_to_two_cores() -> str:
    """Of this process and all it starts: broker, Spark, workers. Returns what came of it."""
    if not hasattr(os, "sched_setaffinity"):
        return f"all {os.cpu_count()}: this system pins no processes"
    given = sorted(os.sched_getaffinity(0))[:CORES]
    os.sched_setaffinity(0, given)
    return f"{len(given)} of {os.cpu_count()}, for broker, Spark and workers together"


def describe(cores: str) -> Machine:
    reason = slow_because()
    return Machine(
        cpu=_cpu(),
        cores=cores,
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        java=_java(),
        pyspark=installed("pyspark"),
        pyarrow=installed("pyarrow"),
        decoder="native" if reason is None else f"reference, as there is no native one: {reason}",
        load_at_start=round(os.getloadavg()[0], 2),
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _java() -> str:
    shown = subprocess.run(
        [str(find_java()), "-version"], capture_output=True, text=True, timeout=60, check=True
    )
    return shown.stderr.splitlines()[0]
