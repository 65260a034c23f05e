"""The forwarder: what comes in by one face goes out by others, without I/O."""
