"""The `light` protocol: members without ZooKeeper, served by the coordinator over gRPC.

Both sides are here: the member's session and store, and the coordinator's desk and seats. `call`,
`server` and `access` are the only importers of grpc.
"""
