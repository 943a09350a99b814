from __future__ import annotations

import pytest

from pyspark_zkgroup.security import pem

BODY = "QUJD" * 20
ONE = f"-----BEGIN CERTIFICATE-----\n{BODY[:64]}\n{BODY[64:]}\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    "text",
    [
        ONE,
        ONE.replace("\n", " "),
        ONE.replace("\n", "\r\n"),
        f"Bag Attributes\n  friendlyName: a\n{ONE}behind it",
        f"{KEY}{ONE}",
        f"-----BEGIN CERTIFICATE-----{BODY}-----END CERTIFICATE-----",
    ],
)
def test_certificates_come_in_one_form_however_they_are_written(text: str) -> None:
    assert pem.certificates(text) == ONE


def test_all_certificates_in_their_order_and_the_one_key() -> None:
    other = ONE.replace("QUJD", "REVG")
    assert pem.certificates(f"{other}\n{KEY}\n{ONE}") == other + ONE
    assert pem.private_key(f"{other}\n{KEY}\n{ONE}") == KEY


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no -----BEGIN CERTIFICATE-----"),
        (KEY, "holds no -----BEGIN CERTIFICATE-----"),
        (
            ONE.replace("Q", "*"),
            "holds a damaged -----BEGIN CERTIFICATE-----: it is no base64",
        ),
        (
            ONE.replace("QUJD", "QUJ", 1),
            "holds a damaged -----BEGIN CERTIFICATE-----: it is no base64",
        ),
    ],
)
def test_what_is_no_certificate(text: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        pem.certificates(text)
    assert f"{caught.value}" == reason


def test_what_is_no_key() -> None:
    with pytest.raises(ValueError, match="holds no -----BEGIN PRIVATE KEY-----"):
        pem.private_key(ONE)
    with pytest.raises(ValueError, match="holds 2 private keys; one is wanted"):
        pem.private_key(KEY + KEY)
    old = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nQUJD"
    with pytest.raises(
        ValueError, match="in an old encrypted format; convert it: openssl pkcs8 -topk8"
    ):
        pem.private_key(f"-----BEGIN RSA PRIVATE KEY-----\n{old}\n-----END RSA PRIVATE KEY-----")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\xfe\xed\xfe\xed\0\0", "JKS"),
        (b"\x30\x82\x09\x01", "PKCS12"),
        (ONE.encode(), "PEM"),
        (b"text\n" + ONE.encode(), "PEM"),
        (b"", ""),
    ],
)
def test_a_store_is_known_by_how_it_begins(content: bytes, kind: str) -> None:
    assert pem.kind_of_store(content) == kind
