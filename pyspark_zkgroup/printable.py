"""Escapes control characters in foreign text for terminals, logs and errors.

Registrations, owner nodes, patterns and what servers answer may hold escape sequences, which move
the cursor, hide lines or forge links, and characters that turn the order of letters round.
"""

from __future__ import annotations

import re

# C0 and C1 but for the line feed and the tab, separators of lines, and what changes direction.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


def printable(text: str) -> str:
    """Return the text with each control character as its escape, such as \\x1b."""
    return _UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], text)
