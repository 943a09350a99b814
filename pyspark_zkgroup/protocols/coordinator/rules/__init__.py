"""Pure decisions of the coordinator: assignment, rebalance, commands and their JSON."""
