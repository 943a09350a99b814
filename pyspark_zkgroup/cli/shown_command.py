"""Commands in messages, to be copied into a shell."""

from __future__ import annotations

import shlex


def shown_command(name: str, *arguments: object, option: str = "") -> str:
    """Return a command that a shell reads as meant: groups of the brokers may be named as they
    like, with blanks, quotes, or a dash in front.
    """
    texts = [f"{argument}" for argument in arguments]
    words = ["zkgroup", name, *([option] if option else [])]
    if any(text.startswith("-") for text in texts):
        return " ".join([*words, "--", *map(shlex.quote, texts)])
    return " ".join(["zkgroup", name, *map(shlex.quote, texts), *([option] if option else [])])
