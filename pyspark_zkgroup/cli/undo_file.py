"""The file by which a change of offsets can be undone."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

from pyspark_zkgroup.cli.offset_file import is_there, save_new
from pyspark_zkgroup.cli.reach import servers_given
from pyspark_zkgroup.cli.shown_command import shown_command
from pyspark_zkgroup.inspect.reset import Move

# A file's name has at most 255 on most systems.
_NAME_BYTES_MAX = 200


def save_undo(group: str, wanted: Sequence[Move], undo: Path | None) -> str:
    """Keep the offsets as they are, and say how to go back to them. A number below 0, which some
    other client has written to ZooKeeper, is no offset to go back to.
    """
    if undo is not None and os.path.lexists(undo):
        raise is_there(undo)  # also where there is nothing to save: it is no way back from this
    before = {m.partition: m.before for m in wanted if m.before is not None and m.before >= 0}
    if not before:
        return "There is nothing to go back to: the group had none of them before"
    saved = undo or _free_name(group)
    save_new(saved, before)
    new = len(wanted) - len(before)
    rest = f" ({new} that the group did not have before will stay)" if new else ""
    options = [*servers_given(), "--execute"]
    return f"Back: {shown_command('offsets import', group, saved, options=options)}{rest}"


def _free_name(group: str) -> Path:
    """In this directory, whatever the group is called. The next second's where another command of
    this one has taken it.
    """
    at = int(time.time())
    name = re.sub(r"[^\w.-]", "_", group).encode()[:_NAME_BYTES_MAX].decode("utf-8", "ignore")
    while os.path.lexists(file := Path(f"{name}-{at}.undo.json")):
        at += 1
    return file
