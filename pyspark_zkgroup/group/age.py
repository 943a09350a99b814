"""How long something has lasted, for people."""

from __future__ import annotations


def age(ms: float) -> str:
    """In the unit that tells enough: 8 s, 5 min, 3.2 h, 12 d."""
    seconds = max(0.0, ms / 1000)
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    if seconds < 172_800:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86_400:.0f} d"
