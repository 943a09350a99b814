"""Reads and transactions of one session, many to a round trip.

A batch of transactions is packed into requests below the server's packet limit. A packed request
that is refused tells which transaction it was: that one is taken out and the rest is sent again, so
that one owned partition does not keep the others from being claimed.

A node whose ACL forbids what we must do is an AccessError from every call here: waiting does not
change it, and a member that waited for it would keep its share from the others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from kazoo.exceptions import (
    KazooException,
    NoAuthError,
    NoNodeError,
    UnimplementedError,
)
from kazoo.security import OPEN_ACL_UNSAFE

from pyspark_zkgroup.errors import AccessError, BadZnodeError
from pyspark_zkgroup.group.ops import (
    Check,
    Create,
    Delete,
    Done,
    InDoubt,
    NodeVersion,
    Op,
    Outcome,
    Refused,
    Transaction,
)
from pyspark_zkgroup.zk.multi_read import MultiRead
from pyspark_zkgroup.zk.multi_write import MultiWrite, acl_bytes
from pyspark_zkgroup.zk.port import (
    Children,
    DisconnectedError,
    Node,
    SessionLostError,
    partitions_below,
)
from pyspark_zkgroup.zk.session import Session

# ZooKeeper refuses packets above jute.maxbuffer (1 MiB unless set); half of it leaves room for what
# is not counted.
_PACKET_BYTES_MAX = 512 * 1024
_OP_BYTES = 64
# Error numbers of the operations of a transaction that was refused.
_ROLLED_BACK, _NOT_REACHED = 0, -2
_REASONS: dict[int, Literal["exists", "missing", "version", "not empty"]] = {
    -110: "exists",
    -101: "missing",
    -103: "version",
    -111: "not empty",
}
_FORBIDDEN = -102
_READS_IN_FLIGHT_MAX = 2000
_ENSURE_TRIES = 3
# From so many reads on one request for all is worth its name; and so many go into one.
_MULTI_READ_MIN = 16
_MULTI_READ_MAX = 1000


__all__ = ["Children", "Node", "Store", "partitions_below"]


class Store:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.requests = 0
        self._chroot = session.client.chroot
        self._reads_many: bool | None = None
        self._open_acl = acl_bytes(OPEN_ACL_UNSAFE)
        self._acl = acl_bytes(session.acl() or OPEN_ACL_UNSAFE)

    # -- reads: None where the node is missing

    def sync(self, path: str = "/") -> None:
        """Let this server catch up with the leader before the reads that follow."""
        self.requests += 1
        self.session.ask(self.session.client.sync_async(path))

    def nodes(self, paths: Sequence[str], *, watch: bool = False) -> list[Node | None]:
        client = self.session.client
        if not watch and len(paths) >= _MULTI_READ_MIN and self._reads_many is not False:
            return self._nodes_at_once(paths)
        answers = self._many(
            paths,
            lambda p: client.get_async(p, watch=self.session.watcher(p) if watch else None),
        )
        return [None if a is None else _node(a[0], a[1]) for a in answers]

    def _nodes_at_once(self, paths: Sequence[str]) -> list[Node | None]:
        client = self.session.client
        if not self.session.connected:
            raise self._offline()
        answers: list[Any] = []
        for at in range(0, len(paths), _MULTI_READ_MAX):
            part = tuple(self._chroot + path for path in paths[at : at + _MULTI_READ_MAX])
            answers.append(client.handler.async_result())
            self.requests += 1
            client._call(MultiRead(part), answers[-1])
        try:
            found = [one for answer in answers for one in self.session.ask(answer)]
        except (UnimplementedError, DisconnectedError) as error:
            # A server before 3.6 refuses the request and closes the connection behind it. Whether
            # it was that, a first failure does not tell, so the request is not tried again.
            self._reads_many = self._reads_many or False
            raise DisconnectedError("many reads in one request were not answered") from error
        self._reads_many = True
        for path, one in zip(paths, found, strict=True):
            if isinstance(one, int):
                raise self._forbidden("read", path, "READ")
        return [None if one is None else _node(*one) for one in found]

    def stats(self, paths: Sequence[str], *, watch: bool = False) -> list[Node | None]:
        """Like nodes(), without the data; a watch is set on a missing node too."""
        client = self.session.client
        answers = self._many(
            paths,
            lambda p: client.exists_async(p, watch=self.session.watcher(p) if watch else None),
        )
        return [None if a is None else _node(b"", a) for a in answers]

    def children(self, paths: Sequence[str], *, watch: bool = False) -> list[Children | None]:
        client = self.session.client
        answers = self._many(
            paths,
            lambda p: client.get_children_async(
                p, watch=self.session.watcher(p) if watch else None, include_data=True
            ),
        )
        return [
            None if a is None else Children(frozenset(a[0]), a[1].cversion, a[1].czxid)
            for a in answers
        ]

    def _many(self, paths: Sequence[str], ask: Callable[[str], Any]) -> list[Any]:
        """Keep a bounded number of reads in flight; a missing node is an answer, not an error."""
        if not self.session.connected:
            raise self._offline()
        done: list[Any] = []
        flying: deque[tuple[str, Any]] = deque()
        for path in paths:
            self.requests += 1
            flying.append((path, ask(path)))
            if len(flying) >= _READS_IN_FLIGHT_MAX:
                done.append(self._read(*flying.popleft()))
        while flying:
            done.append(self._read(*flying.popleft()))
        return done

    def _read(self, path: str, answer: Any) -> Any:
        try:
            return self.session.ask(answer)
        except NoNodeError:
            return None
        except NoAuthError:
            raise self._forbidden("read", path, "READ") from None

    def _forbidden(self, do: str, path: str, right: str) -> AccessError:
        settings = self.session.settings
        if settings.auth:
            remedy = (
                "A wrong user or password of zookeeper.auth shows nowhere but here, since "
                "ZooKeeper takes any: check it"
            )
        elif settings.security.names_us:
            remedy = "Check whom the servers take this client for"
        else:
            remedy = "Give zookeeper.auth, zookeeper.sasl.jaas.config or a client certificate"
        return AccessError.of(
            "zookeeper_acl",
            server=settings.hosts,
            operation=do,
            path=self._chroot + path,
            advice=remedy,
            right=right,
        )

    def _refused_write(self, op: Op) -> AccessError:
        """Making and deleting a node is a right on its parent."""
        parent = op.path.rpartition("/")[0] or "/"
        if isinstance(op, Create):
            return self._forbidden("make nodes below", parent, "CREATE")
        if isinstance(op, Delete):
            return self._forbidden("delete nodes below", parent, "DELETE")
        do, right = ("read", "READ") if isinstance(op, Check) else ("write", "WRITE")
        return self._forbidden(do, op.path, right)

    def _offline(self) -> Exception:
        return DisconnectedError("suspended") if self.session.alive else SessionLostError("ended")

    # -- transactions

    def commit(self, transactions: Sequence[Transaction]) -> list[Outcome]:
        """One outcome for each transaction, in order. SessionLostError if the session is known to
        have ended; AccessError if one may not be executed, whatever became of the others.
        """
        if not transactions:
            return []
        # One without operations is done as it is: a replay asks nothing of a claim it has made.
        outcomes: list[Outcome] = [InDoubt() if t else Done(()) for t in transactions]
        pending = deque(_packets([n for n, t in enumerate(transactions) if t], transactions))
        flying: deque[tuple[list[int], Any]] = deque()
        while pending or flying:
            while pending:
                packet = pending.popleft()
                if self.session.connected:
                    flying.append((packet, self._send(packet, transactions)))
                elif not self.session.alive:
                    raise SessionLostError("ended between two requests")
            if not flying:
                break
            packet, answer = flying.popleft()
            retry = self._receive(packet, answer, transactions, outcomes)
            pending.extend(part for part in retry if part)
        return outcomes

    def _send(self, packet: list[int], transactions: Sequence[Transaction]) -> Any:
        self.requests += 1
        client = self.session.client
        operations = [op for index in packet for op in transactions[index]]
        answer = client.handler.async_result()
        client._call(MultiWrite(operations, self._chroot, self._acl, self._open_acl), answer)
        return answer

    def _receive(
        self,
        packet: list[int],
        answer: Any,
        transactions: Sequence[Transaction],
        outcomes: list[Outcome],
    ) -> list[list[int]]:
        """Note the packet's outcomes; what must be sent again comes back as packets."""
        try:
            results = self.session.ask(answer)
        except DisconnectedError:
            return []
        except KazooException as error:
            # The packet as a whole was refused, before any operation was looked at.
            for index in packet:
                outcomes[index] = Refused(0, "other", type(error).__name__)
            return []
        parts: list[Sequence[Any]] = []
        position = 0
        for index in packet:
            part = results[position : position + len(transactions[index])]
            if _FORBIDDEN in part:
                raise self._refused_write(transactions[index][part.index(_FORBIDDEN)])
            parts.append(part)
            position += len(transactions[index])
        for place, index in enumerate(packet):
            refusal = _refusal(parts[place])
            if refusal is not None:
                outcomes[index] = refusal
                return [packet[:place], packet[place + 1 :]]
        for place, index in enumerate(packet):
            outcomes[index] = Done(tuple([r for r in parts[place] if r is not None]))
        return []

    def ensure(self, paths: Iterable[str], *, world_open: bool = False) -> None:
        """Make persistent nodes, parents first; another client may make one at the same time."""
        wanted: dict[str, None] = {}
        for path in paths:
            parts = path.strip("/").split("/")
            for depth in range(1, len(parts) + 1):
                wanted["/" + "/".join(parts[:depth])] = None
        levels: dict[int, list[str]] = {}
        for path in wanted:
            levels.setdefault(path.count("/"), []).append(path)
        refused: dict[str, str] = {}
        for _ in range(_ENSURE_TRIES):
            refused = self._make([levels[depth] for depth in sorted(levels)], world_open)
            if not refused:
                return
            # The parent is deleted between the look and the creation, or this server has not seen
            # the deletion: all of a group may be deleted at any moment.
            self.sync()
        path, reason = next(iter(refused.items()))
        raise BadZnodeError.of("cannot_create", path=path, reason=reason)

    def _make(self, levels: Iterable[Sequence[str]], world_open: bool) -> dict[str, str]:
        """What could not be made, with the reason."""
        for level in levels:
            missing = [p for p, n in zip(level, self.stats(level), strict=True) if n is None]
            if not missing:
                continue
            refused: dict[str, str] = {}
            for path, outcome in zip(
                missing,
                self.commit([(Create(p, b"", world_open=world_open),) for p in missing]),
                strict=True,
            ):
                if isinstance(outcome, InDoubt):
                    raise DisconnectedError(f"{path} may not have been made")
                if isinstance(outcome, Refused) and outcome.reason != "exists":
                    refused[path] = outcome.text or outcome.reason
            if refused:
                return refused
        return {}


def _node(data: bytes | None, stat: Any) -> Node:
    return Node(
        data=data or b"",
        node=NodeVersion(stat.czxid, stat.version),
        ephemeral_owner=stat.ephemeralOwner,
        children_version=stat.cversion,
        made_ms=stat.ctime,
        modified=stat.mzxid,
        written_ms=stat.mtime,
    )


def _packets(indexes: list[int], transactions: Sequence[Transaction]) -> list[list[int]]:
    packets: list[list[int]] = []
    size = _PACKET_BYTES_MAX
    for index in indexes:
        weight = 0
        for op in transactions[index]:
            weight += _OP_BYTES + len(op.path.encode()) + len(getattr(op, "data", b""))
        if size + weight > _PACKET_BYTES_MAX:
            packets.append([])
            size = 0
        packets[-1].append(index)
        size += weight
    return packets


def _refusal(results: Sequence[NodeVersion | int | None]) -> Refused | None:
    """The failed operation of one transaction; none if another one rolled it back."""
    for index, result in enumerate(results):
        if isinstance(result, int) and result not in (_ROLLED_BACK, _NOT_REACHED):
            if result in _REASONS:
                return Refused(index, _REASONS[result])
            return Refused(index, "other", f"error {result}")
    return None
