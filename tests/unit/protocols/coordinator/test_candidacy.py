"""What the elected coordinator's node says."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import BadZnodeError
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import (
    Candidacy,
    encode_candidacy,
    parse_candidacy,
)

PATH = "/consumers/coordinator"


def test_the_bytes() -> None:
    assert encode_candidacy(Candidacy("g_vm-1")) == b'{"version":1,"id":"g_vm-1","address":null}'
    assert encode_candidacy(Candidacy("é", "h:7")) == (
        '{"version":1,"id":"é","address":"h:7"}'.encode()
    )


@pytest.mark.parametrize("candidacy", [Candidacy("a"), Candidacy("b", "host:1")])
def test_it_comes_back_as_it_was(candidacy: Candidacy) -> None:
    assert parse_candidacy(PATH, encode_candidacy(candidacy)) == candidacy


def test_what_newer_ones_add_is_passed_over() -> None:
    newer = b'{"version":2,"id":"a","address":["x"],"more":1}'
    assert parse_candidacy(PATH, newer) == Candidacy("a")


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b"{}", b'{"id":""}', b'{"id":1}'])
def test_a_node_that_names_no_coordinator_is_refused_with_its_path(data: bytes) -> None:
    with pytest.raises(BadZnodeError, match=PATH):
        parse_candidacy(PATH, data)
