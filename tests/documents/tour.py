"""Every command of `zkgroup`, every job and every notebook, tried on the servers of the pages.

What the pages print in blocks is in scenes.py; here is what they name in their text. A command, a
job or a notebook that is in neither fails a test.
"""

from __future__ import annotations

from tests.documents.pages import HAS_MEMBER
from tests.documents.steps import Python, Scene, Shell

AT = "--zookeeper zk1:2181/kafka"
READS = f"{AT} --subscribe orders,payments"
NOTEBOOKS = (
    "quick_start",
    "two_members",
    "exactly_once",
    "watching_lag",
    "moving_here",
    "typed_columns",
)

COMMANDS = Scene(
    "commands",
    (
        Shell("zkgroup --help"),
        Shell("zkgroup completion bash >completion"),
        Shell(f"zkgroup doctor {AT}"),
        Shell(
            f'python "$CLONE"/jobs/drain.py {READS} --group billing --option member.id=one '
            "--table /data/billing --checkpoint /data/checkpoints/one --follow 1",
            beside=True,
        ),
        Shell(HAS_MEMBER),
        Shell(f"zkgroup groups {AT}"),
        Shell(f"zkgroup describe billing {AT}"),
        Shell(f"zkgroup describe billing {AT} --json"),
        Shell(f"zkgroup lag billing {AT}"),
        Shell(f"zkgroup top billing --looks 2 {AT}"),
        Shell(f"zkgroup exporter billing --once {AT}"),
        Shell(f"zkgroup doctor {AT} --group billing"),
        Shell(f"zkgroup doctor {AT} --all-groups --brief"),
        Shell(f"zkgroup assignment {AT} --group billing --json"),
        Shell(f"zkgroup assignment {AT} --group billing --version 0.10.2.2"),
        Shell(f"zkgroup assignment {AT} --group billing --with two --partitions orders=24"),
        Shell(f"zkgroup members list billing {AT}"),
        Shell(f"zkgroup members drain billing one --timeout 300 {AT}"),
        Shell(f"zkgroup members resume billing one {AT}"),
        Shell(HAS_MEMBER),
        Shell(f"zkgroup members evict billing one --yes --timeout 300 {AT}"),
        Shell(f"zkgroup members resume billing one {AT}"),
        Shell(HAS_MEMBER),
        Shell(f"zkgroup stop billing one --timeout 300 {AT}"),
        Shell(f"zkgroup offsets show billing {AT}"),
        Shell(f"zkgroup offsets export billing {AT} --to offsets.json"),
        Shell(f"zkgroup offsets reset billing --to-earliest {AT}"),
        Shell(f"zkgroup offsets reset billing --to-earliest {AT} --undo undo.json --execute"),
        Shell(f"zkgroup offsets import billing undo.json {AT} --execute"),
        Shell(
            "zkgroup assignment --json "
            '--from "$CLONE"/tests/golden/assignments/free_topics_differ_roundrobin_0.10.2.2.json'
        ),
        # A member without ZooKeeper, and who serves it.
        Shell(
            "python -m pip install --quiet --find-links \"$CLONE\"/dist 'pyspark-zkgroup[light]'"
        ),
        Shell(f'zkgroup coordinator {AT} --listen "$LISTEN"', beside=True),
        Shell(
            'python "$CLONE"/jobs/drain.py --subscribe orders --group light '
            '--option protocol=light --option coordinator.addresses="$LISTEN" '
            "--option kafka.bootstrap.servers=broker1:9092 "
            "--table /data/light --checkpoint /data/checkpoints/light"
        ),
        Shell("zkgroup peek orders --bootstrap-servers broker1:9092 --format json --count 3"),
        Shell("zkgroup sandbox start --dir schemas --brokers 0 --registry"),
        Shell(
            "python -c 'from zkgroup_sandbox import Sandbox; "
            'made = Sandbox.attach("schemas").registry; '
            'made.register("orders-value", "\\"long\\""); '
            'print(f"schema.registry.url={made.url}", file=open("registry.conf", "w"))\''
        ),
        Shell("zkgroup schema orders-value --config registry.conf"),
        Shell("zkgroup sandbox stop --dir schemas"),
        Shell("zkgroup sandbox start --dir box"),
        Shell("zkgroup sandbox status --dir box"),
        Shell("zkgroup sandbox topic tried --dir box"),
        Shell("zkgroup sandbox produce tried --count 10 --dir box"),
        Shell("zkgroup sandbox stop --dir box"),
    ),
)

_TABLE = "--table /data/history --checkpoint /data/history.march"
JOBS = Scene(
    "jobs",
    (
        *(
            Shell(f"python jobs/{name}.py --help")
            for name in ("backfill", "compact", "compare", "drain", "stream_to_delta", "verify")
        ),
        Shell(
            f"python jobs/stream_to_delta.py {READS} --group billing --table /data/billing "
            "--checkpoint /data/checkpoints/billing-1 --available-now"
        ),
        Shell(
            f"python jobs/drain.py {READS} --group billing --table /data/billing "
            "--checkpoint /data/checkpoints/billing-2"
        ),
        Shell(f"python jobs/backfill.py {AT} --subscribe orders {_TABLE} --max-offsets 1500"),
        Python(
            "import json\n"
            'made = {"topic": "orders", "ranges": story.ranges("orders")}\n'
            'with open(story.data("produced.json"), "w") as file:\n    json.dump(made, file)'
        ),
        Shell("python jobs/verify.py --table /data/history --produced /data/produced.json"),
        Shell(f"python jobs/compare.py {READS}"),
    ),
    in_clone=True,
)

IN_NOTEBOOKS = Scene(
    "notebooks",
    (
        Shell("make setup"),
        *(Shell(f".venv/bin/jupyter execute notebooks/{name}.ipynb") for name in NOTEBOOKS),
    ),
    servers="none",
    in_clone=True,
    by_make=True,
)

TOUR = (COMMANDS, JOBS, IN_NOTEBOOKS)
