"""Sockets: TCP and TLS connections and UDP datagrams for machines."""

from __future__ import annotations

from rumormill.live.transports.tcp import Tcp
from rumormill.live.transports.tls import Tls
from rumormill.live.transports.udp import Udp, resolve_all

__all__ = ["Tcp", "Tls", "Udp", "resolve_all"]
