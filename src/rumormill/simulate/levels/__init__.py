"""What machines of a simulation speak in: packets to peers, bytes on transports, datagrams.

Each level says what it feeds to its machines, beside the commands of the script.
"""

from __future__ import annotations

from rumormill.simulate.levels.datagrams import DatagramLevelInput
from rumormill.simulate.levels.peers import PeerLevelInput
from rumormill.simulate.levels.transports import TransportLevelInput

__all__ = ["DatagramLevelInput", "PeerLevelInput", "TransportLevelInput"]
