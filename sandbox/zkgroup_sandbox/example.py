"""Makes JSON events that look like an example."""

from __future__ import annotations

import json
import re
from typing import Any

from pyspark_zkgroup.errors import SandboxError
from zkgroup_sandbox.produce import MakeEvent
from zkgroup_sandbox.record_batch import Event

_NUMBERED = re.compile(r"(.*?)(\d+)")
_STEPS = 100


def by_example(text: str) -> MakeEvent:
    """Whole numbers, and numbers at the end of a text, count up from the example's; a fraction
    varies up to its double; of a list each event has one element, in turn. The first field is the
    record's key.
    """
    try:
        example = json.loads(text)
    except ValueError as error:
        raise SandboxError.of("example_not_json", value=text, error=error) from None
    if not isinstance(example, dict) or not example:
        raise SandboxError.of("example_not_object", value=text)

    def make(number: int) -> Event:
        fields = _varied(example, number)
        return str(next(iter(fields.values()))).encode(), json.dumps(fields).encode()

    return make


def _varied(value: Any, number: int) -> Any:
    if isinstance(value, dict):
        return {name: _varied(field, number) for name, field in value.items()}
    if isinstance(value, list):
        return value[number % len(value)] if value else value
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value + number
    if isinstance(value, float):
        return round(value * (1 + number % _STEPS / _STEPS), 2)
    if isinstance(value, str) and (found := _NUMBERED.fullmatch(value)):
        return f"{found[1]}{int(found[2]) + number:0{len(found[2])}d}"
    return value
