"""Compiles light.proto: `python -m tests.harness.light_proto`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "pyspark_zkgroup/protocols/light/rules/light.proto"
COMPILED = SOURCE.with_suffix(".pb")


def compiled() -> bytes:
    """The set of descriptors that protoc makes, without comments."""
    with TemporaryDirectory() as directory:
        out = Path(directory) / "light.pb"
        arguments = ["protoc", f"-I{SOURCE.parent}", f"--descriptor_set_out={out}", str(SOURCE)]
        if protoc.main(arguments):
            raise SystemExit(f"{SOURCE} does not compile")
        return out.read_bytes()


if __name__ == "__main__":
    COMPILED.write_bytes(compiled())
