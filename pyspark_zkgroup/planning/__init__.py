"""The boundary between two micro-batches, in the planner's process: commit, rebalance, plan.

The planner asks the membership which partitions it holds and the brokers where their logs end, and
decides how far the next batch reads. Ownership is decided in protocols. Calculations without input
or output are in ranges.
"""
