"""Pubsub without I/O: intake, publishing, queues, subscriptions, and the router's seam."""
