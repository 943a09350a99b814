"""Random options, right and wrong, and what must hold of whatever comes of them.

python -m tests.harness.fuzzed_options 100000
"""

from __future__ import annotations

import json
import re
import string
import sys
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import Options, parse
from pyspark_zkgroup.options.option import Option
from pyspark_zkgroup.options.parse import TABLE
from pyspark_zkgroup.options.refusals import FIXED, REFUSED

LEAST = {"zookeeper.connect": "zk1", "group.id": "billing", "subscribe": "orders"}
SHOWN_MAX = 200
_KNOWN = TABLE.known
_NAMES = [known.name for known in _KNOWN.values()]
_OTHERS = [*(refused.name for refused in REFUSED), *(fixed.name for fixed in FIXED)]
_WORDS = [
    "earliest",
    "latest",
    "smallest",
    "largest",
    "range",
    "roundrobin",
    "new",
    "old",
    "zookeeper",
    "kafka",
    "true",
    "false",
    "TRUE",
    "none",
    "read_committed",
    "read_uncommitted",
    "error",
    "ssl",
    "PLAINTEXT",
    "SASL_SSL",
    "PLAIN",
    "SCRAM-SHA-512",
    "https",
    "PEM",
    "use_all_dns_ips",
    "5m",
    "30s",
    "1h",
    "10",
    "ms",
    "-1",
    "0",
    "1",
    "2",
    "7",
    "100",
    "6000",
    "9223372036854775807",
    "2147483648",
    "1e3",
    "0x10",
]
# What prevails over what: times over offsets, and one time for all over times of partitions.
_PREVAILS = {
    "startingOffsets": ("startingTimestamp", "startingOffsetsByTimestamp"),
    "startingOffsetsByTimestamp": ("startingTimestamp",),
    "endingOffsets": ("endingTimestamp", "endingOffsetsByTimestamp"),
    "endingOffsetsByTimestamp": ("endingTimestamp",),
}
# They name the kind of a store, and where none is given they do nothing, as in Kafka's clients.
_IDLE_ALONE = (
    "kafka.ssl.keystore.type",
    "kafka.ssl.truststore.type",
    "zookeeper.ssl.keystore.type",
    "zookeeper.ssl.truststore.type",
)
_TOPICS = ("orders", "payments", "a.b-c_D", "x" * 249, "x" * 250, "..", "", "two words", "grün")


def case(rng: Random) -> dict[str, str]:
    """Mostly what may be given, so that errors behind the first one are reached too."""
    options = dict(LEAST)
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        name = rng.choice(_NAMES) if rng.random() < 0.95 else rng.choice(_OTHERS)
        if rng.random() < 0.02:
            at = rng.randrange(len(name))
            name = name[:at] + rng.choice(string.ascii_letters) + name[at + 1 :]
        if name.lower() == "assign" or "pattern" in name.lower():
            options.pop("subscribe", None)
        value = legal(rng, name) if rng.random() < 0.9 else text(rng)
        options[rng.choice((str, str, str.lower, str.upper))(name)] = value
    if rng.random() < 0.03:
        options.pop(rng.choice(sorted(LEAST)), None)
    return options


def legal(rng: Random, name: str) -> str:
    """By itself, if chance comes upon such a text within its tries."""
    known = _KNOWN.get(name.lower())
    tried = [text(rng) for _ in range(40 if known is not None else 1)]
    if known is not None:
        words = re.findall(r"[^\s,()]+", known.rule.allowed)
        tried = [rng.choice(words) if rng.random() < 0.3 else one for one in tried]
    for one in tried:
        try:
            if known is not None:
                known.rule.read(one.strip())
                return one
        except ValueError:
            continue
    return tried[-1]


def text(rng: Random) -> str:
    make = rng.choice((_word, _word, _number, _number, _topics, _offsets, _servers, _garbage))
    return make(rng)


def _word(rng: Random) -> str:
    return rng.choice(_WORDS)


def _number(rng: Random) -> str:
    return str(rng.choice((rng.randint(-3, 20), rng.randint(1, 10**6), rng.randint(0, 2**70))))


def _topics(rng: Random) -> str:
    return ",".join(rng.choice(_TOPICS) for _ in range(rng.randint(1, 3)))


