"""The thirteen defects of the original PubSub, each with what ours does instead.

Numbers are those of the facts about the protocol. Where a defect is one of sockets, forwarders or
the command line too, the rest is shown in the rooms that own these: tests/ndn/faces,
tests/ndn/client, tests/ndn/forwarder and tests/interop.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rumormill.core.errors import LocalProtocolError, MessageTooLargeError
from rumormill.core.machine import Unsubscribe, Verdict
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.wire.interest import encode_interest
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import name_from_uri
from tests.helpers.ndn.pubsub import Faults, Packet, Town, foreign_message, foreign_notify

K = b"\x0c\x89\x70\x94"
MSG_ROUTE = name_from_uri("/alice/msg")


def losing(source: str, kind: str, *which: int) -> Faults:
    """Of what one sends of a kind, lose these, counted from 0."""
    seen = 0

    def faults(packet: Packet) -> Sequence[float]:
        nonlocal seen
        if (packet.source, packet.kind) != (source, kind):
            return (0.005,)
        seen += 1
        return () if seen - 1 in which else (0.005,)

    return faults


def test_b1_the_forwarding_hint_is_on_the_wire_and_brings_the_interest_to_the_publisher() -> None:
    town = Town()
    alice = town.add("/alice", parameters=PubSubParameters(forwarding_hint="/gate"))
    bob = town.add("/bob", "/t/x")
    town.run(1)
    town.routes.pop(MSG_ROUTE)  # her prefix is not announced; the hint is
    alice.publish("/t/x", b"hello")
    town.run(1)
    fetch = town.between("/bob", "interest")[0].interest
    assert fetch.forwarding_hint == (name_from_uri("/gate"),)
    assert bob.messages == [b"hello"] and alice.outcomes == ["delivered"]


def test_b2_a_duplicate_notify_is_acknowledged_again_and_not_delivered_again() -> None:
    town = Town(faults=losing("/bob", "data", 0))
    alice, bob = town.add("/alice"), town.add("/bob", "/t/x")
    town.run(1)
    alice.publish("/t/x", b"hello")
    town.run(5)
    assert alice.outcomes == ["delivered"]
    assert alice.receipts[0].fields["attempts"] == 2
    assert alice.receipts[0].fields["seconds"] < 1.1
    assert bob.messages == [b"hello"] and len(bob.traced("duplicate")) == 1


def test_b3_the_message_can_be_fetched_as_long_as_notifies_are_sent() -> None:
    town = Town(faults=losing("/alice", "interest", 0, 1))
    alice, bob = town.add("/alice"), town.add("/bob", "/t/x")
    town.run(1)
    alice.publish("/t/x", b"hello")
    town.run(5)
    assert bob.messages == [b"hello"]
    assert alice.outcomes == ["delivered"] and alice.receipts[0].fields["attempts"] == 3


def test_b4_each_notify_is_acknowledged_under_its_own_name() -> None:
    """A publisher with random signatures has another name for each try; ours signs once."""
    town = Town(nacks=False)
    bob = town.add("/bob", "/t/x")
    tries = [
        foreign_notify("/t/x", "/alice", K, signature_nonce=bytes([number] * 8))
        for number in range(3)
    ]
    bob.interest(tries[0])
    town.run(1.5)  # the first Interest for the message is lost
    bob.interest(tries[1])
    bob.data(foreign_message("/t/x", "/alice", K, b"hello"))
    town.run(0)
    bob.interest(tries[2])
    acknowledged = [packet.name for packet in town.between("/bob", "data")]
    assert acknowledged == [each.name for each in tries]
    assert bob.messages == [b"hello"]


def test_b4_our_own_notify_keeps_its_name() -> None:
    town = Town(nacks=False)
    alice, _ = town.add("/alice"), town.add("/bob", "/other")
    town.routes[name_from_uri("/t/x/notify")] = {"/bob": None}
    alice.publish("/t/x", b"hello")
    town.members["/bob"].up = False
    town.run(5)
    tries = [packet.interest for packet in town.between("/alice", "interest")]
    assert len(tries) == 3 and len({each.name for each in tries}) == 1
    assert len({each.nonce for each in tries}) == 3


@pytest.mark.parametrize(
    "verdict", [Verdict.REJECT, Verdict.IGNORE, Verdict.FORGED, Verdict.OVERLOADED]
)
def test_b5_a_message_that_is_not_taken_ends_nothing_but_itself(verdict: str) -> None:
    town = Town()
    alice, bob = town.add("/alice"), town.add("/bob", "/t/x")
    bob.judge = lambda message: verdict if message.data == b"bad" else Verdict.ACCEPT
    town.run(1)
    alice.publish("/t/x", b"bad")
    town.run(4)
    alice.publish("/t/x", b"good")
    town.run(4)
    assert bob.messages == [b"good"]
    assert alice.outcomes == ["unknown", "delivered"]
    assert town.between("/bob", "nack")


def test_b5_a_malformed_notify_is_refused_and_the_next_one_taken() -> None:
    town = Town(nacks=False)
    bob = town.add("/bob", "/t/x")
    bob.interest(foreign_notify("/t/x", "", K, parameters=b"\x80\x01k"))
    assert bob.reasons("rejected") == ["bad_notify"]
    assert town.between("/bob", "nack")[0].reason == NackReason.NO_ROUTE
    bob.interest(foreign_notify("/t/x", "/alice", K))
    bob.data(foreign_message("/t/x", "/alice", K, b"hello"))
    town.run(0)
    assert bob.messages == [b"hello"]


def test_b5_unsubscribing_while_a_message_is_fetched_harms_nobody() -> None:
    town = Town(faults=losing("/alice", "data", 0))
    alice, bob = town.add("/alice"), town.add("/bob", "/t/x")
    town.run(1)
    alice.publish("/t/x", b"hello")
    town.run(0.5)
    bob.feed(Unsubscribe("/t/x"))
    town.run(3)
    assert bob.messages == [] and alice.outcomes == ["unknown"]
    assert bob.pubsub.sizes()["interests"] == 0 == bob.pubsub.sizes()["arrivals"]


def test_b6_after_unsubscribing_a_publisher_hears_at_once_that_there_is_nobody() -> None:
    town = Town()
    alice, bob = town.add("/alice"), town.add("/bob", "/t/x")
    town.run(1)
    bob.feed(Unsubscribe("/t/x"))
    alice.publish("/t/x", b"hello")
    town.run(1)
    assert alice.outcomes == ["no_subscriber"]
    assert alice.receipts[0].fields["reason"] == "no_route"
    assert alice.receipts[0].fields["seconds"] < 0.1


def test_b6_another_subscriber_is_reached_after_one_has_left() -> None:
    town = Town()
    alice, bob, carol = town.add("/alice"), town.add("/bob", "/t/x"), town.add("/carol", "/t/x")
    town.run(1)
    bob.feed(Unsubscribe("/t/x"))
    alice.publish("/t/x", b"hello")
    town.run(1)
    assert (bob.messages, carol.messages) == ([], [b"hello"])


def test_b7_who_leaves_withdraws_its_routes() -> None:
    """That a client says so to its forwarder before it closes is shown in tests/ndn/client; that
    faces of the dead go away, in tests/ndn/faces and tests/ndn/forwarder."""
    town = Town()
    bob = town.add("/bob", "/t/x", "/t/y")
    alice = town.add("/alice")
    town.run(1)
    bob.run(bob.pubsub.shutdown)
    alice.publish("/t/x", b"hello")
    town.run(1)
    assert all("/bob" not in hops for hops in town.routes.values())
    assert alice.outcomes == ["no_subscriber"]


def test_b7_a_dead_subscriber_costs_one_lifetime_since_the_next_try_goes_to_another() -> None:
    town = Town(faults=lambda packet: () if packet.destination == "/dead" else (0.005,))
    alice, _, carol = town.add("/alice"), town.add("/dead", "/t/x"), town.add("/carol", "/t/x")
    town.run(1)
    alice.publish("/t/x", b"hello")
    town.run(5)
    assert carol.messages == [b"hello"] and alice.outcomes == ["delivered"]
    assert alice.receipts[0].fields["attempts"] == 2


def test_b8_a_message_above_a_packet_is_refused_before_anything_is_sent() -> None:
    town = Town()
    alice = town.add("/alice")
    town.add("/bob", "/t/x")
    town.run(1)
    with pytest.raises(MessageTooLargeError, match="8800 bytes"):
        alice.publish("/t/x", bytes(8800))
    most = alice.pubsub.largest_message("/t/x")
    with pytest.raises(MessageTooLargeError):
        alice.publish("/t/x", bytes(most + 16))
    assert not town.sent and alice.pubsub.sizes()["publications"] == 0
    alice.publish("/t/x", bytes(most))
    town.run(1)
    assert alice.outcomes == ["delivered"]
    assert max(len(packet.raw) for packet in town.sent) <= 8800


def test_b9_a_subscription_counts_once_the_forwarder_has_taken_the_route() -> None:
    """That ``subscribe`` of the API waits for it is shown in tests/ndn/live."""
    town = Town(latency=0.2)
    bob = town.add("/bob", "/t/x")
    assert not bob.traced("subscribed") and not bob.pubsub.is_ready("/t/x")
    town.run(0.3)
    assert bob.traced("subscribed") and bob.pubsub.is_ready("/t/x")


def test_b9_a_route_that_is_refused_is_told() -> None:
    town = Town()
    bob = town.add("/bob", up=False)
    bob.refuses[name_from_uri("/t/x/notify")] = "403 not yours"
    bob.connect()
    bob.subscribe("/t/x")
    town.run(1)
    refused = bob.traced("route_refused")[0].fields
    assert refused == {"prefix": "/t/x/notify", "reason": "403 not yours"}
    assert not bob.traced("subscribed") and not bob.pubsub.is_ready("/t/x")


def test_b9_a_message_that_is_published_at_once_waits_until_others_can_fetch_it() -> None:
    town = Town(latency=0.05)
    bob = town.add("/bob", "/t/x")
    town.run(1)
    alice = town.add("/alice")
    alice.publish("/t/x", b"hello")
    town.run(3)
    assert bob.messages == [b"hello"]
    assert alice.outcomes == ["delivered"] and alice.receipts[0].fields["attempts"] == 1


def test_b10_the_same_nonce_of_another_publisher_or_topic_is_another_message() -> None:
    town = Town(nacks=False)
    bob = town.add("/bob", "/t/x", "/t/y")
    for topic, publisher in (("/t/x", "/alice"), ("/t/x", "/carol"), ("/t/y", "/alice")):
        bob.interest(foreign_notify(topic, publisher, K))
        bob.data(foreign_message(topic, publisher, K, f"{publisher}{topic}".encode()))
    town.run(0)
    assert bob.messages == [b"/alice/t/x", b"/carol/t/x", b"/alice/t/y"]
    assert len({event.message_id for event in bob.traced("delivered")}) == 3


def test_b11_topics_are_text() -> None:
    town = Town()
    alice, bob = town.add("/alice"), town.add("/bob", "/Stra%C3%9Fe/8=x")
    town.run(1)
    alice.publish("/Stra%C3%9Fe/8=x", b"hello")
    town.run(1)
    assert bob.messages == [b"hello"]


@pytest.mark.parametrize("topic", ["weather", "", "/", "/a//b", "/a/%zz"])
def test_b11_what_is_no_name_is_refused_in_words(topic: str) -> None:
    town = Town()
    alice = town.add("/alice")
    with pytest.raises(LocalProtocolError, match=r"name|topic"):
        alice.publish(topic, b"hello")
    with pytest.raises(LocalProtocolError, match=r"name|topic"):
        alice.subscribe(topic)
    assert alice.pubsub.topics() == () and alice.pubsub.sizes()["publications"] == 0


def test_b12_of_a_message_that_is_over_a_few_bytes_are_kept_and_not_for_ever() -> None:
    parameters = PubSubParameters(max_remembered=100, max_lingering=100, linger=2)
    town = Town()
    alice = town.add("/alice", parameters=parameters)
    bob = town.add("/bob", "/t/x", parameters=parameters)
    town.run(1)
    for _ in range(300):
        alice.publish("/t/x", bytes(1000))
        town.run(0.05)
    assert len(bob.messages) == 300
    assert alice.pubsub.sizes()["lingering"] <= 100
    assert bob.pubsub.sizes()["remembered"] <= 100
    remembered = bob.pubsub._recent._seen
    assert {len(message_id) for message_id in remembered} == {16}
    town.run(parameters.deduplication_seconds + 2)
    assert alice.pubsub.sizes()["kept"] == 0 == bob.pubsub.sizes()["remembered"]
    assert alice.pubsub.next_wake() is None and bob.pubsub.next_wake() is None


def test_b13_a_nack_or_data_that_nobody_waits_for_is_counted_and_nothing_else() -> None:
    """That link packets are put together again, and that nobody writes without looking whether the
    other end reads, is shown in tests/ndn/faces."""
    town = Town(nacks=False)
    bob = town.add("/bob", "/t/x")
    bob.nack(encode_interest(name_from_uri("/who"), nonce=b"1234"), NackReason.NO_ROUTE)
    bob.data(foreign_message("/t/x", "/alice", K, b"hello"))
    assert bob.reasons("ignored") == ["unexpected_nack", "unexpected_data"]
    assert bob.messages == [] and not town.sent


def test_b13_what_answers_an_interest_comes_with_its_token() -> None:
    town = Town(nacks=False)
    alice = town.add("/alice", "/t/x")
    town.run(1)
    alice.publish("/t/y", b"mine")
    name = foreign_message("/t/y", "/alice", b"", None).name
    k = next(iter(alice.pubsub._state._kept))[-8:]
    alice.interest(encode_interest(name[:-2] + b"\x08\x08" + k, nonce=b"1234"), b"fetch")
    alice.interest(encode_interest(name_from_uri("/alice/msg/no"), nonce=b"1234"), b"unknown")
    alice.interest(foreign_notify("/t/x", "/carol", K), b"notify")
    alice.data(foreign_message("/t/x", "/carol", K, b"hello"))
    town.run(0)
    answers = [
        (each.kind, each.token) for each in town.between("/alice") if each.kind != "interest"
    ]
    assert answers == [("data", b"fetch"), ("nack", b"unknown"), ("data", b"notify")]
