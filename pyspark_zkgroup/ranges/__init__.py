"""Which offsets a batch takes: first positions, limits, gaps, truncated logs, pushed-down filters.

Pure functions of frozen values. Reading log ends belongs in kafka, the order of the steps in
planning, ownership in group.
"""
