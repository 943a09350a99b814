"""What a coordinator knows of light members in one term: their lives, streams and commands.

All streams share it. Its lock is never held during a request to ZooKeeper.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from pyspark_zkgroup.protocols.coordinator.rules.commands import (
    Answer,
    Command,
    Holding,
    Ping,
    Start,
    Started,
    Stop,
    Stopped,
)
from pyspark_zkgroup.protocols.light.client import Client
from pyspark_zkgroup.protocols.light.rules import identity
from pyspark_zkgroup.protocols.light.rules import sessions as keeping
from pyspark_zkgroup.protocols.light.rules.messages import Tell
from pyspark_zkgroup.protocols.light.rules.sessions import Heard, Life, Sessions

if TYPE_CHECKING:
    # A candidate that does not listen needs no gRPC.
    from pyspark_zkgroup.protocols.light.conversation import Outbox

_ANSWERED_BY: Mapping[type[Answer], type[Command]] = {Started: Start, Stopped: Stop, Holding: Ping}


class ServedStream(Protocol):
    """A member's stream, at the coordinator."""

    client: Client
    outbox: Outbox

    def beat(self, now: float) -> None: ...
    def is_late(self, now: float) -> bool: ...
    def fence(self, why: str) -> None: ...
    def cut(self) -> None: ...
    def close(self) -> None: ...


