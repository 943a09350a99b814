"""Every block of the pages, every command, job and notebook, in a fresh clone with an empty HOME.

    python3 -m tests.documents.run                                 all of it
    python3 -m tests.documents.run --only docs/delta.md            scenes with blocks of a page
    python3 -m tests.documents.run --only notebooks --keep DIR     a scene by its name; what is made
                                                                   stays in DIR for the next run

The clone is of the commit that is checked out. The log is build/documents.log. Exit status 0: all
went as the pages say, and what was left out says why.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.documents import places
from tests.documents.blocks import blocks
from tests.documents.log import Log
from tests.documents.running import Line
from tests.documents.scenes import PAGES
from tests.documents.scenes.first_and_last import DEVELOPMENT, INSTALL, TRY_IT
from tests.documents.stage import TOO_BUSY, Stage
from tests.documents.steps import NotRun, Printed, Scene, block_of
from tests.documents.tour import TOUR

ROOT = Path(__file__).resolve().parents[2]
ATTEMPTS = 3
LOG = ROOT / "build" / "documents.log"
SCENES = (TRY_IT, INSTALL, *PAGES, *TOUR, DEVELOPMENT)


def main(given: Sequence[str] | None = None) -> int:
    arguments = _arguments(given)
    wanted = selected(arguments.only)
    # What runs is in separate sessions, and is ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    log = Log.to(LOG)
    place = places.Place(
        arguments.keep.resolve() if arguments.keep else Path(tempfile.mkdtemp(prefix="zkd"))
    )
    was_kept = place.clone.exists()
    began = time.monotonic()
    log.say(f"clone of {places.clone(ROOT, place)}")
    if changes := places.uncommitted(ROOT):
        log.say(f"not in it: {len(changes)} files with changes that are not committed")
    places.furnish(place, Path.home(), Path(__file__).parent)
    environment = places.newcomer(os.environ, ROOT, place)
    log.say(f"HOME is empty; of the environment there is {', '.join(sorted(environment))}")
    stage = Stage(place, environment, blocks(place.clone), log)
    try:
        for scene in prepared(wanted, is_installed=(place.installed / "bin" / "zkgroup").exists()):
            if not played(stage, scene) and scene is INSTALL:
                log.say("nothing else can be run without it")
                break
    finally:
        stage.close()
        log.say()
        _conclude(log, None if was_kept else stage.first_rows, began)
        if arguments.keep or log.failed:
            log.say(f"all of it is kept in {place.root}")
        else:
            shutil.rmtree(place.root, ignore_errors=True)
    return int(bool(log.failed))


def played(stage: Stage, scene: Scene) -> bool:
    for attempt in range(1, ATTEMPTS + 1):
        failed = len(stage.log.failed)
        if stage.play(scene):
            return True
        if not stage.was_busy or attempt == ATTEMPTS:
            return False
        del stage.log.failed[failed:]
        stage.log.say(f"    [once more: {TOO_BUSY!r}, attempt {attempt} of {ATTEMPTS}]")
    raise AssertionError("unreachable")


def selected(only: Sequence[str]) -> list[Scene]:
    """By what their names begin with, or the pages of their blocks. ValueError if there is none."""
    for name in only:
        if not any(_is_named(scene, name) for scene in SCENES):
            raise SystemExit(f"documents: no scene and no page is called {name!r}")
    return [s for s in SCENES if not only or any(_is_named(s, name) for name in only)]


def _is_named(scene: Scene, name: str) -> bool:
    pages = [step.page for step in scene.steps if isinstance(step, Printed | NotRun)]
    return scene.name.startswith(name) or name in pages


def prepared(wanted: Sequence[Scene], *, is_installed: bool) -> list[Scene]:
    """With what they stand on."""
    needs = any(not scene.by_make for scene in wanted) and INSTALL not in wanted
    return [INSTALL, *wanted] if needs and not is_installed else list(wanted)


def _conclude(log: Log, first_rows: Line | None, began: float) -> None:
    for line in log.not_run:
        log.say(f"not run: {line}")
    for line in log.failed:
        log.say(f"FAILED: {line}")
    if first_rows is None:
        log.say("from clone to first rows: not measured")
    else:
        said = " ".join(first_rows.text.split())
        log.say(f"from clone to first rows: {first_rows.at - began:.0f} s (make demo: {said})")
    log.say(
        f"{log.passed} commands and programs went as they should, {len(log.failed)} did not, "
        f"{len(log.not_run)} were not run; {time.monotonic() - began:.0f} s"
    )


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="documents", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="a page, such as README.md, or how the name of a scene begins; repeatable",
    )
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="make all in DIR, and use what is there already"
    )
    parser.add_argument("--list", action="store_true", help="show what there is, run nothing")
    arguments = parser.parse_args(given)
    if arguments.list:
        found = blocks(ROOT)
        for scene in selected(arguments.only):
            print(scene.name)
            for step in scene.steps:
                if isinstance(step, Printed | NotRun):
                    print(f"    {block_of(step, found).name}")
        sys.exit(0)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
