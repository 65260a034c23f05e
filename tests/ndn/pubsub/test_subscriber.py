"""What a subscriber does with notifications, and with messages that it fetches."""

from __future__ import annotations

import pytest

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Check, Deliver, Unsubscribe, Verdict
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest, encode_interest
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import name_from_uri
from rumormill.ndn.wire.notify import NotifyParameters, encode_notify, notify_name
from tests.helpers.ndn.pubsub import Member, Packet, Town, foreign_message, foreign_notify

K = b"\x0c\x89\x70\x94"
NOTIFY = foreign_notify("/t/x", "/alice", K)
MESSAGE = foreign_message("/t/x", "/alice", K, b"hello")


def subscriber(parameters: PubSubParameters | None = None) -> tuple[Town, Member]:
    """Somebody who listens to /t/x, on a line where nobody answers by itself."""
    town = Town(nacks=False)
    bob = town.add("/bob", "/t/x", parameters=parameters or PubSubParameters())
    town.run(1)
    return town, bob


def kinds(packets: list[Packet]) -> list[str]:
    return [packet.kind for packet in packets]


def again(number: int) -> Interest:
    """The same notification under another name."""
    return foreign_notify("/t/x", "/alice", K, signature_nonce=bytes([number] * 8))


def arrive(bob: Member, notify: Interest = NOTIFY, message: Data = MESSAGE) -> None:
    bob.interest(notify)
    bob.data(message)
    bob.town.run(0)


# ---- from a notification to a delivery


def test_a_message_tells_who_published_it_and_has_the_id_of_its_name() -> None:
    _, bob = subscriber()
    arrive(bob)
    message = bob.of(Deliver)[0].message
    assert (message.topic, message.data, message.sender) == ("/t/x", b"hello", "/alice")
    assert (message.network, message.received_from) == ("ndn", "/alice")
    assert message.received_at == 1.0 and message.fields == {"signed_by": None}
    event = bob.traced("delivered")[0]
    assert (event.topic, event.message_id, event.peer) == ("/t/x", message.id, "/alice")
    assert event.fields == {"size": 5, "sender": "/alice"}


def test_packets_as_ndnts_writes_them_are_taken() -> None:
    _, bob = subscriber()
    nonce = bytes(range(8))
    notify = foreign_notify("/t/x", "/alice", nonce, signature_nonce=b"12345678", hint="/gate")
    arrive(bob, notify, foreign_message("/t/x", "/alice", nonce, b"hello", content_type=None))
    assert bob.messages == [b"hello"]


@pytest.mark.parametrize("nonce", [b"", b"1", bytes(300)])
def test_nonces_of_any_length_are_taken(nonce: bytes) -> None:
    _, bob = subscriber()
    arrive(
        bob,
        foreign_notify("/t/x", "/alice", nonce),
        foreign_message("/t/x", "/alice", nonce, b"hello"),
    )
    assert bob.messages == [b"hello"]


@pytest.mark.parametrize("content", [None, b""])
def test_an_empty_message_is_one(content: bytes | None) -> None:
    _, bob = subscriber()
    arrive(bob, message=foreign_message("/t/x", "/alice", K, content))
    assert bob.messages == [b""]


def test_an_unsigned_notification_is_as_good_as_one_with_a_digest() -> None:
    _, bob = subscriber()
    notify = encode_interest(
        notify_name(name_from_uri("/t/x")), nonce=b"1234",
        parameters=encode_notify(NotifyParameters(name_from_uri("/alice"), K)),
    )  # fmt: skip
    arrive(bob, notify)
    assert bob.messages == [b"hello"]


def test_a_message_is_acknowledged_when_it_is_delivered_and_not_before() -> None:
    town, bob = subscriber()
    bob.answers_checks = False
    arrive(bob)
    assert kinds(town.between("/bob")) == ["interest"] and not bob.messages
    bob.answers_checks = True
    bob._check(bob.checks[0])
    town.run(0)
    assert kinds(town.between("/bob")) == ["interest", "data"] and bob.messages


