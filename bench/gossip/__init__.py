"""gossipsub with all its features: what a heartbeat, a message, a peer and a topic cost a node."""
