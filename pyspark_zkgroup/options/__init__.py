"""The options of the reader: one table, and what becomes of the texts that a user gives."""

from pyspark_zkgroup.options.frozen import Options
from pyspark_zkgroup.options.parse import parse

__all__ = ["Options", "parse"]
