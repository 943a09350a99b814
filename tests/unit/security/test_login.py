"""What each login module says to each mechanism, and what is refused with which reason."""

from __future__ import annotations

import base64
import json

import pytest

from pyspark_zkgroup.kafka.tokens import unsigned
from pyspark_zkgroup.security import jaas
from pyspark_zkgroup.security.login import BEARER, KERBEROS, PLAIN, SCRAM, login_of
from pyspark_zkgroup.security.sasl import (
    AwsCredentials,
    Kerberos,
    Login,
    Password,
    TokenEndpoint,
    TokenFile,
    UnsignedToken,
)
from pyspark_zkgroup.security.secret import Secret

URL = "https://idp.example/token"
ALICE = Password("alice", Secret("hunter2"))


def login(
    mechanism: str, text: str, endpoint: str | None = None, service: str | None = None
) -> Login:
    return login_of(mechanism, jaas.parse(text), endpoint=endpoint, service=service)


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), ("SCRAM-SHA-512", SCRAM)],
)
def test_a_user_and_a_password(mechanism: str, module: str) -> None:
    assert login(mechanism, f'{module} required username=alice password="hunter2";') == ALICE


def test_tokens() -> None:
    text = f"{BEARER} required unsecuredLoginStringClaim_sub=alice "
    text += "unsecuredLoginNumberClaim_n=2 unsecuredLoginListClaim_l='|a|b' "
    text += "unsecuredLoginLifetimeSeconds=60 unsecuredLoginExtension_tenant=t;"
    made = login("OAUTHBEARER", text)
    claims = (("l", ("a", "b")), ("n", 2.0), ("sub", "alice"))
    assert made == UnsignedToken(claims, 60, (("tenant", "t"),))
    client = f"{BEARER} required clientId=app clientSecret=hunter2 scope=s extension_tenant=t;"
    assert login("OAUTHBEARER", client, URL) == TokenEndpoint(
        URL, "app", Secret("hunter2"), "s", (("tenant", "t"),)
    )
    for address in ("file:/run/token", "file:///run/token"):
        assert login("OAUTHBEARER", f"{BEARER} required;", address) == TokenFile("/run/token")


@pytest.mark.parametrize(
    ("mechanism", "endpoint", "line", "expected"),
    [
        (
            "PLAIN",
            None,
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            'username="APIKEY0123456789" password="cflt+s/3cr=t";',
            Password("APIKEY0123456789", Secret("cflt+s/3cr=t")),
        ),
        (
            "OAUTHBEARER",
            URL,
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            "clientId='app' clientSecret='s~e.c' scope='kafka' extension_logicalCluster='lkc-1' "
            "extension_identityPoolId='pool-1';",
            TokenEndpoint(
                *(URL, "app", Secret("s~e.c"), "kafka"),
                (("logicalCluster", "lkc-1"), ("identityPoolId", "pool-1")),
            ),
        ),
        (
            "PLAIN",
            None,
            "kafkashaded.org.apache.kafka.common.security.plain.PlainLoginModule required "
            'username="$ConnectionString" password="Endpoint=sb://ns.servicebus.windows.net/;'
            'SharedAccessKeyName=read;SharedAccessKey=k/e+y=";',
            Password(
                "$ConnectionString",
                Secret(
                    "Endpoint=sb://ns.servicebus.windows.net/;SharedAccessKeyName=read;"
                    "SharedAccessKey=k/e+y="
                ),
            ),
        ),
        (
            "OAUTHBEARER",
            URL,
            "kafkashaded.org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule "
            'required clientId="app" clientSecret="s~e.c" '
            'scope="https://ns.servicebus.windows.net/.default" ssl.protocol="SSL";',
            TokenEndpoint(
                URL, "app", Secret("s~e.c"), "https://ns.servicebus.windows.net/.default"
            ),
        ),
        (
            "AWS_MSK_IAM",
            None,
            "shadedmskiam.software.amazon.msk.auth.iam.IAMLoginModule required;",
            AwsCredentials(),
        ),
    ],
    ids=["confluent", "confluent-oauth", "event-hubs", "event-hubs-entra", "msk"],
)
def test_lines_as_the_services_document_them(
    mechanism: str, endpoint: str | None, line: str, expected: Login
) -> None:
    assert login(mechanism, line, endpoint) == expected


