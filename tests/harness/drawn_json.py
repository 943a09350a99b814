"""Schemas and JSON values drawn by chance: well-formed, of the wrong type, and malformed."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable

from pyspark_zkgroup.formats.json.types import SCALARS
from pyspark_zkgroup.schema import Array, Column, Decimal, Map, Struct, Type

NAMES = ("id", "user", "a", "b", "A", "gr\u00f6\u00dfe", "x y", "t", "k1", "")
DEPTH_MAX = 3

_TEXTS = (
    "",
    "a",
    "NaN",
    "12",
    "1.5",
    "true",
    "null",
    "\u00e9\u20ac\U0001f600",
    'a\nb\t"q"\\/',
    "{}",
    "\x7f",
)
_ESCAPED = (
    r'"\u0041\u00e9"',
    r'"\ud83d\ude00"',
    r'"\ud83d"',
    r'"x\udc00y"',
    r'"\ud83d\u0041"',
    r'"\/\b\f"',
    "'single'",
    "'it\"s'",
    r'"\'"',
)
_NUMBERS = (
    *("0", "-0", "1", "-1", "127", "128", "200", "255", "256", "-128", "-129", "32767", "32768"),
    *("2147483647", "2147483648", "-2147483648", "9223372036854775807", "9223372036854775808"),
    *(
        "-9223372036854775808",
        "123456789012345678901234567890",
        "1.0",
        "1.50",
        "-0.0",
        "1e3",
        "1E-3",
    ),
    *(
        "1.005",
        "2.675",
        "99999.995",
        "1e400",
        "-1e400",
        "1e-400",
        "0.1",
        "123456789.125",
        "1e7",
        "9e6",
    ),
    *(
        "3.4028236e38",
        "1.17549435e-38",
        "NaN",
        "Infinity",
        "-Infinity",
        "-INF",
        "+INF",
        "+Infinity",
    ),
    *("1e22", "1e23", "4.9e-324", "12345678.9", "0.001", "0.0001", "100000000000000000000"),
)
_MALFORMED_NUMBERS = (
    "01",
    "1.",
    ".5",
    "1e",
    "-",
    "+1",
    "0x1",
    "1_000",
    "INF",
    "1.e1",
    "--1",
    "1" * 1001,
)
_TIMES = (
    *("2024-02-29", "2023-02-29", "2024-2-9", "2024", "2024-07", "1970-01-01", "0001-01-01"),
    *(
        "2024-07-01 12:34:56",
        "2024-07-01T12:34:56.123456789",
        "2024-07-01T12:34:56Z",
        "-2024-01-01",
    ),
    *("2024-07-01T12:34:56.1+02:00", "2024-07-01 12:34", "2024-07-01 12", "2024-07-01T12:34Z"),
    *("2024-07-01 24:00:00", "2024-07-01 12:34:60", "2024-03-31 02:30:00", "2024-10-27 02:30:00"),
    *(
        "2024-07-01 12:34:56 UTC",
        "2024-07-01T12:34:56 GMT+1",
        "2024-07-01T12:34:56+0130",
        "+12024-01-01",
    ),
    *(
        "2024-07-01 12:34:56 -1:5",
        "  2024-07-01  ",
        "2024-07-01Tjunk",
        "20240701",
        "123",
        "-5",
        "19000",
    ),
    *(
        "2024-07-01T12:34:56.",
        "2024-07-01 12:34:56 GMT",
        "GMT2024-07-01",
        "2024-13-01",
        "2024-00-10",
    ),
    *("2024-07-01T12:34:56+19:00", "999999-12-31", "294247-01-10T04:00:54.775807Z", "9999-12-31"),
    *("1969-12-31T23:59:59.999999Z", "1880-05-05 00:00:00Z", "2024-07-01T12:34:56UTC+01:00"),
)
_DECIMALS = (
    "12.5",
    "1,234.5",
    "-0.005",
    "1e2",
    ".5",
    "5.",
    "+7",
    "abc",
    "",
    " 1",
    "1e",
    "99999999.99",
)
_BASE64 = (
    "",
    "QUJD",
    "QUI=",
    "QQ==",
    "QUI",
    "Q",
    "QQ=",
    "Q*==",
    "QUJD QUJD",
    "QU JD",
    "+/8=",
    "AAAA\\/w==",
)
_SPECIAL = ("NaN", "Infinity", "-Infinity", "+INF", "-INF", "INF", "nan", "+Infinity", "1.5", "")

Chance = random.Random


def schema(chance: Chance) -> Type:
    """Mostly a struct, as JSON records are."""
    kind = chance.random()
    if kind < 0.8:
        return _struct(chance, DEPTH_MAX)
    return Array(_type(chance, 2)) if kind < 0.9 else Map("string", _type(chance, 2))


def _type(chance: Chance, depth: int) -> Type:
    kind = chance.random()
    if depth == 0 or kind < 0.6:
        if chance.random() < 0.15:
            precision = chance.choice([1, 5, 12, 38])
            return Decimal(precision, chance.randint(0, min(precision, 18)))
        return chance.choice(SCALARS)
    if kind < 0.75:
        return Array(_type(chance, depth - 1))
    return Map("string", _type(chance, depth - 1)) if kind < 0.87 else _struct(chance, depth - 1)


def _struct(chance: Chance, depth: int) -> Struct:
    # Spark's struct compares names as the JSON has them, but its analyzer refuses `a` next to `A`.
    names = [name for name in NAMES if name]
    chosen = list(
        {name.lower(): name for name in chance.sample(names, chance.randint(1, 5))}.values()
    )
    return Struct(tuple(Column(name, _type(chance, depth)) for name in chosen))


def value(chance: Chance, kind: Type, broken: float) -> bytes:
    """Of that type; about `broken` of them are of another type somewhere, or malformed."""
    if chance.random() >= broken:
        return _text(chance, kind, 0.0).encode()
    form = chance.random()
    if form < 0.6:
        return _text(chance, kind, 0.15).encode()
    text = _text(chance, kind, 0.05).encode()
    return _mutated(chance, text) if form < 0.9 else chance.choice(_ODD)(text)


_ODD: tuple[Callable[[bytes], bytes], ...] = (
    lambda text: b"",
    lambda text: b"  \n\t",
    lambda text: b"null",
    lambda text: b"\xef\xbb\xbf" + text,
    lambda text: text + b" and more",
    lambda text: text + text,
    lambda text: b"[" + text + b"]",
    lambda text: b'"' + text + b'"',
    lambda text: text[: len(text) // 2],
    lambda text: text.replace(b'"', b"'"),
    lambda text: text.replace(b"}", b",}"),
    lambda text: text.replace(b"]", b",]"),
    lambda text: text.replace(b":", b" : ").replace(b",", b"\r\n,\t"),
    lambda text: b"[" * 1100 + text,
    lambda text: text.replace(b"a", b"\xff\xc3"),
)


def _mutated(chance: Chance, text: bytes) -> bytes:
    changed = bytearray(text)
    for _ in range(chance.choice([1, 1, 2, 4])):
        at = chance.randrange(len(changed) + 1)
        match chance.randrange(4):
            case 0:
                changed[at:at] = chance.choice(
                    [b'"', b",", b"{", b"}", b"[", b"]", b":", b"\\", b"0", b" "]
                )
            case 1:
                del changed[at : at + chance.choice([1, 1, 3])]
            case 2:
                changed[at : at + 1] = bytes([chance.randrange(256)])
            case 3:
                changed[at:at] = changed[at : at + 12]
    return bytes(changed)


def _text(chance: Chance, kind: Type, wrong: float) -> str:
    roll = chance.random()
    if roll < wrong:
        return _any(chance, 2)
    if chance.random() < 0.05:
        return "null"
    match kind:
        case Struct(fields):
            return _object(chance, fields, wrong)
        case Array(element):
            return (
                f"[{','.join(_text(chance, element, wrong) for _ in range(chance.randrange(4)))}]"
            )
        case Map(_, of):
            names = [chance.choice(NAMES) for _ in range(chance.randrange(4))]
            pairs = (f"{json.dumps(name)}:{_text(chance, of, wrong)}" for name in names)
            return f"{{{','.join(pairs)}}}"
        case Decimal():
            return chance.choice(
                [
                    chance.choice(_NUMBERS),
                    json.dumps(chance.choice(_DECIMALS)),
                    str(chance.randrange(100)),
                ]
            )
        case _:
            return _scalar(chance, str(kind), wrong)


def _object(chance: Chance, fields: tuple[Column, ...], wrong: float) -> str:
    chosen = [one for one in fields if chance.random() < 0.9]
    if chance.random() < 0.2:
        chance.shuffle(chosen)
    if chosen and chance.random() < 0.1:
        chosen.append(chance.choice(chosen))
    pairs = [(one.name, _text(chance, one.type, wrong)) for one in chosen]
    if chance.random() < 0.2:
        pairs.insert(
            chance.randrange(len(pairs) + 1), (chance.choice(["extra", *NAMES]), _any(chance, 2))
        )
    named = (
        f"{json.dumps(name, ensure_ascii=chance.random() < 0.5)}:{text}" for name, text in pairs
    )
    return f"{{{','.join(named)}}}"


def _scalar(chance: Chance, kind: str, wrong: float) -> str:
    if wrong and chance.random() < 0.02:
        return chance.choice(_MALFORMED_NUMBERS)
    odd = chance.random() < 0.3
    match kind:
        case "boolean":
            return chance.choice(["true", "false"])
        case "string":
            return (
                chance.choice(_ESCAPED)
                if odd
                else json.dumps(chance.choice(_TEXTS), ensure_ascii=chance.random() < 0.5)
            )
        case "binary":
            if odd:
                return f'"{chance.choice(_BASE64)}"'
            return json.dumps(base64.b64encode(chance.randbytes(chance.randrange(9))).decode())
        case "float" | "double":
            return json.dumps(chance.choice(_SPECIAL)) if odd else _number(chance)
        case "date" | "timestamp" | "timestamp_ntz":
            return (
                str(chance.randrange(10**10))
                if odd and kind == "timestamp"
                else json.dumps(chance.choice(_TIMES))
            )
        case _:
            bits = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}[kind]
            return (
                chance.choice(_NUMBERS)
                if odd
                else str(chance.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1)))
            )


def _number(chance: Chance) -> str:
    if chance.random() < 0.5:
        return chance.choice(_NUMBERS)
    return repr(chance.uniform(-1e6, 1e6) * 10.0 ** chance.randint(-20, 20))


def _any(chance: Chance, depth: int) -> str:
    match chance.randrange(7 if depth else 5):
        case 0:
            return _number(chance)
        case 1:
            return json.dumps(chance.choice(_TEXTS))
        case 2:
            return chance.choice(_ESCAPED)
        case 3:
            return chance.choice(["true", "false", "null"])
        case 4:
            return json.dumps(chance.choice(_TIMES))
        case 5:
            return f"[{','.join(_any(chance, depth - 1) for _ in range(chance.randrange(3)))}]"
        case _:
            names = (json.dumps(chance.choice(NAMES)) for _ in range(chance.randrange(3)))
            return f"{{{','.join(f'{name}:{_any(chance, depth - 1)}' for name in names)}}}"
