"""What tests see of the S3 server: where it is, its faults, and the objects that it has."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyarrow import fs

from pyspark_zkgroup.delta.direct.storage import Storage, storage_of
from tests.harness.planted_secrets import STORAGE_SECRET

ROOT = Path(__file__).parents[2]
ACCESS_KEY, SECRET_KEY = "AKIATESTACCESSKEY", STORAGE_SECRET
BUCKET, FAULTS, REQUESTS = "lake", "/_faults", "/_requests"
COMMIT, DATA = r"PUT .*_delta_log/0.*\.json", r"(PUT|POST) .*\.parquet"


class Store:
    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def options(self) -> dict[str, str]:
        """The names of delta-rs; few retries, which a test waits for."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "max_retries": "2",
            "retry_timeout": "10s",
        }

    def storage(self, **changed: str) -> Storage:
        return storage_of({**self.options, **changed}, f"s3://{BUCKET}")

    def new_place(self) -> str:
        return f"s3://{BUCKET}/table-{uuid.uuid4().hex[:8]}"

    def fault(self, kind: str, request: str, times: int = 1, **given: Any) -> None:
        """Let the next requests that match a pattern fail."""
        self.set_faults({"kind": kind, "request": request, "times": times, **given})

    def set_faults(self, *faults: dict[str, Any]) -> None:
        """Forget earlier faults and requests."""
        body = json.dumps(faults).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + FAULTS, body)):
            pass

    def requests(self) -> list[str]:
        """Return those since the last call of `fault`."""
        with urllib.request.urlopen(self.url + REQUESTS) as answer:
            found: list[str] = json.load(answer)
        return found

    def objects(self, place: str) -> dict[str, bytes]:
        from deltalake.fs import DeltaStorageHandler

        store = fs.PyFileSystem(DeltaStorageHandler(place, self.options))
        found = store.get_file_info(fs.FileSelector("", recursive=True))
        names = [one.path for one in found if one.type == fs.FileType.File]
        return {name: store.open_input_file(name).read() for name in names}


@contextmanager
def started() -> Iterator[Store]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.object_store.server"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Store(f"http://127.0.0.1:{int(process.stdout.readline())}")
    finally:
        process.stdin.close()  # which ends it
        process.wait(10)
        process.stdout.close()
