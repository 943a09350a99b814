"""What the options about TLS and SASL to the brokers mean together."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import security_options as names
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option
from pyspark_zkgroup.options.pem_stores import PemStore, checked
from pyspark_zkgroup.security.jaas import LoginModule
from pyspark_zkgroup.security.kafka_security import KafkaSecurity
from pyspark_zkgroup.security.login import MODULE_OF, login_of
from pyspark_zkgroup.security.sasl import Sasl
from pyspark_zkgroup.security.secret import NO_SECRET, Secret
from pyspark_zkgroup.security.tls import Tls

_TRUST = PemStore(names.TRUST_LOCATION, names.TRUST_TYPE, is_trust=True)
_KEY = PemStore(names.KEY_LOCATION, names.KEY_TYPE, is_trust=False)


def kafka_security(given: Given) -> KafkaSecurity:
    protocol = given.value(names.PROTOCOL)
    for options, part, wanted in (
        (names.SASL_OPTIONS, "SASL", "SASL_PLAINTEXT or SASL_SSL"),
        (names.TLS_OPTIONS, "SSL", "SSL or SASL_SSL"),
    ):
        idle = next((o for o in options if part not in protocol and o in given), None)
        if idle is not None:
            raise OptionError(
                f"Option {given.shown(idle)}, but {given.shown(names.PROTOCOL)}, where it would "
                "have no effect",
                f"Set {names.PROTOCOL.name!r} to {wanted}, or leave the other out",
            )
    return KafkaSecurity(
        protocol,
        _tls(given) if "SSL" in protocol else None,
        _sasl(given) if "SASL" in protocol else None,
    )


def _sasl(given: Given) -> Sasl:
    mechanism = given.value(names.MECHANISM)
    function, module = given.value(names.TOKEN_FUNCTION), given.value(names.JAAS)
    bearer_only = (names.TOKEN_ENDPOINT, names.TOKEN_OVER_HTTP, names.TOKEN_FUNCTION)
    for option in bearer_only if mechanism != "OAUTHBEARER" else ():
        if option in given:
            raise _clash(given, option, names.MECHANISM, "It is for OAUTHBEARER: leave it out")
    if names.KERBEROS_SERVICE in given and mechanism != "GSSAPI":
        raise _clash(
            given, names.KERBEROS_SERVICE, names.MECHANISM, "It is for GSSAPI: leave it out"
        )
    if function is not None:
        if names.TOKEN_ENDPOINT in given:
            raise _clash(
                given, names.TOKEN_FUNCTION, names.TOKEN_ENDPOINT, "Tokens come from one: give one"
            )
        # The line of JAAS then says no more than which mechanism it is.
        if module is not None and (module.name != MODULE_OF[mechanism] or module.options):
            raise _clash(given, names.TOKEN_FUNCTION, names.JAAS, "Leave the latter out")
        return Sasl(mechanism, function)
    _refuse_open_endpoint(given)
    if module is None and (given.value(names.TOKEN_ENDPOINT) or "").startswith("file:"):
        module = LoginModule(MODULE_OF[mechanism], {})
    if module is None:
        raise OptionError(
            f"Option {names.JAAS.name!r} is missing, but {given.shown(names.PROTOCOL)} and "
            f"{given.shown(names.MECHANISM)}",
            f"Give it: {MODULE_OF[mechanism]} required, its options, and a semicolon",
        )
    try:
        login = login_of(
            mechanism,
            module,
            endpoint=given.value(names.TOKEN_ENDPOINT),
            service=given.value(names.KERBEROS_SERVICE),
        )
    except ValueError as error:
        raise OptionError(
            f"Option {given.shown(names.JAAS)}, which {error}",
            f"See docs/security.md for what {mechanism} needs",
        ) from None
    return Sasl(mechanism, login)


def _refuse_open_endpoint(given: Given) -> None:
    url = urlsplit(given.value(names.TOKEN_ENDPOINT) or "")
    if url.scheme != "http" or given.value(names.TOKEN_OVER_HTTP):
        return
    if url.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise OptionError(
            f"Option {given.shown(names.TOKEN_ENDPOINT)}: the client secret and the tokens would "
            "travel unencrypted",
            f"Use an https: address, or set {names.TOKEN_OVER_HTTP.name!r} to true",
        )


def _tls(given: Given) -> Tls:
    authorities = given.value(names.TRUST_CERTIFICATES) or ""
    if names.TRUST_LOCATION in given:
        if authorities:
            raise _clash(given, names.TRUST_LOCATION, names.TRUST_CERTIFICATES, "Give one of them")
        authorities = _TRUST.certificates(given)
    chain, key = _own(given)
    made = Tls(
        authorities=authorities,
        certificates=chain,
        key=key,
        key_password=given.value(names.KEY_PASSWORD) or NO_SECRET,
        check_host=given.value(names.HOST_CHECK),
        versions=given.value(names.TLS_VERSIONS),
    )
    return checked(
        given,
        made,
        trust=names.TRUST_LOCATION if names.TRUST_LOCATION in given else names.TRUST_CERTIFICATES,
        key=names.KEY_LOCATION if names.KEY_LOCATION in given else names.KEY,
        password=names.KEY_PASSWORD,
    )


def _own(given: Given) -> tuple[str, Secret]:
    """Certificates and key of the client itself."""
    chain, key = given.value(names.KEY_CHAIN) or "", given.value(names.KEY)
    if names.KEY_LOCATION in given:
        for other in (names.KEY_CHAIN, names.KEY):
            if other in given:
                raise _clash(given, names.KEY_LOCATION, other, "Give one of them")
        return _KEY.key_and_certificates(given)
    for one, other in ((names.KEY_CHAIN, names.KEY), (names.KEY, names.KEY_CHAIN)):
        if one in given and other not in given:
            raise OptionError(
                f"Option {given.shown(one)}, but {other.name!r} is not given", "Give both"
            )
    return chain, key or NO_SECRET


def _clash(given: Given, one: Option[Any], other: Option[Any], remedy: str) -> OptionError:
    return OptionError(f"Option {given.shown(one)}, but {given.shown(other)}", remedy)
