"""How a job speaks and ends: one line for each thing it tells, and a failure is a line as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.errors import PySparkException

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import ZkgroupError
from pyspark_zkgroup.spark.stopping import has_lost_jvm

LINES_MAX = 6


@dataclass(frozen=True)
class Job:
    name: str

    def say(self, text: str) -> None:
        print(f"{self.name}: {text}", flush=True)

    def status(self, work: Callable[[], int]) -> int:
        """That of `work`, or 1 where it failed with something that a job may meet."""
        try:
            return work()
        except (PySparkException, ZkgroupError) as error:
            self.say(f"failed: {reason(error)}")
        except Exception as error:
            # A signal to a process group, as from `timeout`, ends the JVM as well.
            if not has_lost_jvm(error):
                raise
            self.say(f"failed: {catalogue.warning('ZKG-187', query=self.name)}")
        return 1


def reason(error: Exception) -> str:
    """Our own error where there is one, without the stacks around it, which Spark has logged."""
    lines = str(error).split("\n\nJVM stacktrace:")[0].splitlines()
    for line in lines:
        if "[ZKG-" in line:
            return line[line.index("[ZKG-") :].strip()
    told = [line.strip() for line in lines if line.strip() and not line.startswith("\tat ")]
    return " ".join(told[:LINES_MAX]) or type(error).__name__
