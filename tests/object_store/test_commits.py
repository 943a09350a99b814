"""Commits of `delta.ingest` to a table in S3, with answers that are late, lost or refused."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from deltalake import DeltaTable

from pyspark_zkgroup.delta.direct import deltars
from pyspark_zkgroup.delta.direct.committing import Commits
from pyspark_zkgroup.delta.direct.rules import Log
from pyspark_zkgroup.delta.direct.target import Target
from pyspark_zkgroup.errors import DeltaError
from tests.harness.waiting import wait_until
from tests.object_store.scene import prepared
from tests.object_store.store import ACCESS_KEY, BUCKET, COMMIT, DATA, ROOT, SECRET_KEY, Store
from tests.unit.delta.ingest_scene import ID, TOPIC, no_brokers, offsets, taken, written

WITHIN_S = 60.0


def table(into: Target) -> DeltaTable:
    return DeltaTable(into.directory, storage_options=into.storage.plain)


def watermark(into: Target) -> int | None:
    return table(into).transaction_version(deltars.application(Log(TOPIC, 0, ID), None))


def test_batches_follow_each_other_and_replays_add_nothing(store: Store) -> None:
    into = prepared(store)
    commits = Commits(into)
    taken(commits, into, {0: range(5), 1: range(3)})
    taken(commits, into, {0: range(5, 9)})
    taken(commits, into, {1: range(0)}, {1: range(3, 5)})
    taken(Commits(into), into, {0: range(5, 9)})
    assert offsets(into) == {0: list(range(9)), 1: [0, 1, 2]}
    assert watermark(into) == 9


def test_a_file_is_cut_at_the_watermark(store: Store) -> None:
    into = prepared(store)
    taken(Commits(into), into, {0: range(10)})
    taken(Commits(into), into, {0: range(4, 15)})
    assert offsets(into) == {0: list(range(15))}


def test_a_commit_whose_answer_is_lost_is_made_once(store: Store) -> None:
    into = prepared(store)
    commits = Commits(into)
    taken(commits, into, {0: range(3)})
    batch = written(into, {0: range(3, 8)})
    store.fault("lost", COMMIT)
    commits.commit(*batch, no_brokers)
    puts = [one for one in store.requests() if one.startswith("PUT")]
    assert len(puts) > 1, "the answer was not lost"
    assert all(one.endswith(" if none") for one in puts)
    taken(commits, into, {0: range(8, 9)})
    # In the log too, which counts a file that is added twice once.
    assert table(into).version() == 3
    assert offsets(into) == {0: list(range(9))}


def test_all_answers_of_one_attempt_are_lost(store: Store) -> None:
    into = prepared(store)
    commits = Commits(into)
    batch = written(into, {0: range(5)})
    store.fault("lost", COMMIT, times=3)
    commits.commit(*batch, no_brokers)
    assert table(into).version() == 1
    assert offsets(into) == {0: list(range(5))}


def test_a_replay_with_other_boundaries_after_a_lost_answer(store: Store) -> None:
    """The driver dies before it learns of its commit; the successor reads other ranges."""
    into = prepared(store)
    batch = written(into, {0: range(5)})
    store.fault("lost", COMMIT, times=3)
    Commits(into).commit(*batch, no_brokers)
    taken(Commits(into), into, {0: range(3, 7)})
    assert offsets(into) == {0: list(range(7))}


@pytest.mark.parametrize("status", [500, 503])
def test_server_errors_are_repeated(store: Store, status: int) -> None:
    into = prepared(store)
    for request in (DATA, COMMIT):
        store.fault("error", request, times=2, status=status, code="SlowDown")
        start = 0 if request == DATA else 5
        taken(Commits(into), into, {0: range(start, start + 5)})
    assert offsets(into) == {0: list(range(10))}


def test_more_errors_than_delta_rs_repeats_are_tried_again(store: Store) -> None:
    into = prepared(store)
    batch = written(into, {0: range(5)})
    store.fault("error", COMMIT, times=4, status=500, code="InternalError")
    Commits(into).commit(*batch, no_brokers)
    assert offsets(into) == {0: list(range(5))}


def test_a_slow_store_is_waited_for(store: Store) -> None:
    into = prepared(store)
    store.fault("slow", "(PUT|GET) ", times=4, seconds=0.5)
    taken(Commits(into), into, {0: range(5)})
    assert offsets(into) == {0: list(range(5))}


def test_a_login_that_is_refused_ends_the_batch_at_once(store: Store) -> None:
    into = prepared(store)
    batch = written(into, {0: range(5)})
    store.fault("error", COMMIT, times=100, status=403, code="AccessDenied")
    with pytest.raises(DeltaError, match=r"object store of s3://lake/table-.* refused .*403"):
        Commits(into).commit(*batch, no_brokers)
    assert len([one for one in store.requests() if one.startswith("PUT")]) == 1


def test_the_store_creates_a_name_once(store: Store) -> None:
    """What all of this stands on: a server that ignores If-None-Match would show nothing."""
    url = f"{store.url}/{BUCKET}/{store.new_place()[-8:]}"
    found: list[int] = []

    def put(number: int) -> None:
        asked = AWSRequest("PUT", url, {"If-None-Match": "*"}, b"%d" % number)
        credentials = Credentials(ACCESS_KEY, SECRET_KEY)
        S3SigV4Auth(credentials, "s3", "us-east-1").add_auth(asked)
        prepared: Any = asked.prepare()
        request = urllib.request.Request(url, prepared.body, dict(prepared.headers), method="PUT")
        try:
            with urllib.request.urlopen(request) as answer:
                found.append(answer.status)
        except urllib.error.HTTPError as error:
            found.append(error.code)
            error.close()

    threads = [threading.Thread(target=put, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(found) == [200, *[412] * 7]


def member(store: Store, into: Target, offsets: int, length: int) -> subprocess.Popen[bytes]:
    """delta-rs holds the interpreter's lock while it commits, so a rival needs a process."""
    given = (store.url, into.directory, str(offsets), str(length))
    command = [sys.executable, "-m", "tests.object_store.member", *given]
    return subprocess.Popen(command, cwd=ROOT)


def test_of_two_writers_of_one_version_the_second_decides_again(store: Store) -> None:
    into = prepared(store)
    mine = written(into, {0: range(7)})
    store.fault("slow", COMMIT, seconds=3.0)
    rival = member(store, into, 5, 5)
    wait_until(
        lambda: any("PUT" in one and "00001.json" in one for one in store.requests()),
        WITHIN_S,
        "the rival's commit",
    )
    began = time.monotonic()
    Commits(into).commit(*mine, no_brokers)
    assert time.monotonic() - began < 3.0, "it was the second one"
    assert rival.wait(WITHIN_S) == 0
    assert offsets(into) == {0: list(range(7))}
    puts = [one for one in store.requests() if "PUT" in one and "00001.json" in one]
    assert len(puts) == 2


def test_two_members_with_one_plan_and_lost_answers(store: Store) -> None:
    into = prepared(store)
    store.fault("lost", COMMIT, times=3)
    members = [member(store, into, 24, length) for length in (4, 6)]
    assert [one.wait(WITHIN_S) for one in members] == [0, 0]
    assert offsets(into) == {0: list(range(24))}
