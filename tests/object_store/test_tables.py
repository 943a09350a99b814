"""Tables in S3: created, taken over, refused; their files and the errors of the store."""

from __future__ import annotations

import logging
import os
import pickle
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from pyspark_zkgroup.delta.direct.committing import Commits
from pyspark_zkgroup.delta.direct.source import FilesSource, given, source_for
from pyspark_zkgroup.delta.direct.storage import (
    LOCAL,
    checked_location,
    files_in,
    storage_of,
)
from pyspark_zkgroup.delta.direct.takeover import prepare_stored
from pyspark_zkgroup.errors import DeltaError
from tests.harness.planted_secrets import WRONG_STORAGE_SECRET as WRONG
from tests.object_store.scene import prepared, stored
from tests.object_store.store import COMMIT, DATA, SECRET_KEY, Store
from tests.unit.delta.ingest_scene import VALUE, offsets, records, taken, target, written


def filled(into: Any, ranges: dict[int, range]) -> None:
    for batch in records(into, ranges):
        write_deltalake(
            into.directory,
            batch,
            mode="append",
            partition_by=["topic", "partition"],
            storage_options=into.storage.plain,
        )


def test_a_table_whose_creation_was_not_answered_is_created_once(store: Store) -> None:
    into = stored(store)
    store.fault("lost", COMMIT, times=3)
    prepare_stored(into)
    prepare_stored(into)
    table = DeltaTable(into.directory, storage_options=into.storage.plain)
    assert table.version() == 0
    taken(Commits(into), into, {0: range(3)})
    assert offsets(into) == {0: [0, 1, 2]}


def test_a_table_of_other_writers_is_taken_over(store: Store) -> None:
    into = stored(store)
    filled(into, {0: range(6), 1: range(3)})
    store.fault("lost", COMMIT, times=3)
    prepare_stored(into)
    taken(Commits(into), into, {0: range(4, 9), 1: range(3, 4)})
    assert offsets(into) == {0: list(range(9)), 1: list(range(4))}


def test_a_writer_that_commits_during_the_take_over_is_seen(store: Store, monkeypatch: Any) -> None:
    from pyspark_zkgroup.delta.direct import deltars

    into = stored(store)
    filled(into, {0: range(3)})
    highest, left = deltars.highest_offsets, [range(3, 6)]

    def overtaken(*given: Any) -> Any:
        found = highest(*given)
        if left:
            filled(into, {0: left.pop()})
        return found

    monkeypatch.setattr(deltars, "highest_offsets", overtaken)
    prepare_stored(into)
    taken(Commits(into), into, {0: range(2, 8)})
    assert offsets(into) == {0: list(range(8))}


def test_other_objects_are_not_made_a_table(store: Store) -> None:
    into = stored(store)
    with files_in(into.directory, into.storage).create("letters.parquet") as file:
        pq.write_table(pa.table({"a": [1]}), file)
    with pytest.raises(DeltaError, match=r"no Delta table but other files: letters\.parquet"):
        prepare_stored(into)


def test_a_table_without_partition_columns_needs_no_folder(store: Store) -> None:
    plain = target(Path("unused"), (VALUE,), ())
    into = replace(plain, directory=store.new_place(), storage=store.storage())
    prepare_stored(into)
    store.set_faults()
    taken(Commits(into), into, {0: range(4)})
    puts = [one for one in store.requests() if one.startswith("PUT")]
    assert sorted(one.partition("_delta_log")[1] for one in puts) == ["", "_delta_log"]
    found = DeltaTable(into.directory, storage_options=into.storage.plain).to_pyarrow_table()
    assert found.num_rows == 4


def test_sizes_in_the_log_are_those_of_the_objects(store: Store) -> None:
    into = prepared(store)
    store.fault("lost", DATA)
    _, files = written(into, {0: range(100), 1: range(5)})
    objects = store.objects(into.directory)
    assert {one.path: one.bytes for one in files} == {
        name: len(data) for name, data in objects.items() if name.endswith(".parquet")
    }


