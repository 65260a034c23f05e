"""Under siege, in virtual time: who attacks pays, and who is honest does not notice.

The attacks are those of ``python -m bench siege``, from one peer and from eight at once. What is
looked at is work: how much the node took of each attacker, at the prices of
:mod:`~rumormill.libp2p.pubsub.inbound.prices`, against what the settings allow it in that time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pytest

from rumormill.core import trace
from rumormill.core.limits import MICROSECONDS
from rumormill.libp2p.pubsub.inbound import prices
from rumormill.libp2p.pubsub.inbound.toll import BUSY_BURST
from rumormill.libp2p.pubsub.peers import OWN_BURST, OWN_SHARE
from tests.helpers.libp2p import siege_keys
from tests.helpers.libp2p import siege_payloads as payloads
from tests.helpers.libp2p.siege_network import (
    FORGED,
    NODE,
    PUBLISHER,
    SUBSCRIBER,
    Flood,
    SiegeNetwork,
    again_and_again,
    one_by_one,
)
from tests.helpers.libp2p.siege_payloads import TOPIC, Payload

MESSAGES = 100
SECONDS = 3.0
PATIENCE = 1.0
"""Shorter than by default, so that it is worn out within that time."""

both = pytest.mark.parametrize("attackers", [1, 8])


def allowed(network: SiegeNetwork) -> float:
    """Microseconds of work that one attacker may cause in the whole time."""
    parameters = network.parameters
    seconds = parameters.work_burst + parameters.work_share * (SECONDS + 0.5)
    return seconds * MICROSECONDS


def besiege(make: Callable[[int], Flood], attackers: int, *, score: bool = True) -> SiegeNetwork:
    """A siege by so many; whatever they do, the honest pair must not notice."""
    floods = [make(number) for number in range(attackers)]
    network = SiegeNetwork(floods, score=score, work_patience=PATIENCE)
    network.besiege(SECONDS, MESSAGES)
    assert sorted(network.heard()) == sorted(b"honest %d" % each for each in range(MESSAGES))
    assert not {PUBLISHER, SUBSCRIBER} & network.held_back().keys()
    assert not {PUBLISHER, SUBSCRIBER} & network.drops.keys()
    return network


def named(network: SiegeNetwork, reason: str) -> None:
    """The trace says of each attacker for what it was held back, and then that it was dropped."""
    for attacker in network.attackers:
        held = network.events(trace.HELD_BACK, attacker)
        assert held[0].fields["reason"] == reason
        (dropped,) = network.events(trace.PROTOCOL_ERROR, attacker)
        assert dropped.fields["reason"] == network.drops[attacker] == "too_much_work"
        assert held[0].time < dropped.time
        rested = sum(float(str(event.fields["seconds"])) for event in held)
        assert rested <= PATIENCE + 0.1 * SECONDS + 0.01


# ---- A3: control and subscriptions


class ControlFlood(NamedTuple):
    """Frames that are sent again and again."""

    payload: Payload
    price: float
    """Of each thing that they are made of, at least."""
    reason: str


CONTROL = {
    "iwant": ControlFlood(payloads.iwant(), prices.MESSAGE_ID, "message_ids"),
    "empty-subscriptions": ControlFlood(
        payloads.empty_subscriptions(), prices.SUBSCRIPTION, "subscriptions"
    ),
    "unknown-grafts": ControlFlood(payloads.unknown_grafts(), prices.ENTRY, "control"),
    "backoff-grafts": ControlFlood(payloads.backoff_grafts(), prices.ENTRY, "control"),
    "toggles": ControlFlood(payloads.toggles(), prices.SUBSCRIPTION, "subscriptions"),
}


@both
@pytest.mark.parametrize("attack", CONTROL)
def test_a_flood_of_control_is_taken_no_faster_than_the_allowance_and_its_sender_dropped(
    attack: str, attackers: int
) -> None:
    flood = CONTROL[attack]
    # A score would soon have nothing read of who grafts within a backoff.
    network = besiege(lambda _: again_and_again(flood.payload), attackers, score=False)
    for attacker in network.attackers:
        frames = network.node.taken[attacker] / len(flood.payload.data)
        entries = frames * flood.payload.units
        # The last frame may go beyond it: then comes the rest.
        assert entries * flood.price <= allowed(network) + flood.payload.units * flood.price
        assert entries >= 10_000, "it was an attack"
        assert network.simulation.machine(attacker).sent > entries, "and would have gone on"
    named(network, flood.reason)


# ---- A5: signatures that are dear to check


def p384(number: int) -> Flood:
    signer = siege_keys.p384_signer(number)
    return one_by_one(lambda lot: payloads.packed(payloads.messages(signer, lot * 100, 100), 8_000))


@both
def test_only_as_many_signatures_of_p384_are_checked_as_the_allowance_pays_for(
    attackers: int,
) -> None:
    network = besiege(p384, attackers)
    for attacker in network.attackers:
        checked = network.checks[attacker]
        assert set(checked) == {prices.ECDSA_LARGER}
        assert len(checked) > 100
        assert sum(checked) <= allowed(network)
        dropped = [event.fields["reason"] for event in network.events(trace.DROPPED, attacker)]
        assert set(dropped) == {"signatures_too_dear"}
        # Looking at the others costs little, and that is paid for, too.
        unwanted = len(dropped) * prices.UNWANTED_MESSAGE
        assert unwanted <= allowed(network) + 100 * prices.UNWANTED_MESSAGE


def rsa_forged(number: int) -> Flood:
    def lot(which: int) -> list[Payload]:
        numbers = range(first := 10_000 * number + 20 * which, first + 20)
        frames = [
            payloads.message(siege_keys.rsa_forger(each), each, TOPIC, FORGED) for each in numbers
        ]
        return payloads.packed(frames, 8_000)

    return one_by_one(lot)


@both
def test_forged_signatures_of_rsa_are_paid_for_and_soon_nothing_is_read_of_their_sender(
    attackers: int,
) -> None:
    network = besiege(rsa_forged, attackers)
    for attacker in network.attackers:
        checked = network.checks[attacker]
        assert min(checked) > 10 * prices.ED25519
        assert sum(checked) <= allowed(network)
        assert len(checked) <= network.parameters.max_rejections + SECONDS + 20
        forged = network.events(trace.REJECTED, attacker)
        assert {event.fields["reason"] for event in forged} == {"bad_signature"}
        ignored = [event.fields["reason"] for event in network.events(trace.IGNORED, attacker)]
        assert set(ignored) == {"gate_closed"}
        assert attacker not in network.drops


# ---- A6: valid messages, very many


def ed25519(number: int) -> Flood:
    signer = siege_keys.ed25519_signer(bytes([number]) * 32)
    return one_by_one(
        lambda lot: payloads.packed(payloads.messages(signer, lot * 200, 200), 16_000)
    )


@both
def test_peers_that_send_very_many_valid_messages_share_a_part_of_our_time(attackers: int) -> None:
    network = besiege(ed25519, attackers)
    seconds = SECONDS + 0.5
    in_common = network.parameters.busy_share * seconds + BUSY_BURST
    own = OWN_SHARE * seconds + OWN_BURST
    packet = 100 * (prices.MESSAGE + prices.MESSAGE_SENT)
    cost = sum(
        # Each is checked and delivered, and goes on to the subscriber.
        len(network.checks[attacker]) * (prices.MESSAGE + prices.MESSAGE_SENT)
        for attacker in network.attackers
    )
    most = (in_common + own * attackers) * MICROSECONDS + packet * attackers
    assert 0.5 * most < cost <= most
    # They are not to blame: held back by name, and never dropped.
    assert network.drops == {}
    assert network.held_back().keys() == set(network.attackers)
    assert {reason for each in network.held_back().values() for reason in each} == {"messages"}
    shares = [len(network.checks[attacker]) for attacker in network.attackers]
    assert min(shares) > 0.5 * max(shares), "none of them has it all"


# ---- A9: large answers for small questions


@both
def test_large_messages_are_sent_again_only_as_far_as_the_allowance_pays_for_it(
    attackers: int,
) -> None:
    large: list[bytes] = []

    def ask(number: int) -> Flood:
        asked = 0
        while True:
            new = large[asked:]
            asked += len(new)
            # Within one RPC an id counts once, and three times each is answered.
            frame = payloads.iwant_of(new)
            for _ in range(4 if new else 0):
                yield Payload(frame, len(new))
            yield None

    network = SiegeNetwork([ask(number) for number in range(attackers)], work_patience=PATIENCE)
    simulation, size = network.simulation, 200_000

    def publish(number: int) -> None:
        network.publish((b"%06d" % number).ljust(size, b"."), NODE)

    for number in range(200):
        simulation.at(simulation.now + number * 0.02, partial(publish, number))
    simulation.on_effect(trace.TraceEvent, lambda node, event: _note(large, node, event))
    network.besiege(SECONDS, MESSAGES)
    assert len(network.heard()) == MESSAGES
    for attacker in network.attackers:
        answered = network.answered[attacker] * prices.ANSWERED_BYTE
        # One RPC may ask for some of them at once.
        assert answered <= allowed(network) + 8 * size * prices.ANSWERED_BYTE
        assert answered >= 0.5 * network.parameters.work_burst * MICROSECONDS, "it was an attack"
    assert network.held_back().keys() == set(network.attackers)
    named(network, "answers")


def _note(ids: list[bytes], node: str, event: trace.TraceEvent) -> None:
    if node == NODE and event.event == trace.PUBLISHED and event.message_id is not None:
        ids.append(event.message_id)


# ---- and in peace


def test_an_honest_peer_with_much_to_say_costs_nothing_and_is_never_held_back() -> None:
    network = SiegeNetwork([])
    network.besiege(SECONDS, 800)
    assert len(network.heard()) == 800
    assert network.held_back() == {}
    for peer in (PUBLISHER, SUBSCRIBER):
        assert network.node.peers[peer].work.debt < 0.01 * allowed(network)
