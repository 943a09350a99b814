"""Fixtures for all tests: real servers (see the module for their names)."""

pytest_plugins = ["pyspark_zkgroup.sandbox.fixtures"]
