"""The libp2p stack as machines: multistream-select, Noise, yamux, identify, ping, keys, addresses."""
