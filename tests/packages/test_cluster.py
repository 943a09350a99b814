"""How the package is installed on a cluster: docs/cluster.md, on Spark's own with two workers.

The nodes have Spark and its dependencies. They share the disk of this machine with the driver,
unlike real ones: so each test checks where the tasks have loaded the decoder from.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyspark_zkgroup.delta.jars import delta_jars
from tests.harness.delta_table import records
from tests.harness.oracle import judge
from tests.harness.waiting import wait_until
from tests.packages.clean_python import ROOT
from tests.packages.cluster import WORKERS, Cluster, Task, cluster_of
from tests.packages.distribution import Distribution
from tests.packages.reading import DEADLINE_S, Reading, Topic, read_on
from tests.packages.sent import Sent, made
from tests.spark.processes import find_all_below
from zkgroup_sandbox import Sandbox

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(900)]

BY_NAME, REGISTERED = False, True
JOB = "stream_to_delta.py"


@pytest.fixture(scope="module")
def sent(distribution: Distribution, tmp_path_factory: pytest.TempPathFactory) -> Sent:
    return made(distribution, tmp_path_factory.mktemp("sent"))


@pytest.fixture(scope="module")
def cluster(sent: Sent, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster_of(sent.node, tmp_path_factory.mktemp("cluster")) as started:
        yield started


def read_once_on_both(reading: Reading) -> None:
    assert reading.error == ""
    verdict = judge(reading.produced.offsets(), reading.rows)
    assert verdict.exactly_once, verdict
    assert workers_of(reading.tasks) == WORKERS


def workers_of(tasks: list[Task]) -> int:
    return len({task.directory for task in tasks})


def native(tasks: list[Task]) -> list[Task]:
    return [task for task in tasks if task.decoder is not None]


def is_sent(task: Task, name: str) -> bool:
    """It has loaded the decoder from what Spark has unpacked for it."""
    return task.decoder is not None and task.decoder.is_relative_to(task.directory / name)


def test_installed_on_every_node_it_is_found_by_its_name(
    cluster: Cluster, sent: Sent, sandbox: Sandbox, tmp_path: Path
) -> None:
    python = {"PYSPARK_PYTHON": str(sent.environment.python)}
    reading = read_on(cluster, sandbox, tmp_path, [], python, register=BY_NAME)

    read_once_on_both(reading)
    assert workers_of(native(reading.tasks)) == WORKERS
    assert {t.decoder for t in native(reading.tasks)} == {
        sent.environment.packages / "pyspark_zkgroup" / "records" / "_decoder.abi3.so"
    }


def test_packages_in_an_archive_are_read_by_natively(
    cluster: Cluster, sent: Sent, sandbox: Sandbox, tmp_path: Path
) -> None:
    """On both sides by the same relative path: the tasks look where the driver does."""
    (tmp_path / "zkgroup").symlink_to(sent.folder)
    given = ["--archives", f"{sent.zipped}#zkgroup"]
    given += ["--conf", "spark.executorEnv.PYTHONPATH=zkgroup"]
    paths = {"PYSPARK_PYTHON": str(sent.node.python), "PYTHONPATH": "zkgroup"}
    reading = read_on(cluster, sandbox, tmp_path, given, paths, register=BY_NAME)

    read_once_on_both(reading)
    assert workers_of(native(reading.tasks)) == WORKERS
    assert all(is_sent(task, "zkgroup") for task in native(reading.tasks))
    assert reading.slow == set()


def test_by_its_name_alone_the_tasks_start_the_python_of_the_driver(
    cluster: Cluster, sent: Sent, sandbox: Sandbox, tmp_path: Path
) -> None:
    """Why docs/cluster.md warns of PYSPARK_DRIVER_PYTHON: real nodes do not have its path."""
    given = ["--archives", f"{sent.packed}#environment"]
    pythons = {"PYSPARK_PYTHON": "./environment/bin/python"}
    pythons |= {"PYSPARK_DRIVER_PYTHON": str(sent.environment.python)}
    reading = read_on(cluster, sandbox, tmp_path, given, pythons, register=BY_NAME)

    read_once_on_both(reading)
    assert {task.python for task in reading.tasks} == {str(sent.environment.python)}


def test_a_zip_among_the_py_files_reads_slowly_and_warns(
    cluster: Cluster, sent: Sent, sandbox: Sandbox, tmp_path: Path
) -> None:
    paths = {"PYSPARK_PYTHON": str(sent.node.python), "PYTHONPATH": str(sent.folder)}
    given = ["--py-files", str(sent.zipped)]
    reading = read_on(cluster, sandbox, tmp_path, given, paths, register=REGISTERED)

    read_once_on_both(reading)
    assert native(reading.tasks) == []
    assert len(reading.slow) == WORKERS
    assert all("send it with --archives" in log.read_text() for log in reading.slow)


def test_py_files_do_not_reach_the_planner_on_the_driver(
    cluster: Cluster, sent: Sent, sandbox: Sandbox, tmp_path: Path
) -> None:
    paths = {"PYSPARK_PYTHON": str(sent.node.python)}
    given = ["--py-files", str(sent.zipped)]
    reading = read_on(cluster, sandbox, tmp_path, given, paths, register=REGISTERED)

    assert "No module named 'pyspark_zkgroup'" in reading.error
    assert "initialize source" in reading.error
    assert reading.rows == []


def test_a_wheel_among_the_py_files_does_not_reach_the_tasks(
    cluster: Cluster, sent: Sent, sandbox: Sandbox, tmp_path: Path
) -> None:
    """The very same file as a .zip does."""
    paths = {"PYSPARK_PYTHON": str(sent.node.python), "PYTHONPATH": str(sent.folder)}
    given = ["--py-files", str(sent.wheel)]
    reading = read_on(cluster, sandbox, tmp_path, given, paths, register=REGISTERED)

    assert "No module named 'pyspark_zkgroup'" in reading.error
    assert "Python worker" in reading.error
    assert reading.rows == []


def test_a_job_with_its_whole_environment_in_an_archive_writes_into_delta(
    cluster: Cluster, sent: Sent, sandbox: Sandbox, tmp_path: Path
) -> None:
    # The driver's own copy, where it looks for the same relative path.
    (tmp_path / "environment").symlink_to(sent.environment.home)
    jars = ",".join(map(str, delta_jars(print)))
    topic = Topic(sandbox)
    produced = topic.produced()
    given = ["--archives", f"{sent.packed}#environment", "--jars", jars, str(ROOT / "jobs" / JOB)]
    given += ["--zookeeper", sandbox.kafka_zookeeper_connect, "--group", topic.name]
    given += ["--subscribe", topic.name, "--follow", "0", "--table", str(tmp_path / "table")]
    given += ["--checkpoint", str(tmp_path / "checkpoint")]
    job = cluster.submit(tmp_path, given, {"PYSPARK_PYTHON": "./environment/bin/python"})
    try:
        wait_until(
            lambda: job.lines("stream_to_delta: batch ") or job.status is not None,
            DEADLINE_S,
            "a batch",
        )
        early = job.status
        assert early is None, "\n".join(job.lines())
        tasks = cluster.tasks()
        os.kill(python_of_the_job(), signal.SIGTERM)
        wait_until(lambda: job.status is not None, DEADLINE_S, "the job to end")
    finally:
        job.kill()
        print(*job.lines("stream_to_delta: "), sep="\n")

    assert job.status == 0
    assert workers_of(native(tasks)) == WORKERS
    assert {task.python for task in tasks} == {"./environment/bin/python"}
    assert all(is_sent(task, "environment") for task in native(tasks))
    assert judge(produced.offsets(), records(tmp_path / "table")).exactly_once


def python_of_the_job() -> int:
    (found,) = (
        pid
        for pid in find_all_below(os.getpid(), f"{JOB} ")
        if "python" in Path(f"/proc/{pid}/exe").readlink().name
        and "leash.py" not in Path(f"/proc/{pid}/cmdline").read_text()
    )
    return found
