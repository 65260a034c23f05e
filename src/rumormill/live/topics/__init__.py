"""What a user has of a topic: subscriptions, relays, who comes and goes."""
