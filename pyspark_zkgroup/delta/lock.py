"""Keeps the writers of a table on a local disk apart; other storages need nothing.

Delta makes a commit by a rename that must fail where the name exists. On a local disk that is two
steps: A finds no commit 7, B finds none, A renames its own to 7, B renames over it, and the rows of
A are lost although its write succeeded. So the JVM, which commits, holds a lock of this machine.
The lock is free when the JVM ends, kill -9 included.

It is not a lease. A holder that is stopped (SIGSTOP, a frozen container) may be between the two
steps, and would finish the second one when it continues, however long a lease had been over. So
writers wait for it, and log its process id: the operator continues or kills it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.delta.session import check_has_jvm
from pyspark_zkgroup.errors import DeltaError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Delta takes no file whose name begins so for one of the table's.
LOCK = "_zkgroup.lock"
LOOK_AGAIN_S = 0.02
WAITING_SAID_EVERY_S = 30.0
HOLDER_BYTES_MAX = 200
_TIME = "%Y-%m-%d %H:%M:%S"

_in_this_process: dict[Path, threading.Lock] = {}
_log = logging.getLogger("pyspark_zkgroup.delta")


@contextmanager
def alone(spark: SparkSession, location: str) -> Iterator[None]:
    """Keep other writers of the Delta table at `location` away while the block runs, as a local
    disk needs it. On other storages it does nothing.

    `spark`: the session that writes. Use it for statements that change a table while members run:

        with alone(spark, "/data/billing"):
            spark.sql("OPTIMIZE delta.`/data/billing`")
    """
    directory = local_directory(spark, location)
    if directory is None:
        yield
        return
    make(directory)
    # A file lock is the whole process's: queries of one driver are kept apart by the other lock.
    with _in_this_process.setdefault(directory, threading.Lock()):
        jvm: Any = spark._jvm
        file = jvm.java.io.RandomAccessFile(str(directory / LOCK), "rw")
        try:
            channel = file.getChannel()
            _wait_until(lambda: channel.tryLock() is not None, directory)
            since = time.strftime(_TIME)
            pid = jvm.java.lang.ProcessHandle.current().pid()
            file.setLength(0)
            file.write(f"process {pid} since {since}".encode())
            yield
        finally:
            file.close()


def make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DeltaError.of(
            "directory_not_created", directory=directory, error=error.strerror
        ) from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise DeltaError.of("directory_not_created", directory=directory, error="no right to write")


@contextmanager
def alone_here(directory: Path) -> Iterator[None]:
    """The same lock, held by this process, for commits that no JVM makes. It is lost when this
    process opens and closes the file elsewhere.
    """
    directory = directory.resolve()
    with (
        _in_this_process.setdefault(directory, threading.Lock()),
        (directory / LOCK).open("a+b") as file,
    ):
        _wait_until(lambda: _is_locked(file), directory)
        file.truncate(0)
        file.write(f"process {os.getpid()} since {time.strftime(_TIME)}".encode())
        file.flush()
        yield


def _is_locked(file: BinaryIO) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def local_directory(spark: SparkSession, location: str) -> Path | None:
    """Where the table lies, if that is a disk of this machine."""
    check_has_jvm(spark)
    jvm: Any = spark._jvm
    place = jvm.org.apache.hadoop.fs.Path(location)
    storage = place.getFileSystem(spark._jsc.hadoopConfiguration())
    if storage.getScheme() != "file":
        return None
    # One table, one lock: by whatever links it is reached.
    return Path(storage.makeQualified(place).toUri().getPath()).resolve()


def _wait_until(is_held: Callable[[], bool], directory: Path) -> None:
    began = time.monotonic()
    say_at = began + WAITING_SAID_EVERY_S
    while not is_held():
        if time.monotonic() > say_at:
            say_at += WAITING_SAID_EVERY_S
            _log.warning(
                catalogue.warning(
                    "ZKG-140",
                    directory=directory,
                    waited_s=time.monotonic() - began,
                    process=_holder(directory),
                )
            )
        time.sleep(LOOK_AGAIN_S)


def _holder(directory: Path) -> str:
    text = b""
    with suppress(OSError), (directory / LOCK).open("rb") as file:
        text = file.read(HOLDER_BYTES_MAX)
    return text.decode(errors="replace").strip() or "a process that has not written its id"
