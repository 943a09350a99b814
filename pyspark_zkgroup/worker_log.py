"""What is logged in Spark's Python workers on the driver reaches the driver's output."""

from __future__ import annotations

import logging
import sys


def log_to_stderr() -> None:
    """These processes have no logging of their own; what they print is passed on."""
    logger = logging.getLogger("pyspark_zkgroup")
    if logger.handlers or logging.getLogger().handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s zkgroup: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
