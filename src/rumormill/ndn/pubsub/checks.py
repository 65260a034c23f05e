"""What others have signed and we have not looked at yet: checked outside, one answer for each.

Plain digests cost less than the way to a check and back, and are looked at on the spot; unless the
application has validators, a message with one goes straight on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from rumormill.core.machine import Check, Checked
from rumormill.core.message import Message
from rumormill.core.turn import Turn
from rumormill.ndn.security.trust import Trust
from rumormill.ndn.wire.name import Name
from rumormill.ndn.wire.signature import Signature, SignatureType


class Unverified(NamedTuple):
    """The subject of a check.

    It is genuine if ``verified`` is set, or else if a :class:`Trust` believes its signature for its
    topic; validators see ``message``, if there is one.
    """

    kind: str
    """What it is: "notify", "message", "manifest" or "acknowledgement"."""
    topic: Name
    signature: Signature | None
    message: Message | None = None
    verified: bool = False

    def genuine(self, trust: Trust) -> bool:
        """Whether it is by somebody who may write to the topic; may be asked in any thread."""
        return self.verified or trust.verdict(self.topic, self.signature)


Answer: TypeAlias = Callable[[Checked], None]


class Checks:
    """Checks under way. Each is of something that has a limit elsewhere."""

    def __init__(self, turn: Turn, trust: Trust) -> None:
        self._turn = turn
        self._trust = trust
        self._answers: dict[int, Answer] = {}
        self._last_token = 0

    def __len__(self) -> int:
        return len(self._answers)

    def at_once(self, topic: Name, signature: Signature | None) -> bool | None:
        """Whether it is genuine, if that is told without a key; else None."""
        if signature is None or signature.type == SignatureType.DIGEST:
            return self._trust.verdict(topic, signature)
        return None

    def begin(self, subject: Unverified, peer: str | None, answer: Answer) -> int:
        """Have something checked; returns the number by which it can be forgotten."""
        self._last_token += 1
        token = self._last_token
        self._answers[token] = answer
        cost = 0.0 if subject.verified else self._trust.cost(subject.signature)
        self._turn.add(Check(token, subject, peer, cost))
        return token

    def forget(self, token: int) -> None:
        """The answer is of no use any more."""
        self._answers.pop(token, None)

    def checked(self, answer: Checked) -> None:
        """An answer; one that nobody waits for is nothing."""
        wanted = self._answers.pop(answer.token, None)
        if wanted is not None:
            wanted(answer)