def test_where_nobody_judges_messages_a_plain_digest_needs_no_check() -> None:
    town = Town(nacks=False)
    bob = town.add("/bob", "/t/x", "/judged", validated=lambda topic: topic == "/judged")
    arrive(bob)
    assert bob.messages == [b"hello"] and not bob.of(Check)
    arrive(
        bob,
        foreign_notify("/judged", "/alice", K),
        foreign_message("/judged", "/alice", K, b"judged"),
    )
    assert bob.messages == [b"hello", b"judged"] and len(bob.of(Check)) == 1


# ---- the same message again


def test_notifications_that_come_while_it_is_fetched_all_get_their_acknowledgement() -> None:
    town, bob = subscriber()
    bob.interest(again(1))
    bob.interest(again(2), b"old token")
    bob.interest(again(2), b"new token")
    bob.data(MESSAGE)
    town.run(0)
    sent = town.between("/bob")
    assert kinds(sent) == ["interest", "data", "data"] and bob.messages == [b"hello"]
    assert [each.name for each in sent[1:]] == [again(1).name, again(2).name]
    assert sent[2].token == b"new token"
    assert len(bob.traced("duplicate")) == 2


def test_who_does_not_wait_any_more_gets_no_acknowledgement() -> None:
    town, bob = subscriber()
    bob.interest(foreign_notify("/t/x", "/alice", K, lifetime=100))
    town.run(0.5)
    bob.interest(again(1))
    bob.data(MESSAGE)
    town.run(0)
    assert [each.name for each in town.between("/bob", "data")] == [again(1).name]


def test_one_message_is_acknowledged_so_often_and_not_oftener() -> None:
    town, bob = subscriber(PubSubParameters(max_acknowledgements=3))
    arrive(bob)
    for number in range(5):
        bob.interest(again(number))
    assert len(town.between("/bob", "data")) == 3
    assert bob.reasons("dropped") == ["too_many_acknowledgements"] * 3


def test_of_many_notifications_of_one_message_only_the_last_ones_wait() -> None:
    town, bob = subscriber()
    for number in range(100):
        bob.interest(again(number))
    assert bob.pubsub.sizes()["waiters"] == 8
    bob.data(MESSAGE)
    town.run(0)
    assert [each.name for each in town.between("/bob", "data")] == [
        again(number).name for number in range(92, 100)
    ]


def test_a_message_is_delivered_again_only_after_it_was_forgotten() -> None:
    town, bob = subscriber(PubSubParameters(deduplication_seconds=10))
    arrive(bob)
    town.run(9)
    arrive(bob)
    assert bob.messages == [b"hello"]
    town.run(3)
    arrive(bob)
    assert bob.messages == [b"hello", b"hello"]


# ---- what is refused


@pytest.mark.parametrize(
    ("verdict", "event"), [(Verdict.REJECT, "rejected"), (Verdict.IGNORE, "ignored")]
)
def test_what_was_refused_once_is_refused_again_without_being_fetched(
    verdict: str, event: str
) -> None:
    town, bob = subscriber()
    bob.judge = lambda message: verdict
    arrive(bob)
    bob.interest(again(1))
    sent = town.between("/bob")
    assert kinds(sent) == ["interest", "nack", "nack"]
    assert [each.reason for each in sent[1:]] == [NackReason.NO_ROUTE] * 2
    assert not bob.messages and len(bob.traced(event)) == 1


def test_what_nobody_had_time_to_look_at_may_come_again() -> None:
    town, bob = subscriber()
    bob.judge = lambda message: Verdict.OVERLOADED
    arrive(bob)
    assert town.between("/bob", "nack")[0].reason == NackReason.CONGESTION
    bob.judge = lambda message: Verdict.ACCEPT
    arrive(bob)
    assert bob.messages == [b"hello"]


