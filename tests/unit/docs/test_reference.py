"""What docs/api.md shows of each public function: what it does, its parameters, and an example."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.documents.reference import MODULES, example, public

PUBLIC = [
    pytest.param(found, id=f"{module.__name__}.{name}")
    for module in MODULES
    for name, found in public(module).items()
]


@pytest.mark.parametrize("found", PUBLIC)
def test_a_public_name_says_what_each_parameter_is(found: Any) -> None:
    said = inspect.getdoc(found) or ""
    assert [name for name in inspect.signature(found).parameters if f"`{name}`" not in said] == []


@pytest.mark.parametrize("found", PUBLIC)
def test_a_public_name_has_an_example_that_uses_it(found: Any) -> None:
    text = example(found)
    compile(text, found.__name__, "exec")
    used = {"DefaultSource": '.format("zkgroup")', "Appender": "append(batch"}
    assert used.get(found.__name__, f"{found.__name__}(") in text
