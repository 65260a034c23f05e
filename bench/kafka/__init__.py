"""Kafka beside us: what a user of Spark would pick otherwise, on the same machine."""
