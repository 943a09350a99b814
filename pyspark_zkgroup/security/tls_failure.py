"""Classifies failures of a TLS handshake, and of the first read after it.

A server that wants a client certificate may say so only at the first read.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import Literal

Kind = Literal["expired", "other host", "untrusted", "refused", "no TLS", "ended", "other"]

_NO_TLS = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"}


@dataclass(frozen=True, slots=True)
class TlsFailure:
    """`ended` may pass: the server hung up. `said` is OpenSSL's own text."""

    kind: Kind
    said: str

    @property
    def what(self) -> str:
        """Follows an address."""
        if self.kind in ("expired", "other host", "untrusted"):
            return f"shows a TLS certificate that is not accepted: {self.said}"
        if self.kind == "refused":
            return f"refuses our TLS connection ({self.said})"
        if self.kind == "no TLS":
            return "does not speak TLS on that port"
        return f"fails at TLS ({self.said})"


def failure_of(error: BaseException | None) -> TlsFailure | None:
    """None where TLS has nothing to do with it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        said = error.verify_message.rstrip(".")
        if "expired" in said or "not yet valid" in said:
            return TlsFailure("expired", said)
        other_host = "mismatch" in said or "not valid for" in said
        return TlsFailure("other host" if other_host else "untrusted", said)
    if not isinstance(error, ssl.SSLError):
        return None
    reason = error.reason or ""
    said = reason.lower().split("alert_", 1)[-1].replace("_", " ")
    # OpenSSL 3.0 gives no reason where 3.2 says UNEXPECTED_EOF_WHILE_READING; and a server that
    # ends in the middle of a handshake may call that its own error.
    if not reason or "EOF" in reason or ("ALERT" in reason and "INTERNAL_ERROR" in reason):
        return TlsFailure("ended", said)
    if "ALERT" in reason:
        return TlsFailure("refused", said)
    return TlsFailure("no TLS" if reason in _NO_TLS else "other", said)
