"""One Interest that waits for its Data: who wants it, and who was asked for it."""

from __future__ import annotations

from rumormill.ndn.forwarder.face_state import FaceState
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.name import Name

Selectors = tuple[bool, bool, tuple[Name, ...]]
"""What tells Interests of one name apart: CanBePrefix, MustBeFresh, and the forwarding hint."""


class InRecord:
    """A face that wants the Data."""

    __slots__ = ("cost", "expires", "nonce", "state", "token")

    def __init__(
        self, state: FaceState, nonce: bytes, expires: float, token: bytes, cost: int
    ) -> None:
        self.state = state
        self.nonce = nonce
        self.expires = expires
        self.token = token
        """Goes back with the Data."""
        self.cost = cost


class OutRecord:
    """A face that was asked for the Data."""

    __slots__ = ("expires", "nack", "nonce", "sent")

    def __init__(self, nonce: bytes, sent: float, expires: float) -> None:
        self.nonce = nonce
        self.sent = sent
        self.expires = expires
        self.nack: int | None = None
        """Why it cannot answer, if it has said so."""


class PitEntry:
    """All that wait for the same."""

    __slots__ = (
        "expires", "here", "ins", "interest", "interval", "outs", "sent", "tick", "token",
        "variants",
    )  # fmt: skip

    def __init__(self, interest: Interest, here: bool) -> None:
        self.interest = interest
        """As it was sent on last."""
        self.here = here
        """Whether it may go to programs on this machine only."""
        self.ins: dict[int, InRecord] = {}
        self.outs: dict[int, OutRecord] = {}
        """Both by the numbers of faces."""
        self.expires = 0.0
        self.tick = 0
        self.sent = 0.0
        """When it was sent on last."""
        self.interval = 0.0
        """Seconds from then for which it is not sent on again."""
        self.token = b""
        self.variants: dict[Selectors, PitEntry] | None = None
        """All entries of the same name, this one too, if there is more than one."""


def selectors(interest: Interest) -> Selectors:
    """What tells an Interest apart from others of the same name."""
    return interest.can_be_prefix, interest.must_be_fresh, interest.forwarding_hint
