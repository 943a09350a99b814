"""`zkgroup demo`: a group of real Spark drivers on real servers, watched while members change."""
