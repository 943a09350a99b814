"""The options of the source: one file per concept, and the frozen value Options made of them.

A concept's file has its rows (name, rule, default, text), the checks of their combinations, and
the frozen value they become, or the function that makes a value of a room below. What is done with
the values belongs to the rooms that use them.
"""

from pyspark_zkgroup.options.parse import Options, parse

__all__ = ["Options", "parse"]
