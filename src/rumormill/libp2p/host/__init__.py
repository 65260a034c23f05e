"""A libp2p node without I/O: its connections, its streams, identify and ping, pubsub on top."""
