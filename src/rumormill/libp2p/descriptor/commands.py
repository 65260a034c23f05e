"""What the application tells the machine about topics with descriptors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rumormill.libp2p.descriptor.descriptor import TopicDescriptor
from rumormill.libp2p.descriptor.edges import TrustEdge
from rumormill.libp2p.effects import RouterInput


@dataclass(frozen=True, slots=True)
class KnowTopic(RouterInput):
    """From now on hold the messages of a topic against its descriptor.

    ``keys`` are shared keys; more of them may be told later, in the same way.
    """

    descriptor: TopicDescriptor
    keys: Sequence[bytes] = ()


@dataclass(frozen=True, slots=True)
class ForgetTopic(RouterInput):
    """Hold the messages of a topic against nothing any more."""

    topic: str


@dataclass(frozen=True, slots=True)
class Trust(RouterInput):
    """Say that we trust a peer until a time; with 0, that we do not any more."""

    topic: str
    subject: bytes
    until: int


@dataclass(frozen=True, slots=True)
class KnowEdges(RouterInput):
    """Take edges that were kept in a file, and tell others of those that are new."""

    topic: str
    edges: Sequence[TrustEdge]
