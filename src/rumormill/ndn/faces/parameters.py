"""What can be set of faces."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from rumormill.core.limits import WorkLimits
from rumormill.core.parameters import Parameters
from rumormill.ndn.wire.tlv import MOST_PACKET

LEAST_MTU: Final = 256
"""Bytes. With less, a packet would be cut into more fragments than others put together."""


class FaceParameters(Parameters):
    """Connections and datagrams, and the limits of what waits for them.

    >>> FaceParameters(mtu=9000)
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: mtu: input should be less than or equal to 8800 (got 9000)
    """

    # ---- dialing
    dial_timeout: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Seconds until a connection must stand."""
    redial_first_delay: float = Field(default=0.25, gt=0, allow_inf_nan=False)
    """Seconds before an address to be kept is dialed again; doubles with every failure."""
    redial_longest_delay: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Seconds between two dials of an address at most."""
    redial_jitter: float = Field(default=0.5, ge=0, le=1)
    """Part of a delay that is added at random, so that not all come back at once."""
    stable_after: float = Field(default=10.0, ge=0, allow_inf_nan=False)
    """Seconds that a connection must have lived for the delays to begin anew."""

    # ---- how many
    max_faces: int = Field(default=1024, ge=1)
    """Connections of others that may stand at once; further ones are refused. Those that we dial
    do not count."""
    max_udp_faces: int = Field(default=1024, ge=1)
    """Addresses that may speak to us by UDP without having been dialed. Past it, one gives way that
    has been silent for a while, or the new one is refused."""
    max_faces_of_owner: int = Field(default=128, ge=1)
    """How many of either may be of one IP address (of IPv6: one network of 64 bits). On this
    machine there may be as many as there is room for."""

    # ---- time
    udp_idle: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    """Seconds of silence after which an address that speaks to us by UDP is forgotten, with its
    routes; those that we dial are kept."""
    silent_timeout: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds that who connects to us has for its first packet. After that it may be silent for
    ever: subscribers of a quiet topic are."""
    stall_timeout: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    """Seconds that a connection may take no bytes for; then it is closed."""

    # ---- what waits to be sent
    face_queue_bytes: int = Field(default=4 * 1024 * 1024, ge=64 * 1024)
    """Bytes that may wait for one connection: what it does not take because it is slow, and all
    that one turn brings. Past half of it Interests are dropped, past all of it Data and Nacks."""
    max_queue_bytes: int = Field(default=64 * 1024 * 1024, ge=64 * 1024)
    """Bytes that may wait for all connections that are slow, together; past it, the one that has
    most of them is closed."""

    # ---- datagrams
    mtu: int = Field(default=1400, ge=LEAST_MTU, le=MOST_PACKET)
    """Bytes of a datagram that we send; a larger packet is sent in fragments."""
    reassembly_timeout: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    """Seconds from the first fragment of a packet until it must be whole."""
    max_reassemblies: int = Field(default=1024, ge=1)
    """Packets of which some fragments have come, of all faces; past it the oldest is dropped."""
    max_face_reassemblies: int = Field(default=64, ge=1)
    """The same of one face."""
    max_reassembly_bytes: int = Field(default=8 * 1024 * 1024, ge=64 * 1024)
    """Bytes of memory that those fragments may take; past it the oldest packet is dropped."""
    max_fragments: int = Field(default=256, ge=2, le=65_535)
    """Fragments that a packet may have."""

    # ---- what others make us do
    work_share: float = Field(default=0.05, gt=0, le=1)
    """Part of one core that a face may make us work for nothing; then it has to wait, and if it
    goes on it is closed."""
    work_burst: float = Field(default=0.1, gt=0, allow_inf_nan=False)
    """Seconds of such work at once."""
    strangers_share: float = Field(default=0.2, gt=0, le=1)
    """Part of one core that all who speak by UDP and were not dialed may make us work for nothing,
    together."""

    @property
    def work_limits(self) -> WorkLimits:
        """How much work one face may make us do for nothing."""
        return WorkLimits(self.work_share, self.work_burst)
