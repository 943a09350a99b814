"""One term of office: watches fire, what they watch is read, the core decides, commands are sent.

Nothing here waits for an answer. A connection that breaks ends the term, since watches do not
outlive it and a command may be in doubt. The next term begins without any state, under the same
epoch if the session lives.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import EventClock
from pyspark_zkgroup.group.ops import Create, Done, InDoubt, Outcome
from pyspark_zkgroup.group.paths import BROKER_IDS, COORDINATED, CoordinatedPaths
from pyspark_zkgroup.protocols.coordinator.desk import Desk
from pyspark_zkgroup.protocols.coordinator.registry import Registry
from pyspark_zkgroup.protocols.coordinator.rules import decisions as core
from pyspark_zkgroup.protocols.coordinator.rules.command_json import encode
from pyspark_zkgroup.protocols.coordinator.rules.decisions import (
    Answered,
    Event,
    GroupsSeen,
    MembersChanged,
    TopicsSeen,
)
from pyspark_zkgroup.protocols.coordinator.rules.rebalance import Commands
from pyspark_zkgroup.protocols.coordinator.topics import TopicList, Topics
from pyspark_zkgroup.zk.port import DisconnectedError, NodeStore

# The server's limit of a packet is 1 MiB by default.
_COMMAND_BYTES_MAX = 1_000_000
_log = logging.getLogger("pyspark_zkgroup.coordinator")


class Term:
    def __init__(
        self,
        store: NodeStore,
        epoch: int,
        base: int,
        poll: Callable[[], Topics] | None,
        poll_s: float,
        clock: EventClock,
        desk: Desk,
    ) -> None:
        self.store = store
        self.desk = desk
        self.clock = clock
        self.registry = Registry(store)
        self.topics = TopicList(store, poll, poll_s)
        self.state = core.elected(epoch, base)
        self._topics_stirred: set[str] = {BROKER_IDS}
        self._topics_known = False
        self._groups_stirred = True
        self._answers_stirred: set[str] = set()

    @property
    def next_poll_s(self) -> float:
        poll_s = max(0.0, self.topics.poll_at - self.clock.monotonic())
        return min(poll_s, self.desk.due_in_s())

    def note(self, path: str) -> None:
        """Note that a watch has fired."""
        if self.topics.concerns(path):
            self._topics_stirred.add(path)
        elif path == COORDINATED:
            self._groups_stirred = True
        elif path in self.registry.answers_of:
            self._answers_stirred.add(self.registry.answers_of[path])
        elif path in self.registry.members_of:
            self._feed(MembersChanged(self.registry.members_of[path]))

    def work(self) -> bool:
        """Do one piece of work; False if there is none."""
        now = self.clock.monotonic()
        if not self.desk.answers.empty():
            self._feed(self.desk.answers.get())
        elif self.desk.expire():
            # The watch on its registration reports the rest.
            return True
        elif self._topics_stirred or now >= self.topics.poll_at:
            stirred, self._topics_stirred = self._topics_stirred, set()
            topics = self.topics.read(stirred, now)
            if topics is not None:
                self._topics_known = True
                self._feed(TopicsSeen(topics))
        elif self._groups_stirred:
            self._groups_stirred = False
            before = self.state.groups.keys()
            self._feed(GroupsSeen(self.registry.groups()))
            self._answers_stirred |= self.state.groups.keys() - before
        elif self._answers_stirred:
            self._hear(self._answers_stirred.pop())
        else:
            # While the topics are unknown, a decision would stop everything.
            return self._topics_known and self._serve()
        return True

    def _hear(self, group: str) -> None:
        found = self.registry.answers(group)
        for one in found:
            if one.answer is not None:
                self._feed(Answered(group, one.consumer, one.answer))
        self.registry.take_away(found)

    def _serve(self) -> bool:
        """Serve the next request of the queue."""
        self.state, group = core.take(self.state)
        if group is None:
            return False
        before = self.state.groups.get(group)
        if before is None:
            return True
        read = self.registry.read(group, first=not before.looked)
        self.desk.note(group, self.registry.light)
        self.desk.note(group, self.registry.left)
        self._feed(read)
        now = self.state.groups[group]
        if now.refused and now.refused != before.refused:
            _log.error(catalogue.warning("ZKG-157", reason=now.refused))
        return True

    def _feed(self, event: Event) -> None:
        self.state, group, commands = core.step(self.state, event)
        if commands:
            self._send(group, commands)

    def _send(self, group: str, commands: Commands) -> None:
        paths = CoordinatedPaths(group)
        requests = {}
        for number, (consumer, command) in enumerate(commands):
            if self.desk.tell(group, consumer, command):
                continue
            data = encode(command)
            if len(data) > _COMMAND_BYTES_MAX:
                _log.error(
                    catalogue.warning("ZKG-155", member=consumer, size=len(data), group=group)
                )
                continue
            path = paths.command(consumer)
            requests[number] = Create(path, data, world_open=True, sequential=True)
        outcomes = self.store.commit([(create,) for create in requests.values()])
        missing = [n for n, o in zip(requests, outcomes, strict=True) if _is_missing(o)]
        if missing:
            # Deleted as the channel of a member that was gone, which came back just then.
            channels = {paths.channel(commands[n][0]) for n in missing}
            self.store.ensure(sorted(channels), world_open=True)
            again = self.store.commit([(requests[n],) for n in missing])
            outcomes = [o for o in outcomes if not _is_missing(o)] + again
        for outcome in outcomes:
            if isinstance(outcome, InDoubt):
                raise DisconnectedError(f"a command to group {group} was not answered")
            if not isinstance(outcome, Done):
                _log.error(catalogue.warning("ZKG-156", group=group, outcome=outcome))
        _log.info(
            "Sent commands to group %s: %s",
            group,
            ", ".join(f"{type(c).__name__.lower()} {consumer}" for consumer, c in commands[:10])
            + (f" and {len(commands) - 10} more" if len(commands) > 10 else ""),
        )


def _is_missing(outcome: Outcome) -> bool:
    return getattr(outcome, "reason", "") == "missing"
