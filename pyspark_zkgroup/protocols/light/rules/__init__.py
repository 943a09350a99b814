"""What a member without ZooKeeper and its coordinator decide, and what they say to each other."""
