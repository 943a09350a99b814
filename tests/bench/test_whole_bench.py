"""The whole bench on real servers and real Spark, with few records: that it works, not how fast."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.cases import DECODE, MEMORY, TRIGGER

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_a_bench_with_few_records_measures_all_it_names(tmp_path: Path) -> None:
    names = ["100B-zstd-noop", "100B-zstd-parquet", "10kB-none-noop", TRIGGER, DECODE, MEMORY]
    build = tmp_path / "build"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.bench.main", "--output", str(build)),
            *("--cases", ",".join(names), "--repeats", "1", "--scale", "0.005"),
        ],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=850,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    found = {result["case"]: result for result in json.loads((build / "bench.json").read_text())}
    for name in names[:3]:
        assert found[name]["ours_rows_s"] > 0 < found[name]["peer_rows_s"]
    assert found["trigger-latency-tcp"]["ready_p50_ms"] > 0
    assert found["trigger-latency-unix-sockets"]["ours_p50_ms"] > 0
    assert found["decode-100B-lz4"]["rows_s_per_core"] > 0
    assert found["memory-50MB-none"]["above_idle_mb"] > 50
    assert (build / "bench.png").exists()
    assert [path.name for path in tmp_path.glob("zkgroup-bench-*")] == []
