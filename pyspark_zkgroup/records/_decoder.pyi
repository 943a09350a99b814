"""The native decoder; its source is in _native. Where it is not built, importing it fails."""

class DamagedError(Exception):
    """args: why a record batch is not what a broker keeps, and the offset it begins with."""

INTERFACE: int
"""Of what this file describes."""

class Array:
    """Of one column or a part of it, in Arrow's layout."""

    length: int
    nulls: int
    buffers: list[bytes | None]
    children: list[Array]

class Batch:
    rows: int
    columns: list[Array]
    """In the order in which they were asked for."""

class Decoder:
    rows: int
    """How many are held back."""

    def __init__(
        self, rows_max: int, bytes_max: int, unpacked_bytes_max: int, columns: list[str]
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

    def step(self) -> Batch | tuple[int, int] | None:
        """The next full batch; or from where to where `data` is for the reference; or None at the
        end.
        """

    def take(self) -> Batch:
        """What is held back."""

class Parsed:
    rows: int
    bad: int
    values: Array
    reasons: Array
    """Texts; null where the row is good."""
    unknown: int | None
    """The number of a schema that the next row names and that was not added."""

class JsonParser:
    def __init__(
        self,
        words: list[str],
        first_offset_s: int,
        changes: list[tuple[int, int]],
        span_s: tuple[int, int],
    ) -> None:
        """`words` are the type in preorder. The zone's offset changes at instants in seconds, and
        is known for local times within the span.
        """

    def parse(self, column: tuple[bytes | None, bytes, bytes], from_: int, to: int, /) -> Parsed:
        """Rows of a column of bytes, in Arrow's layout: as many as a batch takes, one at least."""

class AvroParser:
    def __init__(self, words: list[str], framing: str) -> None:
        """`words` are the type in preorder."""

    def add(self, schema: int, steps: list[tuple[str, list[int], list[str]]]) -> None:
        """What records of a schema are read by; see _native/src/formats/avro/program.rs."""

    def parse(self, column: tuple[bytes | None, bytes, bytes], from_: int, to: int, /) -> Parsed:
        """See `JsonParser.parse`; it stops before a row whose schema is not known."""

class ProtobufParser:
    def __init__(self, words: list[str], is_framed: bool) -> None:
        """`words` are the type in preorder."""

    def frame(self, number: int) -> tuple[int, list[int]]:
        """The id and the message's place in its schema that `Parsed.unknown` stands for."""

    def add(self, number: int, steps: list[tuple[str, list[int], list[str]]]) -> None:
        """What records with a frame are read by; see _native/src/formats/protobuf/program.rs."""

    def parse(self, column: tuple[bytes | None, bytes, bytes], from_: int, to: int, /) -> Parsed:
        """See `JsonParser.parse`; it stops before a row whose frame is not known."""
