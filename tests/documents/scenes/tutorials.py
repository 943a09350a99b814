"""The tutorials."""

from __future__ import annotations

from tests.documents.pages import (
    EACH_ONCE,
    FIRST,
    HAS_ONE_MEMBER,
    HAS_TWO_MEMBERS,
    ONCE,
    SHARED,
    TWO,
    TYPED,
    UNTIL_ENDED,
)
from tests.documents.steps import NotRun, Printed, Scene, Shell

TUTORIAL_SCENES = (
    Scene(
        "the tutorials",
        (
            NotRun(
                FIRST,
                "python -m pip install '.[spark,delta,ingest]' ./sandbox    # with test brokers",
                "the scene `install` has run it, with README's commands",
            ),
            NotRun(FIRST, "# prints the addresses of the servers", "the scene has servers"),
            Printed(FIRST, "from kafka import KafkaProducer"),
            Printed(FIRST, "from pyspark.sql import SparkSession"),
            Printed(FIRST, "zkgroup lag tutorial --bootstrap-servers broker1:9092"),
            NotRun(TWO, "# terminal 1", UNTIL_ENDED),
            Shell(f"{SHARED}-1", beside=True),
            Shell(HAS_ONE_MEMBER),
            Printed(TWO, "zkgroup describe shared --bootstrap-servers broker1:9092"),
            NotRun(TWO, "# terminal 2", UNTIL_ENDED),
            Shell(f"{SHARED}-2", beside=True),
            Shell(HAS_TWO_MEMBERS),
            Printed(
                ONCE,
                "python jobs/stream_to_delta.py --bootstrap-servers broker1:9092 --group once \\",
            ),
            Printed(
                ONCE, "zkgroup offsets reset once --to-earliest --bootstrap-servers broker1:9092"
            ),
            Printed(ONCE, "# reads every record a second time"),
            Printed(ONCE, "from pyspark_zkgroup import delta", proof=EACH_ONCE),
            Printed(
                TWO,
                "from pyspark_zkgroup import delta",
                proof=f"{EACH_ONCE}\nstory.expect(produced, rows)",
            ),
        ),
        in_clone=True,
    ),
    Scene(
        "typed columns",
        (
            NotRun(TYPED, "# a broker and a registry", "the scene has servers"),
            Printed(TYPED, "import json"),
            Printed(
                TYPED,
                "from pyspark.sql import SparkSession",
                proof="story.expect(good.count(), 1000)\nstory.expect(orders.count(), 1002)",
            ),
            Shell("python -m pip install --quiet --disable-pip-version-check fastavro"),
            Printed(TYPED, "# registers a schema and writes 1,000 records"),
            Printed(
                TYPED,
                "# no .schema(...): the registry has the types",
                proof="story.expect(paid.select('value.id').distinct().count(), 1000)",
            ),
        ),
    ),
)
