"""The asyncio side: one driver for every machine, TCP, networks, topics, subscriptions.

Protocol logic lives in machines that know no socket and no clock; this room gives them both.
"""
