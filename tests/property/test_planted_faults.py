"""The mutations find what they are meant to find: with a fault planted in the native decoder, they
do not run to their end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "pyspark_zkgroup" / "records" / "_native"
SECONDS = 600
SECONDS_WITHOUT = 10
BUILD_SECONDS = 600

pytestmark = [pytest.mark.long, pytest.mark.timeout(SECONDS + BUILD_SECONDS + 120)]


@dataclass(frozen=True)
class Fault:
    file: str
    right: str
    wrong: str


NO_FAULT = Fault("batch.rs", "", "")
FAULTS = {
    "a length off by one": Fault(
        "batch.rs",
        "if usize::try_from(length) != Ok(cursor.at - start) {",
        "if usize::try_from(length).is_ok_and(|length| (cursor.at - start).abs_diff(length) > 1) {",
    ),
    "a skipped checksum": Fault(
        "batch.rs",
        "if crc32c::crc32c(frame.get(ATTRIBUTES_AT..)?) != crc {",
        "if crc32c::crc32c(frame.get(ATTRIBUTES_AT..)?) != crc && frame.is_empty() {",
    ),
    "a missing bound of offsets": Fault(
        "batch.rs",
        "            .filter(|_| delta <= i64::from(self.batch.last_offset_delta))\n",
        "",
    ),
    "a missing bound of what is unpacked": Fault(
        "codecs.rs",
        "self.sink.begin(bytes_max, ",
        "let bytes_max = usize::MAX / 2; self.sink.begin(bytes_max, ",
    ),
    "a missing end of a transaction": Fault(
        "transactions.rs", "self.producers.remove(&batch.producer_id);", ""
    ),
    "a header's null that is empty": Fault(
        "headers.rs",
        "self.values.push(self.count, value);",
        "self.values.push(self.count, value.or(Some(&[])));",
    ),
}


def cargo() -> str | None:
    """Asked, not looked for: rustup leaves a cargo on the path also without a toolchain."""
    found = shutil.which("cargo")
    if found is not None and subprocess.run([found, "--version"], check=False).returncode == 0:
        return found
    return None


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all builds, apart from the product's: the first compiles the libraries."""
    kept = os.environ.get("CARGO_TARGET_DIR")
    return Path(kept) / "planted" if kept else tmp_path_factory.mktemp("target")


def built(fault: Fault, folder: Path, target: Path) -> Path:
    program = cargo()
    if program is None:
        pytest.skip("no Rust toolchain works here: `cargo --version` does not answer")
    shutil.copytree(NATIVE, folder, ignore=shutil.ignore_patterns("target"))
    source = folder / "src" / fault.file
    text = source.read_text(encoding="utf-8")
    if fault.right:
        assert text.count(fault.right) == 1, "the decoder has changed: plant the fault again"
        source.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")
    subprocess.run(
        [program, "build", "--release", "--locked", "--quiet"],
        cwd=folder,
        env={
            **os.environ,
            "CARGO_TARGET_DIR": str(target),
            "PYO3_BUILD_EXTENSION_MODULE": "1",
            "PYO3_PYTHON": sys.executable,
        },
        timeout=BUILD_SECONDS,
        check=True,
    )
    (library,) = [*target.glob("release/lib_decoder.so"), *target.glob("release/lib_decoder.dylib")]
    extension = folder / "_decoder.abi3.so"
    shutil.copy(library, extension)
    return extension


def searched(extension: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    options = ["--seconds", str(seconds), "--extension", str(extension)]
    return subprocess.run(
        [sys.executable, "-m", "tests.harness.mutations", "--seed", "1", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=seconds + 120,
        check=False,
    )


def test_nothing_is_found_without_a_fault(tmp_path: Path, target: Path) -> None:
    told = searched(built(NO_FAULT, tmp_path / "native", target), SECONDS_WITHOUT)

    assert told.returncode == 0, told.stdout + told.stderr
    print(told.stdout)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_found(fault: Fault, tmp_path: Path, target: Path) -> None:
    told = searched(built(fault, tmp_path / "native", target), SECONDS)

    assert told.returncode == 1, told.stdout + told.stderr
    assert "1 finding" in told.stdout
    print(told.stdout.splitlines()[1][:200])