def _offsets(rng: Random) -> str:
    def value() -> object:
        return rng.choice((rng.randint(-3, 100), [rng.randint(-1, 9)], "5", None, 1.5, True))

    topic, number = rng.choice(_TOPICS[:3]), str(rng.randint(-1, 12))
    shape: Callable[[], object] = rng.choice(
        (
            lambda: {topic: {number: value()}},
            lambda: {topic: [rng.randint(0, 9), rng.randint(0, 9)]},
            lambda: {topic: value()},
            lambda: [topic],
            dict,
        )
    )
    made = json.dumps(shape())
    return made if rng.random() < 0.9 else made[: rng.randrange(len(made) + 1)]


def _servers(rng: Random) -> str:
    hosts = ("zk1", "zk1:2181", "[::1]:9092", "k1:9092", "k1:99999", "k 1:9", ":9092")
    chroot = rng.choice(("", "", "/kafka", "/a/b", "kafka", "/a//b"))
    return ",".join(rng.choice(hosts) for _ in range(rng.randint(1, 3))) + chroot


def _garbage(rng: Random) -> str:
    letters = string.printable + "äß€😀\x00\u202e٣"
    return "".join(rng.choice(letters) for _ in range(rng.choice((0, 1, 5, 40, 400))))


def check(options: dict[str, str], outcomes: Counter[str]) -> None:
    """An accepted value shows in the frozen options; a refusal says what, how it was given, and
    what to do. Nothing else may be raised.
    """
    try:
        found = parse(options)
    except OptionError as error:
        outcomes["refused"] += 1
        _check_refusal(options, error)
        return
    outcomes["accepted"] += 1
    for name in options:
        known = _KNOWN.get(name.lower())
        if known is not None:
            _check_shows(options, name, found)


def _check_refusal(options: dict[str, str], error: OptionError) -> None:
    message = str(error)
    assert error.remedy, f"{options}: {message} names no remedy"
    named = [name for name in options if name.lower() in message.lower()]
    missing = [name for name in LEAST if name not in options]
    assert named or missing, f"{options}: {message} names no option that was given"
    shown = [name for name in named if repr(options[name][:SHOWN_MAX])[1:-1] in message]
    hidden = [name for name in named if TABLE.is_secret(name)] or "'*****'" in message
    assert shown or hidden or missing, f"{options}: {message} does not show what was given"
    for name, given in options.items():
        # Messages may say any of our own words for a reason of their own.
        public = " ".join((*_WORDS, *(known.rule.allowed for known in _KNOWN.values())))
        public += "".join(text for other, text in options.items() if not TABLE.is_secret(other))
        if (
            TABLE.is_secret(name)
            and len(given) > 8
            and given.lower() not in f"{public} {name}".lower()
        ):
            assert given not in message, f"{options}: {message} shows a secret"


def _check_shows(options: dict[str, str], name: str, found: Options) -> None:
    try:
        without = parse({n: t for n, t in options.items() if n != name})
    except OptionError:
        return
    if without != found:
        return
    # The value is what holds anyway. Then some other one must make a difference.
    option = _option_of(name)
    twice = [n for n in options if n != name and _option_of(n) is option]
    assert twice or stands_aside(name, options) or _matters(options, name, found), (
        f"{name} = {options[name]!r} changes nothing: {options}"
    )


def _matters(options: dict[str, str], name: str, found: Options) -> bool:
    for seed in range(30):
        try:
            if parse({**options, name: legal(Random(seed), name)}) != found:
                return True
        except OptionError:
            return True
    return False


def _option_of(name: str) -> Option[Any] | None:
    known = _KNOWN.get(name.lower())
    return known.option if known else None


def stands_aside(name: str, options: dict[str, str]) -> bool:
    """Where another option takes its place, as its text says."""
    given = {n.lower() for n in options}
    option = _option_of(name)
    if option is not None and option.name in _IDLE_ALONE:
        return True
    others = _PREVAILS.get(option.name, ()) if option is not None else ()
    return any(other.lower() in given for other in others)


def main() -> None:
    cases = int(sys.argv[1])
    outcomes: Counter[str] = Counter()
    for seed in range(cases):
        check(case(Random(seed)), outcomes)
    print(f"{cases} cases: {dict(outcomes)}")


if __name__ == "__main__":
    main()