class ServedMembers:
    def __init__(self) -> None:
        self.sessions = Sessions()
        self._lock = threading.Lock()
        # Used as a set, in the order of arrival.
        self._streams: dict[ServedStream, None] = {}
        self._by_name: dict[tuple[str, str], ServedStream] = {}
        self._mail: dict[Life, list[Command]] = {}
        self._ended: set[Life] = set()
        # The proof of identity that each life has shown, as far as its stream came in this term.
        self._holders: dict[Life, str] = {}

    # -- lives

    def note(self, group: str, registered: Mapping[str, tuple[int, float]], now: float) -> None:
        """Note what a look at the group's registry has found: life and timeout of each light
        member, and 0 for one whose owner nodes exist without it.
        """
        lives = {Life(group, c, life): timeout for c, (life, timeout) in registered.items()}
        with self._lock:
            self._forget_ended(group, lives)
            new = {life: t for life, t in lives.items() if life not in self._ended}
            self.sessions = keeping.seen(self.sessions, new, now)

    def _forget_ended(self, group: str, seen: Collection[Life]) -> None:
        """Forget lives that a look no longer shows, while no stream has their name: later looks do
        not show them either. But a stream may have read the registration before it was deleted, and
        be about to take up that life.
        """
        names = {stream.client.name for stream in self._streams}
        over = {
            e
            for e in self._ended
            if e.group == group and e not in seen and (e.group, e.consumer) not in names
        }
        self._ended -= over
        for life in over:
            self._mail.pop(life, None)
            self._holders.pop(life, None)

    def next_end(self) -> float:
        with self._lock:
            return self.sessions.next_end()

    def expire(self, now: float) -> tuple[tuple[Life, ...], list[ServedStream]]:
        """End the lives that are over. Return them, and their streams."""
        with self._lock:
            ended = self.sessions.expired(now)
            self.sessions = keeping.gone(self.sessions, ended)
            self._ended.update(ended)
            for life in ended:
                self._mail.pop(life, None)
            return ended, [stream for stream in self._streams if stream.client.named in ended]

    def end_life(self, life: Life) -> None:
        """The member has announced that it leaves."""
        with self._lock:
            self._ended.add(life)
            self.sessions = keeping.gone(self.sessions, [life])
            self._mail.pop(life, None)

    def following(self, life: Life) -> float:
        with self._lock:
            return self.sessions.following(life)

    def lives(self, group: str) -> dict[str, int]:
        """Return the newest life of each light member of the group."""
        with self._lock:
            found: dict[str, int] = {}
            for life in self.sessions.heard:
                if life.group == group:
                    found[life.consumer] = max(life.number, found.get(life.consumer, 0))
            return found

    def has_rival(self, client: Client) -> bool:
        """Whether another process has a live life under this name, whose registration was deleted
        from outside: owner nodes of that life may exist.
        """
        with self._lock:
            return any(
                (life.group, life.consumer) == client.name
                and not identity.is_same(self._holders.get(life, client.shown), client.shown)
                for life in self.sessions.heard
            )

    def supersede(self, life: Life) -> None:
        """Note that another process has proved to be the successor of this life."""
        with self._lock:
            self._holders.pop(life, None)

    def made_by(self, client: Client, czxid: int) -> bool:
        """Return whether this process made a node of its name then, in a life that it has lost."""
        with self._lock:
            number, holder = max(
                (
                    (life.number, holder)
                    for life, holder in self._holders.items()
                    if (life.group, life.consumer) == client.name and life.number < czxid
                ),
                default=(0, ""),
            )
        return bool(number) and identity.is_same(holder, client.shown)

    # -- streams

    def numbers(self, group: str) -> tuple[int, int]:
        """Return how many streams there are: all, and those of the group."""
        with self._lock:
            return len(self._streams), sum(s.client.hello.group == group for s in self._streams)

    def streams(self) -> list[ServedStream]:
        with self._lock:
            return list(self._streams)

    def admit(self, stream: ServedStream) -> list[ServedStream]:
        """Add a stream. Return the earlier ones of the same process."""
        with self._lock:
            others = list(self._streams)
            self._streams[stream] = None
        return [other for other in others if other.client.is_same_process(stream.client)]

    def settle(self, stream: ServedStream, life: int, now: float) -> int:
        """Give the stream this life from now on; 0 if the life has ended."""
        client = stream.client
        named = replace(client.named, number=life)
        with self._lock:
            if named in self._ended or stream not in self._streams:
                return 0
            self.sessions = Sessions({**self.sessions.heard, named: Heard(now, client.timeout_s)})
            client.life = life
            self._holders[named] = client.shown
            self._by_name[client.name] = stream
        return life

    def heard(self, stream: ServedStream, now: float) -> bool:
        """Return False if messages of this stream no longer count."""
        client = stream.client
        with self._lock:
            if stream not in self._streams or (client.life and client.named in self._ended):
                # Its time was over while a request of it was served. What arrived after that stays
                # unread: an answer would extend a lease that the coordinator no longer counts.
                return False
            if client.life:
                self.sessions = keeping.heard(self.sessions, client.named, now)
        return True

    def is_connected(self, group: str, consumer: str) -> bool:
        with self._lock:
            return (group, consumer) in self._by_name

    def others_of(self, stream: ServedStream) -> list[ServedStream]:
        """Return the streams of other processes under the same name."""
        with self._lock:
            others = [other for other in self._streams if other is not stream]
        return [other for other in others if other.client.name == stream.client.name]

    def leave(self, stream: ServedStream) -> None:
        """Its stream is over; its session may live on."""
        with self._lock:
            self._streams.pop(stream, None)
            if self._by_name.get(stream.client.name) is stream:
                del self._by_name[stream.client.name]

    def leave_all(self) -> list[ServedStream]:
        with self._lock:
            streams, self._streams, self._by_name = self._streams, {}, {}
        return list(streams)

    # -- commands

    def tell(self, group: str, consumer: str, command: Command) -> bool:
        """Send a command. False if it is not for a light member: those have another channel."""
        life = Life(group, consumer, command.life)
        with self._lock:
            if life not in self.sessions.heard and life not in self._ended:
                return False
            # Kept until it is answered: the member may be away now, and come back.
            mail = self._mail.setdefault(life, [])
            if isinstance(command, Start):
                mail[:] = [c for c in mail if not isinstance(c, Start)]
            mail.append(command)
            stream = self._by_name.get((group, consumer))
        if stream is not None and stream.client.life == command.life:
            stream.outbox.put(Tell(command))
        return True

    def deliver(self, stream: ServedStream) -> None:
        """Send the commands to its life from before this stream was known to belong to it."""
        with self._lock:
            mail = list(self._mail.get(stream.client.named, ()))
        for command in mail:
            stream.outbox.put(Tell(command))

    def answered(self, life: Life, answer: Answer) -> None:
        """Forget the commands that this answers."""
        kind = _ANSWERED_BY[type(answer)]
        with self._lock:
            mail = self._mail.get(life, [])
            done = [c for c in mail if isinstance(c, kind) and c.generation == answer.generation]
            mail[:] = [c for c in mail if c not in done]
