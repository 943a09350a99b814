"""Which offsets a batch takes: first positions, limits, gaps, truncated logs, pushed-down filters.

Pure functions of frozen values. kafka reads log ends, planning orders the steps, and group decides
about ownership.
"""
