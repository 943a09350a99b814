"""The boundary between two micro-batches, in the planner's process: commit, rebalance, plan.

The planner asks a membership what it holds and the brokers where logs end, and decides how far the
next batch reads. Who owns what is decided in protocols. Calculations without input or output are in
ranges.
"""
