"""Our own client of the main DHT, without I/O: reading and writing items."""
