"""The main DHT without I/O: reading and writing items, and the session that says when."""

from rumormill.bep50.main_dht.client import MainClient
from rumormill.bep50.main_dht.parameters import MainParameters, SessionParameters
from rumormill.bep50.main_dht.session import MainSession

__all__ = ["MainClient", "MainParameters", "MainSession", "SessionParameters"]