def test_a_message_with_a_wrong_digest_is_not_delivered_and_the_true_one_is_taken() -> None:
    town, bob = subscriber()
    raw = MESSAGE.raw[:-1] + bytes((MESSAGE.raw[-1] ^ 1,))
    arrive(bob, message=Packet(0, "", "/bob", "data", raw).data)
    assert bob.reasons("rejected") == ["bad_signature"] and not bob.messages
    assert kinds(town.between("/bob")) == ["interest", "nack"]
    arrive(bob)
    assert bob.messages == [b"hello"]


def test_a_notification_with_a_wrong_signature_is_refused_without_a_fetch() -> None:
    class Wrong(DigestSigner):
        def sign(self, covered: bytes) -> bytes:
            return bytes(32)

    town, bob = subscriber()
    bob.interest(foreign_notify("/t/x", "/alice", K, signer=Wrong()))
    assert kinds(town.between("/bob")) == ["nack"]
    assert bob.reasons("rejected") == ["bad_signature"]
    arrive(bob)
    assert bob.messages == [b"hello"]


@pytest.mark.parametrize("content_type", [1, 2, 3, 4, 99, 0x524D])
def test_what_is_no_message_by_its_content_type_is_refused(content_type: int) -> None:
    _, bob = subscriber()
    message = foreign_message("/t/x", "/alice", K, b"hello", content_type=content_type)
    arrive(bob, message=message)
    assert not bob.messages
    assert bob.reasons("rejected") == ["segmented" if content_type == 0x524D else "content_type"]


def test_a_notification_that_is_too_large_is_refused() -> None:
    town, bob = subscriber()
    bob.interest(foreign_notify("/t/x", "/alice", bytes(2000)))
    assert bob.reasons("rejected") == ["notify_too_large"]
    assert kinds(town.between("/bob")) == ["nack"]


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        (b"", "bad_notify"),
        (b"\x07\x03\x08\x01a", "bad_notify"),
        (b"\x80\x01k", "bad_notify"),
        (b"\x07\x03\x08\x01a\x80\x01k\x81\x00", "unknown_critical"),
        (b"\x07\x03\x08\x09a\x80\x01k", "bad_tlv"),
        (b"\x07\x03\x08\x01a\x80\x09k", "bad_tlv"),
    ],
)
def test_parameters_that_cannot_be_read_are_refused(parameters: bytes, reason: str) -> None:
    town, bob = subscriber()
    bob.interest(foreign_notify("/t/x", "", K, parameters=parameters))
    assert bob.reasons("rejected") == [reason]
    assert kinds(town.between("/bob")) == ["nack"]


def test_a_notification_for_another_topic_is_answered_with_no_route() -> None:
    town, bob = subscriber()
    bob.interest(foreign_notify("/t/y", "/alice", K))
    bob.interest(encode_interest(name_from_uri("/t/x/notify"), nonce=b"1234"))
    assert [each.reason for each in town.between("/bob", "nack")] == [NackReason.NO_ROUTE] * 2
    assert bob.reasons("ignored") == ["not_subscribed", "unknown_message"]


def test_a_name_that_can_be_read_as_two_topics_is_of_the_first() -> None:
    """/a/msg/b + /c and /a + /b/msg/c have the same Data: it is delivered to one of them only."""
    town = Town(nacks=False)
    bob = town.add("/bob", "/c", "/b/msg/c")
    one, other = foreign_notify("/c", "/a/msg/b", K), foreign_notify("/b/msg/c", "/a", K)
    bob.interest(one)
    bob.interest(other)
    bob.data(foreign_message("/c", "/a/msg/b", K, b"hello"))
    town.run(0)
    bob.interest(other)
    assert [each.message.topic for each in bob.of(Deliver)] == ["/c"]
    assert bob.reasons("rejected") == ["ambiguous_name"] * 2
    assert [each.name for each in town.between("/bob", "data")] == [one.name]


# ---- fetching


