"""yamux: many streams over one connection."""

from rumormill.libp2p.stack.yamux.session import (
    YAMUX,
    GoneAway,
    StreamArrived,
    YamuxEvent,
    YamuxSession,
)

__all__ = ["YAMUX", "GoneAway", "StreamArrived", "YamuxEvent", "YamuxSession"]
