"""What is done to members. Each function does it, undoes it, and says what it was; the wait until
all is well again is not theirs.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.chaos.process import Process, now
from tests.chaos.stage import Stage
from tests.harness.waiting import wait_until
from tests.spark.processes import send

# As shares of the session's timeout.
BELOW, ABOVE, HALF, TWICE = (0.2, 0.5), (1.5, 2.2), 0.5, 2.0
# As a share of max.poll.interval.ms.
BEYOND_POLL = (1.1, 1.3)
READS_DEADLINE_S = 240.0


@dataclass(frozen=True)
class Done:
    """See values.Fault. By default claims outlive it by the session's timeout."""

    target: str
    at: float
    until: float
    members: tuple[str, ...] = ()
    hard: bool = False
    ends_claims: bool = False
    grace_s: float | None = None
    calm: bool = False
    stops_jvm: bool = False
    batches: tuple[tuple[str, int], ...] | None = None
    detail: str = ""


Inflict = Callable[[Stage, random.Random], Done]


# -- members


def kill_driver(stage: Stage, rng: random.Random) -> Done:
    """kill -9 of all its processes. It comes back at once, or when its session has ended."""
    member = _any_member(stage, rng)
    away_s = rng.choice([rng.uniform(0.0, 2.0), stage.settings.session_s * rng.uniform(1.1, 1.5)])
    at = now()
    member.kill()
    until = now()
    stage.pass_time(away_s)
    member.start()
    detail = f"started again after {away_s:.0f} s"
    return Done(member.name, at, until, (member.name,), True, True, detail=detail)


def kill_planner(stage: Stage, rng: random.Random) -> Done:
    """Spark fails the query when it next asks the planner, and the driver starts it again."""
    member = _any_member(stage, rng)
    planner, at = member.planner, now()
    send([planner], signal.SIGKILL)
    return Done(member.name, at, now(), (member.name,), True, True)


def pause_planner_shortly(stage: Stage, rng: random.Random) -> Done:
    return _pause_planner(stage, rng, rng.uniform(*BELOW), hard=False)


def pause_planner_long(stage: Stage, rng: random.Random) -> Done:
    return _pause_planner(stage, rng, rng.uniform(*ABOVE), hard=True)


def pause_driver_shortly(stage: Stage, rng: random.Random) -> Done:
    return _pause_driver(stage, rng, rng.uniform(*BELOW), hard=False)


def pause_driver_long(stage: Stage, rng: random.Random) -> Done:
    return _pause_driver(stage, rng, rng.uniform(*ABOVE), hard=True)


def pause_jvm(stage: Stage, rng: random.Random) -> Done:
    """The planner keeps the session alive: no member takes over, and nothing may be read twice."""
    return _pause_jvm(stage, rng, rng.uniform(*ABOVE) * stage.settings.session_s, hard=False)


def pause_jvm_long(stage: Stage, rng: random.Random) -> Done:
    """The planner gives up: max.poll.interval.ms has passed."""
    return _pause_jvm(
        stage, rng, rng.uniform(*BEYOND_POLL) * stage.settings.poll_interval_s, hard=True
    )


def _pause_jvm(stage: Stage, rng: random.Random, seconds: float, *, hard: bool) -> Done:
    member = _any_member(stage, rng)
    jvm, at = member.jvm, now()
    send([jvm], signal.SIGSTOP)
    try:
        stage.pass_time(seconds)
    finally:
        send([jvm], signal.SIGCONT)
    done = replace(_paused(member, at, seconds, hard=hard), stops_jvm=True)
    return replace(done, grace_s=stage.settings.poll_interval_s) if hard else done


def _pause_planner(stage: Stage, rng: random.Random, share: float, *, hard: bool) -> Done:
    member = _any_member(stage, rng)
    seconds = share * stage.settings.session_s
    planner, at = member.planner, now()
    send([planner], signal.SIGSTOP)
    try:
        stage.pass_time(seconds)
    finally:
        send([planner], signal.SIGCONT)
    return _paused(member, at, seconds, hard=hard)


def _pause_driver(stage: Stage, rng: random.Random, share: float, *, hard: bool) -> Done:
    member = _any_member(stage, rng)
    seconds = share * stage.settings.session_s
    at = now()
    member.pause()
    try:
        stage.pass_time(seconds)
    finally:
        member.resume()
    return replace(_paused(member, at, seconds, hard=hard), stops_jvm=True)


def _paused(member: Process, at: float, seconds: float, *, hard: bool) -> Done:
    names, detail = (member.name,), f"for {seconds:.1f} s"
    return Done(member.name, at, now(), names, hard, hard, calm=not hard, detail=detail)


def cut_shortly(stage: Stage, rng: random.Random) -> Done:
    """What keeps its session alone, for half the session: nothing may come of it."""
    return _cut(stage, rng, HALF, hard=False)


def cut_long(stage: Stage, rng: random.Random) -> Done:
    return _cut(stage, rng, TWICE, hard=True)


def _cut(stage: Stage, rng: random.Random, share: float, *, hard: bool) -> Done:
    member = _any_member(stage, rng)
    cut, seconds = stage.cuts[member.name], share * stage.settings.session_s
    how = rng.choice(["silent", "refused"])
    at = now()
    if how == "silent":
        cut.silence()
    else:
        cut.refuse()
    try:
        stage.pass_time(seconds)
    finally:
        cut.heal()
    names, detail = (member.name,), f"{how} for {seconds:.1f} s"
    return Done(member.name, at, now(), names, hard, hard, calm=not hard, detail=detail)


def roll_drained(stage: Stage, rng: random.Random) -> Done:
    """All members, one after the other, by pyspark_zkgroup.stop(): nothing may come of it."""
    at, order = now(), rng.sample(sorted(stage.members), len(stage.members))
    for number, name in enumerate(order):
        if number:
            stage.wait_settled(stage.settings.settle_s)
        stage.members[name].drain()
        stage.members[name].start()
    return Done(", ".join(order), at, now(), tuple(order))


def roll_terminated(stage: Stage, rng: random.Random) -> Done:
    at, order = now(), rng.sample(sorted(stage.members), len(stage.members))
    unlogged: tuple[tuple[str, int], ...] = ()
    for number, name in enumerate(order):
        if number:
            stage.wait_settled(stage.settings.settle_s)
        unlogged += _terminate(stage.members[name])
    return _terminated(order, at, unlogged)


def terminate_driver(stage: Stage, rng: random.Random) -> Done:
    at, member = now(), _any_member(stage, rng)
    return _terminated([member.name], at, _terminate(member))


def _terminate(member: Process) -> tuple[tuple[str, int], ...]:
    """SIGTERM to each process of the driver. Where the sink had taken a batch that Spark had not
    yet logged, that batch comes again; nothing else may.
    """
    member.terminate()
    unlogged = tuple((member.name, number) for number in member.job.unlogged())
    member.start()
    return unlogged


def _terminated(order: list[str], at: float, unlogged: tuple[tuple[str, int], ...]) -> Done:
    shown = ", ".join(f"{name} {number}" for name, number in unlogged)
    detail = f"batches that Spark had not logged: {shown or 'none'}"
    return Done(", ".join(order), at, now(), tuple(order), True, batches=unlogged, detail=detail)


def _any_member(stage: Stage, rng: random.Random) -> Process:
    """One that reads: what is still starting has nothing to lose."""
    member = stage.members[stage.pick(rng, stage.members)]
    wait_until(lambda: member.reads, READS_DEADLINE_S, f"{member.name} to read")
    return member
