"""Every error a user can meet. Each says what happened to what, what was expected, and what to do.

ZkgroupError
  OptionError            an option of the reader is unknown, clashing or impossible
  ServerError            a ZooKeeper or Kafka server cannot be reached or refuses (retryable)
  AccessError            a server refuses who we are or what we do, or we its certificate (lasting)
  SubscriptionError      topics, patterns or thread counts that no group can serve
  AssignmentError        the group's members cannot be assigned (round-robin's rules, strategies)
  BadZnodeError          a znode holds what no consumer writes
  PlanError              an offset of the checkpoint cannot be read, or is of a newer version
  FencedError            another process has taken over this member id
  FetchError             a range could not be read; carries topic, partition and offset
    OffsetOutOfRangeError  the broker no longer (or not yet) has that offset
    BadRecordError         a key or a value does not have its column's type
  OffsetBeyondEndError   a committed offset that the partition's log does not reach
  DataLossError          records are gone that were never read (failOnDataLoss=true)
  SandboxError           Java or jars are missing, or a server of the sandbox does not start or stop
  DeltaError             a Delta table cannot be written: no jars, no such column, no end of tries
  StoppedError           a command asked the query to end, and its driver did not stop it
  DependencyError        a library or a Python that is used is missing, or of a wrong version
"""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.printable import printable

E = TypeVar("E", bound="ZkgroupError")
F = TypeVar("F", bound="FetchError")


class ZkgroupError(Exception):
    """`what` happened, and the `remedy`: sentences without a trailing full stop.

    The text ends with the place that explains the code. Within another message it does not.
    """

    code = "ZKG-000"
    retryable = False

    def __init__(self, what: str, remedy: str = "") -> None:
        if type(self) is ZkgroupError:
            raise TypeError("raise one of the errors below ZkgroupError, not ZkgroupError itself")
        self.what = printable(what)
        self.remedy = printable(remedy)
        told = f". {self.remedy}" if remedy else ""
        super().__init__(f"[{self.code}] {self.what}{told}")

    @classmethod
    def of(cls: type[E], message: str, /, **values: object) -> E:
        """Return an error with the text of a message in the catalogue."""
        return cls(*catalogue.what_and_remedy(cls.code, message, **values))

    def __str__(self) -> str:
        return f"{self}. See docs/errors.md#{self.code.lower()}"

    def __format__(self, _spec: str) -> str:
        return super().__str__()

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.remedy)


class OptionError(ZkgroupError):
    code = "ZKG-001"


class ServerError(ZkgroupError):
    code = "ZKG-002"
    retryable = True


class AccessError(ZkgroupError):
    code = "ZKG-014"


class SubscriptionError(ZkgroupError):
    code = "ZKG-003"


class AssignmentError(ZkgroupError):
    code = "ZKG-004"


class BadZnodeError(ZkgroupError):
    code = "ZKG-005"


class PlanError(ZkgroupError):
    code = "ZKG-006"


class FencedError(ZkgroupError):
    code = "ZKG-007"


class FetchError(ZkgroupError):
    code = "ZKG-008"

    def __init__(
        self,
        what: str,
        remedy: str = "",
        *,
        topic: str = "",
        partition: int = -1,
        offset: int = -1,
    ) -> None:
        self.topic, self.partition, self.offset = topic, partition, offset
        super().__init__(what, remedy)

    @classmethod
    def of(cls: type[F], message: str, /, **values: object) -> F:
        what, remedy = catalogue.what_and_remedy(cls.code, message, **values)
        at, offset = values["partition"], values["offset"]
        assert isinstance(at, TopicPartition)
        assert isinstance(offset, int)
        return cls(what, remedy, topic=at.topic, partition=at.partition, offset=offset)

    def __reduce__(self) -> tuple[object, ...]:
        # From a task to the driver an error travels pickled; the facts travel with it.
        make = partial(type(self), topic=self.topic, partition=self.partition, offset=self.offset)
        return make, (self.what, self.remedy)


class OffsetOutOfRangeError(FetchError):
    code = "ZKG-009"


class BadRecordError(FetchError):
    code = "ZKG-017"


class DataLossError(ZkgroupError):
    code = "ZKG-013"


class SandboxError(ZkgroupError):
    code = "ZKG-010"


class OffsetBeyondEndError(ZkgroupError):
    code = "ZKG-011"


class DeltaError(ZkgroupError):
    code = "ZKG-012"


class StoppedError(ZkgroupError):
    code = "ZKG-015"


class DependencyError(ZkgroupError):
    code = "ZKG-016"
