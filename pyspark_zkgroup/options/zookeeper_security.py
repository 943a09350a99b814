"""What the options about TLS and SASL to ZooKeeper mean together."""

from __future__ import annotations

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import zookeeper_security_options as names
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.pem_stores import PemStore, checked
from pyspark_zkgroup.security.login import zookeeper_login
from pyspark_zkgroup.security.sasl import Kerberos, Password
from pyspark_zkgroup.security.secret import NO_SECRET
from pyspark_zkgroup.security.tls import Tls
from pyspark_zkgroup.security.zookeeper_security import ZooKeeperSecurity

_TRUST = PemStore(names.TRUST_LOCATION, names.TRUST_TYPE, is_trust=True)
_KEY = PemStore(names.KEY_LOCATION, names.KEY_TYPE, is_trust=False)


def zookeeper_security(given: Given) -> ZooKeeperSecurity:
    if given.value(names.TLS):
        return ZooKeeperSecurity(_tls(given), _login(given))
    idle = next((option for option in names.TLS_OPTIONS if option in given), None)
    if idle is not None:
        raise OptionError(
            f"Option {given.shown(idle)}, but {given.shown(names.TLS)}, where it would have no "
            "effect",
            f"Set {names.TLS.name!r} to true, or leave the other out",
        )
    return ZooKeeperSecurity(None, _login(given))


def _tls(given: Given) -> Tls:
    has_key = names.KEY_LOCATION in given
    chain, key = _KEY.key_and_certificates(given) if has_key else ("", NO_SECRET)
    made = Tls(
        authorities=_TRUST.certificates(given) if names.TRUST_LOCATION in given else "",
        certificates=chain,
        key=key,
        key_password=given.value(names.KEY_PASSWORD) or NO_SECRET,
        check_host=given.value(names.HOST_CHECK),
        versions=given.value(names.TLS_VERSIONS),
    )
    return checked(
        given,
        made,
        trust=names.TRUST_LOCATION,
        key=names.KEY_LOCATION,
        password=names.KEY_PASSWORD,
    )


def _login(given: Given) -> Password | Kerberos | None:
    module = given.value(names.JAAS)
    service = given.value(names.SERVICE) if names.SERVICE in given else None
    if module is None:
        if service is not None:
            raise OptionError(
                f"Option {given.shown(names.SERVICE)}, but {names.JAAS.name!r} is not given",
                "Give it too, with Krb5LoginModule, or leave the other out",
            )
        return None
    try:
        return zookeeper_login(module, service=service)
    except ValueError as error:
        raise OptionError(
            f"Option {given.shown(names.JAAS)}, which {error}",
            "See docs/security.md for what ZooKeeper takes",
        ) from None
