"""The least that a reader must be given, and what it says when it is given something wrong."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import parse

LEAST = {"zookeeper.connect": "zk1", "group.id": "billing", "subscribe": "orders"}
WITHOUT_TOPICS = {"zookeeper.connect": "zk1", "group.id": "billing"}
AUTH = "scheme:credential such as digest:user:password, or a JSON list of several such texts"
CONNECT = (
    "host:port of each server, separated by commas, then the chroot if there is one, such as "
    "zk1:2181,zk2:2181/kafka (port 2181 if left out, IPv6 as [::1]:2181)"
)


def refusal(options: dict[str, Any]) -> str:
    with pytest.raises(OptionError) as caught:
        parse(options)
    return f"{caught.value}".removeprefix("[ZKG-001] ")
