"""Typed columns: our formats compared with Spark's own source and from_json, from_avro or
from_protobuf. Both sides make the same columns of the same records.
"""

from __future__ import annotations

import base64
import json
import random
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.avro.functions import from_avro

from tests.bench.cases import TYPED, VALUE, Case
from tests.bench.payload import TIMESTAMP_MS
from tests.bench.sources import Servers, Side, stream
from tests.harness.compiled_proto import compiled
from tests.harness.drawn_avro import encoded
from tests.harness.protobuf_rows import message_class
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.kafka_source_jars import avro_jars, protobuf_jars
from zkgroup_sandbox.record_batch import Event

FLAT, NESTED, AVRO, PROTOBUF = "json-flat", "json-nested", "avro-registry", "protobuf"
FLAT_VALUE = "STRUCT<id: BIGINT, user: STRING, amount: DECIMAL(12,2), at: TIMESTAMP>"
NESTED_VALUE = """STRUCT<id: BIGINT, customer: STRUCT<name: STRING, city: STRING>,
    lines: ARRAY<STRUCT<sku: STRING, count: INT, price: DOUBLE>>, labels: MAP<STRING, STRING>>"""
ORDER_VALUE = "STRUCT<id: BIGINT, user: STRING, amount: DOUBLE, count: INT, state: STRING>"
ORDER_AVRO = {
    "type": "record",
    "name": "order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "user", "type": "string"},
        {"name": "amount", "type": "double"},
        {"name": "count", "type": "int"},
        {"name": "state", "type": ["null", "string"]},
    ],
}
ORDER_PROTO = """syntax = "proto3";
message Order {
  int64 id = 1;
  string user = 2;
  double amount = 3;
  int32 count = 4;
  string state = 5;
}
"""
JARS = {AVRO: avro_jars, PROTOBUF: protobuf_jars}
PLACE = ("topic", "partition", "offset")


def frame(spark: SparkSession, case: Case, side: Side, servers: Servers, topic: str) -> Any:
    if case.sink == VALUE:
        found = stream(spark, side, servers, topic, schema="value BINARY")
        return found.select("value")
    if case.sink != TYPED:
        return stream(spark, side, servers, topic)
    if side == "ours":
        kind = {FLAT: FLAT_VALUE, NESTED: NESTED_VALUE}.get(case.name, ORDER_VALUE)
        options = our_format(case.name, servers)
        return stream(spark, "ours", servers, topic, schema=columns(kind), **options)
    value = peer_value(case.name).alias("value")
    return stream(spark, "peer", servers, topic).select(*PLACE, value)


def columns(kind: str) -> str:
    return f"topic STRING, partition INT, offset BIGINT, value {kind}"


def our_format(name: str, servers: Servers) -> dict[str, str]:
    if name == AVRO:
        return {"value.format": "avro", "schema.registry.url": servers.registry_url}
    if name == PROTOBUF:
        descriptor = base64.b64encode(_descriptor()).decode()
        return {
            "value.format": "protobuf",
            "value.protobuf.descriptor": descriptor,
            "value.protobuf.message": "Order",
        }
    return {"value.format": "json", "json.timeZone": "UTC"}


def peer_value(name: str) -> Any:
    if name == AVRO:
        # Without the five bytes of the registry.
        body = f.expr("substring(value, 6, length(value) - 5)")
        return from_avro(body, json.dumps(ORDER_AVRO), {"mode": "PERMISSIVE"})
    if name == PROTOBUF:
        file = Path(tempfile.gettempdir(), "zkgroup-bench-order.desc")
        file.write_bytes(_descriptor())
        return f.expr(f"from_protobuf(value, 'Order', '{file}', map('mode', 'PERMISSIVE'))")
    kind = {FLAT: FLAT_VALUE, NESTED: NESTED_VALUE}[name]
    return f.from_json(f.col("value").cast("string"), kind)


def event_of(name: str, sandbox: Sandbox) -> Callable[[random.Random], Event] | None:
    """Makes the records of that topic; None if they are those of every other case."""
    if name == AVRO:
        number = sandbox.registry.register("bench-orders-value", json.dumps(ORDER_AVRO))
        frame = b"\0" + number.to_bytes(4, "big")
        return lambda chance: (_key(chance), frame + encoded(ORDER_AVRO, _order(chance)))
    if name == PROTOBUF:
        kind = message_class(_descriptor(), "Order")
        return lambda chance: (_key(chance), kind(**_order(chance)).SerializeToString())
    made = {FLAT: _flat, NESTED: _nested}.get(name)
    return None if made is None else lambda chance: (_key(chance), _json(made(chance)))


@cache
def _descriptor() -> bytes:
    return compiled(ORDER_PROTO)


def _key(chance: random.Random) -> bytes:
    return b"c%09d" % chance.randrange(5_000)


def _order(chance: random.Random) -> dict[str, Any]:
    return {
        "id": chance.getrandbits(40),
        "user": f"user-{chance.randrange(5_000)}",
        "amount": chance.randrange(1_000_000) / 100,
        "count": chance.randrange(100),
        "state": chance.choice(("new", "paid", "sent")),
    }


def _flat(chance: random.Random) -> dict[str, Any]:
    seconds = TIMESTAMP_MS // 1000 % 86_400
    clock = f"{seconds // 3600:02}:{chance.randrange(60):02}:{chance.randrange(60):02}"
    return {
        "id": chance.getrandbits(40),
        "user": f"user-{chance.randrange(5_000)}",
        "amount": chance.randrange(1_000_000) / 100,
        "at": f"2026-09-{chance.randint(1, 30):02}T{clock}Z",
    }


def _nested(chance: random.Random) -> dict[str, Any]:
    lines = [
        {
            "sku": f"sku-{chance.randrange(10_000)}",
            "count": chance.randrange(10),
            "price": chance.randrange(10_000) / 100,
        }
        for _ in range(3)
    ]
    return {
        "id": chance.getrandbits(40),
        "customer": {"name": f"user-{chance.randrange(5_000)}", "city": "Oslo"},
        "lines": lines,
        "labels": {"channel": chance.choice(("web", "shop")), "country": "no"},
    }


def _json(found: dict[str, Any]) -> bytes:
    return json.dumps(found, separators=(",", ":")).encode()
