"""Secrets that tests give to what they run, and the search for them in all that it left behind.

options = {"kafka.sasl.jaas.config": f'... password="{PASSWORD}";'}
...
assert leaks_in(checkpoint_folder, log_folder) == []
assert leaks_of(caplog.text, str(error)) == []
"""

from __future__ import annotations

import base64
from pathlib import Path

from zkgroup_sandbox import secured_zookeeper

PASSWORD = "planted-password-5d1f"
"""The password of a user that is admitted."""
WRONG_PASSWORD = "planted-wrong-password-83b2"
TOKEN = "planted-token-c47e"
KEY_PASSWORD = "planted-key-password-9a06"
ZOOKEEPER_PASSWORD = "planted-zookeeper-password-e7b8"
COORDINATOR_TOKEN = "planted-coordinator-token-71d3"
STORAGE_SECRET = "planted-storage-secret-b92e"
"""The key of tests/object_store's S3 server."""
WRONG_STORAGE_SECRET = "planted-wrong-storage-secret-77d0"
ZOOKEEPER_LOGIN = secured_zookeeper.USERS["zoe"]

PLANTED = (
    PASSWORD,
    WRONG_PASSWORD,
    TOKEN,
    KEY_PASSWORD,
    ZOOKEEPER_PASSWORD,
    COORDINATOR_TOKEN,
    STORAGE_SECRET,
    WRONG_STORAGE_SECRET,
    ZOOKEEPER_LOGIN,
)
KEY_MARK = "MIGHAgEAMBMGByqGSM49AgEG"
"""How every private key of zkgroup_sandbox/certificates.py begins."""


def _forms(secret: str) -> list[bytes]:
    """As it is, and inside base64 wherever it begins: three ways."""
    forms = [secret.encode()]
    for ahead in range(3):
        coded = base64.b64encode(b"\0" * ahead + secret.encode())
        forms.append(coded[4 if ahead else 0 : -4])
    return forms


_FORMS = {form: secret for secret in (*PLANTED, KEY_MARK) for form in _forms(secret)}


def redaction() -> str:
    """What docs/security.md says to give to spark.sql.redaction.string.regex."""
    page = Path(__file__).parents[2] / "docs" / "security.md"
    (line,) = (x for x in page.read_text().splitlines() if x.strip().startswith("(?is)"))
    return line.strip()


def leaks_of(*texts: str | bytes) -> list[str]:
    """The planted secrets, and the beginnings of private keys, that stand in these texts."""
    found: dict[str, None] = {}
    for text in texts:
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
        found |= {secret: None for form, secret in _FORMS.items() if form in data}
    return list(found)


def leaks_in(*folders: Path) -> list[str]:
    """`file: secret` for every file below the folders that holds one."""
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    assert files, f"there is nothing to look into below {folders}"
    return [f"{path}: {secret}" for path in files for secret in leaks_of(path.read_bytes())]
