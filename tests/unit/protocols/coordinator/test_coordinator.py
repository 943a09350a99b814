"""The coordinator's core: what each event does to which group, and what it does not."""

from __future__ import annotations

from collections import Counter

import pytest

from pyspark_zkgroup.jvm.registration import Subscription
from pyspark_zkgroup.protocols.coordinator.rules import decisions as core
from pyspark_zkgroup.protocols.coordinator.rules.command_json import decode_command
from pyspark_zkgroup.protocols.coordinator.rules.commands import Start, Started, Stop, Stopped
from pyspark_zkgroup.protocols.coordinator.rules.decisions import (
    Answered,
    GroupsSeen,
    MembersChanged,
    ReadFailed,
    TopicsSeen,
)
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from pyspark_zkgroup.protocols.coordinator.rules.rebalance import GroupRead, Member
from tests.harness.coordinated import World

T = Subscription.static({"t": 1})


def world_of(partitions: int, *consumers: str, group: str = "g") -> World:
    world = World()
    world.set_topic("t", partitions)
    for consumer in consumers:
        world.join(group, consumer, T)
    world.settle()
    return world


def shares(world: World, group: str = "g") -> dict[str, list[int]]:
    seats = world.groups[group]
    return {c: sorted(p.partition for p in seat.reading) for c, seat in seats.items()}


def sizes(world: World, group: str = "g") -> list[int]:
    return sorted(len(share) for share in shares(world, group).values())


def asked(world: World, event: core.Event) -> tuple[str, ...]:
    """The groups that an event puts on the queue."""
    return core.step(world.coordinator, event)[0].queue


def channel(world: World, consumer: str, group: str = "g") -> list[object]:
    return [decode_command("channel", data) for data in world.groups[group][consumer].channel]


def test_a_lone_member_is_given_everything() -> None:
    world = world_of(3, "a")
    assert shares(world) == {"a": [0, 1, 2]}
    assert world.groups["g"]["a"].topics == {"t": (0, 1, 2)}
    assert (world.stops, world.starts) == (0, 1)


def test_only_what_moves_is_stopped() -> None:
    world = world_of(9, "a", "b")
    before = shares(world)
    world.join("g", "c", T)
    world.settle()
    after = shares(world)
    assert sizes(world) == [3, 3, 3]
    assert all(set(after[c]) <= set(before[c]) for c in "ab")
    assert world.stops == 2


def test_a_new_member_without_a_share_is_notified() -> None:
    world = world_of(1, "a", "b")
    assert sizes(world) == [0, 1]
    assert world.starts == 2


def test_more_threads_take_more() -> None:
    world = world_of(8, "a")
    world.join("g", "b", Subscription.static({"t": 3}))
    world.settle()
    assert {c: len(share) for c, share in shares(world).items()} == {"a": 2, "b": 6}
    assert Counter(world.groups["g"]["b"].reading.values()) == {0: 2, 1: 2, 2: 2}


def test_what_a_dead_member_had_is_started_at_once() -> None:
    world = world_of(4, "a", "b")
    world.stops = 0
    world.die("g", "a")
    world.settle()
    assert shares(world) == {"b": [0, 1, 2, 3]}
    assert world.stops == 0


def test_a_slow_member_holds_up_what_it_must_give_up_and_nothing_else() -> None:
    world = world_of(6, "slow", "b")
    world.join("g", "c", T)
    world.join("h", "d", T)
    world.settle("slow")
    assert len(shares(world)["c"]) == 1  # b's, not yet slow's
    assert sizes(world, "h") == [6]
    assert world.coordinator.rebalancing == {"g"}
    world.settle()
    assert sizes(world) == [2, 2, 2]
    assert world.coordinator.rebalancing == frozenset()


def test_the_end_of_a_slow_members_session_frees_what_it_had() -> None:
    world = world_of(6, "slow", "b")
    world.join("g", "c", T)
    world.settle("slow")
    world.die("g", "slow")
    world.settle()
    assert sizes(world) == [3, 3]


def test_a_second_trigger_during_a_rebalance_is_merged_and_not_lost() -> None:
    world = world_of(6, "a")
    world.join("g", "b", T)
    world.notice(0)
    world.notice(0)
    assert world.take()
    # While the group is being read: two more triggers, one more read.
    world.join("g", "c", T)
    world.join("g", "d", T)
    while world.watches:
        world.notice(0)
    assert world.coordinator.queue == ("g",)
    assert not world.take()
    world.bring_back(0)
    assert world.take()
    assert not world.take()
    world.settle()
    assert sizes(world) == [1, 1, 2, 2]


