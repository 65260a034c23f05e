"""Peer-to-peer publish/subscribe: one API over several families of networks.

import rumormill

async with rumormill.open("gossipsub", listen="/ip4/0.0.0.0/tcp/4001") as network:
    async with network.subscribe("weather") as messages:
        await network.publish("weather", b"rain at noon")
        async for message in messages:
            print(message.sender, message.data)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rumormill.bep50.effects import CasMismatch
    from rumormill.bep50.live.network import Bep50Network
    from rumormill.core.errors import (
        ClosedError,
        ConfigError,
        ConnectError,
        LocalProtocolError,
        MessageTooLargeError,
        NotReadyError,
        RejectedError,
        RemoteProtocolError,
        RumormillError,
    )
    from rumormill.core.message import Message
    from rumormill.core.receipt import Receipt
    from rumormill.core.topic import Capabilities
    from rumormill.core.trace import TraceEvent
    from rumormill.libp2p.descriptor.descriptor import TopicDescriptor
    from rumormill.libp2p.gossipsub.score.parameters import ScoreParameters
    from rumormill.libp2p.gossipsub.score.topic_parameters import TopicScoreParameters
    from rumormill.libp2p.live.network import Libp2pNetwork
    from rumormill.libp2p.live.topic_file import TopicFile, load_topic
    from rumormill.libp2p.pubsub.inbound.replays import AuthorStore
    from rumormill.libp2p.pubsub.topics.transforms import DataTransform, SnappyTransform
    from rumormill.live.checks.validation import Accept, Ignore, Reject, Validation
    from rumormill.live.collector import quiet_collector
    from rumormill.live.configuration.settings import known_keys
    from rumormill.live.network import Network
    from rumormill.live.run import run
    from rumormill.live.topics.relay import Relay
    from rumormill.live.topics.subscription import Subscription
    from rumormill.live.topics.topic import Topic
    from rumormill.live.topics.topic_events import PeerJoinedTopic, PeerLeftTopic, TopicEvents
    from rumormill.typed_open import open

__all__ = [
    "Accept",
    "AuthorStore",
    "Bep50Network",
    "Capabilities",
    "CasMismatch",
    "ClosedError",
    "ConfigError",
    "ConnectError",
    "DataTransform",
    "Ignore",
    "Libp2pNetwork",
    "LocalProtocolError",
    "Message",
    "MessageTooLargeError",
    "Network",
    "NotReadyError",
    "PeerJoinedTopic",
    "PeerLeftTopic",
    "Receipt",
    "Reject",
    "RejectedError",
    "Relay",
    "RemoteProtocolError",
    "RumormillError",
    "ScoreParameters",
    "SnappyTransform",
    "Subscription",
    "Topic",
    "TopicDescriptor",
    "TopicEvents",
    "TopicFile",
    "TopicScoreParameters",
    "TraceEvent",
    "Validation",
    "known_keys",
    "load_topic",
    "open",
    "quiet_collector",
    "run",
]

_HOMES = {
    "CasMismatch": "bep50.effects",
    "ClosedError": "core.errors",
    "ConfigError": "core.errors",
    "ConnectError": "core.errors",
    "LocalProtocolError": "core.errors",
    "MessageTooLargeError": "core.errors",
    "NotReadyError": "core.errors",
    "RejectedError": "core.errors",
    "RemoteProtocolError": "core.errors",
    "RumormillError": "core.errors",
    "Message": "core.message",
    "Receipt": "core.receipt",
    "Capabilities": "core.topic",
    "TraceEvent": "core.trace",
    "Bep50Network": "bep50.live.network",
    "Libp2pNetwork": "libp2p.live.network",
    "TopicDescriptor": "libp2p.descriptor.descriptor",
    "TopicFile": "libp2p.live.topic_file",
    "load_topic": "libp2p.live.topic_file",
    "ScoreParameters": "libp2p.gossipsub.score.parameters",
    "TopicScoreParameters": "libp2p.gossipsub.score.topic_parameters",
    "AuthorStore": "libp2p.pubsub.inbound.replays",
    "DataTransform": "libp2p.pubsub.topics.transforms",
    "SnappyTransform": "libp2p.pubsub.topics.transforms",
    "Network": "live.network",
    "open": "typed_open",
    "quiet_collector": "live.collector",
    "run": "live.run",
    "known_keys": "live.configuration.settings",
    "Subscription": "live.topics.subscription",
    "Topic": "live.topics.topic",
    "PeerJoinedTopic": "live.topics.topic_events",
    "PeerLeftTopic": "live.topics.topic_events",
    "TopicEvents": "live.topics.topic_events",
    "Relay": "live.topics.relay",
    "Accept": "live.checks.validation",
    "Ignore": "live.checks.validation",
    "Reject": "live.checks.validation",
    "Validation": "live.checks.validation",
}
"""Where each public name lives. It is imported at first use: whoever needs one machine, or the
command line's help, need not wait for sockets and cryptography."""


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'rumormill' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"rumormill.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
