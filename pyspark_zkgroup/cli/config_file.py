"""`--config FILE`: how a command reaches servers that want TLS or to know who asks.

One option of the reader per line, as `name=value`, with the names that queries use. A secret is in
the file or is named there (`${env:NAME}`), and never among a command's arguments, which every user
of the machine can read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.registry.access import RegistryAccess
from pyspark_zkgroup.security import kafka_security, zookeeper_security
from pyspark_zkgroup.security.kafka_security import KafkaSecurity
from pyspark_zkgroup.security.private_file import refusal_of
from pyspark_zkgroup.security.zookeeper_security import ZooKeeperSecurity

_BYTES_MAX = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Access:
    connect: str = ""
    bootstrap: str = ""
    auth: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    set_acl: bool = False
    zookeeper: ZooKeeperSecurity = zookeeper_security.OPEN
    kafka: KafkaSecurity = kafka_security.OPEN
    registry: RegistryAccess | None = None


def read_access(file: Path) -> Access:
    """What the options of a file come to; OptionError says which of them is wrong."""
    from pyspark_zkgroup.options import brokers, kafka_security, registry, zookeeper
    from pyspark_zkgroup.options.given import Given
    from pyspark_zkgroup.options.parse import TABLE

    lines = _lines(file)
    given = Given(lines, TABLE)
    taken = {
        zookeeper.CONNECT,
        brokers.BOOTSTRAP,
        zookeeper.AUTH,
        zookeeper.SET_ACL,
        *kafka_security.OPTIONS,
        *zookeeper.SECURITY,
        *registry.SECTION,
    }
    idle = [option.name for option in given.options() if option not in taken]
    if idle:
        raise OptionError.of("option_without_effect", file=file, option=idle[0])
    secret = [one.name for one in given.options() if one.secret and one is not registry.URL]
    named = {name.lower(): value for name, value in lines.items()}
    literal = [name for name in secret if "${" not in named.get(name.lower(), "")]
    if literal:
        refuse_public(f"--config {file}, which has the secret {literal[0]!r},", file)
    connect = given.value(zookeeper.CONNECT) if zookeeper.CONNECT in given else ""
    return Access(
        connect=str(connect),
        bootstrap=",".join(given.value(brokers.BOOTSTRAP)),
        auth=given.value(zookeeper.AUTH),
        set_acl=given.value(zookeeper.SET_ACL),
        zookeeper=zookeeper.zookeeper_security(given),
        kafka=kafka_security.kafka_security(given),
        registry=registry.registry_access(given),
    )


def read_text(option: str, file: Path) -> str:
    """The text of a file that an option names. No message repeats any of it: it may be secret."""
    try:
        with file.open(encoding="utf-8-sig") as opened:
            return opened.read(_BYTES_MAX)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no UTF-8"
        raise OptionError.of("unreadable_file", option=option, file=file, reason=why) from None


def refuse_public(what: str, file: Path) -> None:
    """Raise for a file with a secret that other users of the machine can read."""
    why = refusal_of(file)
    if why:
        raise OptionError.of("public_secret", what=what, reason=why, file=file)


def _lines(file: Path) -> Mapping[str, str]:
    """No message repeats a line: it may hold a secret."""
    found: dict[str, str] = {}
    for number, line in enumerate(read_text("--config", file).splitlines(), start=1):
        name, equals, value = line.partition("=")
        name = name.strip()
        if not line.strip() or name.startswith("#"):
            continue
        if not equals or not name:
            raise OptionError.of("not_name_value", line=number, file=file)
        if name in found:
            raise OptionError.of("name_twice", line=number, file=file, name=name)
        found[name] = value.lstrip()
    return found
