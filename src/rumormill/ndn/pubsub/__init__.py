"""Publishing and subscribing: six steps with four packets, on a line to a forwarder."""
