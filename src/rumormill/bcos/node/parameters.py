"""What can be set on a node's side towards other nodes."""

from __future__ import annotations

from pydantic import Field

from rumormill.bcos.wire.frames import MOST_BYTES
from rumormill.core.parameters import Parameters


class NodeParameters(Parameters):
    """Links between nodes, and the state that they share."""

    compress: bool = True
    """Whether large payloads are compressed, and compressed ones are read."""
    largest_packet: int = Field(default=MOST_BYTES, ge=1024, le=MOST_BYTES)
    """Bytes of a packet, as it travels and unpacked; who sends a larger one is dropped."""
    max_peers: int = Field(default=256, ge=1)
    """Nodes that may be connected at once."""
    dial_interval: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Seconds between two attempts to reach an address of the dial list."""
    idle_timeout: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds without a byte of a node after which its link is dropped."""
    topic_interval: float = Field(default=5.0, gt=0, allow_inf_nan=False)
    """Seconds between two topic seqs to each node, which keep the link alive, too."""
    topic_delay: float = Field(default=0.05, ge=0, allow_inf_nan=False)
    """Seconds from a change of our topics until nodes are told; more of them are told at once."""
    topic_timeout: float = Field(default=5.0, gt=0, allow_inf_nan=False)
    """Seconds that a node has to answer the question for its topics."""
    max_peer_topics: int = Field(default=100_000, ge=1)
    """Topics that one node may say it has."""
    max_topics: int = Field(default=1_000_000, ge=1)
    """Topics that all other nodes together may say they have."""
    queue_bytes: int = Field(default=16 * 1024 * 1024, ge=1024)
    """Bytes that may wait for a node that is slower than we are."""
    max_peer_unfinished_bytes: int = Field(default=256 * 1024 * 1024, ge=1024)
    """Bytes of packets that are not whole yet, of all nodes; then who has most of it is dropped."""
    relay: bool = False
    """Pass multicast and broadcast on, as the drawings of the protocol's documents do; each message
    once. Nodes of other make send it to their subscribers as often as they get it."""
    multi_hop: bool = False
    """Reach subscribers on nodes beyond our neighbours, by way of others with this setting."""
