"""The job of one driver of the chaos run: the fields that process.py and driver.py share."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Job:
    """One member of the group: its query continues where it was, however often it is started.
    `direct`: it writes with `delta.ingest`. `cores`: how many tasks it runs at a time.
    """

    name: str
    directory: Path
    table: Path
    options: dict[str, str]
    trigger_s: float
    direct: bool = False
    cores: int = 1

    @property
    def checkpoint(self) -> Path:
        return self.directory / "checkpoint"

    @property
    def sink(self) -> Path:
        """The plain log: what each batch has read, also what Delta then refuses or drops."""
        return self.directory / "sink"

    @property
    def events(self) -> Path:
        return self.directory / "events.jsonl"

    @property
    def log(self) -> Path:
        return self.directory / "driver.log"

    @property
    def scratch(self) -> Path:
        return self.directory / "scratch"

    def unlogged(self) -> tuple[int, ...]:
        """The batches that Spark has planned and not logged as finished."""
        planned, logged = (
            {int(path.name) for path in (self.checkpoint / kind).glob("[0-9]*")}
            for kind in ("offsets", "commits")
        )
        return tuple(sorted(planned - logged))

    def planned_at(self, batch: int) -> float:
        """When Spark logged the plan of this batch, right after the boundary that made it. A replay
        has the plan of an earlier run.
        """
        return (self.checkpoint / "offsets" / str(batch)).stat().st_mtime

    def to_json(self) -> str:
        content = {**asdict(self), "directory": str(self.directory), "table": str(self.table)}
        return json.dumps(content)

    @classmethod
    def from_json(cls, text: str) -> Job:
        content = json.loads(text)
        return cls(
            **{
                **content,
                "directory": Path(content["directory"]),
                "table": Path(content["table"]),
            }
        )