def test_a_message_that_does_not_come_is_asked_for_again_with_another_nonce() -> None:
    town, bob = subscriber()
    bob.interest(NOTIFY)
    town.run(2)
    tries = [each.interest for each in town.between("/bob", "interest")]
    assert len(tries) == 3
    assert {each.name for each in tries} == {MESSAGE.name}
    assert len({each.nonce for each in tries}) == 3
    bob.data(MESSAGE)
    town.run(0)
    assert bob.messages == [b"hello"]


def test_a_message_that_cannot_be_had_is_given_up_and_its_publisher_told() -> None:
    town, bob = subscriber()
    bob.interest(NOTIFY)
    town.run(3.5)
    assert kinds(town.between("/bob")) == ["interest"] * 3 + ["nack"]
    assert town.between("/bob", "nack")[0].reason == NackReason.CONGESTION
    failed = bob.traced("fetch_failed")[0]
    assert failed.peer == "/alice" and failed.fields == {"reason": "timed_out", "attempts": 3}
    assert bob.pubsub.sizes()["arrivals"] == 0 == bob.pubsub.sizes()["interests"]


def test_after_a_nack_it_is_asked_for_again_a_little_later() -> None:
    town, bob = subscriber()
    bob.interest(NOTIFY)
    bob.nack(town.between("/bob", "interest")[-1].interest, NackReason.NO_ROUTE)
    assert len(town.between("/bob", "interest")) == 1
    town.run(0.2)
    bob.nack(town.between("/bob", "interest")[-1].interest, NackReason.CONGESTION)
    town.run(0.4)
    assert len(town.between("/bob", "interest")) == 3
    bob.nack(town.between("/bob", "interest")[-1].interest, NackReason.NO_ROUTE)
    assert bob.reasons("fetch_failed") == ["nack"]
    assert bob.reasons("retried") == ["nack", "nack"]


def test_the_forwarding_hint_goes_with_every_try() -> None:
    town, bob = subscriber()
    bob.interest(foreign_notify("/t/x", "/alice", K, hint="/gate"))
    town.run(2)
    hints = [each.interest.forwarding_hint for each in town.between("/bob", "interest")]
    assert hints == [(name_from_uri("/gate"),)] * 3


# ---- topics


def test_to_subscribe_twice_is_to_subscribe_once() -> None:
    town, bob = subscriber()
    bob.subscribe("/t/x")
    town.run(1)
    assert len(bob.traced("subscribed")) == 1 and bob.pubsub.topics() == ("/t/x",)
    bob.feed(Unsubscribe("/t/x"), Unsubscribe("/t/x"))
    assert len(bob.traced("unsubscribed")) == 1 and bob.pubsub.topics() == ()
    assert name_from_uri("/t/x/notify") not in bob.prefixes


def test_there_are_only_so_many_topics() -> None:
    _, bob = subscriber(PubSubParameters(max_topics=1))
    with pytest.raises(LocalProtocolError, match="1 topics"):
        bob.subscribe("/t/y")


def test_who_leaves_and_comes_back_gets_what_is_new_and_nothing_twice() -> None:
    town, bob = subscriber()
    arrive(bob)
    bob.feed(Unsubscribe("/t/x"))
    bob.subscribe("/t/x")
    town.run(1)
    arrive(bob)
    arrive(
        bob,
        foreign_notify("/t/x", "/alice", b"new"),
        foreign_message("/t/x", "/alice", b"new", b"2"),
    )
    assert bob.messages == [b"hello", b"2"]


def test_what_is_checked_when_its_topic_is_left_is_not_delivered() -> None:
    town, bob = subscriber()
    bob.answers_checks = False
    arrive(bob)
    bob.feed(Unsubscribe("/t/x"))
    assert town.between("/bob", "nack")[0].reason == NackReason.NO_ROUTE
    bob.answers_checks = True
    bob._check(bob.checks[0])
    town.run(0)
    assert not bob.messages and bob.pubsub.sizes()["checks"] == 0
    assert bob.reasons("dropped") == ["unsubscribed"]
