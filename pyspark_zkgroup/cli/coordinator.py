"""`zkgroup coordinator`: a candidate alone, that serves every coordinated group of a ZooKeeper."""

from __future__ import annotations

import ipaddress
import logging
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.cli.config_file import read_text, refuse_public
from pyspark_zkgroup.cli.reach import LogEnds, access_given, bootstrap_option, zookeeper_option
from pyspark_zkgroup.connect_string import PORT_MAX, parse_address, parse_connect_string
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.jvm.topics import legal_name
from pyspark_zkgroup.security.secret import NO_SECRET, Secret
from pyspark_zkgroup.worker_log import PrintableFormatter

if TYPE_CHECKING:
    from pyspark_zkgroup.protocols.coordinator.candidate import Candidate, Watching
    from pyspark_zkgroup.protocols.light.listening_candidate import LightOffice
    from pyspark_zkgroup.security.stream_access import StreamAccess
    from pyspark_zkgroup.zk.session import SessionSettings

_REFRESH_S = 30.0
TOKEN_LENGTH_MIN = 16
_log = logging.getLogger("pyspark_zkgroup.coordinator")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("coordinator")
@zookeeper_option
@bootstrap_option
@click.option("--name", default="", help="Its id in /consumers/coordinator. Defaults to a new one.")
@click.option(
    "--session-timeout-ms",
    type=click.IntRange(min=100),
    default=6000,
    show_default=True,
    help="How long after a failure another candidate is elected.",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="",
    help="Serve members of protocol=light here (needs pyspark-zkgroup[light]).",
)
@click.option(
    "--advertise",
    metavar="HOST:PORT",
    default="",
    help="The address that light members connect to. Defaults to that of --listen.",
)
@click.option(
    "--token-file",
    type=_FILE,
    help="File whose first line light members must set as coordinator.token. It admits to "
    "all groups.",
)
@click.option(
    "--group-tokens",
    type=_FILE,
    help="File with lines of GROUP=TOKEN, each for that group only. *=TOKEN is for all groups that "
    "have no line. In place of --token-file.",
)
@click.option(
    "--tls-key",
    type=_FILE,
    help="PEM: private key and certificates of this coordinator; light members then connect with "
    "TLS.",
)
@click.option(
    "--tls-trust",
    type=_FILE,
    help="PEM: light members must present a certificate signed by one of these.",
)
@click.option(
    "--allow-anonymous",
    is_flag=True,
    help="Serve any client that reaches --listen. Without it, and without a token or --tls-trust, "
    "only addresses of this machine are accepted in --listen.",
)
@click.option(
    "--members-max",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Limit of light members at the same time.",
)
@click.option(
    "--group-members-max",
    type=click.IntRange(min=1),
    default=500,
    show_default=True,
    help="Limit of light members per group.",
)
def coordinator(connect: str, bootstrap: str, session_timeout_ms: int, **light: Any) -> None:
    """Run a coordinator for the groups of a ZooKeeper.

    The elected coordinator assigns partitions to the members of all coordinated groups. It runs
    until SIGTERM or Ctrl-C; then another candidate is elected at once. If drivers have
    coordinator.candidate=false, run two of these on different machines.

    Example: zkgroup coordinator --zookeeper zk1:2181/kafka
    """
    from pyspark_zkgroup.clock import SYSTEM
    from pyspark_zkgroup.protocols.coordinator.candidate import Candidate, Watching
    from pyspark_zkgroup.protocols.coordinator.rules.candidacy import Candidacy
    from pyspark_zkgroup.protocols.environment import unique_name
    from pyspark_zkgroup.protocols.light.desk import LightDesk
    from pyspark_zkgroup.zk.session import SessionSettings

    try:
        where = parse_connect_string(connect)
    except ValueError as error:
        raise OptionError.of("bad_zookeeper_address", address=connect, error=error) from error
    # What is given wrong is found out before a server is asked.
    stream_access = _stream_access(light)
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    told = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _signum, _frame: told.set())
    brokers = LogEnds(bootstrap, ())
    poll = brokers.lasting_topics() if bootstrap.strip() else None
    if poll is not None:
        poll()  # a wrong address is found now, and not after the first election
    access = access_given()
    settings = SessionSettings(
        where.hosts,
        where.chroot,
        session_timeout_ms,
        session_timeout_ms,
        access.auth,
        access.set_acl,
        access.zookeeper,
    )
    watching = Watching(poll, _REFRESH_S, brokers.close)
    if stream_access is not None:
        _warn(light["listen"], stream_access)
    name = light["name"] or unique_name(SYSTEM)
    candidate: Candidate | LightOffice
    if stream_access is not None:
        candidate = _office(settings, name, watching, bootstrap, light, stream_access)
        click.echo(f"light members are served at {candidate.address}")
    else:
        candidate = Candidate(settings, Candidacy(name), LightDesk(), watching)
    candidate.start()
    try:
        told.wait()
        _log.info("%s received a signal to end", name)
    finally:
        candidate.close()


