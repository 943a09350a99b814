"""Java on this machine, and jars from a Maven repository in the user's cache, with their SHA-256.

Belongs here: finding Java, fetching a release's jars once per user, checking them against recorded
hashes. Does not: which jars Delta takes (`delta.jars`), and what runs Kafka or ZooKeeper, which is
the distribution zkgroup-sandbox.
"""
