"""Membership by owner nodes in ZooKeeper: what zookeeper, coordinator, light and assign share.

This room has the order of a boundary, sessions, registration, claims, commits and replays. The
target of a member is decided elsewhere.
"""
