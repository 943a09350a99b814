"""The `zookeeper` protocol: each member computes the same assignment and claims its part."""
