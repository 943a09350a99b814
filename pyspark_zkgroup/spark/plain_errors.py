"""How errors of this package reach Spark: their text says what happened and what to do."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from pyspark_zkgroup.errors import ZkgroupError
from pyspark_zkgroup.spark.worker_python import without_package

P = ParamSpec("P")
T = TypeVar("T")
_log = logging.getLogger("pyspark_zkgroup.source")


def plain(act: Callable[P, T]) -> Callable[P, T]:
    """Raise errors of ours without the frames below: Spark prints each of them, twice."""

    @wraps(act)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return act(*args, **kwargs)
        except ZkgroupError as error:
            _log.debug("Raised here:", exc_info=True)
            raise error.with_traceback(None) from None
        except ModuleNotFoundError as error:
            raise without_package(error) from None

    return called
