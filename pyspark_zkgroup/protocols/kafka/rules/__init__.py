"""Membership by the broker's group coordinator: what is decided, without a broker in it."""
