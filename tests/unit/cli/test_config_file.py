"""The file that --config names: the options it gives, and the errors of a wrong one."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pyspark_zkgroup.cli.config_file import Access, read_access
from pyspark_zkgroup.cli.reach import access_given, bootstrap_option, zookeeper_option
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.security.sasl import Password
from pyspark_zkgroup.security.secret import Secret
from tests.harness.planted_secrets import PASSWORD, ZOOKEEPER_PASSWORD, leaks_of

DIGEST = "org.apache.zookeeper.server.auth.DigestLoginModule required"


def access(folder: Path, text: str) -> Access:
    file = folder / "zkgroup.properties"
    file.write_text(text)
    file.chmod(0o600)
    return read_access(file)


def test_the_content_of_a_config_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZK_PASSWORD", ZOOKEEPER_PASSWORD)
    found = access(
        tmp_path,
        "# where\n\n zookeeper.connect = zk1,zk2:2281/kafka\r\n"
        "Kafka.Bootstrap.Servers=k1:9092,k2:9092\n"
        "zookeeper.auth=digest:a:${env:ZK_PASSWORD}\n"
        f'zookeeper.sasl.jaas.config={DIGEST} username="zoe" password="{PASSWORD}";\n'
        "zookeeper.set.acl=true",
    )
    assert (found.connect, found.bootstrap) == ("zk1:2181,zk2:2281/kafka", "k1:9092,k2:9092")
    assert found.auth == (("digest", f"a:{ZOOKEEPER_PASSWORD}"),)
    assert found.zookeeper.login == Password("zoe", Secret(PASSWORD))
    assert found.set_acl
    assert leaks_of(repr(found)) == []
    assert access(tmp_path, "") == Access()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"zookeeper.connect=zk1\n{PASSWORD}", "Line 2 of {} is not name=value"),
        (f"={PASSWORD}", "Line 1 of {} is not name=value"),
        (
            f"zookeeper.auth={PASSWORD}\n\nzookeeper.auth={PASSWORD}",
            "Line 3 of {} sets 'zookeeper.auth' again",
        ),
        ("group.id=billing", "{} sets the option 'group.id', which has no effect on commands"),
        (f"zookeeper.auht={PASSWORD}", "Did you mean 'zookeeper.auth'?"),
        (f"zookeeper.auth={PASSWORD}", "'zookeeper.auth' is '*****', which has an entry"),
    ],
)
def test_a_wrong_one_is_named_without_what_is_in_it(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(OptionError) as caught:
        access(tmp_path, text)
    assert what.format(tmp_path / "zkgroup.properties") in f"{caught.value}"
    assert leaks_of(f"{caught.value}") == []


def test_one_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no-such cannot be read: No such file"):
        read_access(tmp_path / "no-such")
    (tmp_path / "odd").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(OptionError, match="odd cannot be read: it is no UTF-8"):
        read_access(tmp_path / "odd")


@click.command
@zookeeper_option
@bootstrap_option
def where(connect: str, bootstrap: str) -> None:
    click.echo(f"{connect} {bootstrap} {access_given().set_acl}")


def test_arguments_and_environment_come_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(
        "zookeeper.connect=zk1\nkafka.bootstrap.servers=k1:9092\n"
        f"zookeeper.auth=digest:a:{PASSWORD}\nzookeeper.set.acl=true\n"
    )
    file.chmod(0o600)
    run = CliRunner().invoke
    assert run(where, ["--config", str(file)]).output == "zk1:2181 k1:9092 True\n"
    environment = {"ZKGROUP_CONFIG": str(file), "ZKGROUP_ZOOKEEPER": "zk2"}
    assert run(where, env=environment).output == "zk2 k1:9092 True\n"
    assert run(where, ["--zookeeper", "zk3"], env=environment).output == "zk3 k1:9092 True\n"
    assert run(where, ["--zookeeper", "zk3"]).output == "zk3  False\n"
