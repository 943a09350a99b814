"""What the other scenes stand on, and what takes longest."""

from __future__ import annotations

from tests.documents.pages import CONTRIBUTING, README
from tests.documents.steps import Printed, Scene, Shell

TRY_IT = Scene(
    "try it",
    (
        Printed(
            README,
            "make demo    # starts ZooKeeper, Kafka and Spark; members join, leave and die; "
            "checks every record",
            first_rows=r"in Delta [1-9]",
        ),
    ),
    servers="none",
    in_clone=True,
    by_make=True,
)
INSTALL = Scene(
    "install",
    (
        Printed(
            README,
            "python -m pip install '.[spark,delta,ingest]'    # some minutes: PySpark is large",
        ),
        Shell("zkgroup --version"),
    ),
    servers="none",
    in_clone=True,
)

DEVELOPMENT = Scene(
    "before every commit",
    (
        Printed(
            CONTRIBUTING,
            "make quick             # while you work: no server, a minute",
            instead={
                "make check test": "make check",
                "make sim SEEDS=10000": "make sim SEEDS=20",
                "make chaos MINUTES=30": "make chaos MINUTES=3",
                "make fuzz MINUTES=10": "make fuzz MINUTES=1",
                "make fuzz-formats MINUTES=10": "make fuzz-formats MINUTES=1",
                ".venv/bin/python -m tests.security.fuzz --seconds 600": (
                    ".venv/bin/python -m tests.security.fuzz --seconds 60"
                ),
            },
            left_out={
                "make test-long": "takes hours",
                "make test-matrix": "takes an hour and downloads four versions of Spark",
                "make try-documents": "is what runs this",
                "make bench": "takes 20 minutes and wants a machine at rest",
                "make exercise": "runs until a person has named the faults",
                ".ci/run": "make check, docs and test once more",
            },
        ),
    ),
    servers="none",
    in_clone=True,
    by_make=True,
)
