"""A group from outside: its report, findings, what-if, reset and eviction.

The command line is built on this room. Reading belongs here (`group_reader`, `member_nodes`), and
so do the pure functions that judge what was read. Output to a terminal belongs in cli.
"""
