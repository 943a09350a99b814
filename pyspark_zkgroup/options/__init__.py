"""The options of the source: their table, the parser, and the frozen value Options."""

from pyspark_zkgroup.options.parse import Options, parse

__all__ = ["Options", "parse"]
