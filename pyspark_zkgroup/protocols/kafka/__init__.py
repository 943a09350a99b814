"""The `kafka` protocol: the brokers' group coordinator keeps the members; no ZooKeeper.

What is sent to brokers belongs in kafka, the room; what it means for this member belongs here.
"""
