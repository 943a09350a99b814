"""ZooKeeper: one session, its reads and its packed transactions. The only importer of kazoo.

No path of a group is spelled here; `port` is what a protocol needs from a store.
"""
