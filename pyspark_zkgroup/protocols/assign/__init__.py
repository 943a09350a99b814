"""The `assign` option: named partitions, read and committed without joining the group."""
