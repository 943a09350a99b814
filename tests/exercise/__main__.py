"""Six prepared faults for an operator to name: python -m tests.exercise --seed N

The groups are in ZooKeeper, or with --protocol kafka coordinated by the brokers of a Kafka alone.

Each is set in a separate group, on servers of the exercise, in an order and with details that the
seed draws. The output says where to look, and nothing about what is wrong; that is in the key, for
afterwards. Everything runs until SIGTERM or Ctrl-C, which end it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.exercise import brokered_faults, faults
from tests.exercise.brokered_scene import LINE, BrokeredScene
from tests.exercise.draw import KINDS, VARIANTS, Drawn, draw
from tests.exercise.faults import Answer
from tests.exercise.load import Load
from tests.exercise.scene import Scene
from zkgroup_sandbox import Sandbox

# As ZooKeeper has it by default: sessions that outlast a busy machine.
_TICK_MS = 2000
_LOOK_S = 1.0


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.exercise", description=__doc__)
    parser.add_argument("--seed", type=int, help="by default any; the key has it")
    parser.add_argument("--protocol", choices=list(KINDS), default="zookeeper", help="whose groups")
    parser.add_argument("--case", type=int, choices=range(1, len(VARIANTS) + 1), help="this alone")
    parser.add_argument("--directory", type=Path, help="for all logs; by default a new one")
    parser.add_argument("--key", type=Path, help="what was set; by default DIRECTORY.key.json")
    return parser.parse_args(arguments)


def say(text: str) -> None:
    print(text, flush=True)


def run(given: argparse.Namespace, seed: int, key: Path, told: threading.Event) -> None:
    cases = [drawn for drawn in draw(seed, given.protocol) if given.case in (None, drawn.number)]
    directory: Path = given.directory
    with ExitStack() as stack:
        sandbox = _sandbox(given.protocol, directory / "servers")
        stack.enter_context(sandbox)
        load = Load(sandbox.bootstrap_servers)
        stack.callback(load.stop)
        answers: dict[str, dict[str, str]] = {}
        for drawn in cases:
            name = f"case-{drawn.number}"
            place = (drawn, sandbox, load, directory / name, directory / "state" / name)
            where = f"brokers {sandbox.bootstrap_servers}, logs {directory / name}"
            if given.protocol == "kafka":
                brokered = BrokeredScene(*place)
                stack.callback(brokered.close)
                answer = brokered_faults.SETTERS[drawn.variant](brokered)
            else:
                scene = Scene(*place)
                stack.callback(scene.close)
                answer = faults.SETTERS[drawn.variant](scene)
                where = f"ZooKeeper {scene.connect}, {where}"
            answers[str(drawn.number)] = _for_key(drawn, answer)
            key.write_text(json.dumps({"seed": seed, "cases": answers}, indent=1))
            key.chmod(0o600)
            say(f"case {drawn.number}: group {drawn.group}, {where}")
        say(f"all are set; kill {os.getpid()} ends them")
        while not told.wait(_LOOK_S):
            if load.error is not None:
                raise load.error


def _sandbox(protocol: str, directory: Path) -> Sandbox:
    if protocol == "kafka":
        return Sandbox(directory, kafka=LINE, zookeepers=0, say=lambda _text: None)
    return Sandbox(directory, tick_ms=_TICK_MS, say=lambda _text: None)


def _for_key(drawn: Drawn, answer: Answer) -> dict[str, str]:
    return {
        "fault": drawn.fault,
        "variant": drawn.variant,
        "group": drawn.group,
        "what": answer.fault,
        "remedy": answer.remedy,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    given = options(arguments)
    directory = given.directory or Path(tempfile.mkdtemp(prefix="zkgroup-exercise-"))
    given.directory = directory = directory.absolute()
    directory.mkdir(parents=True, exist_ok=True)
    key = given.key or directory.with_name(f"{directory.name}.key.json")
    told = threading.Event()

    def end(_number: int, _frame: object) -> None:
        # While something is still being set, by the exception; later by the event.
        told.set()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    try:
        seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
        run(given, seed, key, told)
    except KeyboardInterrupt:
        say(f"ended; the key is {key}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
