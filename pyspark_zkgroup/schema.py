"""The columns of a record, as Spark's own Kafka source names and types them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

SPARK_DDL = (
    "key binary, value binary, topic string, partition int, offset long, "
    "timestamp timestamp, timestampType int"
)
SPARK_SIMPLE = (
    "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,"
    "timestamp:timestamp,timestampType:int>"
)
"""The same as Spark's StructType.simpleString() writes it."""

NO_TIMESTAMP_TYPE = -1
"""timestampType of a record from before Kafka 0.10, which has no time: its timestamp is then -1 ms,
as for the JVM.
"""
CREATE_TIME = 0
LOG_APPEND_TIME = 1


@cache
def arrow_schema() -> pa.Schema:
    """Exactly what Spark makes of SPARK_DDL: it compares the first batch with that and accepts
    nothing else.
    """
    # Not above: every Spark query of a machine imports this package to look for data sources.
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("key", pa.binary()),
            pa.field("value", pa.binary()),
            pa.field("topic", pa.string()),
            pa.field("partition", pa.int32()),
            pa.field("offset", pa.int64()),
            pa.field("timestamp", pa.timestamp("us", tz="UTC")),
            pa.field("timestampType", pa.int32()),
        ]
    )
