"""In how many tasks a table's log is replayed."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.delta.replay_tasks import replay_tasks


@pytest.mark.parametrize(
    ("files", "cores", "tasks"),
    [
        (0, 8, 1),
        (9_999, 8, 1),
        (10_000, 8, 2),
        (35_000, 8, 4),
        (10_000_000, 8, 8),
        (10_000_000, 1, 1),
        (10_000_000, 400, 50),
    ],
)
def test_one_task_until_the_files_are_many_then_no_more_than_cores(
    files: int, cores: int, tasks: int
) -> None:
    assert replay_tasks(files, cores) == tasks