def test_a_third_member_joins_while_a_stop_is_unanswered() -> None:
    world = world_of(6, "slow")
    world.join("g", "b", T)
    world.settle("slow")
    world.join("g", "c", T)
    world.settle("slow")
    # One stop more, for what the first one did not name.
    assert [type(c) for c in channel(world, "slow")] == [Stop, Stop]
    assert sizes(world) == [0, 0, 6]
    world.settle()
    assert sizes(world) == [2, 2, 2]


def test_a_stop_that_turns_out_needless_is_still_waited_for() -> None:
    """The newcomer is gone again before the stop was answered: the stop may be done already, so
    what it names is not the member's before its answer.
    """
    world = world_of(4, "slow")
    world.join("g", "b", T)
    world.settle("slow")
    world.die("g", "b")
    world.settle("slow")
    assert [type(c) for c in channel(world, "slow")] == [Stop]
    world.settle()
    assert shares(world) == {"slow": [0, 1, 2, 3]}


def test_late_answers_change_nothing() -> None:
    world = world_of(4, "a")
    world.join("g", "b", T)
    world.settle("a")
    (stop,) = channel(world, "a")
    assert isinstance(stop, Stop)
    for generation, life in (
        (Generation(stop.generation.epoch, stop.generation.number - 1), stop.life),
        (Generation(stop.generation.epoch - 1, stop.generation.number), stop.life),
        (stop.generation, stop.life + 1),
    ):
        late = Answered("g", "a", Stopped(generation, life))
        changed, _, commands = core.step(world.coordinator, late)
        assert (changed.groups, commands) == (world.coordinator.groups, ())
    assert core.step(world.coordinator, Answered("g", "b", Stopped(stop.generation, 9)))[2] == ()
    assert core.step(world.coordinator, Answered("x", "a", Stopped(stop.generation, 9)))[2] == ()
    answer = Answered("g", "a", Stopped(stop.generation, stop.life))
    assert len(core.step(world.coordinator, answer)[2]) == 1


def test_an_older_starts_answer_does_not_settle_the_group() -> None:
    world = world_of(4, "a")
    world.set_topic("t", 6)
    world.settle("a")
    (start,) = channel(world, "a")
    assert isinstance(start, Start)
    old = Generation(start.generation.epoch, start.generation.number - 1)
    changed, _, _ = core.step(world.coordinator, Answered("g", "a", Started(old, start.life)))
    assert changed.rebalancing == {"g"}


def test_offsets_of_what_was_stopped_travel_to_the_next_reader() -> None:
    world = world_of(2, "a")
    for _ in range(3):
        world.boundary("g", "a")
    world.join("g", "b", T)
    world.settle("b")
    nothing, start = channel(world, "b")
    assert nothing == Start(Generation(1, 2), world.groups["g"]["b"].member.life, {}, world.topics)
    assert isinstance(start, Start)
    ((partition, assigned),) = start.share.items()
    assert assigned.offset == world.offsets["g", partition] > 0


def test_a_member_that_returns_unnoticed_receives_its_share() -> None:
    world = world_of(4, "a", "b")
    world.join("g", "a", T)
    assert world.groups["g"]["a"].reading == {}
    world.settle()
    assert sizes(world) == [2, 2]


TOPIC_EVENTS = [
    # What changes, and which of the groups "names" (t), "likes" (a pattern for t and u) is asked.
    ({"t": (0,), "u": (0,), "x": (0,)}, ()),
    ({"t": (0, 1), "u": (0,)}, ("likes", "names")),
    ({"t": (0,), "u": (0, 1)}, ("likes",)),
    ({"t": (0,)}, ("likes",)),
    ({"u": (0,)}, ("likes", "names")),
    ({"t": (0,), "u": (0,), "tu": (0,)}, ("likes",)),
    ({"t": (0,), "u": (0,), "__consumer_offsets": (0,)}, ()),
    ({"t": (0,), "u": (0,)}, ()),
]


@pytest.mark.parametrize(("topics", "groups"), TOPIC_EVENTS)
def test_a_change_of_topics_asks_for_the_groups_it_concerns(
    topics: dict[str, tuple[int, ...]], groups: tuple[str, ...]
) -> None:
    world = World()
    world.set_topic("t", 1)
    world.set_topic("u", 1)
    world.join("names", "a", T)
    world.join("likes", "b", Subscription.white_list("[tu]+|__.*", 1))
    world.join("neither", "c", Subscription.static({"v": 1}))
    world.settle()
    assert asked(world, TopicsSeen(topics)) == groups


