"""yamux: many streams over one connection."""

from rumormill.libp2p.stack.yamux.receiving import GoneAway, StreamArrived, YamuxEvent
from rumormill.libp2p.stack.yamux.session import YAMUX, YamuxSession

__all__ = ["YAMUX", "GoneAway", "StreamArrived", "YamuxEvent", "YamuxSession"]
