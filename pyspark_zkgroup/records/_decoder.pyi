"""The native decoder; its source is in _native. Where it is not built, importing it fails."""

class DamagedError(Exception):
    """args: why a record batch is not what a broker keeps, and the offset it begins with."""

class Buffers:
    """Of one Arrow batch, in Arrow's layout."""

    rows: int
    key_nulls: int
    key_validity: bytes
    key_ends: bytes
    key_data: bytes
    value_nulls: int
    value_validity: bytes
    value_ends: bytes
    value_data: bytes
    topic_ends: bytes
    topic_data: bytes
    partitions: bytes
    offsets: bytes
    timestamps_us: bytes
    timestamp_types: bytes
    headers: HeaderBuffers | None

class HeaderBuffers:
    """Of its column of headers: lists of structs of a text and bytes."""

    nulls: int
    validity: bytes
    ends: bytes
    count: int
    key_ends: bytes
    key_data: bytes
    value_nulls: int
    value_validity: bytes
    value_ends: bytes
    value_data: bytes

class Decoder:
    rows: int
    """How many are held back."""

    def __init__(
        self, rows_max: int, bytes_max: int, unpacked_bytes_max: int, headers: bool
    ) -> None: ...
    def open(
        self,
        data: bytes,
        at: int,
        end: int,
        topic: str,
        partition: int,
        start: int,
        until: int,
        aborted: list[tuple[int, int]],
    ) -> None:
        """What `step` goes through from now on. `aborted` holds producers and first offsets."""

    def step(self) -> Buffers | tuple[int, int] | None:
        """The next full batch; or from where to where `data` is for the reference; or None at the
        end.
        """

    def take(self) -> Buffers:
        """What is held back."""
