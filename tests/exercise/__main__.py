"""Six prepared faults for an operator to name: python -m tests.exercise --seed N

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

from tests.exercise.draw import VARIANTS, Drawn, draw
from tests.exercise.faults import SETTERS, Answer
from tests.exercise.load import Load
from tests.exercise.scene import Scene
from zkgroup_sandbox import Sandbox

# As ZooKeeper has it by default: sessions that outlast a busy machine.
_TICK_MS = 2000
_LOOK_S = 1.0


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.exercise", description=__doc__)
    parser.add_argument("--seed", type=int, help="by default any; the key has it")
    parser.add_argument("--case", type=int, choices=range(1, len(VARIANTS) + 1), help="this alone")
    parser.add_argument("--directory", type=Path, help="for all logs; by default a new one")
    parser.add_argument("--key", type=Path, help="what was set; by default DIRECTORY.key.json")
    return parser.parse_args(arguments)


def say(text: str) -> None:
    print(text, flush=True)


def run(seed: int, only: int | None, directory: Path, key: Path, told: threading.Event) -> None:
    cases = [drawn for drawn in draw(seed) if only in (None, drawn.number)]
    with ExitStack() as stack:
        sandbox = Sandbox(directory / "servers", tick_ms=_TICK_MS, say=lambda _text: None)
        stack.enter_context(sandbox)
        load = Load(sandbox.bootstrap_servers)
        stack.callback(load.stop)
        answers: dict[str, dict[str, str]] = {}
        for drawn in cases:
            name = f"case-{drawn.number}"
            scene = Scene(drawn, sandbox, load, directory / name, directory / "state" / name)
            stack.callback(scene.close)
            answers[str(drawn.number)] = _for_key(drawn, SETTERS[drawn.variant](scene))
            key.write_text(json.dumps({"seed": seed, "cases": answers}, indent=1))
            key.chmod(0o600)
            say(
                f"case {drawn.number}: group {drawn.group}, ZooKeeper {scene.connect}, "
                f"brokers {sandbox.bootstrap_servers}, logs {directory / name}"
            )
        say(f"all are set; kill {os.getpid()} ends them")
        while not told.wait(_LOOK_S):
            if load.error is not None:
                raise load.error


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
    directory = directory.absolute()
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
        run(seed, given.case, directory, key, told)
    except KeyboardInterrupt:
        say(f"ended; the key is {key}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
