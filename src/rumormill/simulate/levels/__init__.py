"""What machines of a simulation speak in: packets to peers, bytes on transports, datagrams."""
