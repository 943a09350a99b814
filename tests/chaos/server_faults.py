"""What is done to servers, and with consumers that are not ours. As in faults.py each function does
it, undoes it, and says what it was.
"""

from __future__ import annotations

import random
from contextlib import suppress

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from tests.chaos.coordinators import Candidate
from tests.chaos.faults import ABOVE, Done
from tests.chaos.process import now
from tests.chaos.settings import TOPIC
from tests.chaos.stage import Stage
from tests.harness.waiting import wait_until
from zkgroup_sandbox.answers import broker_view
from zkgroup_sandbox.broker import Broker
from zkgroup_sandbox.server import Server

QUORUM_LOST = (1.2, 1.6)
SERVER_DOWN_S = (3.0, 8.0)
FOREIGN_S = (4.0, 8.0)
JOIN_DEADLINE_S = 60.0
ELECTION_DEADLINE_S = 30.0
PREFERRED = 0


# -- ZooKeeper


def kill_zookeeper_leader(stage: Stage, rng: random.Random) -> Done:
    return _kill(stage, rng, stage.leader())


def lose_quorum(stage: Stage, rng: random.Random) -> Done:
    """Two servers of three, killed or paused, for longer than a session lives."""
    servers = rng.sample(stage.sandbox.zookeepers, 2)
    seconds = rng.uniform(*QUORUM_LOST) * stage.settings.session_s
    how, at = rng.choice(["killed", "paused"]), now()
    for server in servers:
        if how == "killed":
            server.kill()
        else:
            server.pause()
    stage.pass_time(seconds)
    for server in servers:
        if how == "killed":
            server.start()
        else:
            server.resume()
    names = " and ".join(server.name for server in servers)
    return Done(names, at, now(), detail=f"{how} for {seconds:.1f} s")


# -- coordinators


def kill_coordinator(stage: Stage, rng: random.Random) -> Done:
    """The one in office. Another one is elected when its session has ended."""
    candidate, seconds, at = _in_office(stage), rng.uniform(*SERVER_DOWN_S), now()
    candidate.kill()
    stage.pass_time(seconds)
    candidate.start()
    detail = f"started again after {seconds:.1f} s"
    return Done(candidate.name, at, now(), calm=True, detail=detail)


def pause_coordinator(stage: Stage, rng: random.Random) -> Done:
    """For longer than its session lives: it wakes up when its successor is in office."""
    candidate = _in_office(stage)
    seconds, at = rng.uniform(*ABOVE) * stage.settings.coordinator_session_s, now()
    candidate.pause()
    try:
        stage.pass_time(seconds)
    finally:
        candidate.resume()
    return Done(candidate.name, at, now(), calm=True, detail=f"for {seconds:.1f} s")


def cut_coordinator(stage: Stage, rng: random.Random) -> Done:
    """It loses ZooKeeper, and with it its office; members still reach it."""
    candidate = _in_office(stage)
    seconds, at = rng.uniform(*ABOVE) * stage.settings.coordinator_session_s, now()
    candidate.cut.silence()
    try:
        stage.pass_time(seconds)
    finally:
        candidate.cut.heal()
    return Done(candidate.name, at, now(), calm=True, detail=f"for {seconds:.1f} s")


def _in_office(stage: Stage) -> Candidate:
    def found() -> Candidate | None:
        assert stage.coordinators is not None
        name = stage.watch.look.coordinator
        return next((c for c in stage.coordinators.candidates if c.name == name), None)

    candidate = wait_until(found, JOIN_DEADLINE_S, "a coordinator in office")
    assert candidate is not None
    return candidate


# -- brokers


def kill_broker(stage: Stage, rng: random.Random) -> Done:
    return _kill(stage, rng, rng.choice(stage.sandbox.brokers))


def kill_group_coordinator(stage: Stage, rng: random.Random) -> Done:
    return _kill(stage, rng, _group_coordinator(stage))


def pause_broker(stage: Stage, rng: random.Random) -> Done:
    """It may wake up when others lead its partitions. Where it coordinates the group it is that
    one in one case of two.
    """
    server: Broker = rng.choice(stage.sandbox.brokers)
    if stage.protocol.paths is None and rng.random() < 0.5:
        server = _group_coordinator(stage)
    seconds, at = rng.uniform(*SERVER_DOWN_S), now()
    server.pause()
    try:
        stage.pass_time(seconds)
    finally:
        server.resume()
    return Done(server.name, at, now(), calm=True, detail=f"for {seconds:.1f} s")


def move_leaders(stage: Stage, rng: random.Random) -> Done:
    """A broker is restarted as operators do: its partitions are led by others meanwhile, and by it
    again after an election of preferred leaders.
    """
    broker, seconds, at = rng.choice(stage.sandbox.brokers), rng.uniform(*SERVER_DOWN_S), now()
    broker.stop()
    stage.pass_time(seconds)
    broker.start()
    led = _led_by(broker)

    def back() -> int:
        """Only what is in sync again is elected."""
        with suppress(KafkaError):
            admin = KafkaAdminClient(bootstrap_servers=stage.sandbox.bootstrap_servers.split(","))
            try:
                partitions = {TOPIC: list(range(stage.watch.partitions))}
                admin.elect_leaders(PREFERRED, partitions, raise_errors=False)
            finally:
                admin.close()
        return _led_by(broker)

    leads = wait_until(back, ELECTION_DEADLINE_S, f"{broker.name} to lead again", interval_s=1.0)
    detail = f"restarted after {seconds:.1f} s; led {led} partitions then, {leads} after elections"
    return Done(broker.name, at, now(), calm=True, detail=detail)


def add_partition(stage: Stage, rng: random.Random) -> Done:
    """One more; a run that has its fill of partitions kills a broker instead."""
    if stage.watch.partitions >= stage.settings.partitions_max:
        return kill_broker(stage, rng)
    at, total = now(), stage.watch.partitions + 1
    stage.add_partitions(total)
    return Done(f"{total} partitions", at, now())


def _led_by(broker: Broker) -> int:
    view = broker_view(broker.port)
    leaders = view.leaders.get(TOPIC, {}) if view is not None else {}
    return sum(leader == broker.number for leader in leaders.values())


def _group_coordinator(stage: Stage) -> Broker:
    number = int(wait_until(lambda: stage.watch.look.coordinator, JOIN_DEADLINE_S, "a coordinator"))
    return next(b for b in stage.sandbox.brokers if b.number == number)


def _kill(stage: Stage, rng: random.Random, server: Server) -> Done:
    seconds, at = rng.uniform(*SERVER_DOWN_S), now()
    server.kill()
    stage.pass_time(seconds)
    server.start()
    detail = f"started again after {seconds:.1f} s"
    return Done(server.name, at, now(), calm=True, detail=detail)


# -- consumers that are not ours


def plain_consumer(stage: Stage, rng: random.Random) -> Done:
    """A plain Java consumer joins, reads its share, and leaves, or is killed. What it prints counts
    as read.
    """
    at, consumer = now(), stage.plain_consumer()
    try:
        with suppress(AssertionError):
            wait_until(lambda: consumer.held and consumer.rows, JOIN_DEADLINE_S, "its share")
            stage.pass_time(rng.uniform(*FOREIGN_S))
        how = rng.choice(["left", "was killed"])
        if how == "was killed":
            consumer.kill()
    finally:
        consumer.close()
    return Done("plain Java", at, now(), detail=f"read {len(consumer.rows)} records and {how}")
