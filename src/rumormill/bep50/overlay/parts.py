"""The parts of an overlay node, each given what it needs: first those that need nobody."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from rumormill.bep50.guards.acquaintances import Awaits, Known
from rumormill.bep50.guards.proofs import ProvenAddresses
from rumormill.bep50.guards.tokens import Tokens
from rumormill.bep50.overlay.duties import Common, Duties
from rumormill.bep50.overlay.members.joining import Joining
from rumormill.bep50.overlay.members.keepalive import Keepalive
from rumormill.bep50.overlay.members.peer_book import PeerBook
from rumormill.bep50.overlay.parameters import OverlayParameters
from rumormill.bep50.overlay.topic_node import TopicNode
from rumormill.bep50.overlay.traffic.answering import Answering, Guards
from rumormill.bep50.overlay.traffic.drops import Drops, Wakeable
from rumormill.bep50.overlay.traffic.outbox import Outbox
from rumormill.bep50.overlay.traffic.replies import Replies
from rumormill.bep50.overlay.traffic.toll import Toll
from rumormill.bep50.overlay.values.forwarding import Forwarding
from rumormill.bep50.overlay.values.item_checks import ItemChecks
from rumormill.bep50.overlay.values.publishing import Publishing
from rumormill.bep50.wire.keys import ItemKey
from rumormill.core.gate import Gate
from rumormill.core.limits import Allowance
from rumormill.core.timers import Timers

PINGS_AT_ONCE = 2.0
"""Seconds' worth of pings to strangers that may be sent at once."""


class Parts(NamedTuple):
    """What a node calls; the other parts are known to these alone."""

    common: Common
    guards: Guards
    checks: ItemChecks
    joining: Joining
    duties: Duties
    answering: Answering
    publishing: Publishing


def build(
    own_id: bytes,
    keys: Mapping[bytes, ItemKey],
    parameters: OverlayParameters,
    random: Random,
    entropy: Random,
    outbox: Outbox,
    timers: Timers[Wakeable],
    topics: Mapping[bytes, TopicNode],
    awaits: Awaits,
) -> Parts:
    """Make the parts of one node.

    ``topics`` are those that it takes part in, by their target; ``awaits`` says of an answer
    whether somebody waits for it.
    """
    most, rate = parameters.most_addresses, parameters.ping_back_rate
    proofs = ProvenAddresses(parameters.proof_lifetime, most)
    drops = Drops(outbox, timers)
    tokens = Tokens(entropy, parameters.token_rotation)
    book = PeerBook()
    known = Known(book.is_neighbour, proofs, tokens, awaits)
    gate = Gate(parameters.work_limits, parameters.strangers_share, known, most)
    toll = Toll(gate, outbox, timers)
    common = Common(
        own_id, parameters, random, entropy, outbox, timers, drops, book, proofs, toll
    )  # fmt: skip
    guards = Guards(tokens, Allowance(rate, max(1.0, rate * PINGS_AT_ONCE)))
    replies = Replies(own_id, outbox)
    forwarding = Forwarding(parameters, outbox, timers, drops)
    joining = Joining(common)
    checks = ItemChecks(common, replies, forwarding)
    keepalive = Keepalive(common, forwarding, joining, checks)
    return Parts(
        common,
        guards,
        checks,
        joining,
        Duties(forwarding, keepalive, joining),
        Answering(common, guards, topics, replies, checks),
        Publishing(keys, outbox, forwarding, parameters.deliver_own),
    )
