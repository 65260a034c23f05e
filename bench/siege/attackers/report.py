"""What an attacker says: one line of JSON at its end, the same for every family."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field


@dataclass
class Report:
    """What one program did, with all its identities together."""

    attack: str
    attackers: int
    sent_bytes: int = 0
    received_bytes: int = 0
    units: int = 0
    """Of what the flood is made of: ids, entries, messages, packets, connections."""
    reconnects: int = 0
    refused: int = 0
    """Connections that did not come about."""
    reasons: dict[str, int] = field(default_factory=dict)
    """Why connections ended, as far as it can be seen from here."""
    peers: list[str] = field(default_factory=list)
    """Whom the node should have named: those who attacked first."""
    began: float | None = None
    dropped_after: float | None = None
    """Seconds from the first byte of the attack to the end of the last of the first connections."""

    def begin(self) -> None:
        """The attack's first byte leaves."""
        if self.began is None:
            self.began = time.monotonic()

    def ended(self, reason: str) -> None:
        """A connection is over."""
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def line(self) -> str:
        """As JSON."""
        fields = {name: value for name, value in vars(self).items() if name != "began"}
        return json.dumps(fields)


def announce(attack: str, event: str = "began") -> None:
    """Everything is prepared, and the attack begins: whoever measures has waited for this."""
    print(json.dumps({"event": event, "attack": attack}), flush=True)
