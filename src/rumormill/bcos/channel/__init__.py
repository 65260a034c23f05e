"""The side of a node that SDKs talk to: sessions, subscriptions, JSON-RPC."""
