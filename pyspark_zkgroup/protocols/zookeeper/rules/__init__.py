"""Pure decisions of the `zookeeper` protocol."""
