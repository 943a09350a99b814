"""Run by a clean Python: from where the package comes, and which decoder a task would take."""

import json
import sys

import pyspark_zkgroup
from pyspark_zkgroup.records.choice import decoder, slow_because
from pyspark_zkgroup.records.decoder import Limits

taken = decoder(Limits(1, 1, 1))
json.dump(
    {
        "place": pyspark_zkgroup.__file__,
        "decoder": type(taken).__name__,
        "slow_because": slow_because(),
    },
    sys.stdout,
)
