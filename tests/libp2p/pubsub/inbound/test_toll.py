"""The toll: what is charged for, when it means a rest and when the end, and what is free."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.limits import SHORTEST_REST
from rumormill.core.machine import Deliver, Drop, PeerJoined
from rumormill.core.transport import RestPeer
from rumormill.libp2p.effects import HeldBack
from rumormill.libp2p.gossipsub import GossipsubRouter
from rumormill.libp2p.gossipsub.features import MESHSUB_1_0
from rumormill.libp2p.pubsub.inbound import prices
from rumormill.libp2p.pubsub.inbound.toll import BUSY_BURST, MOST_DEBTORS
from rumormill.libp2p.pubsub.peers import OWN_BURST
from rumormill.libp2p.wire.frames import length_prefixed, prefix_length
from tests.helpers.core.protobuf_bytes import delimited
from tests.helpers.libp2p import siege_keys
from tests.helpers.libp2p import siege_payloads as payloads
from tests.helpers.libp2p.siege_payloads import TOPIC
from tests.helpers.libp2p.workbench import Workbench, gossipsub, origin_id, signed

SHARE, BURST, PATIENCE = 0.05, 0.01, 1.0
"""Ten milliseconds of work at once, and fifty a second."""


def bench(**parameters: Any) -> Workbench:
    """A node with an honest peer and one that costs it work."""
    # Without a score: it would have nothing read of them long before.
    work = {"work_share": SHARE, "work_burst": BURST, "work_patience": PATIENCE}
    found = gossipsub(**{"score": None, **work, **parameters})
    found.subscribe(TOPIC)
    found.join("honest", TOPIC)
    found.join("costly", protocol=MESHSUB_1_0)
    found.forget()
    return found


def rests(found: Workbench) -> list[tuple[str, str]]:
    """Who was held back, and for what, as the trace says; the same must have been carried out."""
    events = found.events(trace.HELD_BACK)
    wanted = [RestPeer(event.peer or "", float(str(event.fields["seconds"]))) for event in events]
    assert found.of(RestPeer) == wanted
    return [(event.peer or "", str(event.fields["reason"])) for event in events]


def iwants(count: int) -> Callable[[Workbench, int], bytes]:
    return lambda found, turn: payloads.iwant(count).data


def duplicates(found: Workbench, turn: int) -> bytes:
    # The honest peer has sent it before.
    message = payloads.message(siege_keys.ed25519_signer(bytes(32)), 1, TOPIC, b"rain")
    if turn == 0:
        found.say_bytes("honest", message)
    return in_one(message, 1000)


def in_one(message: bytes, count: int) -> bytes:
    """One RPC with so many copies of a message."""
    return length_prefixed(message[prefix_length(message) :] * count)


def unwanted(found: Workbench, turn: int) -> bytes:
    signer = siege_keys.ed25519_signer(bytes(32))
    message = payloads.message(signer, turn, "a topic that we do not have", b"snow")
    return in_one(message, 1000)


def unknown_fields(found: Workbench, turn: int) -> bytes:
    return length_prefixed(delimited(99, bytes(5000)))


def answers(found: Workbench, turn: int) -> bytes:
    """Ask for a message of half a megabyte that the node has."""
    message = signed("author", TOPIC, bytes(500_000), turn)
    found.send_message("honest", message)
    return payloads.iwant_of([origin_id(message)])


KINDS: dict[str, tuple[str, Callable[[Workbench, int], bytes], float]] = {
    "ids": ("message_ids", iwants(4000), 4000 * prices.MESSAGE_ID),
    "control": (
        "control", lambda *_: payloads.unknown_grafts(1000).data, 1000 * prices.ENTRY,
    ),
    "grafts in backoff": (
        "control", lambda *_: payloads.backoff_grafts(TOPIC, 1000).data, 1000 * prices.ENTRY,
    ),
    "empty subscriptions": (
        "subscriptions",
        lambda *_: payloads.empty_subscriptions(1000).data,
        1000 * prices.SUBSCRIPTION,
    ),
    "toggles": (
        "subscriptions", lambda *_: payloads.toggles(TOPIC, 1000).data, 1000 * prices.SUBSCRIPTION,
    ),
    "unknown fields": ("unknown_fields", unknown_fields, 5000 * prices.UNKNOWN_BYTE),
    "unwanted messages": ("messages", unwanted, 1000 * prices.UNWANTED_MESSAGE),
    "answers": ("answers", answers, 500_000 * prices.ANSWERED_BYTE),
}  # fmt: skip
"""The name in the trace, what the peer says in a turn, and what that costs at least."""


@pytest.mark.parametrize("kind", KINDS)
def test_work_beyond_the_burst_means_a_rest_with_its_name_and_then_the_end(kind: str) -> None:
    reason, say, price = KINDS[kind]
    found = bench()
    for turn in range(100):
        found.say_bytes("costly", say(found, turn))
        if turn == 0 and price < BURST * 1e6:
            assert rests(found) == [], "the burst is free"
        assert (found.pubsub.peers.keys() >= {"costly"}) == (found.of(Drop) == [])
        if found.of(Drop):
            break
        found.run_until(found.now + 0.01)  # it does not rest, as one may whose bytes are under way
    assert set(rests(found)) == {("costly", reason)}
    assert found.of(Drop) == [Drop("costly", "too_much_work")]
    (ended,) = found.events(trace.PROTOCOL_ERROR)
    assert ended.peer == "costly"
    assert ended.fields["detail"] == f"it has been held back too long, mostly for {reason}"


@pytest.mark.parametrize("kind", KINDS)
def test_the_rest_is_as_long_as_the_work_takes_to_be_paid(kind: str) -> None:
    _, say, price = KINDS[kind]
    found = bench()
    for turn in range(20):
        found.say_bytes("costly", say(found, turn))
        if found.of(RestPeer):
            break
    (rest,) = found.of(RestPeer)
    over = (turn + 1) * price / 1e6 - BURST
    assert over / SHARE <= rest.seconds <= (over + 0.5 * price / 1e6) / SHARE + 0.02


def test_who_rests_as_it_is_told_is_let_in_again_and_pays_no_more_than_its_share() -> None:
    found = bench()
    taken = 0
    end = found.now + 3.0
    while found.now < end and not found.of(Drop):
        found.say_bytes("costly", payloads.iwant(1000).data)
        taken += 1000
        rest = found.of(RestPeer)[-1].seconds if found.of(RestPeer) else 0.0
        found.effects = [each for each in found.effects if not isinstance(each, RestPeer)]
        found.run_until(found.now + rest)
    assert taken * prices.MESSAGE_ID <= (BURST + SHARE * 3.0) * 1e6 + 1000


def test_copies_of_a_message_may_mean_a_rest_but_are_no_reason_to_drop_anybody() -> None:
    found = bench()
    for turn in range(300):
        found.say_bytes("costly", duplicates(found, turn))
        found.run_until(found.now + 0.01)
    assert set(rests(found)) == {("costly", "duplicates")}
    assert found.of(Drop) == []


def test_forged_signatures_are_paid_for_by_the_kind_of_their_key() -> None:
    found = bench(score=None, max_rejections=1_000_000)
    count = 0
    while not found.of(RestPeer):
        message = payloads.message(siege_keys.rsa_forger(count), count, TOPIC, b"forged")
        found.say_bytes("costly", message)
        count += 1
    each = prices.RSA_BYTE * 1000
    assert BURST * 1e6 / (1.5 * each) <= count <= BURST * 1e6 / each + 1
    assert rests(found) == [("costly", "signatures")]


def test_of_signatures_that_are_dear_only_so_many_are_checked_and_the_sender_stays() -> None:
    found = bench()
    signer = siege_keys.p384_signer(1)
    for message in payloads.messages(signer, 0, 100):
        found.say_bytes("costly", message)
    affordable = int(BURST * 1e6 / prices.ECDSA_LARGER)
    assert len(found.delivered()) == affordable
    dropped = found.events(trace.DROPPED, peer="costly", reason="signatures_too_dear")
    assert len(dropped) == 100 - affordable
    found.run_until(found.now + 1.0)
    for message in payloads.messages(signer, 100, 1):
        found.say_bytes("costly", message)
    assert len(found.delivered()) == affordable + 1
    assert found.of(Drop) == []


def come(found: Workbench, peer: str, address: str) -> None:
    found.feed(PeerJoined(peer, MESHSUB_1_0, address=address))


HOME = "/ip4/192.0.2.7/tcp/"


@pytest.mark.parametrize("by_itself", [True, False])
def test_who_leaves_in_debt_and_comes_again_by_another_name_has_nothing_at_once(
    by_itself: bool,
) -> None:
    found = bench()
    come(found, "eve", HOME + "1")
    while not found.of(RestPeer if by_itself else Drop):
        found.say_bytes("eve", payloads.iwant(4000).data)
    if by_itself:
        found.leave("eve")
    found.forget()
    come(found, "eve again", HOME + "2")
    come(found, "neighbour", "/ip4/192.0.2.8/tcp/2")
    for peer in ("eve again", "neighbour"):
        found.say_bytes(peer, payloads.iwant(1000).data)
    assert [event.peer for event in found.events(trace.HELD_BACK)] == ["eve again"]


def test_debts_are_paid_by_time_while_the_peer_is_away() -> None:
    found = bench()
    come(found, "eve", HOME + "1")
    while not found.of(RestPeer):
        found.say_bytes("eve", payloads.iwant(4000).data)
    found.leave("eve")
    found.forget()
    found.run_until(found.now + 10.0)
    come(found, "eve again", HOME + "2")
    found.say_bytes("eve again", payloads.iwant(1000).data)
    assert rests(found) == []


def test_an_honest_peer_from_the_same_address_hardly_notices_the_debts_of_another() -> None:
    found = bench()
    come(found, "eve", HOME + "1")
    while not found.of(Drop):
        found.say_bytes("eve", payloads.iwant(4000).data)
    found.forget()
    come(found, "alice", HOME + "2")
    found.say_bytes("alice", payloads.subscribe(TOPIC))
    flood(found, "alice", 100)
    assert sum(rest.seconds for rest in found.of(RestPeer)) <= SHORTEST_REST
    assert len(found.of(Deliver)) == 100


def test_the_accounts_of_those_who_left_are_bounded() -> None:
    found = bench()
    for number in range(MOST_DEBTORS + 10):
        come(found, "eve", f"/ip4/10.{number >> 8}.{number & 255}.1/tcp/1")
        found.say_bytes("eve", payloads.iwant(5000).data)
        found.say_bytes("eve", payloads.iwant(5000).data)
        found.leave("eve")
        found.forget()
    assert found.pubsub.sizes()["debtors"] == MOST_DEBTORS


def test_a_router_hears_who_was_held_back_and_for_what() -> None:
    heard: list[tuple[str, str, float, float]] = []

    class Listening(GossipsubRouter):
        def held_back(self, peer: str, reason: str, seconds: float, now: float) -> None:
            heard.append((peer, reason, seconds, now))

    found = Workbench(Listening(), work_share=SHARE, work_burst=BURST)
    found.join("costly")
    for _ in range(3):
        found.say_bytes("costly", payloads.iwant(4000).data)
    ((peer, reason, seconds, now),) = heard
    assert (peer, reason, now) == ("costly", "message_ids", 0.0)
    assert found.of(RestPeer) == [RestPeer("costly", seconds)]
    found.feed(HeldBack("costly", "frames", 2.0))  # by the host, for what pubsub does not see
    found.feed(HeldBack("a stranger", "frames", 2.0))
    assert heard[1:] == [("costly", "frames", 2.0, 0.0)]


# ---- messages that are of use


def flood(found: Workbench, peer: str, count: int, first: int = 0) -> None:
    """So many valid messages of one peer, at once."""
    signer = siege_keys.ed25519_signer(peer.encode().ljust(32))
    found.verdicts.clear()
    for frame in payloads.messages(signer, first, count):
        found.say_bytes(peer, frame)


OWN = int(OWN_BURST * 1e6 / (prices.MESSAGE + prices.MESSAGE_SENT))
POT = int(BUSY_BURST * 1e6 / (prices.MESSAGE + prices.MESSAGE_SENT))
"""Messages that a peer may send before it counts as one that sends many, and those may together."""


def test_messages_that_are_of_use_cost_their_sender_nothing() -> None:
    found = bench()
    before = found.pubsub.peers["costly"].work.debt
    flood(found, "costly", OWN - 10)
    assert len(found.delivered()) == OWN - 10
    assert found.pubsub.peers["costly"].work.debt == before
    assert rests(found) == []


def test_who_sends_very_many_rests_while_others_are_connected_and_is_never_dropped() -> None:
    found = bench(busy_share=0.1)
    for turn in range(20):
        flood(found, "costly", 500, first=turn * 500)
        found.run_until(found.now + 0.01)
    assert set(rests(found)) == {("costly", "messages")}
    assert found.of(Drop) == []
    assert len(found.delivered()) == 10_000, "what was under way is taken"


def test_those_who_send_very_many_share_one_pot_and_the_others_have_none_of_it_to_pay() -> None:
    found = bench()
    found.join("second")
    flood(found, "costly", OWN + POT // 2)
    flood(found, "second", OWN)
    assert rests(found) == [], "neither alone has used up what they have in common"
    flood(found, "second", POT, first=OWN)
    flood(found, "honest", 20)
    assert {peer for peer, _ in rests(found)} == {"second"}
    flood(found, "costly", 1, first=OWN + POT)
    assert {peer for peer, _ in rests(found)} == {"second", "costly"}


def test_a_peer_that_is_alone_with_us_has_all_of_our_time() -> None:
    found = gossipsub()
    found.subscribe(TOPIC)
    found.join("only", TOPIC)
    flood(found, "only", 3 * (OWN + POT))
    assert rests(found) == []
    found.join("another")
    flood(found, "only", 3 * (OWN + POT), first=3 * (OWN + POT))
    assert {peer for peer, _ in rests(found)} == {"only"}


def test_the_talk_of_an_honest_peer_is_free_or_nearly_so() -> None:
    """Topics that it begins with, gossip, a mesh that changes: as go, rust and js do it."""
    found = gossipsub()
    topics = [f"topic{number}" for number in range(1000)]
    found.subscribe(*topics[:50])
    found.join("honest", *topics)
    for turn in range(60):
        found.run_until(float(turn))
        found.ihave("honest", topics[0], *[b"%d %d" % (turn, each) for each in range(500)])
        found.graft("honest", topics[turn % 50])
        found.prune("honest", topics[turn % 50])
        found.send_message("honest", signed("author", topics[1], b"%d" % turn, turn))
    assert rests(found) == []
    limits = found.pubsub.parameters.work_limits
    assert found.pubsub.peers["honest"].work.debt <= limits.burst_cost
