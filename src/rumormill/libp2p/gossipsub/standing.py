"""What a peer's conduct is worth: the question that mesh, gossip and gate ask before they trust it.

gossipsub 1.0 knows no difference between peers, and neither does :class:`Standing` itself: every
peer stands at 0. A score derives from it and overrides :meth:`~Standing.of`; whoever notices good
or bad conduct tells it, whether or not anybody keeps count.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from rumormill.core.machine import Peer
from rumormill.core.parameters import Parameters, not_above
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart


class Thresholds(Parameters):
    """From which score on a peer is treated how; the first three are in order.

    >>> Thresholds().graylist
    -80.0
    >>> Thresholds(publish=-5)
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: publish: must not be above gossip (-5 > -10)
    """

    gossip: float = Field(default=-10.0, le=0, allow_inf_nan=False)
    """Below this, a peer is told of no messages, and what it tells is not believed."""
    publish: float = Field(default=-50.0, le=0, allow_inf_nan=False)
    """Below this, it does not get our own messages by flooding or fanout."""
    graylist: float = Field(default=-80.0, le=0, allow_inf_nan=False)
    """Below this, nothing of it is read."""
    accept_exchange: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """From this on, we dial the peers that it names when it prunes us."""
    opportunistic_graft: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """If the median of a mesh is below this, better peers are taken in. A point is what time alone
    brings within an hour: peers that have done nothing else are below it."""

    @model_validator(mode="after")
    def _in_order(self) -> Thresholds:
        not_above("publish", self.publish, "gossip", self.gossip)
        not_above("graylist", self.graylist, "publish", self.publish)
        return self


class Standing(HeartbeatPart):
    """Everybody is worth the same: what a router without a score has."""

    thresholds: Thresholds = Thresholds()

    judges_messages: bool = False
    """Whether whoever sends bad messages pays for it here, whatever their topic."""

    def of(self, peer: Peer) -> float:
        """The peer's score now. Cheap: asked for several times a heartbeat and peer."""
        return 0.0

    def penalise(self, peer: Peer, reason: str, count: int = 1) -> None:
        """The peer broke a rule that is no matter of messages: P7 of the specification."""

    def grafted(self, peer: Peer, topic: str, now: float) -> None:
        """The peer came into our mesh of the topic."""

    def pruned(self, peer: Peer, topic: str, now: float) -> None:
        """The peer left our mesh of the topic, for whatever reason."""

    def slow(self, peer: Peer, lost: int) -> None:
        """So many messages were lost because the peer takes less than it is sent."""
