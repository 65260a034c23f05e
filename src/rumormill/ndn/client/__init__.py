"""A program on somebody's forwarder: uplinks, routes there, and pubsub on top, without I/O."""