@pytest.mark.parametrize("option", ["awsProfileName", "awsRoleArn", "awsStsRegion"])
def test_aws_takes_its_settings_from_the_environment(option: str) -> None:
    line = f'software.amazon.msk.auth.iam.IAMLoginModule required {option}="x";'
    with pytest.raises(ValueError, match=f"gives {option}: set AWS_"):
        login("AWS_MSK_IAM", line)


def test_an_unsigned_token_names_its_user_and_expiry() -> None:
    """Its time is rounded down: a broker that has it at once would round it into the future."""
    token = unsigned(UnsignedToken((("l", ("a", "b")), ("sub", "alice")), 60), 1000.0006)
    head, body, signature = token.split(".")
    parts = [json.loads(base64.urlsafe_b64decode(part + "==")) for part in (head, body)]
    assert parts == [
        {"alg": "none"},
        {"l": ["a", "b"], "sub": "alice", "iat": 1000.0, "exp": 1060.0},
    ]
    assert signature == ""


def test_kerberos_takes_the_tickets_that_are_there() -> None:
    text = f"{KERBEROS} required useTicketCache=true principal='a@R' debug=true"
    assert login("GSSAPI", f"{text};", service="kafka") == Kerberos("kafka")
    assert login("GSSAPI", f"{text} serviceName=k;") == Kerberos("k")


@pytest.mark.parametrize(
    ("mechanism", "text", "reason"),
    [
        ("PLAIN", f"{SCRAM} required;", f"names the login module {SCRAM}, but PLAIN needs {PLAIN}"),
        (
            "PLAIN",
            f"{PLAIN} required password=hunter2;",
            "gives no username, which PlainLoginModule needs",
        ),
        (
            "SCRAM-SHA-256",
            f"{SCRAM} required username=alice password='';",
            "gives no password, which ScramLoginModule needs",
        ),
        (
            "SCRAM-SHA-256",
            f"{SCRAM} required username=a password=hunter2 tokenauth=true;",
            "asks for tokenauth: delegation tokens are not supported",
        ),
        (
            "PLAIN",
            f"{PLAIN} required username=a password=hunter2 serviceName=k;",
            "gives serviceName, which is no option of PlainLoginModule here",
        ),
        (
            "OAUTHBEARER",
            f"{BEARER} required;",
            "gives no token: there is neither kafka.sasl.oauthbearer.token.endpoint.url nor "
            "oauth.token.function, and no option unsecuredLoginStringClaim_sub",
        ),
        (
            "OAUTHBEARER",
            f"{BEARER} required unsecuredLoginStringClaim_scope=s;",
            "gives no unsecuredLoginStringClaim_sub, the token's user",
        ),
        (
            "GSSAPI",
            f"{KERBEROS} required useKeyTab=true keyTab='/k';",
            "asks for a key table (useKeyTab), which is not read: put it into the environment of "
            "driver and executors as KRB5_CLIENT_KTNAME, where the Kerberos library finds it, and "
            "give useTicketCache=true",
        ),
        (
            "GSSAPI",
            f"{KERBEROS} required;",
            "does not say useTicketCache=true: tickets must be there already",
        ),
        (
            "GSSAPI",
            f"{KERBEROS} required useTicketCache=true;",
            "gives no serviceName, and there is no kafka.sasl.kerberos.service.name",
        ),
    ],
)
def test_what_is_refused_and_why(mechanism: str, text: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        login(mechanism, text)
    assert f"{caught.value}" == reason


def test_a_client_of_a_token_endpoint_must_have_both() -> None:
    with pytest.raises(ValueError, match="gives no clientSecret, which the token endpoint asks"):
        login("OAUTHBEARER", f"{BEARER} required clientId=app;", URL)


def test_a_secret_is_never_shown() -> None:
    shown = repr(ALICE), str(Secret("hunter2")), f"{Secret('hunter2')}", f"{ALICE}"
    assert "hunter2" not in "".join(shown)
