"""The schemas of a registry: by the id that a record names, and the newest of a subject."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from urllib.parse import quote

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.registry.access import RegisteredSchema, RegistryAccess, Version
from pyspark_zkgroup.registry.http import NotFoundError, get

REFERENCES_MAX = 100
ID_MAX = 2**31 - 1


@lru_cache(maxsize=1000)
def schema_of_id(access: RegistryAccess, number: int) -> RegisteredSchema:
    """NotFoundError if there is none. What an id means never changes, so a process asks once."""
    # To some registries a larger one is no id at all, and they do not say that it is unknown.
    if number > ID_MAX:
        raise _no_id(number)
    try:
        answer = get(access, f"/schemas/ids/{number}")
    except NotFoundError:
        raise _no_id(number) from None
    return _registered(access, answer)


def newest(access: RegistryAccess, subject: str, deadline_s: float | None = None) -> Version:
    """NotFoundError if the subject does not exist, or has no version left."""
    path = f"/subjects/{quote(subject, safe='')}/versions/latest"
    answer = get(access, path, deadline_s)
    schema = _registered(access, answer)
    number = answer.get("version")
    if type(number) is not int:
        raise ServerError.of("no_schema_in_answer")
    return Version(subject, number, schema)


def _no_id(number: int) -> NotFoundError:
    return NotFoundError(f"the registry has no schema with the id {number}")


def _registered(access: RegistryAccess, answer: Any) -> RegisteredSchema:
    texts: dict[str, str] = {}
    _collect(access, answer, texts)
    return RegisteredSchema(_text(answer), tuple(texts.values()), _kind(answer))


def _collect(access: RegistryAccess, answer: Any, texts: dict[str, str]) -> None:
    """The texts that it refers to by their names, each behind those that it refers to itself. Of
    two versions that have one name the first counts, as in Confluent's client: both define it.
    """
    for name, subject, version in _references(answer):
        if name in texts:
            continue
        if len(texts) >= REFERENCES_MAX:
            raise ServerError.of("registry_references", count=REFERENCES_MAX)
        texts[name] = ""  # so that none is asked for within itself
        path = f"/subjects/{quote(subject, safe='')}/versions/{version}?deleted=true"
        try:
            referred = get(access, path)
        except NotFoundError:
            raise NotFoundError(
                f"its schema refers to version {version} of the subject {subject!r}, which the "
                "registry does not have"
            ) from None
        _collect(access, referred, texts)
        del texts[name]
        texts[name] = _text(referred)


def _references(answer: Any) -> list[tuple[str, str, int]]:
    try:
        return [
            (str(one.get("name") or one["subject"]), str(one["subject"]), int(one["version"]))
            for one in answer.get("references") or ()
        ]
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        raise ServerError.of("no_schema_in_answer") from None


def _text(answer: Any) -> str:
    if not isinstance(answer, dict) or not isinstance(answer.get("schema"), str):
        raise ServerError.of("no_schema_in_answer")
    return str(answer["schema"])


def _kind(answer: Any) -> str:
    return str(answer.get("schemaType") or "AVRO")
