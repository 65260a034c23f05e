"""What nodes of the DHT say to each other: KRPC, items, topics, addresses."""
