"""Avro, with the types of Spark's from_avro; writers' schemas are resolved by Avro's rules."""
