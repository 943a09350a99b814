"""Protobuf, with the types and rows of Spark's from_protobuf."""
