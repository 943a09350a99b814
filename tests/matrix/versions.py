"""Which versions the matrix is of. Pins, as in requirements/dev.txt: a run tells of what it ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Version:
    """The newest patch of one line of PySpark, and the Delta that was built for it, if any."""

    line: str
    pyspark: str
    delta: str = ""
    no_delta: str = ""


VERSIONS: Final = (
    Version("4.0", "4.0.5", delta="4.4.0"),
    Version("4.1", "4.1.4", delta="4.4.0"),
    Version("4.2", "4.2.1", delta="4.4.0"),
    Version("4.3", "4.3.0", no_delta="no release of Delta is built for Spark 4.3"),
)
