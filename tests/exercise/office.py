"""`zkgroup coordinator` that ends with its starter: python -m tests.exercise.office ARGS..."""

from __future__ import annotations

import sys

from pyspark_zkgroup.cli.main import main
from tests.harness.starter import end_with_starter

if __name__ == "__main__":
    end_with_starter()
    main(["coordinator", *sys.argv[1:]])
