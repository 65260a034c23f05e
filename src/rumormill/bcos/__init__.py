"""FISCO BCOS 2.x: certified nodes, long TLS connections, AMOP for applications, private topics."""
