"""How connections to the brokers are made, kept and tried again: what users of Kafka's own clients
set by the same names.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientSettings:
    rack: str = ""
    """Where this client stands: brokers then name a replica near it to read from."""
    dns_lookup: str = "use_all_dns_ips"
    idle_max_ms: int = 540_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1000
    retry_backoff_ms: int = 50
    """The first pause before a broker is asked again; pauses then grow to `retry_backoff_max_ms`.
    """
    retry_backoff_max_ms: int = 2000
    connect_timeout_ms: int | None = None
    """None: as long as a request may take."""
    send_buffer_bytes: int | None = None
    """None: the operating system's choice, here and below."""
    receive_buffer_bytes: int | None = None
    look_up_retries: int | None = None
    """How often the driver asks again for the ends of logs; None: until its time is over."""
    look_up_pause_ms: int | None = None
    """Between two such tries; None: pauses that grow."""
    metadata_refresh_ms: int = 30_000
    """How often the driver asks for new topics where ZooKeeper does not tell."""