def test_a_large_file_is_uploaded_in_parts(store: Store) -> None:
    into = prepared(store)
    files = files_in(into.directory, into.storage)
    rows = pa.table({"a": [os.urandom(2**20) for _ in range(13)]})
    store.fault("error", "PUT .*partNumber", status=500, code="InternalError")
    with files.create("large.parquet") as sink:
        pq.write_table(rows, sink, row_group_size=1)
    assert len([one for one in store.requests() if "partNumber" in one]) > 2
    with files.open("large.parquet") as source:
        assert pq.read_table(source) == rows


@pytest.mark.parametrize("is_start", [True, False])
def test_a_wrong_login_is_a_clear_error_without_secrets(
    store: Store, caplog: pytest.LogCaptureFixture, is_start: bool
) -> None:
    good = prepared(store)
    into = replace(good, storage=store.storage(AWS_SECRET_ACCESS_KEY=WRONG))
    with caplog.at_level(logging.DEBUG), pytest.raises(DeltaError) as caught:
        prepare_stored(into) if is_start else written(into, {0: range(3)})
    text = str(caught.value)
    assert f"The object store of {into.directory} refused the login or the access" in text
    assert "SignatureDoesNotMatch" in text
    assert "Check the credentials in storage_options=" in text
    told = "".join(traceback.format_exception(caught.value))
    assert "During handling of" not in told
    assert WRONG not in repr(caught.value) + told + caplog.text


def test_a_store_that_cannot_be_reached_is_a_clear_error(store: Store) -> None:
    changed = {"AWS_ENDPOINT_URL": f"http://user:{SECRET_KEY}@127.0.0.1:1"}
    into = stored(store, **changed, max_retries="0")
    with pytest.raises(
        DeltaError, match=r"object store of s3://.* failed: .*Connection refused"
    ) as caught:
        prepare_stored(into)
    assert SECRET_KEY not in str(caught.value)
    assert "http://*****@127.0.0.1:1/" in str(caught.value)


def test_a_value_that_delta_rs_cannot_read_is_not_shown(store: Store) -> None:
    into = stored(store, AWS_S3_EXPRESS=SECRET_KEY)
    with pytest.raises(DeltaError, match=r"failed to parse \"\*\*\*\*\*\" as boolean") as caught:
        prepare_stored(into)
    assert SECRET_KEY not in f"{caught.value.__context__}{caught.value.__context__!r}"


def test_secrets_of_the_environment_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "planted/token==")
    text = "refused planted/token==, planted%2Ftoken%3D%3D and https://h/t?sv=1&sig=planted"
    assert LOCAL.cleaned(text) == "refused *****, ***** and https://h/t?sv=1&sig=*****"


def test_nothing_shows_options(store: Store) -> None:
    into = stored(store)
    shown = [repr(into), str(into.storage), into.as_json(), repr(given(into, "{}"))]
    shown += [repr(Commits(into)), repr(source_for(into.storage))]
    assert not any(SECRET_KEY in one for one in shown)
    assert pickle.loads(pickle.dumps(into)).storage.plain == store.options


def test_the_source_has_the_storage_and_its_options_do_not(store: Store) -> None:
    into = stored(store)
    made = source_for(into.storage)({**given(into, "{}"), "subscribe": "t"})
    assert made._target == into
    assert source_for(LOCAL) is FilesSource


@pytest.mark.parametrize(
    ("options", "where", "found"),
    [
        ({"a": "b"}, "/data/t", "storage_options= was given, but /data/t is not in an object"),
        ({"timeout": 3}, "s3://lake/t", "a value of the type int for 'timeout'"),
        ({"AWS_S3_ALLOW_UNSAFE_RENAME": "true"}, "s3://lake/t", "lets a commit overwrite"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: Any, where: str, found: str) -> None:
    with pytest.raises(DeltaError, match=found):
        storage_of(options, where)


@pytest.mark.parametrize("where", ["s3://key:hidden@lake/t", "abfss://c@lake/t?sig=hidden"])
def test_a_login_in_the_location_is_refused(where: str) -> None:
    with pytest.raises(DeltaError, match="in lake holds a login or a query string") as caught:
        checked_location(where)
    assert "hidden" not in str(caught.value)
    assert checked_location("abfss://c@lake.dfs.core.windows.net/t/").endswith("/t")
