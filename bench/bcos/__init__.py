"""What a message across two nodes of the bcos family costs, beside the bare path.

Publisher, its node, the subscriber's node, subscriber: a process each, TLS between them. The bare
path has the same processes, connections and packets, and none of the protocol.
"""
