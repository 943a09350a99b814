"""A group on secured servers, with a secret in every place that takes one. Whatever becomes of it,
none of them is in anything that it leaves behind. With Spark: tests/spark/test_no_secret_leaks.py.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.errors import AccessError, OptionError, ZkgroupError
from pyspark_zkgroup.options import parse
from tests.harness.all_secrets import locked, to_brokers, to_zookeeper, with_locked_key, znodes
from tests.harness.planted_secrets import (
    KEY_MARK,
    KEY_PASSWORD,
    PASSWORD,
    WRONG_PASSWORD,
    ZOOKEEPER_LOGIN,
    ZOOKEEPER_PASSWORD,
    leaks_in,
    leaks_of,
)
from tests.harness.secured_brokers import LISTED, RECORDS, TOPIC
from tests.harness.spark_order import Checkpoint, Query
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.certificates import Certificates

GROUP = "leaving-traces"


@pytest.fixture
def own(servers: Sandbox, tmp_path: Path) -> Path:
    """A file with certificate and locked key. It is the secret itself, so it stands elsewhere."""
    (tmp_path / "given").mkdir()
    certificates = Certificates(servers.directory / "certificates")
    return locked(certificates, tmp_path / "given" / "own.pem")


@contextmanager
def query(options: dict[str, str], traces: Path) -> Iterator[Query]:
    made = Query(options, Checkpoint(directory=traces / "checkpoint"))
    try:
        yield made
    finally:
        made.stop()


def shown(error: BaseException) -> str:
    """As logs show it."""
    return "".join(traceback.format_exception(error)) + repr(error)


def shown_with_variables(error: BaseException) -> str:
    """As some notebooks and error trackers show it. Not where options are read: these are there as
    they were given.
    """
    text = shown(error)
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if "pyspark_zkgroup" in frame.f_code.co_filename:
            text += "".join(f"{name} = {value!r}\n" for name, value in frame.f_locals.items())
    return text


def test_nothing_tells_a_secret(
    servers: Sandbox,
    own: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(1)
    traces = tmp_path / "traces"
    traces.mkdir()
    monkeypatch.chdir(traces)  # where a command leaves how to undo it
    good = {
        **to_zookeeper(servers, own),
        **to_brokers(servers, PASSWORD),
        "group.id": GROUP,
        "subscribe": TOPIC,
        "startingOffsets": "earliest",
    }
    planted = {PASSWORD, KEY_PASSWORD, ZOOKEEPER_PASSWORD, ZOOKEEPER_LOGIN, KEY_MARK}
    assert set(leaks_of(*good.values())) == planted
    said: list[str] = []

    with query(good, traces) as one:  # it goes well
        one.until(RECORDS)
        one.trigger()
        said += [json.dumps(one.planner.report_latest()), repr(one.options), str(one.options)]
        said += [repr(one.brokers.fetch_settings()), repr(one.membership.keeper)]
        session = one.membership.keeper.session
        assert session is not None
        said += [repr(one.planner), repr(one.membership), repr(session), repr(session.settings)]

    for changes, what in (  # a client is not admitted
        (to_brokers(servers, WRONG_PASSWORD), "does not accept the login of user 'carol'"),
        (
            {**to_brokers(servers, WRONG_PASSWORD), **with_locked_key(own)},
            "does not accept the login of user 'carol'",
        ),
        (to_zookeeper(servers, own, WRONG_PASSWORD), "does not accept the login of user 'zoe'"),
        (
            {"zookeeper.auth": f"nosuch:{ZOOKEEPER_PASSWORD}"},
            "refuses the credentials of zookeeper.auth",
        ),
        ({"subscribe": LISTED}, "do not allow user 'carol' to read topic"),  # in a task
    ):
        with query({**good, "group.id": f"{GROUP}-2", **changes}, tmp_path / "more") as other:
            with pytest.raises(AccessError, match=what) as refused:
                other.until(RECORDS)
            said.append(shown_with_variables(refused.value))

    for changes in (  # what is given is wrong
        {"kafka.sasl.jaas.config": good["kafka.sasl.jaas.config"].rstrip(";")},
        {"zookeeper.sasl.jaas.config": good["zookeeper.sasl.jaas.config"].replace("=", "")},
        {"kafka.ssl.keystore.key": good["kafka.ssl.keystore.key"].replace("M", "?", 1)},
        {"kafka.ssl.key.password": PASSWORD},
        {"zookeeper.ssl.keystore.password": WRONG_PASSWORD},
        {"zookeeper.auth": ZOOKEEPER_PASSWORD},
        {"zookeeper.auht": ZOOKEEPER_PASSWORD, "kafka.sasl.password": PASSWORD},
    ):
        with pytest.raises(OptionError) as wrong:
            parse({**good, **changes})
        said.append(shown(wrong.value))

    said += commands(servers, good, tmp_path / "given")
    assert leaks_of(*said) == []
    assert leaks_of(caplog.text) == []
    assert leaks_of(*znodes(servers.kafka_zookeeper_connect)) == []
    assert list(traces.glob("*.undo.json"))
    assert leaks_in(traces, servers.directory / "logs") == []
    logging.getLogger("pyspark_zkgroup.group").warning("login with %s", good["zookeeper.auth"])
    assert leaks_of(caplog.text) == [ZOOKEEPER_PASSWORD], "a leak would not be found"


def commands(servers: Sandbox, good: dict[str, str], folder: Path) -> list[str]:
    """What each command says, reaching the servers as the queries do; and of files that are
    wrong.
    """
    left_out = {"group.id", "subscribe", "startingOffsets"}
    lines = [
        f"{name}={' '.join(value.split())}" for name, value in good.items() if name not in left_out
    ]
    config, bad, odd = folder / "good.properties", folder / "bad.properties", folder / "odd"
    config.write_text("# as the queries have it\n\n" + "\n".join(lines) + "\n")
    bad.write_text(config.read_text().replace(PASSWORD, WRONG_PASSWORD))
    odd.write_text(f"{ZOOKEEPER_PASSWORD}\n")
    for file in (config, bad):
        file.chmod(0o600)
    runner = CliRunner(
        env={"ZKGROUP_ZOOKEEPER": "", "ZKGROUP_BOOTSTRAP_SERVERS": "", "COLUMNS": "200"}
    )
    said = []
    for arguments, is_well, what in (
        (["describe", GROUP, "--config", str(config)], True, "1 partition, lag 0"),
        (["lag", GROUP, "--config", str(config), "--json"], True, '"lag": 0'),
        (["offsets", "show", GROUP, "--config", str(config)], True, str(RECORDS)),
        (["groups", "--config", str(config)], True, GROUP),
        (["doctor", "--config", str(config), "--group", GROUP, "--json"], True, "those registered"),
        (
            ["offsets", "reset", GROUP, "--config", str(config), "--to-earliest", "--execute"],
            True,
            "300",
        ),
        (["doctor", "--config", str(bad), "--json"], False, "does not accept the login of user"),
        (["lag", GROUP, "--config", str(odd)], False, f"Line 1 of {odd} is not name=value"),
    ):
        done = runner.invoke(main, arguments)
        assert (done.exit_code == 0, what in done.output) == (is_well, True), done.output
        assert done.exception is None or isinstance(done.exception, (SystemExit, ZkgroupError))
        said += [done.stdout, done.stderr]
    return said
