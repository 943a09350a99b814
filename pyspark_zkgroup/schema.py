"""The columns of a record, as Spark's own Kafka source names and types them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS = (
    ("key", "binary"),
    ("value", "binary"),
    ("topic", "string"),
    ("partition", "int"),
    ("offset", "bigint"),
    ("timestamp", "timestamp"),
    ("timestampType", "int"),
)
_HEADERS = ("headers", "array<struct<key:string,value:binary>>")

NO_TIMESTAMP_TYPE = -1
"""timestampType of a record from before Kafka 0.10, which has no time: its timestamp is then -1 ms,
as for the JVM.
"""
CREATE_TIME = 0
LOG_APPEND_TIME = 1


def spark_ddl(headers: bool = False) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in _columns(headers))


def spark_simple(headers: bool = False) -> str:
    """The same as Spark's StructType.simpleString() writes it."""
    return f"struct<{','.join(f'{name}:{kind}' for name, kind in _columns(headers))}>"


def _columns(headers: bool) -> tuple[tuple[str, str], ...]:
    return (*_COLUMNS, _HEADERS) if headers else _COLUMNS


@cache
def arrow_schema(headers: bool = False) -> pa.Schema:
    """Exactly what Spark makes of `spark_ddl`: it compares the first batch with that and accepts
    nothing else.

    Headers are null for a record that has none.
    """
    # Not above: every Spark query of a machine imports this package to look for data sources.
    import pyarrow as pa

    fields = [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("us", tz="UTC")),
        pa.field("timestampType", pa.int32()),
    ]
    if headers:
        header = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
        fields.append(pa.field("headers", pa.list_(pa.field("element", header))))
    return pa.schema(fields)
