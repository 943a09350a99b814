"""Where tables are printed to."""

from __future__ import annotations

import os
import sys

from rich.console import Console

_WIDE = 160


def console() -> Console:
    """As wide as the terminal. Into a file or a pipe wide enough for consumer ids, unless COLUMNS
    says otherwise: at 80 columns each id would be broken into many lines.
    """
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=_WIDE) if piped else Console()
