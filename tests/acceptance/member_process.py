"""One member in a separate process, of the release that is first on the path. It executes its input
line by line, and answers in JSON. It must also run with the tests of older releases.
First line: {"options": {...}, "offsets": [...], "commits": [...]}, the last two from a checkpoint.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any


def spark_order() -> Any:
    try:
        return importlib.import_module("tests.harness.spark_order")
    except ModuleNotFoundError:
        return importlib.import_module("tests.harness.spark_order")


def main() -> None:
    order = spark_order()
    given = json.loads(sys.stdin.readline())
    checkpoint = order.Checkpoint(given["offsets"], set(given["commits"]))
    query = order.Query(given["options"], checkpoint)
    step = ""

    def at(reached: str) -> None:
        if reached == step:
            raise order.CrashError

    for line in sys.stdin:
        command, _, step = line.strip().partition(" ")
        if command == "die":
            os._exit(9)
        if command == "stop":
            query.stop()
        before = len(query.rows)
        try:
            if command == "trigger":
                query.trigger(at)
        except order.CrashError:
            pass
        answer = {
            "rows": query.rows[before:],
            "held": sorted(p.partition for p in query.held) if command == "trigger" else [],
            "offsets": checkpoint.offsets,
            "commits": sorted(checkpoint.commits),
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
