"""Sockets: TCP, Unix and TLS connections and UDP datagrams for machines."""

from __future__ import annotations

from rumormill.live.transports.tcp import Tcp
from rumormill.live.transports.tls import Tls
from rumormill.live.transports.udp import Udp, resolve_all
from rumormill.live.transports.unix import Streams

__all__ = ["Streams", "Tcp", "Tls", "Udp", "resolve_all"]
