"""With what `zkgroup coordinator --listen` refuses to begin, and what it warns of."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pyspark_zkgroup.cli.config_file import read_access
from pyspark_zkgroup.cli.coordinator import TOKEN_LENGTH_MIN, _group_tokens, _warn
from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.protocols.light.refusal_log import RefusalLog
from pyspark_zkgroup.security.private_file import refusal_of_mode
from pyspark_zkgroup.security.secret import Secret
from pyspark_zkgroup.security.stream_access import StreamAccess
from tests.harness.planted_secrets import COORDINATOR_TOKEN, PASSWORD, leaks_of
from zkgroup_sandbox.certificates import Certificates

# No server listens there: a client that gets so far has passed the doors.
NOWHERE = "127.0.0.1:1"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """What the command sets in its process for as long as that lives."""
    root, numbers = logging.getLogger(), (signal.SIGTERM, signal.SIGINT)
    handlers, level = list(root.handlers), root.level
    signals = {number: signal.getsignal(number) for number in numbers}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for number, handler in signals.items():
        signal.signal(number, handler)


def run(*arguments: str, env: Mapping[str, str] | None = None) -> Result:
    given = ["coordinator", "--zookeeper", NOWHERE, "--bootstrap-servers", "no address", *arguments]
    return CliRunner().invoke(main, given, env=env)


def passed_the_doors(result: Result) -> bool:
    """The wrong address of the brokers is looked at next."""
    return "--bootstrap-servers" in str(result.exception) + result.output


def token_file(folder: Path, text: str = COORDINATOR_TOKEN, mode: int = 0o600) -> str:
    file = folder / "token"
    file.write_text(f"{text}\n")
    file.chmod(mode)
    return str(file)


@pytest.mark.parametrize("listen", ["0.0.0.0:7070", "10.0.0.5:0", "[::]:7070", "coordinator:7070"])
def test_strangers_are_not_listened_to_unless_the_operator_says_so(listen: str) -> None:
    refused = run("--listen", listen)
    assert refused.exit_code == 1
    assert f"--listen {listen} accepts every client" in refused.output
    assert "--allow-anonymous" in refused.output
    assert passed_the_doors(run("--listen", listen, "--allow-anonymous"))


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "[::1]:0", "localhost:0"])
def test_on_this_machine_nothing_is_asked_for(listen: str) -> None:
    assert passed_the_doors(run("--listen", listen))


def test_a_token_or_a_members_certificate_admits_the_named_member(tmp_path: Path) -> None:
    made = Certificates.make(tmp_path)
    pair = tmp_path / "pair.pem"
    pair.write_text(made.server.key.read_text() + made.server.certificate.read_text())
    pair.chmod(0o600)
    listen = ("--listen", "0.0.0.0:0")
    assert passed_the_doors(run(*listen, "--token-file", token_file(tmp_path)))
    tls = (*listen, "--tls-key", str(pair))
    assert "accepts every client" in run(*tls).output
    assert passed_the_doors(run(*tls, "--tls-trust", str(made.ca)))
    pair.chmod(0o644)
    assert (
        f"--tls-key {pair} must be readable by its owner only"
        in run(*tls, "--tls-trust", str(made.ca)).output
    )


@pytest.mark.parametrize("text", ["", "abcde", "x" * (TOKEN_LENGTH_MIN - 1)])
def test_a_short_token_is_refused_with_how_to_make_one(tmp_path: Path, text: str) -> None:
    refused = run("--listen", "127.0.0.1:0", "--token-file", token_file(tmp_path, text))
    assert refused.exit_code == 1
    assert f"the minimum is {TOKEN_LENGTH_MIN}" in refused.output
    assert "openssl rand -hex 32" in refused.output
    assert not text or text not in refused.output


@pytest.mark.parametrize("mode", [0o644, 0o602, 0o604])
def test_a_token_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = token_file(tmp_path, mode=mode)
    refused = run("--listen", "127.0.0.1:0", "--token-file", file)
    assert refused.exit_code == 1
    assert (
        f"--token-file {file} must be readable by its owner only, but other users may"
        in refused.output
    )
    assert f"chmod 600 {file}" in refused.output
    assert leaks_of(refused.output) == []


def test_the_group_of_a_file_of_root_may_read_it() -> None:
    assert refusal_of_mode(0o640, owner=0) == ""
    assert "0640" in refusal_of_mode(0o640, owner=1000)
    assert "0660" in refusal_of_mode(0o660, owner=0)
    assert refusal_of_mode(0o400, owner=1000) == ""


def test_a_config_file_with_a_secret_is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"zookeeper.auth=digest:a:{PASSWORD}")
    file.chmod(0o644)
    with pytest.raises(OptionError, match=r"zookeeper\.auth.*must be readable") as refused:
        read_access(file)
    assert leaks_of(f"{refused.value}") == []
    file.chmod(0o600)
    assert read_access(file).auth


def test_a_config_file_without_a_secret_may_be_read_by_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZK_PASSWORD", PASSWORD)
    file = tmp_path / "client.properties"
    file.write_text("zookeeper.connect=zk1\nzookeeper.auth=digest:a:${env:ZK_PASSWORD}")
    file.chmod(0o644)
    assert read_access(file).auth


def test_unencrypted_tokens_and_open_doors_cause_warnings(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with_token = StreamAccess(Secret(COORDINATOR_TOKEN))
    _warn("10.0.0.5:7070", with_token)
    _warn("10.0.0.5:7070", StreamAccess())
    _warn("127.0.0.1:7070", StreamAccess())
    _warn("10.0.0.5:7070", StreamAccess(Secret(COORDINATOR_TOKEN), True))
    codes = [record.getMessage()[:9] for record in caplog.records]
    assert codes == ["[ZKG-191]", "[ZKG-190]"]
    assert all(record.levelno == logging.WARNING for record in caplog.records)
    assert leaks_of(caplog.text) == []


def groups_file(folder: Path, *lines: str) -> tuple[str, str]:
    file = folder / "groups"
    file.write_text("\n".join(lines))
    file.chmod(0o600)
    return "--group-tokens", str(file)


def test_tokens_of_groups_are_read_line_by_line(tmp_path: Path) -> None:
    one, two, rest = "a" * 16, "b" * 20, "c" * 16
    lines = ("# whose", "", f"billing = {one}", f"billing={two}", f"audit={two}", f"*={rest}")
    option, file = groups_file(tmp_path, *lines)
    assert passed_the_doors(run("--listen", "0.0.0.0:0", option, file))
    tokens = _group_tokens(Path(file))
    assert tokens == {
        "billing": (Secret(one), Secret(two)),
        "audit": (Secret(two),),
        "*": (Secret(rest),),
    }


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("billing", "Line 1 of --group-tokens {} is not GROUP=TOKEN"),
        ("a/b=0123456789abcdef", "Line 1 of --group-tokens {} is not GROUP=TOKEN"),
        ("billing=short", "has a token of 5 characters"),
        ("*=0123456789abcdef\n*=0123456789abcdef", "Line 2 of --group-tokens {} sets * again"),
        ("# nothing", "has no lines"),
    ],
)
def test_wrong_tokens_of_groups_are_named_without_them(tmp_path: Path, line: str, why: str) -> None:
    option, file = groups_file(tmp_path, line)
    refused = run("--listen", "127.0.0.1:0", option, file)
    assert refused.exit_code == 1
    assert why.format(file) in refused.output
    assert "0123456789abcdef" not in refused.output
    both = run("--listen", "127.0.0.1:0", option, file, "--token-file", token_file(tmp_path))
    assert "--token-file and --group-tokens are both set" in both.output


def test_refusals_do_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    refusals = RefusalLog(clock)
    assert [refusals.may_say("token") for _ in range(500)].count(True) == 10
    assert refusals.may_say("full")
    assert caplog.records == []
    clock.now += 60.0
    assert refusals.may_say("token")
    said = [record.getMessage() for record in caplog.records]
    assert said == ["[ZKG-193] Suppressed 490 messages like the next one"]


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
