"""Where a command finds the servers, and as whom: options that every command on live groups has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyspark_zkgroup.cli.config_file import Access, read_access
from pyspark_zkgroup.errors import OptionError, ServerError
from pyspark_zkgroup.group.noted_requests import is_requests_group
from pyspark_zkgroup.inspect.report import GroupFacts
from pyspark_zkgroup.inspect.reset import LogSpan
from pyspark_zkgroup.listing import first_few, similar_names
from pyspark_zkgroup.model import (
    BrokeredGroup,
    BrokerMember,
    CommitRefused,
    StoredOffset,
    TopicPartition,
)
from pyspark_zkgroup.printable import printable

if TYPE_CHECKING:
    from pyspark_zkgroup.kafka.group_offsets import GroupOffsets
    from pyspark_zkgroup.zk.store import Store

_ANSWER_S = 10.0
NO_ENDS = "no log ends, therefore no lag"
"""Begins the note about brokers that do not answer."""

_ACCESS = "pyspark_zkgroup.access"
_CONFIG = "pyspark_zkgroup.config"


def _take(context: click.Context, _: click.Parameter, file: Path | None) -> None:
    """Eager: what the file says of places is the default of the options that follow."""
    if file is None:
        return
    context.meta[_CONFIG] = file
    access = context.meta[_ACCESS] = read_access(file)
    places = {"connect": access.connect, "bootstrap": access.bootstrap}
    context.default_map = {
        **(context.default_map or {}),
        **{name: place for name, place in places.items() if place},
    }


def access_given() -> Access:
    """As --config says. To be asked on the thread of the command."""
    context = click.get_current_context(silent=True)
    found: Access = Access() if context is None else context.meta.get(_ACCESS, Access())
    return found


def servers_given() -> list[str]:
    """Return the options that lead another command to the same servers, wherever they come from:
    another shell has other variables. To be asked on the thread of the command.
    """
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    given = {
        "--zookeeper": context.params.get("connect"),
        "--bootstrap-servers": context.params.get("bootstrap"),
        "--config": context.meta.get(_CONFIG),
    }
    return [text for name, value in given.items() if value for text in (name, str(value))]


config_option = click.option(
    "--config",
    metavar="FILE",
    envvar="ZKGROUP_CONFIG",
    type=click.Path(dir_okay=False, path_type=Path),
    is_eager=True,
    expose_value=False,
    callback=_take,
    help="File with options of the reader for TLS, logins and zookeeper.auth, one name=value per "
    "line; or set ZKGROUP_CONFIG.",
)


def zookeeper_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--zookeeper",
        "connect",
        metavar="HOSTS[/CHROOT]",
        envvar="ZKGROUP_ZOOKEEPER",
        required=True,
        help="As zookeeper.connect of the query; or set ZKGROUP_ZOOKEEPER.",
    )(config_option(command))


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Of commands for both kinds of group: one of the two places is required."""
    return click.option(
        "--zookeeper",
        "connect",
        metavar="HOSTS[/CHROOT]",
        envvar="ZKGROUP_ZOOKEEPER",
        default="",
        help="As zookeeper.connect of the query, for groups in ZooKeeper; or set "
        "ZKGROUP_ZOOKEEPER.",
    )(bootstrap_option(config_option(command)))


def former_group_option(name: str, *, multiple: bool = False) -> Callable[..., Any]:
    """Return the hidden option that named the group before GROUP was an argument. It still works,
    with a note on stderr.
    """

    def noted(_context: click.Context, _option: click.Parameter, given: Any) -> Any:
        if given:
            click.echo("Note: --group still works, but give the group as an argument", err=True)
        return given

    return click.option("--group", name, multiple=multiple, hidden=True, callback=noted)


def check_places(connect: str, bootstrap: str) -> None:
    if not connect.strip() and not bootstrap.strip():
        raise click.UsageError(
            "give --bootstrap-servers, or --zookeeper for groups in ZooKeeper (or set "
            "ZKGROUP_BOOTSTRAP_SERVERS or ZKGROUP_ZOOKEEPER)"
        )


