"""Sends the log of Spark's Python workers on the driver to the driver's stderr."""

from __future__ import annotations

import logging
import sys

from pyspark_zkgroup.printable import printable


class PrintableFormatter(logging.Formatter):
    """Escapes what others have put into names, nodes and answers."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def log_to_stderr() -> None:
    """These processes have no logging of their own; what they print is passed on."""
    logger = logging.getLogger("pyspark_zkgroup")
    if logger.handlers or logging.getLogger().handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PrintableFormatter("%(asctime)s %(levelname)s zkgroup: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
