"""The parameters of gossipsub, under the names that its specification gives them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pydantic import Field, field_validator, model_validator

from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.parameters import not_above, read_tables
from rumormill.libp2p.gossipsub.defence.gater_parameters import GaterParameters
from rumormill.libp2p.gossipsub.mesh.degrees import (
    USUAL_BEST,
    USUAL_OUTBOUND,
    DegreeBook,
    Degrees,
    TopicMesh,
    most_outbound,
)
from rumormill.libp2p.stack.multiaddr import Multiaddr


class GossipsubParameters(GaterParameters):
    """How the mesh and the gossip behave.

    >>> GossipsubParameters(D=8).D_lazy
    8
    >>> GossipsubParameters(D_low=7)
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: D_low: must not be above D (7 > 6)
    """

    protocols: tuple[str, ...] | None = None
    """Of the protocols that the router speaks, those that are offered to peers, such as
    ``/meshsub/1.1.0``; by default all. With each peer the highest is spoken that both have."""
    protocol_names: Mapping[str, str] = Field(default_factory=dict)
    """Names of your own for protocols of the router, the best first:
    ``{"/house/1.2.0": "/meshsub/1.2.0"}``. Peers are offered these instead of the usual ones, so
    that networks stay apart; ``protocols`` may list both."""
    D: int = Field(default=6, ge=0)
    """How many peers a mesh should have."""
    D_low: int = Field(default=4, ge=0)
    """With fewer than this, the heartbeat adds peers up to ``D``."""
    D_high: int = Field(default=12, ge=0)
    """With as many as this, the heartbeat removes peers down to ``D``, and until then GRAFT is
    refused unless it comes from a peer that we dialed."""
    D_score: int = Field(default=-1, ge=-1)
    """How many of the peers with the best scores stay when the heartbeat removes some; by default 4
    or ``D``, whichever is less."""
    D_out: int = Field(default=-1, ge=-1)
    """How many peers of a mesh should be such that we dialed: who only comes to us cannot fill it.
    Below ``D_low``, and not above half of ``D``; by default 2 where that is possible."""
    D_lazy: int = Field(default=-1, ge=-1)
    """How many peers outside the mesh are told about recent messages, at least; by default ``D``.
    With 0 nobody is."""
    gossip_factor: float = Field(default=0.25, ge=0, le=1)
    """Of the peers outside the mesh, the part that is told about recent messages, if that is more
    than ``D_lazy``."""
    topic_meshes: Mapping[str, TopicMesh] = Field(default_factory=dict)
    """Degrees (``D`` and those that begin with it) of single topics:
    ``{"weather": {"D": 8, "D_high": 16}}``."""
    heartbeat_interval: float = Field(default=1.0, gt=0, le=3600)
    """Seconds between two heartbeats."""
    heartbeat_delay: float = Field(default=0.1, ge=0)
    """Seconds before the first one."""
    fanout_ttl: float = Field(default=60.0, gt=0)
    """Seconds after which the fanout of a topic that we no longer publish on is forgotten."""
    flood_publish: bool = False
    """Send our own messages to all listeners that are worth it, not to the mesh alone. Nobody in
    the mesh can then hold them back, and each costs as many times its size as there are listeners:
    for few and small messages. rust and js do it by default, go does not."""
    mcache_len: int = Field(default=5, ge=1)
    """Heartbeats for which a message can be asked for."""
    mcache_gossip: int = Field(default=3, ge=1)
    """Heartbeats for which a message is told about."""
    mcache_bytes: int = Field(default=64 * 1024 * 1024, ge=1)
    """Bytes of messages kept at most, whatever their age; the oldest go first, counted."""
    prune_backoff: float = Field(default=60.0, gt=0, le=3600)
    """Seconds that two peers stay out of each other's mesh after a PRUNE."""
    unsubscribe_backoff: float = Field(default=10.0, gt=0, le=3600)
    """The same after we left the topic."""
    graft_flood_threshold: float = Field(default=10.0, ge=0, le=3600)
    """Seconds after a PRUNE within which a GRAFT of that peer counts twice against it; later, as
    long as the backoff lasts, once."""
    graft_on_subscribe: bool = True
    """Take a peer into a mesh of fewer than ``D`` when it subscribes, before the heartbeat."""
    peer_exchange: bool = False
    """Name other peers of the topic to whom we PRUNE, and dial those that are named to us. Off, as
    in go and rust: where everybody stands the same, whoever prunes us decides whom we dial. For
    bootstrap nodes, and for networks that keep scores."""
    prune_peers: int = Field(default=16, ge=0)
    """How many peers a PRUNE of ours names at most, and how many that one peer names we look at
    between two heartbeats."""
    exchange_dials: int = Field(default=8, ge=1)
    """How many of the peers that were named to us we dial between two heartbeats."""
    exchange_only_public: bool = False
    """Pass on no records without a public address, and dial no others: for nodes that are to leave
    the network that they stand in alone. Loopback is dialed only for peers that are on it, too."""
    answer_unknown_graft: bool = False
    """Answer GRAFT of a topic we are not in by PRUNE, as the first specification says. Peers of
    today keep silent, because an answer would let anyone ask for any topic."""
    opportunistic_graft_ticks: int = Field(default=60, ge=1)
    """Every so many heartbeats, a mesh whose median score is below the threshold gets better
    peers."""
    opportunistic_graft_peers: int = Field(default=2, ge=0)
    """How many at a time."""
    max_ihave_messages: int = Field(default=10, ge=1)
    """RPCs with IHAVE that one peer may send between two heartbeats."""
    max_ihave_ids: int = Field(default=5000, ge=1)
    """Ids that we ask of one peer between two heartbeats, and tell one peer at once."""
    max_iwant_sends: int = Field(default=3, ge=1)
    """How often we send the same message to the same peer on its request."""
    iwant_followup: float = Field(default=3.0, gt=0, le=3600)
    """Seconds that a peer has to send what it told of and we asked for."""
    direct_peers: tuple[str, ...] = ()
    """Addresses, peer id included, of peers that we always stay connected to, send every message of
    their topics, and believe whatever their score; they should name us, too. They are in no mesh:
    for operators who know each other."""
    direct_connect_ticks: int = Field(default=60, ge=1)
    """Heartbeats between two attempts to reach a direct peer that is not there."""
    dont_want_size: int = Field(default=16 * 1024, ge=0)
    """Bytes of data from which on we tell the mesh of a message when it arrives (IDONTWANT), so
    that nobody there sends us another copy. What is smaller is checked and passed on before the
    word could arrive, and has said as much itself: lower it where validators take their time. Peers
    from gossipsub 1.2 on are told; go tells from 1024 bytes on, rust from 1000, js from 512."""
    dont_want_own: bool = False
    """Tell of our own messages too. That spares us copies of very large ones only, as whoever has
    got a message from us does not send it back."""
    dont_want_heartbeats: int = Field(default=3, ge=1, le=120)
    """Heartbeats for which a peer that said IDONTWANT gets no copy from us."""
    max_dont_want_ids: int = Field(default=5000, ge=1)
    """Ids that one peer may refuse between two heartbeats; more are ignored, counted. go takes
    10000, ten in each of 1000 RPCs."""
    test_extension: bool = False
    """Have the test extension of gossipsub 1.3, which does nothing but show that they work."""
    partial_messages: bool = False
    """Have the extension that sends large messages in parts, on topics that are opened for it."""
    partial_group_ttl: int = Field(default=5, ge=1)
    """Heartbeats after the last news of a message in parts for which it is kept."""
    partial_groups: int = Field(default=1024, ge=1)
    """Messages in parts of one topic that are kept; those without news go first, counted."""
    partial_groups_per_topic: int = Field(default=255, ge=1)
    """Those of a topic that peers may begin, all together, before they bring something of worth."""
    partial_groups_per_peer: int = Field(default=8, ge=1)
    """Those of a topic that one peer may begin before they bring something of worth."""
    partial_metadata_bytes: int = Field(default=4096, ge=1)
    """Bytes in which a peer may say which parts of one message it has."""
    partial_bytes_per_peer: int = Field(default=256 * 1024, ge=1024)
    """Bytes of that which are kept of one peer."""
    partial_rpc_bytes: int = Field(default=32 * 1024, ge=1)
    """Bytes of parts that we put into one RPC, unless a single part is larger: rust reads RPCs of
    64 KiB by default."""

    @field_validator("direct_peers")
    @classmethod
    def _names_a_peer(cls, addresses: tuple[str, ...]) -> tuple[str, ...]:
        for text in addresses:
            try:
                address = Multiaddr.parse(text)
            except LocalProtocolError as error:
                raise ConfigError("direct_peers", str(error)) from None
            if address.peer is None:
                raise ConfigError("direct_peers", f"{text!r} must end with /p2p/ and a peer id")
        return addresses

    @field_validator("topic_meshes", mode="before")
    @classmethod
    def _named_meshes(cls, given: Any) -> Any:
        """Read the degrees of each topic here, so that a wrong one is told with its topic."""
        return read_tables(TopicMesh, "topic_meshes", given)

    @model_validator(mode="before")
    @classmethod
    def _lazy_like_D(cls, values: dict[str, object]) -> dict[str, object]:
        if values.get("D_lazy") in (None, -1):
            values = {**values, "D_lazy": values.get("D", cls.model_fields["D"].default)}
        return values

    @model_validator(mode="after")
    def _consistent(self) -> GossipsubParameters:
        # Frozen, but what was not given follows from what was.
        if self.D_score < 0:
            object.__setattr__(self, "D_score", min(USUAL_BEST, self.D))
        if self.D_out < 0:
            most = most_outbound(self.D, self.D_low)
            object.__setattr__(self, "D_out", min(USUAL_OUTBOUND, most))
        self.degrees.usual.check()
        not_above("mcache_gossip", self.mcache_gossip, "mcache_len", self.mcache_len)
        not_above(
            "unsubscribe_backoff", self.unsubscribe_backoff, "prune_backoff", self.prune_backoff
        )
        return self

    @cached_property
    def degrees(self) -> DegreeBook:
        """The degrees of every topic's mesh."""
        usual = Degrees(self.D, self.D_low, self.D_high, self.D_score, self.D_out, self.D_lazy)
        return DegreeBook(usual, self.topic_meshes)
