"""What is sent along with a job: packages as a folder and a zip, or a whole environment packed."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.packages.clean_python import ROOT, CleanPython, ran
from tests.packages.distribution import Distribution

# What a cluster for PySpark has: of these the packages that are sent need no copy.
OF_THE_CLUSTER = ("pandas", "numpy", "pyarrow")
BESIDES = ("kafka-python", "kazoo", "google-crc32c")


@dataclass(frozen=True)
class Sent:
    """`node`: Spark and what it asks for, without this package. `folder` and `zipped`: the packages
    that a node lacks. `environment` and `packed`: a Python with all packages but Spark.
    """

    node: CleanPython
    wheel: Path
    folder: Path
    zipped: Path
    environment: CleanPython
    packed: Path


def made(distribution: Distribution, place: Path) -> Sent:
    node = CleanPython.made(place / "node")
    node.install("setuptools", "wheel")
    node.install("--no-build-isolation", "pyspark", *OF_THE_CLUSTER)
    node.run(str(ROOT / "requirements" / "bytecode.py"))
    folder, wheel = place / "zkgroup", str(distribution.wheel)
    node.install("--no-deps", "--target", str(folder), wheel, *BESIDES)
    zipped = Path(shutil.make_archive(str(folder), "zip", folder))
    environment = CleanPython.made(place / "environment")
    environment.install(wheel, *OF_THE_CLUSTER)
    environment.install("--no-deps", "delta-spark")  # with them it brings a Spark
    packed = place / "environment.tar.gz"
    ran(["tar", "-I", "gzip -1", "-cf", str(packed), "-C", str(environment.home), "."])
    return Sent(node, distribution.wheel, folder, zipped, environment, packed)
