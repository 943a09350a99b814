"""Object stores that hold tables, the options that reach them, and their files.

Options hold credentials. Neither a repr nor an error shows one, and they travel to tasks within
pickled objects only: what Spark shows of a query does not have them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlsplit

from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.security.secret import Secret

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMES = ("s3", "s3a", "abfs", "abfss", "gs")
_ACCOUNT_BEFORE_AT = ("abfs", "abfss")
# Overwrites the commits of others: delta-rs offers it for storages that cannot do without.
_UNSAFE = "allow_unsafe_rename"
# Values that a message may show. Whatever other options hold may be a secret.
_SHOWN = re.compile(r"(?i)region|endpoint|allow|retr|timeout|bucket|backoff|conditional")
_IN_ENVIRONMENT = re.compile(r"(AWS|AZURE|GOOGLE)_.*(SECRET|KEY|TOKEN|PASSWORD|CREDENTIAL|SAS)")
_SHORT = 3
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_ARROW = re.compile(r"\s*↳\s*")
_LOGIN_IN_URL = re.compile(r"(?<=://)[^/\s@]+:[^/\s@]+@")
_SIGNATURE = re.compile(r"(?i)((?:sig|signature|x-amz-[a-z-]+|x-goog-[a-z-]+)=)[^&\s\"<]+")
_REFUSED = re.compile(
    r"40[13] (Forbidden|Unauthorized)|lacked the necessary privileges|lacked valid authentication"
)
_SHOWN_MAX = 600
HIDDEN = "*****"


@dataclass(frozen=True, slots=True)
class Storage:
    """How tables of one query are reached: options by delta-rs's names. Without any, by what
    delta-rs finds in the environment of each process.
    """

    options: tuple[tuple[str, Secret], ...] = ()

    @property
    def plain(self) -> dict[str, str]:
        return {name: value.text for name, value in self.options}

    def cleaned(self, error: object) -> str:
        """Return an error's text in one line, without secrets."""
        text = _ARROW.sub(": ", _ESCAPES.sub("", str(error)))
        secrets = [value.text for name, value in self.options if not _SHOWN.search(name)]
        secrets += [value for name, value in os.environ.items() if _IN_ENVIRONMENT.match(name)]
        for secret in secrets:
            if len(secret) > _SHORT:
                for form in (secret, quote(secret, safe="")):
                    text = text.replace(form, HIDDEN)
        text = _LOGIN_IN_URL.sub(f"{HIDDEN}@", text)
        text = _SIGNATURE.sub(rf"\1{HIDDEN}", text)
        return " ".join(text.split())[:_SHOWN_MAX]

    @contextmanager
    def guarded(self, where: str, *, is_repeated: bool = False) -> Iterator[None]:
        """Raise errors of an object store without secrets, as DeltaError. If the caller repeats
        what failed, only a refused login is one. Errors of tables on disks stay as they are.
        """
        from deltalake.exceptions import DeltaError as DeltaRsError

        if not is_object_store(where):
            yield
            return
        try:
            yield
        except (DeltaRsError, OSError) as error:
            text = self.cleaned(error)
            # It stays the context of what is raised, which some log formats show.
            error.args = (text,)
            raise self._plain(error, text, where, is_repeated) from None

    def _plain(self, error: Exception, text: str, where: str, is_repeated: bool) -> Exception:
        from deltalake.exceptions import DeltaError as DeltaRsError

        if _REFUSED.search(text):
            return DeltaError.of("storage_refused", where=where, error=text)
        if not is_repeated:
            return DeltaError.of("storage_failed", where=where, error=text)
        return DeltaRsError(text) if isinstance(error, DeltaRsError) else OSError(text)


LOCAL = Storage()


def is_object_store(location: str) -> bool:
    return urlsplit(location).scheme in SCHEMES


def checked_location(location: str) -> str:
    """Return the location of a table in an object store; DeltaError if it holds a login."""
    parts = urlsplit(location)
    has_login = parts.username is not None and parts.scheme not in _ACCOUNT_BEFORE_AT
    if has_login or parts.password is not None or parts.query:
        raise DeltaError.of("login_in_location", bucket=parts.hostname)
    return location.rstrip("/")


def storage_of(options: Mapping[str, str] | None, location: str) -> Storage:
    """DeltaError for options that do not fit the location, or make commits unsafe."""
    given = dict(options or {})
    if given and not is_object_store(location):
        raise DeltaError.of("options_for_disk", where=location)
    for name, value in given.items():
        if not isinstance(value, str):
            raise DeltaError.of("storage_option_type", name=name, type=type(value).__name__)
        if name.lower().endswith(_UNSAFE):
            raise DeltaError.of("unsafe_storage_option", name=name)
    return Storage(tuple((name, Secret(value)) for name, value in sorted(given.items())))


class TableFiles(Protocol):
    """The files of one table, by paths within it."""

    def create(self, path: str) -> pa.NativeFile: ...
    def open(self, path: str) -> pa.NativeFile: ...
    def names(self) -> list[str]:
        """Return the names at the top, of folders too."""
        ...


def files_in(directory: str, storage: Storage) -> TableFiles:
    if is_object_store(directory):
        return _StoredFiles(directory, storage)
    return _LocalFiles(Path(directory))


class _LocalFiles:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def create(self, path: str) -> pa.NativeFile:
        import pyarrow as pa

        place = self._directory / path
        place.parent.mkdir(parents=True, exist_ok=True)
        return pa.OSFile(str(place), "wb")

    def open(self, path: str) -> pa.NativeFile:
        import pyarrow as pa

        return pa.OSFile(str(self._directory / path), "rb")

    def names(self) -> list[str]:
        if not self._directory.is_dir():
            return []
        return sorted(one.name for one in self._directory.iterdir())


class _StoredFiles:
    """Object stores have no folders to create. delta-rs reaches them as it does for commits."""

    def __init__(self, directory: str, storage: Storage) -> None:
        from deltalake.fs import DeltaStorageHandler
        from pyarrow import fs

        with storage.guarded(directory):
            handler: Any = DeltaStorageHandler(directory, storage.plain)
        self._store = fs.PyFileSystem(handler)

    def create(self, path: str) -> pa.NativeFile:
        return self._store.open_output_stream(path)

    def open(self, path: str) -> pa.NativeFile:
        return self._store.open_input_file(path)

    def names(self) -> list[str]:
        from pyarrow import fs

        found = self._store.get_file_info(fs.FileSelector("", allow_not_found=True))
        return sorted(one.base_name for one in found)
