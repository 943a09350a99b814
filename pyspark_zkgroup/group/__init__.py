"""Decisions about the ownership and the committed offsets of a ZooKeeper group.

Pure functions of frozen values: which partitions move, the transactions that move them, and what
the outcome of a transaction means. The protocols run these transactions.
"""
