"""The libp2p stack as machines: multistream, Noise, yamux, identify, ping, keys, addresses."""
