"""How far a member of a brokers' group has come with a request."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.cli.brokered_asking import outcome_of
from pyspark_zkgroup.group.noted_requests import NotedRequest
from pyspark_zkgroup.group.requests import Kind


def asked(kind: Kind) -> NotedRequest:
    return NotedRequest(kind, "c", "me", at_ms=1)


@pytest.mark.parametrize(
    ("kind", "is_member", "request_", "state"),
    [
        ("drain", False, asked("drain"), "drained"),
        ("stop", False, asked("stop"), "ended"),
        # One that is gone has ended, whatever has become of its request.
        ("stop", False, None, "ended"),
        ("drain", True, asked("drain"), "pending"),
        ("stop", True, asked("stop"), "pending"),
        ("stop", True, None, "withdrawn"),
        # Another operator has replaced the request.
        ("stop", True, asked("drain"), "withdrawn"),
    ],
)
def test_what_an_operator_reads(
    kind: Kind, is_member: bool, request_: NotedRequest | None, state: str
) -> None:
    assert outcome_of(kind, "c", is_member=is_member, request=request_).state == state
