"""Whether a file that holds a secret is its owner's alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_GROUP_READS = stat.S_IRGRP
_OTHERS_MAY = stat.S_IRWXG | stat.S_IRWXO


def refusal_of_mode(mode: int, owner: int) -> str:
    """Why this file does not keep a secret; empty if it does.

    Its group may read a file of root's: so a service manager or Kubernetes (`fsGroup`) hands a
    secret to a process that is not root.
    """
    allowed = _GROUP_READS if owner == 0 else 0
    if not mode & _OTHERS_MAY & ~allowed:
        return ""
    return f"other users may read or change it (mode {stat.S_IMODE(mode):04o})"


def refusal_of(file: Path) -> str:
    """Return why the file is not private, or nothing. Links are followed; a file that cannot be
    looked at is not refused.
    """
    if os.name != "posix":
        return ""
    try:
        found = file.stat()
    except OSError:
        return ""
    return refusal_of_mode(found.st_mode, found.st_uid)
