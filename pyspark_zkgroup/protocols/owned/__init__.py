"""Membership by owner nodes in ZooKeeper: what zookeeper, coordinator, light and assign share.

The order of a boundary, sessions, registration, claims, commits, replays. Who decides what a member
owns is not decided here.
"""
