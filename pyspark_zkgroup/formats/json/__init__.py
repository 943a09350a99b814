"""JSON, with the rows of Spark's from_json in PERMISSIVE mode."""
