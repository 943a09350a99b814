"""Brokers that answer otherwise than the group's state has it: rights that are taken away, metadata
that lags, and any error code, before or after the effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka.error_codes import Meaning, Request
from pyspark_zkgroup.model import TopicPartition
from tests.fakes.group_refusals import Odd
from tests.sim.driver_faults import any_driver
from tests.sim.query import Driver

if TYPE_CHECKING:
    from tests.sim.brokered.scene import BrokeredScene

_WORDS: dict[str, Request] = {
    "join": "join",
    "sync": "sync",
    "heartbeat": "heartbeat",
    "leave": "leave",
    "commit": "commit",
    "fetch": "offset fetch",
}
# Codes that concern the member, or refuse it finally, come from the coordinator when they are true;
# a false one would be a fault of a kind that no member can survive unharmed.
_TOLD_IN_TRUTH = (
    *(Meaning.DONE, Meaning.NAMED, Meaning.UNKNOWN_MEMBER, Meaning.OLD_GENERATION),
    *(Meaning.FENCED, Meaning.REBALANCE, Meaning.REFUSED),
)
_UNLISTED = (51, 9999)


def odd_answer(scene: BrokeredScene, driver: Driver) -> None:
    """Any of a request's codes; after the effect where the code leaves that open."""
    rng = scene.rng
    word = rng.choice(["join", "sync", "heartbeat", "leave", "fetch", *["commit"] * 4])
    request = _WORDS[word]
    listed = [
        code
        for (one, code), meaning in codes.LISTED.items()
        if one == request and meaning not in _TOLD_IN_TRUTH and code != codes.SILENCE
    ]
    _answer(scene, driver, word, rng.choice([*listed, *_UNLISTED]))


def refused_for_good(scene: BrokeredScene, driver: Driver) -> None:
    """The query ends, and reports why."""
    word = scene.rng.choice(["join", "sync", "heartbeat", "commit", "fetch"])
    request = _WORDS[word]
    listed = [
        code
        for (one, code), meaning in codes.LISTED.items()
        if one == request and meaning is Meaning.REFUSED
    ]
    _answer(scene, driver, word, scene.rng.choice(listed))


def _answer(scene: BrokeredScene, driver: Driver, word: str, code: int) -> None:
    rng = scene.rng
    meaning = codes.meaning_of(_WORDS[word], code)
    executed = meaning in (Meaning.IN_DOUBT, Meaning.UNLISTED) and rng.random() < 0.5
    number = scene.checks.number_of(driver)
    picked = rng.random() < 0.5
    parts = rng.randrange(2, 5)

    def picks(partition: TopicPartition) -> bool:
        return not picked or hash((partition.topic, partition.partition)) % parts == 0

    scene.world.tell(f"** {codes.named(code)} to the next {word}, {executed=}")
    scene.coordinator.refusals.odd[number] = Odd(word, code, executed, picks)


def unknown_partitions(scene: BrokeredScene) -> bool:
    """The broker that coordinates does not know them, and others do."""
    rng, unknown = scene.rng, scene.coordinator.refusals.unknown
    partitions = sorted(scene.kafka.logs)
    picked = rng.sample(partitions, min(len(partitions), rng.choice([1, 1, 3])))
    seconds = rng.choice([0.3, 2.0, 10.0])
    scene.world.tell(f"** the coordinator does not know {', '.join(map(str, picked))}")
    unknown.update(picked)
    scene.world.after(seconds, lambda: unknown.difference_update(picked))
    return True


def no_group_right(scene: BrokeredScene) -> bool:
    """Of one query, for some time; rights to its topics stay."""
    driver = any_driver(scene)
    if driver is None or scene.without_right:
        return False
    query = driver.query
    seconds = scene.rng.choice([1.0, 10.0, 25.0])
    scene.world.tell(f"** {query.name} may not read the group any more, for {seconds} s")
    scene.without_right.append(query)
    scene.apply_rights()

    def again() -> None:
        scene.world.tell(f"** {query.name} may read the group again")
        scene.without_right.clear()
        scene.apply_rights()

    scene.world.after(seconds, again)
    return True


def no_topic_right(scene: BrokeredScene) -> bool:
    driver = any_driver(scene)
    if driver is None:
        return False
    denied = (scene.checks.number_of(driver), scene.rng.choice(scene.config.topics))
    scene.world.tell(f"** {driver.name} may not read {denied[1]} any more")
    scene.coordinator.refusals.topics.add(denied)
    return True
