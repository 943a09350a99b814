"""Chaos on real servers and real Spark: python -m tests.chaos.run --protocol kafka --minutes 30

Three drivers of one group append to a Delta table while records come in, some of them in
transactions, and one fault after the other is inflicted; about one in four is followed by another
one before the group has settled. At the end everything is healed, all that was produced must reach
the table, and the run is judged. Exit status 0: all is as promised.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark_zkgroup.errors import ZkgroupError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import parse
from tests.chaos import report as reports
from tests.chaos.bag import drawn, paired
from tests.chaos.calm import disturbances
from tests.chaos.duplicates import duplicates, lacking, size
from tests.chaos.faults import Done
from tests.chaos.kinds import KINDS, kinds_of, may_overlap
from tests.chaos.process import Process, now
from tests.chaos.protocols import PROTOCOLS, ZOOKEEPER
from tests.chaos.rightful import Rightful
from tests.chaos.settings import TOPIC, Settings
from tests.chaos.stage import Stage, staged
from tests.chaos.table import offsets_in, ranges_of
from tests.chaos.unowned import Group, unowned
from tests.chaos.values import Fault, Read, Unowned
from tests.chaos.verdict import (
    Evidence,
    deaths,
    from_their_plans,
    plain_reads,
    produced_ranges,
    reads_of,
    rebalances,
    sessions_ended,
    triggers_of,
    unanswered_commits,
    unsettled,
)
from tests.harness.waiting import wait_until

REPORT = Path("build/chaos.json")
SAID_EVERY_S = 5.0
BETWEEN_FAULTS_S = (0.5, 3.0)
# After the one before it was begun.
OVERLAPS_AFTER_S = (0.5, 3.0)


class Run:
    def __init__(self, settings: Settings, directory: Path) -> None:
        self.settings, self.directory = settings, directory
        self.began = now()
        self.faults: list[Fault] = []
        self.errors: list[str] = []
        self._doing = "starting"
        protocol = PROTOCOLS[settings.protocol]
        self._kinds = settings.kinds or kinds_of(protocol, direct=settings.direct)

    def run(self) -> dict[str, Any]:
        self.say(
            f"protocol {self.settings.protocol}"
            f"{', delta.ingest' if self.settings.direct else ''}, seed {self.settings.seed}, "
            f"at least {self.settings.minutes:g} minutes and "
            f"{self.settings.faults_wanted} faults; all logs in {self.directory}"
        )
        with staged(self.settings, self.directory) as stage:
            self.say("three members share the partitions")
            ended = threading.Event()
            teller = threading.Thread(target=self._tell, args=(stage, ended), daemon=True)
            teller.start()
            try:
                self._inflict(stage)
                self._drain(stage)
            finally:
                ended.set()
                teller.join()
            stage.watch.close()
            self.say("the table is compared with what was produced")
            evidence = self._judge(stage)
            said = [line for member in stage.members.values() for line in member.said]
        found = reports.content(
            evidence, self.settings, self.began, now() - self.began, rebalances(said)
        )
        for line in reports.lines(found):
            self.say(line)
        return found

    # -- faults

    def _inflict(self, stage: Stage) -> None:
        rng = random.Random(self.settings.seed)
        began = time.monotonic()
        # The kinds, and what is drawn for each, do not depend on how long anything takes.
        bags = paired(
            drawn(self._kinds, random.Random(self.settings.seed)),
            self.settings.overlapping,
            may_overlap,
        )
        while True:
            minutes = (time.monotonic() - began) / 60.0
            enough = len(self.faults) >= self.settings.faults_wanted
            if (enough and minutes >= self.settings.minutes) or stage.load.failed:
                return
            if minutes >= self.settings.minutes_max:
                return
            self._together(stage, next(bags), rng)
            stage.pass_time(rng.uniform(*BETWEEN_FAULTS_S))

    def _together(self, stage: Stage, kinds: tuple[str, ...], rng: random.Random) -> None:
        """One fault, or two of which the second begins before the group has settled."""
        self._doing = " + ".join(kinds)
        under_way: list[tuple[str, Future[Done]]] = []
        with ThreadPoolExecutor(len(kinds)) as pool:
            for kind in kinds:
                if under_way:
                    stage.pass_time(rng.uniform(*OVERLAPS_AFTER_S))
                own = random.Random(rng.random())
                under_way.append((kind, pool.submit(KINDS[kind].inflict, stage, own)))
        healed = now()
        found = list(self._done(under_way))
        if len(found) < len(kinds):
            stage.heal()
        self._start_what_ended(stage)
        settled = stage.wait_settled(self.settings.settle_s)
        over = now()
        stage.forget_picks()
        for kind, done in found:
            # A batch that could not be committed at a clean end, for another fault, comes again.
            batches = done.batches if len(kinds) == 1 else None
            fault = Fault(
                number=len(self.faults) + 1,
                kind=kind,
                target=done.target,
                at=done.at,
                until=done.until,
                members=done.members,
                hard=done.hard,
                ends_claims=done.ends_claims,
                grace_s=self.settings.session_s if done.grace_s is None else done.grace_s,
                calm=done.calm,
                stops_jvm=done.stops_jvm,
                batches=batches,
                healed=healed,
                settled=settled,
                detail=done.detail,
                over=over,
            )
            self.faults.append(fault)
            self._tell_of(fault, kinds)
        self._doing = "-"

    def _done(self, under_way: Sequence[tuple[str, Future[Done]]]) -> Iterator[tuple[str, Done]]:
        for kind, future in under_way:
            try:
                yield kind, future.result()
            except (AssertionError, ZkgroupError) as error:
                # A process did not end, or did not start: this is what the run tests.
                self.errors.append(f"{kind}: {error}")
                self.say(f"{kind}: {error}")

    def _tell_of(self, fault: Fault, kinds: tuple[str, ...]) -> None:
        rest = (
            f"settled {fault.over - fault.healed:.1f} s later" if fault.settled else "NOT settled"
        )
        detail = f", {fault.detail}" if fault.detail else ""
        others = "" if len(kinds) == 1 else f" (of {len(kinds)} that overlap)"
        self.say(f"fault {fault.number}{others}: {fault.kind}: {fault.target}{detail}; {rest}")

    def _start_what_ended(self, stage: Stage) -> None:
        for member in stage.members.values():
            if not member.alive:
                self.errors.append(f"the driver of {member.name} ended by itself")
                member.start()

    # -- the end

    def _drain(self, stage: Stage) -> None:
        self._doing = "healing and draining"
        stage.heal()
        try:
            stage.load.stop()
            wait_until(
                lambda: stage.lag() == 0, self.settings.drain_s, "no lag to be left", interval_s=0.5
            )
            for member in stage.members.values():
                member.ask_to_stop()
            for member in stage.members.values():
                member.drain()
        except (AssertionError, ZkgroupError) as error:
            self.errors.append(f"at the end: {error}")

    def _judge(self, stage: Stage) -> Evidence:
        produced = produced_ranges(stage.load.so_far)
        # What another consumer has read is not for our members to deliver.
        plain = plain_reads(stage.plain)
        held = offsets_in(stage.table)
        in_table = {partition: ranges_of(offsets) for partition, offsets in held.items()}
        reads = [read for member in stage.members.values() for read in self._reads(stage, member)]
        in_log = {partition: list(ranges) for partition, ranges in plain.items()}
        for read in reads:
            in_log.setdefault(read.partition, []).append((read.start, read.until))
        noted = [
            replace(fault, number=-number)
            for number, fault in enumerate(
                (
                    fault
                    for member in stage.members.values()
                    for fault in sessions_ended(member.name, member.said, self.settings.session_s)
                ),
                1,
            )
        ]
        tenures = list(stage.watch.tenures.values())
        self.errors += disturbances(self.faults, tenures, noted)
        if not stage.protocol.judges_gaps:
            self.errors += unsettled(self.faults, noted, self.settings.settle_s)
        return Evidence(
            produced=size(produced),
            read=sum(read.until - read.start for read in reads),
            missing=size(lacking(lacking(produced, in_table), plain)),
            missing_in_log=size(lacking(produced, in_log)),
            duplicates=duplicates(reads, [*self.faults, *noted]),
            delta_duplicates=sum(sum(o.values()) - len(o) for o in held.values()),
            never_produced=size(lacking(in_table, produced)),
            faults=self.faults,
            noted=noted,
            unowned=self._unowned(stage),
            deaths=[
                death
                for member in stage.members.values()
                for death in deaths(member.name, member.events, self.faults)
            ],
            went_back=stage.watch.went_back,
            uncommitted=stage.lag(),
            faults_wanted=self.settings.faults_wanted,
            errors=self.errors,
            aborted=stage.load.transactions.book.aborted,
            plain=size(plain),
        )

    def _unowned(self, stage: Stage) -> list[Unowned]:
        if not stage.protocol.judges_gaps:
            return []
        members, watch = list(stage.members.values()), stage.watch
        born = {TopicPartition(TOPIC, p): at for p, at in stage.born.items()}
        partitions = [TopicPartition(TOPIC, p) for p in range(watch.partitions)]
        # Where they read from and write to is their own; what they read and who gets it is not.
        options = parse(members[0].job.options)
        group = Group(
            Rightful(watch.memberships, partitions, born, options),
            stage.names(),
            self.faults,
            [t for member in members for t in triggers_of(member.name, member.look())],
            self.settings.trigger_s,
        )
        tenures = list(watch.tenures.values())
        return unowned(tenures, born, group, watch.silences, ends=self._ends(stage))

    def _reads(self, stage: Stage, member: Process) -> list[Read]:
        events = list(member.look())
        stopped = [e["at"] for e in events if e["event"] == "stopped" and e["drained"]]
        triggers = list(triggers_of(member.name, events))
        # Who commits to ZooKeeper itself does not notice who coordinates.
        moves = () if stage.protocol.route == ZOOKEEPER else stage.watch.coordinator_moves
        unanswered = unanswered_commits(
            member.name,
            self.faults,
            stage.protocol.unanswered_in,
            moves,
            heartbeat_s=self.settings.session_s / 3,
        )
        deliveries = from_their_plans(stage.sinks[member.name].deliveries(), events)
        return list(reads_of(member.name, deliveries, stopped, triggers, unanswered))

    def _ends(self, stage: Stage) -> float:
        """From here on no member had to own anything: the first of the last clean stops."""
        stops = [member.last("stopping") for member in stage.members.values()]
        return min((stop["at"] for stop in stops if stop is not None), default=now())

    # -- what is printed meanwhile

    def say(self, text: str) -> None:
        print(f"{now() - self.began:7.1f} s  {text}", flush=True)

    def _tell(self, stage: Stage, ended: threading.Event) -> None:
        while not ended.wait(SAID_EVERY_S):
            try:
                status = stage.status()
            except Exception as error:  # noqa: BLE001 - it only prints; the run continues
                self.say(f"it cannot be seen how it stands: {error!r}")
                continue
            self.say(
                f"owners {status['owners']}   produced {status['produced']}   lag {status['lag']}"
                f"   batches {status['batches']}   faults {len(self.faults)}   now: {self._doing}"
            )


def main(given: Sequence[str] | None = None) -> int:
    arguments = _arguments(given)
    signal.signal(signal.SIGTERM, _interrupt)
    settings = Settings(
        protocol=arguments.protocol,
        minutes=arguments.minutes,
        seed=arguments.seed,
        faults=arguments.faults,
        kinds=tuple(arguments.kind),
        per_second=arguments.per_second,
        direct=arguments.direct,
    )
    try:
        found = play(settings, arguments.report, keep=arguments.keep)
    except (AssertionError, ZkgroupError) as error:
        print(f"the run could not be judged: {error}", flush=True)
        return 2
    except KeyboardInterrupt:
        print("interrupted; everything is stopped", flush=True)
        return 130
    return 0 if found["right"] else 1


def play(settings: Settings, report: Path, *, keep: bool = False) -> dict[str, Any]:
    """Run, report, and leave nothing behind where all went well. Not below a directory of long
    name: the paths of Unix sockets are short.
    """
    directory = Path(tempfile.mkdtemp(prefix="zkgroup-chaos-"))
    right = False
    try:
        found = Run(settings, directory).run()
        right = bool(found["right"])
        reports.write(report, found)
        print(f"report: {report}", flush=True)
        return found
    finally:
        if right and not keep:
            shutil.rmtree(directory, ignore_errors=True)
        else:
            print(f"the table and all logs are kept in {directory}", flush=True)


def _interrupt(_signum: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="chaos", description=(__doc__ or "").split("\n\n")[1])
    add = parser.add_argument
    add("--protocol", default="zookeeper", choices=sorted(PROTOCOLS), help="(zookeeper)")
    add("--minutes", type=float, default=30.0, help="how long at least (30)")
    add("--seed", type=int, default=random.randrange(10_000), help="of the faults; else by chance")
    add("--faults", type=int, metavar="N", help="how many at least; by default 4 in 3 minutes")
    add("--kind", action="append", default=[], choices=sorted(KINDS), help="only such faults")
    add("--direct", action="store_true", help="the members write with delta.ingest")
    add("--per-second", type=float, default=1000.0, help="records produced (1000)")
    add("--report", type=Path, default=REPORT, metavar="FILE", help=f"({REPORT})")
    add("--keep", action="store_true", help="keep logs and table of a run that went well, too")
    found = parser.parse_args(given)
    if refused := [kind for kind in found.kind if found.direct and KINDS[kind].leaves_gaps]:
        parser.error(f"delta.ingest refuses the gaps that this leaves: {', '.join(refused)}")
    return found


if __name__ == "__main__":
    sys.exit(main())
