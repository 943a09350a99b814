"""Fixtures for all tests: real servers (see the module for their names)."""

from hypothesis import settings

from pyspark_zkgroup.records.choice import slow_because

# A first example pays for imports, and another process may have the core: no drawn test is timed.
settings.register_profile("zkgroup", deadline=None)
settings.load_profile("zkgroup")

pytest_plugins = ["pyspark_zkgroup.sandbox.fixtures"]


def pytest_report_header() -> str:
    reason = slow_because()
    if reason is None:
        return "record decoder: native; the reference is what it is compared with"
    return f"record decoder: reference, as there is no native one: {reason}"
