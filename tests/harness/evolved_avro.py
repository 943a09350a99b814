"""Pairs of Avro schemas, a value of the writer's, and the row that Spark's from_avro makes of it
with the other as its option `avroSchema`; None where it makes a row of nulls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark_zkgroup.formats.avro.schema import Schema
from tests.harness.drawn_avro import parsed


class OneSchema:
    """See `Writers`: one schema of all records, and that of the columns."""

    def __init__(self, writer: Any, reader: Any) -> None:
        self._writer = parsed(writer)
        self.reader: Schema | None = None if reader is None else parsed(reader)

    def schema(self, _number: int) -> Schema:
        return self._writer


@dataclass(frozen=True)
class Evolved:
    about: str
    writer: Any
    reader: Any
    value: bytes
    row: dict[str, Any] | None


def _record(name: str, *fields: Any, **more: Any) -> Any:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def _field(name: str, kind: Any, **more: Any) -> Any:
    return {"name": name, "type": kind, **more}


def _fixed(name: str, **more: Any) -> Any:
    return {"type": "fixed", "name": name, "size": 1, **more}


def _enum(name: str, *symbols: str, **more: Any) -> Any:
    return {"type": "enum", "name": name, "symbols": list(symbols or "A"), **more}


def _of(kind: Any) -> Any:
    return _record("R", _field("a", kind))


def _members(*values: Any) -> dict[str, Any]:
    return {"a": {f"member{at}": one for at, one in enumerate(values)}}


_X = _field("x", "int")
_TEXTS = {"type": "array", "items": "string"}
_NUMBERS = {"type": "array", "items": "int"}
_ONE = {"x": 1}
_OLD_AND_NEW = _record("R", _field("old", "int"), _field("new", "int"))
_NEW = _record("R", _field("new", "int", aliases=["old"]))
_FIRST_AND_SECOND = _record("R", _field("first", "int"), _field("second", "int"))

EVOLVED = (
    Evolved(
        "a union of records of one name in two namespaces",
        _of([_record("n1.A", _X), _record("n2.A", _X)]),
        _of([_record("n1.A", _X), _record("n2.A", _X)]),
        b"\2\2",
        _members(None, _ONE),
    ),
    Evolved(
        "such a union in another order",
        _of([_record("n1.A", _X), _record("n2.A", _X)]),
        _of([_record("n2.A", _X), _record("n1.A", _X)]),
        b"\2\2",
        _members(None, _ONE),
    ),
    Evolved(
        "such a union with another branch",
        _of([_record("n1.A", _X), _record("n2.A", _X)]),
        _of(["string", _record("n2.A", _X), _record("n1.A", _X)]),
        b"\2\2",
        _members(None, _ONE, None),
    ),
    Evolved(
        "a union of enums of one name in two namespaces",
        _of([_enum("n1.E"), _enum("n2.E")]),
        _of([_enum("n1.E"), _enum("n2.E")]),
        b"\2\0",
        _members(None, b"A"),
    ),
    Evolved(
        "a union of fixeds of one name in two namespaces",
        _of([_fixed("n1.F"), _fixed("n2.F")]),
        _of([_fixed("n1.F"), _fixed("n2.F")]),
        b"\2\7",
        _members(None, b"\7"),
    ),
    Evolved(
        "the full name goes before the last part of it",
        _of(_record("p.A", _X)),
        _of([_record("q.A", _X), _record("p.A", _X)]),
        b"\2",
        _members(None, _ONE),
    ),
    Evolved(
        "the last part of a name goes before other records with the same fields",
        _of(_record("p.C", _X)),
        _of([_record("P", _X), _record("q.C", _X)]),
        b"\2",
        _members(None, _ONE),
    ),
    Evolved(
        "a record of another name, with fields that fit",
        _of(_record("C", _X)),
        _of(["null", _record("B", _field("y", "string")), _record("A", _X)]),
        b"\2",
        _members(None, _ONE),
    ),
    Evolved(
        "the first record that can be read by its defaults",
        _of(_record("C", _X)),
        _of([_record("B", _field("y", "int")), _record("D", _X, _field("w", "int", default=3))]),
        b"\2",
        _members(None, {"x": 1, "w": 3}),
    ),
    Evolved(
        "elements are not looked at to choose a record",
        _of(_record("C", _field("x", _TEXTS))),
        _of([_record("P", _field("x", _NUMBERS)), _record("Q", _field("x", _TEXTS))]),
        b"\2\2a\0",
        None,
    ),
    Evolved(
        "an enum of another namespace in a union",
        _of(_enum("p.E")),
        _of(["null", _enum("q.E")]),
        b"\0",
        None,
    ),
    Evolved(
        "an enum of another namespace", _of(_enum("p.E")), _of(_enum("q.E")), b"\0", {"a": b"A"}
    ),
    Evolved(
        "a fixed of another namespace in a union",
        _of(_fixed("p.F")),
        _of(["null", _fixed("q.F")]),
        b"\7",
        None,
    ),
    Evolved(
        "an enum by its alias, and an unknown symbol by the default",
        _of(_enum("m.Old", "A", "B")),
        _of(_enum("n.New", "A", "C", aliases=["m.Old"], default="C")),
        b"\2",
        {"a": b"C"},
    ),
    Evolved(
        "an alias is in the namespace of its type",
        _of(_enum("m.Old")),
        _of(_enum("n.New", aliases=["Old"])),
        b"\0",
        None,
    ),
    Evolved("a field by its alias", _record("R", _field("old", "int")), _NEW, b"\2", {"new": 1}),
    Evolved("a field by its alias, next to one of its name", _OLD_AND_NEW, _NEW, b"\2\4", None),
    Evolved(
        "two fields by aliases of one",
        _FIRST_AND_SECOND,
        _record("R", _field("new", "int", aliases=["first", "second"])),
        b"\2\4",
        None,
    ),
    Evolved(
        "an alias takes a field away from that of its name",
        _FIRST_AND_SECOND,
        _record("R", _field("first", "int"), _field("z", "int", aliases=["first"], default=9)),
        b"\2\4",
        None,
    ),
    Evolved(
        "of two fields with one alias the last one counts",
        _record("R", _X),
        _record(
            "R",
            _field("p", "int", aliases=["x"], default=7),
            _field("q", "int", aliases=["x"], default=9),
        ),
        b"\2",
        {"p": 7, "q": 1},
    ),
    Evolved(
        "aliases that swap two names",
        _FIRST_AND_SECOND,
        _record(
            "R",
            _field("second", "int", aliases=["first"], default=7),
            _field("first", "int", aliases=["second"], default=9),
        ),
        b"\2\4",
        {"second": 2, "first": 1},
    ),
    Evolved(
        "aliases of fields belong to the record's full name",
        _of(_record("n.Old", _X)),
        _of(_record("m.Old", _field("z", "int", aliases=["x"], default=9))),
        b"\2",
        {"a": {"z": 9}},
    ),
    Evolved(
        "aliases of a record and of its field",
        _of(_record("Old", _X)),
        _of(_record("New", _field("z", "int", aliases=["x"]), aliases=["Old"])),
        b"\2",
        {"a": {"z": 1}},
    ),
    Evolved(
        "defaults that are no finite numbers",
        _record("R", _X),
        _record(
            "R",
            _field("a", "float", default="Infinity"),
            _field("b", "double", default="-Infinity"),
            _field("c", "double", default="NaN"),
        ),
        b"\2",
        {"a": "inf", "b": "-inf", "c": "nan"},
    ),
    Evolved(
        "a record that contains itself, by its alias, as far as the columns go",
        _record("N", _X, _field("next", ["null", "N"])),
        _record("M", _field("w", "long", aliases=["x"]), aliases=["N"]),
        b"\2\2\4\0",
        {"w": 1},
    ),
)
