"""A query's commits to a table in the store, in a separate process: batches of equal length.

python -m tests.object_store.member URL PLACE OFFSETS LENGTH
"""

from __future__ import annotations

import sys

from pyspark_zkgroup.delta.direct.committing import Commits
from tests.object_store.scene import stored
from tests.object_store.store import Store
from tests.unit.delta.ingest_scene import taken


def main(url: str, place: str, offsets: int, length: int) -> None:
    into = stored(Store(url), place)
    commits = Commits(into)
    for start in range(0, offsets, length):
        taken(commits, into, {0: range(start, min(start + length, offsets))})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
