"""Reads catalogue.json: the text, the cause and the remedy of every ZKG code."""

from __future__ import annotations

import json
import pkgutil
from functools import cache
from typing import Any


@cache
def entries() -> dict[str, dict[str, Any]]:
    """Return the entries of all codes: of errors (ZKG-0), warnings (ZKG-1) and findings (ZKG-2)."""
    data = pkgutil.get_data(__package__, "catalogue.json")
    assert data is not None
    found: dict[str, dict[str, Any]] = json.loads(data)
    return found


def warning(code: str, /, **values: object) -> str:
    """Return the log line of a warning, which begins with its code."""
    text: str = entries()[code]["text"]
    return f"[{code}] {text.format(**values)}"


def what_and_remedy(code: str, message: str, /, **values: object) -> tuple[str, str]:
    """Return one message of an error or a finding, and what to do, both without a final stop."""
    found = entries()[code]["messages"][message]
    return found["text"].format(**values), found["remedy"].format(**values)


def finding(code: str, message: str, /, **values: object) -> tuple[str, str]:
    """Return what `zkgroup doctor` found, which begins with its code, and what to do."""
    text, remedy = what_and_remedy(code, message, **values)
    return f"[{code}] {text}", remedy
