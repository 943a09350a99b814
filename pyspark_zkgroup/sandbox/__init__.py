"""Real ZooKeeper and Kafka servers on the loopback, for tests, the demo and trying things out."""

from pyspark_zkgroup.sandbox.sandbox import Sandbox, SandboxStatus, ServerStatus

__all__ = ["Sandbox", "SandboxStatus", "ServerStatus"]
