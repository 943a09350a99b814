"""Appends topics to a Delta table without rows passing through the JVM.

Tasks write the Parquet files, Spark carries their descriptions to the driver, and delta-rs commits
them. What a commit holds is decided by the table's own watermarks (rules.py).
"""
