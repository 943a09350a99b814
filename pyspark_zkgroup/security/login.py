"""What a login module says to one mechanism. Pure; reasons never repeat what may be a secret."""

from __future__ import annotations

import re

from pyspark_zkgroup.security.jaas import LoginModule
from pyspark_zkgroup.security.sasl import (
    PASSWORD_MECHANISMS,
    AwsCredentials,
    Kerberos,
    Login,
    Password,
    TokenEndpoint,
    TokenFile,
    UnsignedToken,
)
from pyspark_zkgroup.security.secret import Secret

_KAFKA = "org.apache.kafka.common.security"
PLAIN = f"{_KAFKA}.plain.PlainLoginModule"
SCRAM = f"{_KAFKA}.scram.ScramLoginModule"
BEARER = f"{_KAFKA}.oauthbearer.OAuthBearerLoginModule"
DIGEST = "org.apache.zookeeper.server.auth.DigestLoginModule"
KERBEROS = "com.sun.security.auth.module.Krb5LoginModule"
AWS = "software.amazon.msk.auth.iam.IAMLoginModule"
MODULE_OF = {
    "PLAIN": PLAIN,
    "SCRAM-SHA-256": SCRAM,
    "SCRAM-SHA-512": SCRAM,
    "OAUTHBEARER": BEARER,
    "GSSAPI": KERBEROS,
    "AWS_MSK_IAM": AWS,
}

_UNSIGNED = "unsecuredLogin"
_LIFETIME_S = 3600
_EXTENSION = re.compile(r"(?:unsecuredLoginExtension|extension)_([A-Za-z]+)")
_CLAIM = re.compile(r"unsecuredLogin(String|Number|List)Claim_(.+)")
_FLAGS = {"true": True, "false": False}
# Of a JVM's own Kerberos; they change nothing where tickets are there already.
_KERBEROS_IDLE = (
    "debug",
    "doNotPrompt",
    "refreshKrb5Config",
    "renewTGT",
    "storeKey",
    "isInitiator",
)
_AWS_INSTEAD = {
    "awsProfileName": "AWS_PROFILE",
    "awsRoleArn": "AWS_PROFILE to a profile with that role_arn",
    "awsRoleSessionName": "AWS_PROFILE to a profile with that role_session_name",
    "awsStsRegion": "AWS_DEFAULT_REGION",
}


def check_module(mechanism: str, module: LoginModule) -> None:
    wanted = MODULE_OF[mechanism]
    if module.name != wanted:
        raise ValueError(f"names the login module {module.name}, but {mechanism} needs {wanted}")


def login_of(
    mechanism: str, module: LoginModule, *, endpoint: str | None, service: str | None
) -> Login:
    """ValueError with a reason that follows "the text ..."."""
    check_module(mechanism, module)
    if mechanism in PASSWORD_MECHANISMS:
        return _password(module)
    if mechanism == "OAUTHBEARER":
        return _token(module, endpoint)
    if mechanism == "AWS_MSK_IAM":
        return _aws(module)
    return _kerberos(module, service)


def zookeeper_login(module: LoginModule, *, service: str | None) -> Password | Kerberos:
    """As ZooKeeper's own client, which takes its mechanism from the login module."""
    if module.name == DIGEST:
        if service is not None:
            raise ValueError("logs in by DIGEST-MD5, where zookeeper.sasl.client.username is none")
        return _password(module)
    if module.name == KERBEROS:
        named = module.options.get("serviceName", service or "zookeeper")
        return _kerberos(module, named)
    raise ValueError(
        f"names the login module {module.name}, but ZooKeeper takes {DIGEST} or {KERBEROS}"
    )


def _password(module: LoginModule) -> Password:
    options = dict(module.options)
    if options.pop("tokenauth", "false").lower() != "false":
        raise ValueError("asks for tokenauth: delegation tokens are not supported")
    username, password = options.pop("username", ""), options.pop("password", "")
    for name, value in (("username", username), ("password", password)):
        if not value:
            raise ValueError(f"gives no {name}, which {module.short_name} needs")
        if "\0" in value:
            raise ValueError(f"gives a {name} with a character 0 in it")
    _nothing_else(module, options)
    return Password(username, Secret(password))