def _office(
    settings: SessionSettings,
    name: str,
    watching: Watching,
    bootstrap: str,
    light: dict[str, Any],
    stream_access: StreamAccess,
) -> LightOffice:
    try:
        from pyspark_zkgroup.protocols.light.desk import LightDesk
        from pyspark_zkgroup.protocols.light.limits import Limits
        from pyspark_zkgroup.protocols.light.listening_candidate import LightOffice
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("grpc", "google"):
            raise
        raise OptionError.of("listen_without_packages") from None
    brokers = tuple(part.strip() for part in bootstrap.split(",") if part.strip())
    protocol = access_given().kafka.protocol
    limits = Limits(light["members_max"], light["group_members_max"])
    desk = LightDesk(brokers, protocol, limits)
    listen, advertised = light["listen"], light["advertise"]
    return LightOffice(settings, name, watching, desk, listen, stream_access, advertised)


def _stream_access(light: dict[str, Any]) -> StreamAccess | None:
    """Return how light members prove themselves; None where none are served."""
    if not light["listen"]:
        _refuse_idle(light)
        return None
    _check_address("--listen", light["listen"], port_min=0)
    if light["advertise"]:
        _check_address("--advertise", light["advertise"], port_min=1)
    access = _access(light)
    if not (access.knows_members or _is_loopback(light["listen"]) or light["allow_anonymous"]):
        raise OptionError.of("anonymous_members", address=light["listen"])
    return access


def _warn(listen: str, access: StreamAccess) -> None:
    if _is_loopback(listen):
        return
    if not access.knows_members:
        _log.warning(catalogue.warning("ZKG-190", listen=listen))
    elif not access.tls:
        _log.warning(catalogue.warning("ZKG-191", listen=listen))


def _is_loopback(listen: str) -> bool:
    host = listen.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_address(option: str, text: str, *, port_min: int) -> None:
    """Port 0 takes a free one: something to listen at, but no address to come to."""
    host, _, port = text.rpartition(":")
    try:
        parse_address(f"{host}:1" if port_min == 0 and port == "0" else text)
    except ValueError:
        raise OptionError.of(
            "not_host_port", option=option, value=text, port_min=port_min, port_max=PORT_MAX
        ) from None


def _access(light: dict[str, Any]) -> StreamAccess:
    from pyspark_zkgroup.security import pem
    from pyspark_zkgroup.security.stream_access import StreamAccess

    token = NO_SECRET
    if light["token_file"] is not None:
        if light["group_tokens"] is not None:
            raise OptionError.of("two_tokens")
        token = _token(light["token_file"])
    groups: dict[str, tuple[Secret, ...]] = {}
    if light["group_tokens"] is not None:
        groups = _group_tokens(light["group_tokens"])
        token = next(iter(groups.pop("*", ())), NO_SECRET)
    if light["tls_key"] is None:
        if light["tls_trust"] is not None:
            raise OptionError.of("trust_without_key")
        return StreamAccess(token, group_tokens=groups)
    text = read_text("--tls-key", light["tls_key"])
    refuse_public(f"The key in --tls-key {light['tls_key']}", light["tls_key"])
    trust = light["tls_trust"]
    trusted = None if trust is None else read_text("--tls-trust", trust)
    try:
        authorities = "" if trusted is None else pem.certificates(trusted)
        key = Secret(pem.private_key(text))
        return StreamAccess(token, True, authorities, pem.certificates(text), key, groups)
    except ValueError as error:
        raise OptionError.of("bad_pem", error=error) from None


def _token(file: Path) -> Secret:
    lines = read_text("--token-file", file).splitlines()
    refuse_public(f"The token in --token-file {file}", file)
    text = lines[0].strip() if lines else ""
    return _checked_token(text, f"The first line of --token-file {file}")


def _group_tokens(file: Path) -> dict[str, tuple[Secret, ...]]:
    """Of each group, more than one while they are exchanged. No message repeats a line."""
    text = read_text("--group-tokens", file)
    refuse_public(f"The tokens in --group-tokens {file}", file)
    found: dict[str, tuple[Secret, ...]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        group, equals, token = line.partition("=")
        group = group.strip()
        if not line.strip() or group.startswith("#"):
            continue
        where = f"Line {number} of --group-tokens {file}"
        if not equals or not (group == "*" or legal_name(group)):
            raise OptionError.of("not_group_token", where=where)
        if group == "*" and group in found:
            raise OptionError.of("default_token_twice", where=where)
        found[group] = (*found.get(group, ()), _checked_token(token.strip(), where))
    if not found:
        raise OptionError.of("no_tokens", file=file)
    return found


def _checked_token(text: str, where: str) -> Secret:
    if len(text) < TOKEN_LENGTH_MIN:
        raise OptionError.of("short_token", where=where, length=len(text), minimum=TOKEN_LENGTH_MIN)
    return Secret(text)


def _refuse_idle(light: dict[str, Any]) -> None:
    for name in (
        "advertise",
        "token_file",
        "group_tokens",
        "tls_key",
        "tls_trust",
        "allow_anonymous",
    ):
        if light[name]:
            shown = "--" + name.replace("_", "-")
            raise OptionError.of("without_listen", option=shown)
