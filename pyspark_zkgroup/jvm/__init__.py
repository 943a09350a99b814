"""What JVM members and brokers write to ZooKeeper, and how JVM members order things.

Pure: registrations, broker and topic nodes, Java's reading of JSON, its string and hash order,
and the regular expressions that Java and RE2 match alike.
"""