def _token(module: LoginModule, endpoint: str | None) -> Login:
    options = dict(module.options)
    extensions = tuple(
        (found[1], options.pop(name))
        for name in list(options)
        if (found := _EXTENSION.fullmatch(name))
    )
    if endpoint is None:
        return _unsigned(module, options, extensions)
    if endpoint.startswith("file:"):
        _nothing_else(module, options)
        return TokenFile(re.sub("^file:(//)?", "", endpoint))
    client_id, secret = options.pop("clientId", ""), options.pop("clientSecret", "")
    scope = options.pop("scope", "")
    options.pop("ssl.protocol", None)  # of a JVM's own connection to the endpoint
    for name, value in (("clientId", client_id), ("clientSecret", secret)):
        if not value:
            raise ValueError(f"gives no {name}, which the token endpoint asks for")
    _nothing_else(module, options)
    return TokenEndpoint(endpoint, client_id, Secret(secret), scope, extensions)


def _unsigned(
    module: LoginModule, options: dict[str, str], extensions: tuple[tuple[str, str], ...]
) -> UnsignedToken:
    if not any(name.startswith(_UNSIGNED) for name in options):
        raise ValueError(
            "gives no token: there is neither kafka.sasl.oauthbearer.token.endpoint.url nor "
            "oauth.token.function, and no option unsecuredLoginStringClaim_sub"
        )
    claims: dict[str, str | float | tuple[str, ...]] = {}
    for name in list(options):
        if found := _CLAIM.fullmatch(name):
            claims[found[2]] = _claim(name, found[1], options.pop(name))
    principal = options.pop("unsecuredLoginPrincipalClaimName", "sub")
    if not claims.get(principal):
        raise ValueError(f"gives no unsecuredLoginStringClaim_{principal}, the token's user")
    lifetime = options.pop("unsecuredLoginLifetimeSeconds", str(_LIFETIME_S))
    if not re.fullmatch("[0-9]{1,9}", lifetime) or int(lifetime) < 1:
        raise ValueError("gives unsecuredLoginLifetimeSeconds that are no whole number above 0")
    options.pop("unsecuredLoginScopeClaimName", None)  # only names a claim that is sent anyway
    _nothing_else(module, options)
    return UnsignedToken(tuple(sorted(claims.items())), int(lifetime), extensions)


def _claim(name: str, kind: str, text: str) -> str | float | tuple[str, ...]:
    if kind == "Number":
        try:
            return float(text)
        except ValueError:
            raise ValueError(f"gives {name} that is no number") from None
    if kind == "List":  # the first character is what stands between the entries
        return tuple(text[1:].split(text[0])) if text else ()
    return text


def _kerberos(module: LoginModule, service: str | None) -> Kerberos:
    options = dict(module.options)
    by_key_table = _FLAGS.get(options.pop("useKeyTab", "false").lower(), True)
    if by_key_table or "keyTab" in options:
        raise ValueError(
            "asks for a key table (useKeyTab), which is not read: put it into the environment of "
            "driver and executors as KRB5_CLIENT_KTNAME, where the Kerberos library finds it, and "
            "give useTicketCache=true"
        )
    if not _FLAGS.get(options.pop("useTicketCache", "false").lower(), False):
        raise ValueError("does not say useTicketCache=true: tickets must be there already")
    named = options.pop("serviceName", None)
    if named is not None and service is not None and named != service:
        raise ValueError("gives another serviceName than kafka.sasl.kerberos.service.name")
    if (named or service) is None:
        raise ValueError("gives no serviceName, and there is no kafka.sasl.kerberos.service.name")
    options.pop("principal", None)  # that of the tickets
    for name in _KERBEROS_IDLE:
        options.pop(name, None)
    _nothing_else(module, options)
    return Kerberos(named or service or "")


def _aws(module: LoginModule) -> AwsCredentials:
    options = dict(module.options)
    options.pop("awsDebugCreds", None)
    for name, instead in _AWS_INSTEAD.items():
        if name in options:
            raise ValueError(f"gives {name}: set {instead} on driver and executors instead")
    _nothing_else(module, options)
    return AwsCredentials()


def _nothing_else(module: LoginModule, options: dict[str, str]) -> None:
    if options:
        raise ValueError(
            f"gives {', '.join(sorted(options))}, which is no option of {module.short_name} here"
        )
