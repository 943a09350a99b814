"""Descriptors of .proto text, made by protoc."""

from __future__ import annotations

import tempfile
from pathlib import Path

import grpc_tools
from grpc_tools import protoc


def compiled(text: str, *, name: str = "test.proto") -> bytes:
    """A FileDescriptorSet with all that the text imports."""
    known = Path(grpc_tools.__file__).parent / "_proto"
    with tempfile.TemporaryDirectory() as directory:
        file, out = Path(directory, name), Path(directory, "set.desc")
        file.write_text(text)
        given = [f"-I{directory}", f"-I{known}", "--include_imports", f"--descriptor_set_out={out}"]
        assert protoc.main(["protoc", *given, str(file)]) == 0
        return out.read_bytes()
