"""A family's part in a network: what it says of it, and how it starts, publishes, connects, leaves.

The rest, which is the same for every family, is :class:`rumormill.live.network.Network`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from rumormill.core import trace
from rumormill.core.receipt import Receipt
from rumormill.live.topics.subscription import WhenFull

SHIFTS = frozenset(
    (
        trace.PEER_SUBSCRIBED, trace.PEER_UNSUBSCRIBED, trace.GRAFTED, trace.PRUNED,
        trace.PEER_JOINED, trace.PEER_LEFT, trace.SUBSCRIBED, trace.UNSUBSCRIBED,
        trace.RELAY_BEGAN, trace.RELAY_ENDED,
    )
)  # fmt: skip
"""Events that may change who would get a message."""


class FamilyPart(ABC):
    """What a family has to say of its network, and what it may leave unsaid."""

    when_full: ClassVar[WhenFull] = "wait"
    """What a subscription does that is full and was not told what to do."""

    shifts: ClassVar[frozenset[str]] = SHIFTS
    """Events that whoever waits for peers wants to look at."""

    repeatable: ClassVar[frozenset[str]] = frozenset()
    """Kinds of the family's own that a peer can bring about at will, to be summed up in traces."""

    instead_of_relay: ClassVar[str] = "subscribe to it, and leave its messages unread"
    """What to do where topics cannot be relayed; for the sentence that says so."""

    id: str
    """Who we are on the network."""

    # ---- who and where

    @property
    def trace_name(self) -> str:
        """What this node is called in trace events: what others call it as a peer."""
        return self.id

    @property
    @abstractmethod
    def addresses(self) -> tuple[str, ...]:
        """Where others can reach us."""

    @property
    def services(self) -> Mapping[str, tuple[str, ...]]:
        """Where we answer others than peers, by what that is for; most networks have no such."""
        return {}

    @property
    @abstractmethod
    def peers(self) -> tuple[str, ...]:
        """Whom we are connected to."""

    def _trace_peers(self) -> tuple[str, ...]:
        """The same by all names that trace events have for them."""
        return self.peers

    @abstractmethod
    def subscribers(self, topic: str) -> tuple[str, ...]:
        """Peers that listen to the topic, as far as we know."""

    def mesh(self, topic: str) -> tuple[str, ...]:
        """Peers that get every message of the topic from us, where the network has such."""
        return ()

    # ---- what it does

    @abstractmethod
    async def connect(self, address: str, keep: bool = False) -> str:
        """Connect to the peer at ``address`` and return its id.

        With ``keep``, it is dialed again whenever the connection is lost. Raises
        :class:`ConnectError` that names the address and says why.
        """

    @abstractmethod
    async def publish(
        self,
        topic: str | Sequence[str],
        data: bytes,
        *,
        ready: float | None = None,
        timeout: float = 5.0,
    ) -> Receipt:
        """Publish ``data``; the receipt says whom it went to and what was dropped.

        With ``ready``, wait up to so many seconds until at least one peer would get it, and raise
        :class:`NotReadyError` if none comes. ``timeout`` seconds are what publishing itself may
        take. Our own validator of the topic is asked first (:class:`RejectedError`).
        """

    def _begin_relay(self, topic: str) -> None:
        """Pass the topic on from now on; only where ``capabilities.relays``."""
        raise NotImplementedError

    def _end_relay(self, topic: str) -> None:
        """Pass it on no longer."""
        raise NotImplementedError

    @abstractmethod
    def _has_targets(self, topics: tuple[str, ...]) -> bool:
        """Whether anyone would get a message that is published now."""

    @abstractmethod
    def _hold(self, paused: bool) -> None:
        """Hold all peers back, or let them go on."""

    @abstractmethod
    async def _start(self) -> None:
        """Listen and dial."""

    @abstractmethod
    async def _leave(self) -> None:
        """Say goodbye and close all sockets."""
