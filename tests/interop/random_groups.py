"""Groups with unlikely settings: colliding topics, odd expressions, malformed registrations."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random

TOPICS = [
    *("a", "b", "x", "x-1", "collAa", "collBB", "CAaAa", "CBBBB", "CAaBB", "CBBAa", "wl.one"),
    *("wl.two", "t7", "Zed", "__consumer_offsets", "__transaction_state", "orders.eu-west_1"),
    *(f"p{number}" for number in range(14)),
]
CONSUMERS = [
    *("c", "c-1", "c-10", "c-2", "C", "g_h-1", "g_h-2", "g_h_9", "z", "zAa", "zBB", "a.b", "q1")
]
EXPRESSIONS = [
    *(".*", "wl.*", "a|b", "[a-z]+", r"wl\\..*", r"wl\..*", "coll.*|C.*", r"p\\d", "p[0-9]"),
    *("(?!wl).*", "x,a", "'a|b'", " a , b ", "(", "a{1,2}", "[", "*", r"\\w+"),
    *("C(Aa|BB)+", "(?i)A", "__.*", ".*_offsets|.*_state|a", "(?!b|wl)[a-z]+.*"),
]
BROKEN = [
    *("", "null", "[]", '"x"', "{", "{}", "not json", "\x1a", '{"pattern":"static"}'),
    *('{"subscription":{"a":1}}', '{"subscription":null,"pattern":"static"}'),
    *('{"subscription":[1],"pattern":"static"}', '{"subscription":{"a":1},"pattern":null}'),
    *('{"subscription":{"a":1},"pattern":1}', '{"subscription":{"a":1},"pattern":"static"} x'),
]
ODD_COUNTS = [
    *("0", "-1", "1.0", "1e0", "true", "null", '"2"', "2147483648", "- 2", "01", "+1", "[1]", "NaN")
]
ODD_FIELDS = [
    *('"x":1.5', '"x":12345678901', '"x":{"y":[1,{"z":"\\u00e9"}]}', '"x":null', '"x":"a\\/b"'),
    *('"x":"é"', '"x":"\\q"', '"x":"a\tb"', '"x":"a\nb"', '"x":"\x1a"', '"x":1e3', '"x":- 7'),
    *('"x":NaN', '"x":01', '"x":[1,]', '"x":"\\u12"', '"x":2147483648', "\"x\":'a'", '"version":2'),
]
ODD_TOPICS = ["nope", "", ".", "..", "a/b", "a//b", "é", "x/", r"\ud83d\ude00"]


@dataclass(frozen=True)
class RandomGroup:
    strategy: str
    exclude_internal: bool
    topics: dict[str, int]
    ids: dict[str, bytes]


def random_group(random: Random) -> RandomGroup:
    names = random.sample(TOPICS, random.randint(1, random.choice([3, 6, 14, len(TOPICS)])))
    members = random.sample(CONSUMERS, random.choice([1, 2, 2, 3, 4, 7, 8, 13]))
    texts = [_registration(random, names) for _ in members]
    if random.random() < 0.45:  # equal ones, so that strict round-robin has something to do
        texts = [texts[0]] * len(texts)
    return RandomGroup(
        random.choice(["range", "roundrobin", "roundrobin"]),
        random.random() < 0.7,
        {name: random.choice([0, 1, 2, 3, 5, 11, 12]) for name in names},
        {member: text.encode() for member, text in zip(members, texts, strict=True)},
    )


def _registration(random: Random, topics: list[str]) -> str:
    if random.random() < 0.02:
        return random.choice(BROKEN)
    pattern, entries = _subscription(random, topics)
    fields = [
        '"version":1',
        '"subscription":{%s}' % ",".join(f"{name}:{count}" for name, count in entries),  # noqa: UP031
        f'"pattern":"{pattern}"',
        '"timestamp":"1"',
    ]
    if random.random() < 0.1:
        fields.append(random.choice(ODD_FIELDS))
    if random.random() < 0.1:
        random.shuffle(fields)
    return "{" + random.choice([",", " , "]).join(fields) + "}"


def _subscription(random: Random, topics: list[str]) -> tuple[str, list[tuple[str, str]]]:
    if random.random() < 0.55:
        names = random.sample(topics, min(len(topics), random.choice([1, 2, 2, 3, 5, 6, 13, 14])))
        texts = list(map(json.dumps, names))
        if random.random() < 0.06:
            texts.append(f'"{random.choice(ODD_TOPICS)}"')
        same = _count(random) if random.random() < 0.5 else None
        return random.choice(["static"] * 9 + ["other"]), [
            (text, same or _count(random)) for text in texts
        ]
    count = random.randint(2, 6) if random.random() < 0.1 else 1
    expressions = dict.fromkeys(random.choice(EXPRESSIONS) for _ in range(count))
    return random.choice(["white_list", "black_list"]), [
        (f'"{expression}"', _count(random)) for expression in expressions
    ]


def _count(random: Random) -> str:
    return random.choice(ODD_COUNTS if random.random() < 0.02 else ["1", "1", "2", "2", "3", "11"])
