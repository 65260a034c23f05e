"""What pubsub peers say to each other: frames, RPCs, messages, signatures."""
