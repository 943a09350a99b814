"""JVM members and Kafka's old tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness.group import group_of
from tests.interop.old_tools import OldTools
from tests.interop.scene import Scene, Setup
from zkgroup_sandbox import Sandbox

NewScene = Callable[[Setup], Scene]


@pytest.fixture(scope="session")
def old_tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OldTools]:
    tools = OldTools(tmp_path_factory.mktemp("old-tools") / "tools.log")
    yield tools
    tools.close()


@pytest.fixture
def new_scene(sandbox: Sandbox, old_tools: OldTools, tmp_path: Path) -> Iterator[NewScene]:
    with group_of(sandbox) as group:
        made: list[Scene] = []

        def make(setup: Setup) -> Scene:
            made.append(Scene(setup, group, old_tools, tmp_path))
            return made[-1]

        yield make
        for scene in made:
            scene.close()
