"""The `light` protocol: members without ZooKeeper, served by the coordinator over gRPC.

This room has both sides: the member's session and store, and the coordinator's desk and seats. Only
`call`, `server` and `access` import grpc.
"""
