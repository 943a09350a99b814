from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import BadZnodeError
from pyspark_zkgroup.jvm.brokers import parse_broker

PATH = "/brokers/ids/1"


@pytest.mark.parametrize(
    "data",
    [
        b"garbage",
        b"[" * 100_000,
        b'{"endpoints":1}',
        b'{"endpoints":["PLAINTEXT://h:1"],"listener_security_protocol_map":[1]}',
    ],
)
def test_what_no_broker_writes_is_named(data: bytes) -> None:
    with pytest.raises(BadZnodeError, match=PATH):
        parse_broker(PATH, data)


@pytest.mark.parametrize(
    "endpoint", ["1", '"PLAINTEXT://h:' + "9" * 5000 + '"', '"' + "://:" * 200_000 + '"']
)
def test_an_endpoint_that_is_none_is_passed_over(endpoint: str) -> None:
    data = f'{{"endpoints":[{endpoint},"PLAINTEXT://h:9092"]}}'.encode()
    assert parse_broker(PATH, data) == "h:9092"


@pytest.mark.parametrize(
    ("data", "address"),
    [
        (b'{"host":"h","port":9092}', "h:9092"),
        (b'{"host":"::1","port":9092,"endpoints":[]}', "[::1]:9092"),
        (b'{"host":null,"port":-1,"endpoints":["SSL://h:9093"]}', None),
        (b'{"host":"h","port":0}', None),
        (b'{"host":"h","port":"9092"}', None),
    ],
)
def test_an_old_broker_has_its_address_outside_of_endpoints(
    data: bytes, address: str | None
) -> None:
    assert parse_broker(PATH, data) == address
    assert parse_broker(PATH, data, "SASL_PLAINTEXT") is None
