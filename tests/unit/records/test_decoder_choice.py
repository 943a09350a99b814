from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pyspark_zkgroup

WITHOUT = """
import logging, sys
logging.basicConfig(format="%(name)s %(levelname)s %(message)s")
sys.modules["pyspark_zkgroup.records._decoder"] = None
from pyspark_zkgroup.records.choice import decoder
from pyspark_zkgroup.records.decoder import Limits
for _ in range(3):
    print(type(decoder(Limits(1, 1, 1))).__name__)
"""


def test_without_the_native_decoder_one_warning_says_that_reading_is_slow() -> None:
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=60, check=True
    )

    assert told.stdout.split() == ["ReferenceDecoder"] * 3
    (line,) = told.stderr.splitlines()
    assert line.startswith("pyspark_zkgroup.records WARNING [ZKG-141] Reading will be slow")
    assert "pyspark_zkgroup.records._decoder" in line
    assert "Rust toolchain" in line
    assert "make setup" in line


IN_A_ZIP = """
import logging, sys
logging.basicConfig(format="%(message)s")
sys.path.insert(0, sys.argv[1])
import pyspark_zkgroup
from pyspark_zkgroup.records.choice import slow_because
assert pyspark_zkgroup.__file__.startswith(sys.argv[1]), pyspark_zkgroup.__file__
assert slow_because()
"""


def test_a_package_in_a_zip_has_no_native_decoder_and_the_remedy_is_another(tmp_path: Path) -> None:
    """Where Spark's --py-files bring it. The library is in the zip, and is of no use there."""
    package = Path(pyspark_zkgroup.__file__).parent
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as zipped:
        for path in (f for kind in ("*.py", "*.json", "_decoder*.so") for f in package.rglob(kind)):
            zipped.write(path, path.relative_to(package.parent))
    told = subprocess.run(
        [sys.executable, "-c", IN_A_ZIP, str(tmp_path / "package.zip")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    (line,) = told.stderr.splitlines()
    assert line.startswith("[ZKG-141] Reading will be slow")
    assert "--archives" in line
    assert "Rust toolchain" not in line
