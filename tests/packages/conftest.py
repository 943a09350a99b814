from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packages.clean_python import CleanPython
from tests.packages.distribution import Distribution, built, toolchain


@pytest.fixture(scope="session")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    if not toolchain():
        pytest.skip("the native decoder needs cargo and rustc, and they are not there")
    return built(tmp_path_factory.mktemp("checkout"))


@pytest.fixture
def clean_python(tmp_path: Path) -> Callable[[], CleanPython]:
    return lambda: CleanPython.made(tmp_path / "python")
