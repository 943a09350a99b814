"""How a query becomes a member of its group: one folder for each protocol.

`port` is what the planner needs from any of them; `choice` picks one. A folder has its shells,
which read and write, and in `rules` its pure decisions. Modules directly in this room are used by
several protocols. Which protocol builds on which is an import contract in setup.cfg.
"""
