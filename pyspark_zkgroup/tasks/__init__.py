"""What runs in a Spark task: a range of offsets becomes Arrow batches.

A task receives its ranges and the settings of its connections, and nothing else. It never imports
a protocol, ZooKeeper or the options.
"""
