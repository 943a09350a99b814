"""Credentials among the options: which are refused, and that no text shows them."""

from __future__ import annotations

import pickle

import pytest

from pyspark_zkgroup.options import parse
from tests.harness.given_options import AUTH, LEAST, refusal

SECRET = "hunter2"


@pytest.mark.parametrize(
    "options",
    [
        {"zookeeper.auth": SECRET},
        {"zookeeper.auth": f"digest:{SECRET}"},
        {"zookeeper.auth": f'["digest:a:{SECRET}", ]'},
        {"zookeeper.auth": f'["digest:a:{SECRET}", 1]'},
        {"zookeeper.auth": f"sasl:{SECRET}"},
        {"zookeeper.auth": f"di gest:a:{SECRET}"},
        {"zookeeper.auht": f"digest:a:{SECRET}"},
        {"ZooKeeper.Auth": f"digest:a:{SECRET}", "zookeeper.auth": "digest:a:b"},
        {"kafka.sasl.jaas.config": SECRET},
        {"kafka.ssl.key.password": SECRET},
        {"password": SECRET},
    ],
)
def test_no_error_shows_a_secret(options: dict[str, str]) -> None:
    message = refusal({**LEAST, **options})
    assert SECRET not in message
    assert "'*****'" in message


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has an entry that is not a scheme, a colon and a credential"),
        ("digest:user", "has a digest entry without a user, a colon and a password"),
        ("digest::p", "has a digest entry without a user, a colon and a password"),
        ("world:anyone", "has an entry whose scheme comes with the connection itself"),
        ("[]", "has no entry"),
        ("[1", "starts with '[' but is not JSON"),
    ],
)
def test_what_is_wrong_with_credentials(text: str, why: str) -> None:
    message = f"Option 'zookeeper.auth' is '*****', which {why}. Allowed: {AUTH}"
    assert refusal({**LEAST, "zookeeper.auth": text}) == message


def test_the_repr_shows_no_secret_and_a_copy_is_equal() -> None:
    options = parse({**LEAST, "zookeeper.auth": f"digest:a:{SECRET}", "zookeeper.set.acl": "true"})
    assert SECRET not in repr(options)
    assert "billing" in repr(options)
    assert pickle.loads(pickle.dumps(options)) == options