def test_a_topic_that_is_named_before_it_exists() -> None:
    world = World()
    world.join("g", "a", T)
    world.settle()
    assert shares(world) == {"a": []}
    world.set_topic("t", 2)
    world.settle()
    assert shares(world) == {"a": [0, 1]}


def test_a_group_that_lost_its_pattern_is_not_asked_for_topics() -> None:
    world = World()
    world.join("g", "a", Subscription.white_list(".*", 1))
    world.settle()
    world.die("g", "a")
    world.join("g", "b", T)
    world.settle()
    assert asked(world, TopicsSeen({"u": (0,)})) == ()


def test_a_deleted_topic_is_stopped() -> None:
    world = world_of(2, "a")
    world.set_topic("t", 0)
    world.settle()
    assert shares(world) == {"a": []}


def test_members_of_a_group_ask_for_that_group_alone() -> None:
    world = world_of(2, "a")
    world.join("h", "b", T)
    world.settle()
    assert asked(world, MembersChanged("h")) == ("h",)
    assert asked(world, MembersChanged("unknown")) == ()
    assert asked(world, GroupsSeen(frozenset({"g", "h", "i"}))) == ("i",)


def test_a_group_whose_registry_is_gone_is_forgotten() -> None:
    world = world_of(2, "a")
    del world.groups["g"]
    world.feed(MembersChanged("g"))
    assert world.take()
    world.feed(GroupsSeen(frozenset()))
    world.bring_back(0)
    assert (dict(world.coordinator.groups), world.coordinator.queue) == ({}, ())
    assert asked(world, TopicsSeen({"t": (0, 1, 2)})) == ()


def test_a_group_that_could_not_be_read_is_asked_for_again() -> None:
    world = world_of(2, "a")
    world.feed(MembersChanged("g"))
    assert world.take()
    world.feed(ReadFailed("g"))
    assert (world.coordinator.queue, world.coordinator.reading) == (("g",), frozenset())


def test_a_new_coordinator_sends_every_member_its_share_and_moves_nothing() -> None:
    world = world_of(6, "a", "b", "c")
    before = shares(world)
    world.stops = world.starts = 0
    world.elect()
    world.settle()
    assert shares(world) == before
    assert (world.stops, world.starts) == (0, 3)


def test_a_start_that_was_not_done_yet_counts_for_the_next_coordinator() -> None:
    """The coordinator has commanded a to start all, and dies before a obeys. Its successor must not
    assign any of it to b, which would then read it at the same time as a.
    """
    world = world_of(4)
    world.join("g", "a", T)
    world.settle("a")
    world.join("g", "b", T)
    world.elect()
    world.settle("a")
    assert shares(world) == {"a": [], "b": []}
    world.settle()
    assert sizes(world) == [2, 2]


def test_a_coordinator_dies_between_stop_and_start() -> None:
    world = world_of(4, "a")
    world.join("g", "b", T)
    world.settle("a")
    world.boundary("g", "a")  # stopped and answered; no coordinator reads it
    world.elect()
    world.settle()
    assert sizes(world) == [2, 2]


def test_members_in_both_registries_are_refused_by_name() -> None:
    world = world_of(4, "a")
    member = Member(world.tick(), T)
    members = {"a": world.groups["g"]["a"].member, "b": member}
    both = GroupRead("g", members, strangers=("g_old-1",))
    changed, _, commands = core.step(world.coordinator, both)
    assert commands == ()
    assert "g_old-1" in changed.groups["g"].refused
    assert changed.rebalancing == {"g"}
    after, _, commands = core.step(changed, GroupRead("g", members))
    assert after.groups["g"].refused == ""
    assert [(c, type(command)) for c, command in commands] == [("a", Stop), ("b", Start)]


def test_a_group_that_has_gone_back_to_deciding_for_itself_is_no_trouble() -> None:
    world = world_of(4, "a")
    read = GroupRead("g", {}, strangers=("g_old-1",))
    changed, _, commands = core.step(world.coordinator, read)
    assert (changed.groups["g"].refused, commands) == ("", ())


def test_a_refused_group_receives_no_commands_after_answers() -> None:
    world = world_of(4, "a")
    world.join("g", "b", T)
    world.settle("a")
    (stop,) = channel(world, "a")
    assert isinstance(stop, Stop)
    members = {c: seat.member for c, seat in world.groups["g"].items()}
    changed, _, _ = core.step(world.coordinator, GroupRead("g", members, strangers=("g_old-1",)))
    answer = Answered("g", "a", Stopped(stop.generation, stop.life))
    assert core.step(changed, answer)[2] == ()
