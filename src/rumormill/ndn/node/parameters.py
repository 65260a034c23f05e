"""What can be set of a node: each of its parts has parameters of its own."""

from __future__ import annotations

from typing import NamedTuple

from rumormill.ndn.faces.parameters import FaceParameters
from rumormill.ndn.forwarder.parameters import ForwarderParameters, StrategyName
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.routing.parameters import RoutingParameters
from rumormill.ndn.wire.name import Name


class NodeParameters(NamedTuple):
    """The parameters of all parts of a node."""

    faces: FaceParameters = FaceParameters()
    forwarder: ForwarderParameters = ForwarderParameters()
    routing: RoutingParameters = RoutingParameters()
    pubsub: PubSubParameters = PubSubParameters()
    strategies: tuple[tuple[Name, StrategyName], ...] = ()
    """Strategies of some prefixes, where they differ from ``forwarder.strategy``."""
