"""Events by example."""

from __future__ import annotations

import json

import pytest

from pyspark_zkgroup.errors import SandboxError
from zkgroup_sandbox.example import by_example


def test_each_kind_of_value_varies_in_its_way() -> None:
    make = by_example(
        '{"id": 7, "name": "c008", "city": ["Ulm", "Bern"], "amount": 2.5, "of": {"n": 1},'
        ' "paid": true, "note": "x", "none": null, "empty": []}'
    )
    assert [json.loads(value or b"") for _, value in map(make, (0, 2))] == [
        {"id": 7, "name": "c008", "city": "Ulm", "amount": 2.5, "of": {"n": 1}}
        | {"paid": True, "note": "x", "none": None, "empty": []},
        {"id": 9, "name": "c010", "city": "Ulm", "amount": 2.55, "of": {"n": 3}}
        | {"paid": True, "note": "x", "none": None, "empty": []},
    ]
    assert make(1)[0] == b"8"


@pytest.mark.parametrize(("text", "wrong"), [("{", "not JSON"), ("[]", "not a JSON object")])
def test_what_is_no_example_is_refused(text: str, wrong: str) -> None:
    with pytest.raises(SandboxError, match=wrong):
        by_example(text)