bootstrap_option = click.option(
    "--bootstrap-servers",
    "bootstrap",
    metavar="HOST:PORT,...",
    envvar="ZKGROUP_BOOTSTRAP_SERVERS",
    default="",
    help="Brokers, as kafka.bootstrap.servers of the query; or set ZKGROUP_BOOTSTRAP_SERVERS.",
)
registry_option = click.option(
    "--registry",
    metavar="URL",
    default="",
    help="Address of the schema registry. If it needs a login, set schema.registry.url and the "
    "login in --config instead.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def checked_group(name: str) -> str:
    """One that can be the name of a node: kazoo and ZooKeeper refuse the others in their way."""
    if name in ("", ".", "..") or printable(name) != name or {*name} & {*"/\n\t"}:
        raise OptionError.of("bad_group_name", group=name)
    return name


@contextmanager
def store_of(connect: str) -> Iterator[Store]:
    """Open a session; an ensemble that stops answering meanwhile is a ServerError as well."""
    from pyspark_zkgroup.inspect.group_reader import opened
    from pyspark_zkgroup.zk.session import DisconnectedError, SessionLostError, UnreachedError

    access = access_given()
    with ExitStack() as stack:
        try:
            store = stack.enter_context(
                opened(connect, access.auth, access.zookeeper, set_acl=access.set_acl)
            )
        except UnreachedError as error:
            # Its remedy names an option of queries that no command has.
            raise ServerError.of("zookeeper_unreached", reason=error.what) from error
        try:
            yield store
        except (DisconnectedError, SessionLostError) as error:
            raise ServerError.of(
                "zookeeper_stopped_command", server=connect, error=error
            ) from error


def refuse_missing(store: Store, facts: GroupFacts) -> None:
    """A group is there as well where all that is left of it was asked to stay outside."""
    from pyspark_zkgroup.inspect.group_reader import read_groups
    from pyspark_zkgroup.inspect.member_nodes import read_asked

    if not facts.is_there and not read_asked(store, facts.group):
        near = similar_names(facts.group, read_groups(store))
        raise OptionError.of("no_such_group", group=facts.group, similar=near)


def facts_of(store: Store, group: str) -> GroupFacts:
    """What the nodes tell of a group that is there; of topics nothing."""
    from pyspark_zkgroup.inspect.group_reader import read_group

    facts = read_group(store, group, {})
    refuse_missing(store, facts)
    return facts


class LogEnds:
    """Asks the brokers for the ends of logs; connects when it is first asked, and once."""

    def __init__(self, bootstrap: str, registered: Collection[str]) -> None:
        self._security = access_given().kafka
        self._given = bool(bootstrap.strip())
        servers = bootstrap.split(",") if self._given else registered
        self._addresses = tuple(server.strip() for server in servers)
        self._cluster: Any = None

    @property
    def are_known(self) -> bool:
        return bool(self._addresses)

    def topics(self) -> Mapping[str, tuple[int, ...]]:
        """As the brokers know them; only these know where the cluster is a KRaft one."""
        from pyspark_zkgroup.kafka import metadata

        return metadata.topics(self._connected(), timeout_s=_ANSWER_S)

    def lasting_topics(self) -> Callable[[], Mapping[str, tuple[int, ...]]]:
        """For one who asks again and again: one answer alone takes no topic away."""
        from pyspark_zkgroup.planning.cluster_view import SeenTopics, topics_answer

        seen = SeenTopics(lambda last: topics_answer(self._connected(), last))
        return lambda: seen.look().partitions

    def read(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        from pyspark_zkgroup.kafka import offsets

        if not partitions:
            return {}
        return offsets.latest(self._connected(), partitions, timeout_s=_ANSWER_S)

    def read_or_note(
        self, partitions: Collection[TopicPartition]
    ) -> tuple[Mapping[TopicPartition, int], tuple[str, ...]]:
        """Return no ends, and a note that says why, where the brokers do not answer."""
        try:
            return self.read(partitions), ()
        except ServerError as error:
            return {}, (f"{NO_ENDS}: {error}",)

    def starts(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        from pyspark_zkgroup.kafka import offsets

        return offsets.earliest(self._connected(), partitions, timeout_s=_ANSWER_S)

    def at(
        self, partitions: Collection[TopicPartition], at_ms: int
    ) -> Mapping[TopicPartition, int]:
        """The first offset at or after a time; below 0 where there is none."""
        from pyspark_zkgroup.kafka import offsets

        return offsets.look_up(self._connected(), partitions, at_ms, timeout_s=_ANSWER_S).found

    def spans(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, LogSpan]:
        """ServerError where the log of one is not known."""
        starts, ends = self.starts(partitions), self.read(partitions)
        _check_answered(partitions, starts, ends)
        return {p: LogSpan(starts[p], ends[p]) for p in partitions}

    def at_or_end(
        self, partitions: Sequence[TopicPartition], at_ms: int
    ) -> dict[TopicPartition, int]:
        """The first record at or after a time; the end of the log where there is none."""
        found, ends = self.at(partitions, at_ms), self.read(partitions)
        _check_answered(partitions, found, ends)
        return {p: ends[p] if found[p] < 0 else found[p] for p in partitions}

    def stored(
        self, group: str, partitions: Collection[TopicPartition] | None
    ) -> Mapping[TopicPartition, StoredOffset]:
        """The group's offsets in Kafka; of all partitions where none are named."""
        return self._group(group).read(partitions, timeout_s=_ANSWER_S)

    def commit(
        self, group: str, offsets: Mapping[TopicPartition, int], note: str
    ) -> Mapping[TopicPartition, CommitRefused]:
        return self._group(group).commit(offsets, note, timeout_s=_ANSWER_S)

    def groups(self, names: Collection[str] | None) -> tuple[BrokeredGroup, ...]:
        """These groups as far as the brokers coordinate them, or all that consumers are in."""
        from pyspark_zkgroup.kafka import brokered_groups

        found = brokered_groups.look(self._connected(), names, timeout_s=_ANSWER_S)
        return tuple(one for one in found if names or not is_requests_group(one.group))

    def group_members(self, group: str) -> Collection[BrokerMember]:
        """Consumers in a group of that name that the brokers coordinate."""
        return self._group(group).live_members(timeout_s=_ANSWER_S)

    def _group(self, group: str) -> GroupOffsets:
        from pyspark_zkgroup.kafka.group_offsets import GroupOffsets

        return GroupOffsets(self._connected(), group)

    def _connected(self) -> Any:
        from pyspark_zkgroup.kafka.connection import Cluster
        from pyspark_zkgroup.kafka.settings import FetchSettings

        if not self._addresses:
            raise ServerError.of("no_registered_brokers_for_command")
        if self._security.needs_named_brokers and not self._given:
            raise OptionError.of("command_login_without_brokers")
        if self._cluster is None:
            try:
                settings = FetchSettings(
                    self._addresses, client_id="zkgroup-cli", security=self._security
                )
            except ValueError as error:
                raise OptionError.of("bad_bootstrap_servers", error=error) from error
            self._cluster = Cluster(settings)
        return self._cluster

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.close()


def _check_answered(
    partitions: Sequence[TopicPartition], *answers: Mapping[TopicPartition, int]
) -> None:
    absent = [p for p in partitions if any(p not in answer for answer in answers)]
    if absent:
        raise ServerError.of("no_log_offsets", partitions=first_few(absent, 1))
