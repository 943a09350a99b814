"""What a connection to the brokers and a fetch need to know. Plain values: a task receives them
pickled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pyspark_zkgroup.kafka.client_settings import ClientSettings
from pyspark_zkgroup.model import Isolation
from pyspark_zkgroup.security.kafka_security import OPEN, KafkaSecurity

_SERVER = re.compile(r"(\[[0-9A-Fa-f:.%a-z]+\]|[^\s:,\[\]]+):([0-9]{1,5})")
_MIB = 1024 * 1024
_INT32_MAX = 2**31 - 1  # the protocol counts bytes in 32 bits


@dataclass(frozen=True, slots=True)
class FetchSettings:
    bootstrap: tuple[str, ...] = ()
    """host:port of some brokers; the rest are learned from them. None: not known yet."""
    client_id: str = "zkgroup"
    fetch_bytes_max: int = 4 * _MIB
    """Bytes asked of one partition in one request. A larger record batch comes all the same, alone.
    """
    response_bytes_max: int = 16 * _MIB
    """Bytes asked of all partitions and brokers at a time. While they come in, as much again may be
    in the hands of the decoder.
    """
    fetch_wait_max_ms: int = 500
    """How long a broker holds a request for which it has nothing yet."""
    request_timeout_ms: int = 30_000
    deadline_s: float = 120.0
    """How long a range may make no progress (no leader, no broker, no data) before its task gives
    up.
    """
    batch_rows_max: int = 30_000
    batch_bytes_max: int = 16 * _MIB
    """Rows and bytes of keys and values in one Arrow batch; one larger record is a batch of its
    own.
    """
    isolation: Isolation = "read_uncommitted"
    """read_committed: aborted transactions are named, open ones are not read."""
    fail_on_data_loss: bool = True
    """False: records that are gone before they were read are a warning, not an error."""
    client: ClientSettings = field(default_factory=ClientSettings)
    security: KafkaSecurity = OPEN

    def __post_init__(self) -> None:
        for server in self.bootstrap:
            match = _SERVER.fullmatch(server)
            if match is None or not 0 < int(match.group(2)) < 65536:
                raise ValueError(f"not host:port: {server!r}")
        for name in (
            "fetch_bytes_max",
            "response_bytes_max",
            "request_timeout_ms",
            "batch_rows_max",
            "batch_bytes_max",
        ):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}")
        if max(self.fetch_bytes_max, self.response_bytes_max) > _INT32_MAX:
            raise ValueError(f"fetch_bytes_max and response_bytes_max end at {_INT32_MAX}")
        if self.fetch_wait_max_ms < 0 or self.deadline_s <= 0:
            raise ValueError("fetch_wait_max_ms must not be below 0, deadline_s must be above 0")
        if self.fetch_wait_max_ms >= self.request_timeout_ms:
            raise ValueError("fetch_wait_max_ms must be below request_timeout_ms")

    @property
    def record_batch_bytes_max(self) -> int:
        """The largest record batch that is taken, as sent and as unpacked; a larger one is an
        error, not gigabytes.

        Far above what brokers accept by default (1 MiB), and raised with `fetch_bytes_max`, so that
        there is a way to read whatever a broker holds.
        """
        return min(_INT32_MAX, max(256 * _MIB, 2 * self.fetch_bytes_max))
