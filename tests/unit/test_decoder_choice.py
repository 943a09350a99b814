from __future__ import annotations

import subprocess
import sys

WITHOUT = """
import logging, sys
logging.basicConfig(format="%(name)s %(levelname)s %(message)s")
sys.modules["pyspark_zkgroup.records._decoder"] = None
from pyspark_zkgroup.records.choice import decoder
from pyspark_zkgroup.records.decoder import Limits
for _ in range(3):
    print(type(decoder(Limits(1, 1, 1))).__name__)
"""


def test_without_the_native_decoder_reading_is_slow_and_that_is_said_once() -> None:
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=60, check=True
    )

    assert told.stdout.split() == ["ReferenceDecoder"] * 3
    (line,) = told.stderr.splitlines()
    assert line.startswith("pyspark_zkgroup.records WARNING [ZKG-141] Reading will be slow")
    assert "pyspark_zkgroup.records._decoder" in line
    assert "Rust toolchain" in line
    assert "make setup" in line
