"""Pure decisions of the `light` protocol: sessions, leases, permits, messages and their bytes."""
