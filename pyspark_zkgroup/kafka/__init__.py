"""The brokers: connections, metadata, log ends, offsets of groups, raw fetches.

Together with records the only importer of kafka-python. Knows no group rules and no ZooKeeper.
"""
