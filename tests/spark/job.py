"""The job of one driver: the fields that drivers.py and driver.py share."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

AVAILABLE_NOW, ONCE = "available-now", "once"


@dataclass(frozen=True)
class Job:
    """One query. Started again with the same directory it continues where it was.

    `trigger`: the seconds between two batches, or available-now, or once. `stepped`: the rows pass
    through a function of ours in each task, which costs time, and is needed to hold tasks.
    `fail_first` (stepped as well): the first attempt of each task reads all its rows, then fails.
    """

    directory: Path
    options: dict[str, str] = field(default_factory=dict)
    trigger: str = "0"
    stepped: bool = False
    fail_first: bool = False

    @property
    def checkpoint(self) -> Path:
        return self.directory / "checkpoint"

    @property
    def sink(self) -> Path:
        return self.directory / "sink"

    @property
    def attempts(self) -> Path:
        """With `fail_first`: what each attempt of each task has read."""
        return self.directory / "attempts"

    @property
    def hold_tasks(self) -> Path:
        """While this file is there, the tasks of a stepped job wait before they read: the sink has
        not got the batch. The file may hold the number of the first batch that is to wait.
        """
        return self.directory / "hold-tasks"

    @property
    def hold_taken(self) -> Path:
        """Likewise, but batches wait after the sink has got them: Spark has not yet logged them as
        finished.
        """
        return self.directory / "hold-taken"

    @property
    def held(self) -> Path:
        """The numbers of the batches that were held."""
        return self.directory / "held"

    def prepare(self) -> None:
        for directory in (self.sink, self.attempts, self.held):
            directory.mkdir(parents=True, exist_ok=True)

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "directory": str(self.directory)})

    @classmethod
    def from_json(cls, text: str) -> Job:
        content = json.loads(text)
        return cls(**{**content, "directory": Path(content["directory"])})
