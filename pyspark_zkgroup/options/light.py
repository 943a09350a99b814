"""What the options of a member without ZooKeeper mean together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import light_options, protocol_options
from pyspark_zkgroup.options.frozen import LightOptions
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option
from pyspark_zkgroup.security import pem
from pyspark_zkgroup.security.secret import NO_SECRET, Secret
from pyspark_zkgroup.security.stream_access import StreamAccess

SESSION_TIMEOUT_MS_MIN = 1000
_BYTES_MAX = 16 * 1024 * 1024


def light(given: Given) -> LightOptions:
    """Of no use to the other protocols."""
    if given.value(protocol_options.PROTOCOL) != "light":
        return LightOptions()
    timeout_ms = given.value(protocol_options.GROUP_SESSION_TIMEOUT)
    if timeout_ms < SESSION_TIMEOUT_MS_MIN:
        raise OptionError(
            f"Option {given.shown(protocol_options.GROUP_SESSION_TIMEOUT)}, but "
            f"{given.shown(protocol_options.PROTOCOL)}",
            f"A coordinator takes {SESSION_TIMEOUT_MS_MIN} and more",
        )
    return LightOptions(
        addresses=tuple(str(address) for address in given.value(light_options.ADDRESSES)),
        access=_access(given),
        session_timeout_ms=timeout_ms,
    )


def _access(given: Given) -> StreamAccess:
    token = given.value(light_options.TOKEN) or NO_SECRET
    if not given.value(light_options.TLS):
        for option in light_options.TLS_OPTIONS:
            if option in given:
                raise OptionError(
                    f"Option {given.shown(option)}, but {given.shown(light_options.TLS)}, where it "
                    "would have no effect",
                    f"Set {light_options.TLS.name!r} to true, or leave the other out",
                )
        return StreamAccess(token)
    authorities, chain, key = "", "", NO_SECRET
    if light_options.TRUST_LOCATION in given:
        authorities = _read(given, light_options.TRUST_LOCATION, pem.certificates)
    if light_options.KEY_LOCATION in given:
        chain = _read(given, light_options.KEY_LOCATION, pem.certificates)
        key = Secret(_read(given, light_options.KEY_LOCATION, pem.private_key))
        if pem.is_locked(key.text):
            raise OptionError(
                f"Option {given.shown(light_options.KEY_LOCATION)}, whose key is locked",
                "Give one that is not: openssl pkey -in LOCKED -out KEY opens it",
            )
    return StreamAccess(token, True, authorities, chain, key)


def _read(given: Given, option: Option[str | None], part: Callable[[str], str]) -> str:
    try:
        with Path(given.value(option) or "").open("rb") as file:
            return part(file.read(_BYTES_MAX).decode("utf-8", "replace"))
    except OSError as error:
        raise OptionError(
            f"Option {given.shown(option)}, which the driver cannot read: {error.strerror}",
            "Give the path of a file on the driver's machine",
        ) from None
    except ValueError as error:
        raise OptionError(
            f"Option {given.shown(option)}, which {error}",
            "Only PEM can be read. Look at it with openssl x509 -text or openssl pkey",
        ) from None
