"""`zkgroup peek` and `zkgroup schema`, on real brokers and a real registry."""

from __future__ import annotations

import json
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pyspark_zkgroup.cli.main import main
from tests.harness.compiled_proto import compiled
from tests.harness.drawn_avro import encoded
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.produce import produce
from zkgroup_sandbox.registry import Registry

ORDER = {
    "type": "record",
    "name": "order",
    "fields": [{"name": "id", "type": "long"}, {"name": "user", "type": ["null", "string"]}],
}


def run(*arguments: str, status: int = 0) -> Result:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(main, arguments)
    assert result.exit_code == status, result.output
    return result


def topic_of(sandbox: Sandbox, *values: bytes) -> str:
    name = f"peek-{uuid.uuid4().hex[:8]}"
    sandbox.create_topic(name, 1)
    events = lambda n: (b"k%d" % n, values[n])  # noqa: E731
    produce(sandbox.bootstrap_servers, name, len(values), make_event=events)
    return name


def lines(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_values_are_shown_as_text_and_json(sandbox: Sandbox) -> None:
    at = ("--bootstrap-servers", sandbox.bootstrap_servers)
    topic = topic_of(sandbox, b'{"id": 1}', b"no json", b'{"id": [2]}')
    table = run("peek", topic, *at, "--format", "json", "--count", "2").stdout
    assert '{"id": 1}' in table
    assert "bad: value: not JSON" in table
    found = lines(run("peek", topic, *at, "--format", "json", "--from", "1", "--json"))
    assert [(one["offset"], one["key"], one["value"]) for one in found] == [
        (1, "k1", "no json"),
        (2, "k2", {"id": [2]}),
    ]
    assert len(lines(run("peek", topic, *at, "--from", "2020-01-01T00:00Z", "--json"))) == 3
    assert run("peek", topic, *at, "--from", "2999-01-01T00:00Z").stdout == "No records\n"
    assert "neither an offset nor a time" in run("peek", topic, *at, "--from", "x", status=1).stderr
    assert "have no topic 'nothing'" in run("peek", "nothing", *at, status=1).stderr
    near = f"have no topic '{topic}s' (similar names: {topic}"
    assert near in " ".join(run("peek", f"{topic}s", *at, status=1).stderr.split())


def test_new_records_are_followed(sandbox: Sandbox) -> None:
    topic = topic_of(sandbox, b"old")
    servers = sandbox.bootstrap_servers
    later = threading.Timer(
        1.5, produce, (servers, topic, 1), {"make_event": lambda _: (b"k", b"new")}
    )
    later.start()
    found = lines(run("peek", topic, "--bootstrap-servers", servers, "--follow", "--count", "1"))
    later.join()
    assert [one["value"] for one in found] == ["new"]


def test_avro_is_shown_by_a_file_or_a_registry(
    sandbox: Sandbox, registry: Registry, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark_zkgroup.records._decoder")
    at = ("--bootstrap-servers", sandbox.bootstrap_servers, "--format", "avro", "--json")
    value = encoded(ORDER, {"id": 7, "user": "ann"})
    file = tmp_path / "order.avsc"
    file.write_text(json.dumps(ORDER))
    plain = topic_of(sandbox, value, b"\x02\x09")
    found = lines(run("peek", plain, *at, "--schema", str(file)))
    assert found[0]["value"] == {"id": 7, "user": "ann"}
    assert "its branch of a union is number -5" in found[1]["bad"]

    name = uuid.uuid4().hex[:8]
    number = registry.register(name, json.dumps(ORDER))
    framed = topic_of(sandbox, b"\0" + number.to_bytes(4, "big") + value)
    found = lines(run("peek", framed, *at, "--registry", registry.url, "--subject", name))
    assert [(one["value"], one["bad"]) for one in found] == [({"id": 7, "user": "ann"}, None)]

    kind = "struct<`id`:bigint,`user`:string>"
    assert run("schema", name, "--registry", registry.url).stdout == f"{kind}\n"
    config = tmp_path / "config"
    config.write_text(f"schema.registry.url={registry.url}\n")
    shown = json.loads(run("schema", name, "--config", str(config), "--json").stdout)
    assert (shown["version"], shown["type"]) == (1, kind)
    missing = run("schema", "nothing", "--config", str(config), status=1)
    assert "has no subject 'nothing'" in missing.stderr


def test_protobuf_is_shown_by_a_descriptor_or_a_registry(
    sandbox: Sandbox, registry: Registry, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark_zkgroup.records._decoder")
    at = ("--bootstrap-servers", sandbox.bootstrap_servers, "--format", "protobuf", "--json")
    source = 'syntax = "proto3"; package shop; message Order { int64 id = 1; string user = 2; }'
    value = b"\x08\x07\x12\x03ann"
    file = tmp_path / "order.desc"
    file.write_bytes(compiled(source))
    plain = topic_of(sandbox, value, b"\x08")
    found = lines(run("peek", plain, *at, "--schema", str(file), "--message", "shop.Order"))
    assert found[0]["value"] == {"id": 7, "user": "ann"}
    assert found[1]["bad"] == "value: id: a value in it does not end"
    missing = run("peek", plain, *at, "--schema", str(file), status=1)
    assert "'value.protobuf.message' is missing" in missing.stderr

    name = uuid.uuid4().hex[:8]
    number = registry.register(name, source, kind="PROTOBUF")
    framed = topic_of(sandbox, b"\0" + number.to_bytes(4, "big") + b"\0" + value)
    found = lines(run("peek", framed, *at, "--registry", registry.url, "--subject", name))
    assert [(one["value"], one["bad"]) for one in found] == [({"id": 7, "user": "ann"}, None)]
    kind = "struct<`id`:bigint,`user`:string>"
    assert run("schema", name, "--registry", registry.url).stdout == f"{kind}\n"
