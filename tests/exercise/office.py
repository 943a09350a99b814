"""`zkgroup coordinator` that ends with its starter: python -m tests.exercise.office ARGS..."""

from __future__ import annotations

import os
import sys
import threading

from pyspark_zkgroup.cli.main import main


def end_with_input() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=end_with_input, daemon=True).start()
    main(["coordinator", *sys.argv[1:]])
