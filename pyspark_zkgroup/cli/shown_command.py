"""Commands in messages, to be copied into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence


def shown_command(name: str, *arguments: object, options: Sequence[str] = ()) -> str:
    """Return a command that a shell reads as meant: groups of the brokers may be named as they
    like, with blanks, quotes, or a dash in front.
    """
    texts = [f"{argument}" for argument in arguments]
    if any(text.startswith("-") for text in texts):
        words = [*options, "--", *texts]
    else:
        words = [*texts, *options]
    return f"zkgroup {name} {shlex.join(words)}"
