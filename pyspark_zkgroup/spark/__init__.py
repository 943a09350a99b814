"""Everything that imports pyspark: the stream and batch sources, stopping a query, its progress.

Spark's names are translated here and passed on. A decision belongs in planning, a protocol or a
pure room. What a Spark task runs is in tasks.
"""
