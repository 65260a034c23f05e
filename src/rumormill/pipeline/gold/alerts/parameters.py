"""From when on something is an alert."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from rumormill.core.errors import ConfigError

_SHARES: Final = (
    "eclipse_share",
    "eclipse_usual",
    "eclipse_rarely",
    "censorship_gap",
    "censorship_copies",
    "spam_share",
)


@dataclass(frozen=True)
class AlertParameters:
    """From when on something is an alert. Shares are between 0 and 1; in words: docs/alerts.md."""

    partition_nodes: int = 2
    """Partition: for the whole of a minute so many nodes, at least, are cut off from the rest."""

    eclipse_peers: int = 2
    """Eclipse: a node has nearly all copies that were handed on to it from so many peers..."""
    eclipse_share: float = 0.95
    """... namely this share of them..."""
    eclipse_usual: float = 0.75
    """... while for the node in the middle that share is at most this..."""
    eclipse_rarely: float = 0.02
    """... and at most this share of the nodes (or a single one) look like that..."""
    eclipse_copies: int = 50
    """... counting nodes that got so many messages in that minute, and so many copies from others
    than their publishers..."""
    eclipse_links: int = 5
    """... that have so many peers to hear from, as the node in the middle has..."""
    eclipse_publishers: float = 5.0
    """... where so many nodes publish about equally much (one that publishes nearly everything
    counts as little more than one)..."""
    eclipse_nodes: int = 20
    """... and so many nodes hear anything."""

    censorship_gap: float = 0.2
    """Censorship: a publisher's messages are delivered that much less often than the others'..."""
    censorship_sigmas: float = 5.0
    """... by so many standard deviations..."""
    censorship_expected: int = 100
    """... of at least so many expected deliveries..."""
    censorship_drops: float = 0.5
    """... and it dropped at most so many packets for each of them itself."""
    censorship_copies: float = 0.1
    """Or: a node hands on less than this share of the copies that the node in the middle does..."""
    censorship_deliveries: int = 100
    """... though it got so many messages..."""
    censorship_mesh: int = 3
    """... and so many peers, at least, hand theirs to it."""

    spam_share: float = 0.5
    """Spam: this share of what a peer sent in a minute was rejected..."""
    spam_factor: float = 5.0
    """... and so many times the share of the others'..."""
    spam_events: int = 50
    """... and so many pieces of it, at least."""
    spam_copies: float = 2.0
    """Or: it sent a node so many times more copies than the node had messages in that minute..."""
    spam_least_copies: int = 100
    """... and so many copies, at least."""

    misbehaviour_rules: int = 20
    """Misbehaviour: a peer broke a rule of conduct so often in a minute, for one reason..."""
    misbehaviour_ignored: int = 500
    """... or so much of what it sent was left aside, as it was more than a node takes..."""
    misbehaviour_errors: int = 3
    """... or it broke the protocol so often."""

    sybils_peers: int = 3
    """Sybils: so many peers have scores below 0 in a minute, for their silence or addresses."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value < 0:
                raise ConfigError(each.name, f"must not be below 0, not {value}")
            if each.name in _SHARES and value > 1:
                raise ConfigError(each.name, f"is a share, so it must not be above 1, not {value}")
