"""What becomes of a message that is published, and what its receipt says."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Hold
from rumormill.ndn.effects import Forget, Publication
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.security.private_keys import PrivateKey
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.security.trust import Trust
from rumormill.ndn.wire.data import Data, encode_data
from rumormill.ndn.wire.interest import Interest, encode_interest
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import Name, name_from_uri
from tests.helpers.ndn.pubsub import Member, Packet, Town, foreign_notify

SOMEWHERE = name_from_uri("/t/x/notify")


def alone(parameters: PubSubParameters | None = None) -> tuple[Town, Member]:
    """A publisher whose line leads to nobody who answers by itself."""
    town = Town(nacks=False)
    alice = town.add("/alice", parameters=parameters or PubSubParameters())
    town.run(1)
    return town, alice


def pair(latency: float = 0.005) -> tuple[Town, Member, Member]:
    town = Town(latency=latency)
    alice, bob = town.add("/alice"), town.add("/bob", "/t/x")
    town.run(1)
    return town, alice, bob


def notifies(member: Member) -> list[Interest]:
    sent = [each.interest for each in member.town.between(member.name, "interest")]
    return [each for each in sent if each.parameters is not None]


def message_of(alice: Member) -> Name:
    return next(reversed(alice.pubsub._state._kept))


def fetch(alice: Member, name: Name | None = None) -> Packet:
    """Somebody asks for the last message, or another; returns the answer."""
    alice.interest(encode_interest(name or message_of(alice), nonce=b"1234"))
    return alice.town.sent[-1]


def acknowledgement(notify: Interest, content_type: int = 0) -> Data:
    return encode_data(notify.name, None, DigestSigner(), content_type=content_type)


# ---- receipts


def test_a_receipt_tells_who_took_it_after_how_many_tries_and_how_long_it_took() -> None:
    town, alice, bob = pair(latency=0.01)
    alice.publish("/t/x", b"hello")
    town.run(1)
    receipt = alice.receipts[0]
    assert receipt.topic == "/t/x" and receipt.reached == ("subscriber",) and bool(receipt)
    assert receipt.fields == {"outcome": "delivered", "attempts": 1, "seconds": 0.08}
    assert receipt.id == bob.traced("delivered")[0].message_id


def test_a_receipt_names_the_key_of_the_acknowledgement() -> None:
    town = Town()
    key = PrivateKey.generate(Random(1), name_from_uri("/bob"))
    alice = town.add("/alice")
    town.add("/bob", "/t/x", signer=key.signer)
    town.run(1)
    alice.publish("/t/x", b"hello")
    town.run(1)
    assert alice.receipts[0].reached == (key.uri,)


def test_published_is_traced_with_the_id_that_subscribers_know_it_by() -> None:
    town, alice, bob = pair()
    alice.publish("/t/x", b"hello")
    town.run(1)
    event = alice.traced("published")[0]
    assert event.topic == "/t/x" and event.message_id == bob.traced("delivered")[0].message_id
    assert event.fields == {"size": 5, "mode": "unicast", "peers": 1, "dropped": 0}
    ended = alice.traced("publication_ended")[0]
    assert ended.message_id == event.message_id
    assert (ended.fields["outcome"], ended.fields["attempts"]) == ("delivered", 1)


def test_a_message_to_all_is_traced_as_one() -> None:
    _, alice = alone(PubSubParameters(reaches="all"))
    alice.publish("/t/x", b"hello")
    assert alice.traced("published")[0].fields["mode"] == "multicast"


# ---- nobody, or nobody who answers


def test_without_a_route_there_is_no_subscriber_at_once() -> None:
    town = Town(latency=0.01)
    alice = town.add("/alice")
    town.run(1)
    alice.publish("/t/x", b"hello")
    town.run(0.1)
    assert alice.receipts[0].fields == {
        "outcome": "no_subscriber", "attempts": 1, "seconds": 0.02, "reason": "no_route",
    }  # fmt: skip
    assert not alice.receipts[0]


def test_silence_is_no_subscriber_when_patience_is_over() -> None:
    town, alice = alone()
    alice.publish("/t/x", b"hello")
    town.run(5)
    assert len(notifies(alice)) == 3
    assert alice.outcomes == ["no_subscriber"]
    assert alice.receipts[0].fields["reason"] == "timed_out"
    assert 2.5 < alice.receipts[0].fields["seconds"] <= 3.0
    assert [event.fields["attempt"] for event in alice.traced("retried")] == [2, 3]


def test_once_there_is_no_subscriber_nobody_can_fetch_it_any_more() -> None:
    town, alice = alone()
    alice.publish("/t/x", b"hello")
    name = message_of(alice)
    town.run(5)
    answer = fetch(alice, name)
    assert (answer.kind, answer.reason) == ("nack", NackReason.NO_ROUTE)
    assert alice.reasons("ignored") == ["unknown_message"]


def test_fetched_and_not_acknowledged_is_unknown() -> None:
    town, alice = alone()
    alice.publish("/t/x", b"hello")
    assert fetch(alice).kind == "data"
    town.run(5)
    assert alice.outcomes == ["unknown"] and not alice.receipts[0]
    assert fetch(alice).kind == "data"  # others may be on their way to it


def test_no_route_after_somebody_fetched_it_is_unknown_and_soon() -> None:
    town, alice = alone()
    alice.publish("/t/x", b"hello")
    fetch(alice)
    for _ in range(3):
        alice.nack(notifies(alice)[-1], NackReason.NO_ROUTE)
        town.run(0.5)
    assert alice.outcomes == ["unknown"]
    assert alice.receipts[0].fields["reason"] == "no_route"
    assert alice.receipts[0].fields["seconds"] < 1.2


# ---- Nacks


def test_congestion_is_waited_out() -> None:
    town, alice = alone()
    alice.publish("/t/x", b"hello")
    for _ in range(4):
        alice.nack(notifies(alice)[-1], NackReason.CONGESTION)
        before = len(notifies(alice))
        town.run(0.01)
        assert len(notifies(alice)) == before  # not at once
        town.run(1.2 if before > 2 else 0.4)
    assert len(notifies(alice)) == 5 and not alice.receipts
    alice.data(acknowledgement(notifies(alice)[-1]))
    assert alice.outcomes == ["delivered"] and alice.receipts[0].fields["attempts"] == 5


def test_congestion_without_end_is_no_subscriber() -> None:
    town, alice = alone()
    alice.publish("/t/x", b"hello")
    for _ in range(40):
        alice.nack(notifies(alice)[-1], NackReason.CONGESTION)
        town.run(0.1)
    town.run(2)
    assert alice.outcomes == ["no_subscriber"]
    assert alice.receipts[0].fields["reason"] == "congestion"
    assert len(notifies(alice)) < 9


def test_a_nack_for_an_earlier_try_says_nothing_of_the_newer_one() -> None:
    town, alice = alone()
    alice.publish("/t/x", b"hello")
    town.run(1.5)
    first, second = notifies(alice)
    alice.nack(first, NackReason.NO_ROUTE)
    assert not alice.receipts and alice.reasons("ignored") == ["unexpected_nack"]
    alice.nack(second, NackReason.NO_ROUTE)
    assert alice.outcomes == ["no_subscriber"]


def test_an_acknowledgement_that_comes_before_the_next_try_counts() -> None:
    _, alice = alone()
    alice.publish("/t/x", b"hello")
    notify = notifies(alice)[0]
    alice.nack(notify, NackReason.DUPLICATE)
    alice.data(acknowledgement(notify))
    assert alice.outcomes == ["delivered"] and len(notifies(alice)) == 1


# ---- what is no acknowledgement


def test_a_damaged_acknowledgement_is_none() -> None:
    town, alice = alone()
    alice.publish("/t/x", b"hello")
    good = acknowledgement(notifies(alice)[0])
    raw = good.raw[:-1] + bytes((good.raw[-1] ^ 1,))
    packet = Packet(0, "", "/alice", "data", raw)
    alice.data(packet.data)
    assert alice.reasons("rejected") == ["bad_signature"] and not alice.receipts
    town.run(0.5)
    alice.data(acknowledgement(notifies(alice)[1]))
    assert alice.outcomes == ["delivered"]


def test_an_answer_that_says_no_is_none() -> None:
    _, alice = alone()
    alice.publish("/t/x", b"hello")
    alice.data(acknowledgement(notifies(alice)[0], content_type=3))
    assert alice.reasons("rejected") == ["refused"] and not alice.receipts


@pytest.mark.parametrize(("known", "outcome"), [(True, "delivered"), (False, "no_subscriber")])
def test_acknowledgements_are_verified_if_that_is_wanted(known: bool, outcome: str) -> None:
    key = PrivateKey.generate(Random(1), name_from_uri("/bob"))
    town = Town(nacks=False)
    alice = town.add(
        "/alice",
        parameters=PubSubParameters(verify_acknowledgements=True),
        trust=Trust.open([key.public_key] if known else []),
    )
    town.run(1)
    alice.publish("/t/x", b"hello")
    alice.data(encode_data(notifies(alice)[0].name, None, key.signer))
    town.run(5)
    assert alice.outcomes == [outcome]
    assert alice.pubsub.sizes()["checks"] == 0


# ---- lingering


def test_others_can_fetch_a_message_for_a_while_after_one_has_acknowledged_it() -> None:
    slow = "/carol"

    def faults(packet: Packet) -> Sequence[float]:
        return (2.0,) if packet.destination == slow and packet.kind == "interest" else (0.005,)

    town = Town(multicast=True, faults=faults)
    alice, bob, carol = town.add("/alice"), town.add("/bob", "/t/x"), town.add(slow, "/t/x")
    town.run(1)
    alice.publish("/t/x", b"hello")
    town.run(1)
    assert alice.outcomes == ["delivered"] and bob.messages and not carol.messages
    town.run(2)
    assert carol.messages == [b"hello"]
    town.run(5)
    assert alice.pubsub.sizes()["kept"] == 0


@pytest.mark.parametrize(
    ("parameters", "left"),
    [
        (PubSubParameters(max_lingering=3), 3),
        (PubSubParameters(max_lingering_bytes=3500), 3),
        (PubSubParameters(linger=0.0), 0),
    ],
)
def test_what_lingers_has_a_bound_and_the_oldest_goes_first(
    parameters: PubSubParameters, left: int
) -> None:
    town = Town()
    alice = town.add("/alice", parameters=parameters)
    town.add("/bob", "/t/x")
    town.run(1)
    for _ in range(6):
        alice.publish("/t/x", bytes(1000))
        town.run(0.1)
    sizes = alice.pubsub.sizes()
    assert sizes["kept"] == sizes["lingering"] == left
    assert sizes["lingering_bytes"] <= 3500
    lost = sum(int(str(event.fields["count"])) for event in alice.traced("dropped"))
    assert lost == left


# ---- limits and the end


@pytest.mark.parametrize(
    "parameters",
    [PubSubParameters(max_publications=2), PubSubParameters(max_publication_bytes=2000)],
)
def test_past_the_limit_messages_are_not_sent_and_say_so(parameters: PubSubParameters) -> None:
    _, alice = alone(parameters)
    for _ in range(2):
        assert alice.pubsub.has_room
        alice.publish("/t/x", bytes(1000))
    assert not alice.pubsub.has_room
    alice.publish("/t/x", bytes(1000))
    assert len(notifies(alice)) == 2
    assert alice.receipts[0].fields["reason"] == "too_many_publications"
    assert alice.outcomes == ["no_subscriber"]
    assert alice.traced("published")[2].fields["dropped"] == 1
    assert alice.pubsub.sizes()["kept"] == 2


def test_who_is_forgotten_is_not_sent_again_and_can_still_be_fetched() -> None:
    town, alice = alone()
    token = alice.publish("/t/x", b"hello")
    alice.feed(Forget(token), Forget(token), Forget(99))
    town.run(2)
    assert len(notifies(alice)) == 1 and not alice.receipts
    assert alice.traced("publication_ended")[0].fields["reason"] == "forgotten"
    assert fetch(alice).kind == "data"
    town.run(5)
    assert alice.pubsub.sizes()["kept"] == 0


def test_shutting_down_ends_what_is_open_as_far_as_is_known() -> None:
    _, alice = alone()
    alice.publish("/t/x", b"one")
    fetch(alice)
    alice.publish("/t/x", b"two")
    alice.run(alice.pubsub.shutdown)
    alice.run(alice.pubsub.shutdown)
    assert alice.outcomes == ["unknown", "no_subscriber"]
    assert {receipt.fields["reason"] for receipt in alice.receipts} == {"shutdown"}
    with pytest.raises(LocalProtocolError, match="closed"):
        alice.publish("/t/x", b"three")
    with pytest.raises(LocalProtocolError, match="closed"):
        alice.subscribe("/t/x")


def test_a_token_is_used_once() -> None:
    _, alice = alone()
    alice.feed(Publication(7, "/t/x", b"hello"))
    with pytest.raises(LocalProtocolError, match="7"):
        alice.feed(Publication(7, "/t/x", b"hello"))


def test_a_topic_that_fits_into_no_packet_is_refused() -> None:
    _, alice = alone()
    with pytest.raises(LocalProtocolError):
        alice.publish("/" + "x" * 8740, b"")
    assert alice.pubsub.sizes()["kept"] == 0 and not alice.traced("published")


def test_two_messages_never_have_one_name() -> None:
    _, alice = alone(PubSubParameters(nonce_size=4))

    numbers = [1, 1, 1, 2]

    class Stuck(Random):
        def getrandbits(self, k: int, /) -> int:
            return numbers.pop(0)

    alice.pubsub._publisher._packing._random = Stuck()
    alice.publish("/t/x", b"one")
    alice.publish("/t/x", b"two")
    assert alice.pubsub.sizes()["kept"] == 2


def test_our_own_notification_that_comes_back_is_left_alone() -> None:
    town = Town(nacks=False)
    alice = town.add("/alice", "/t/x")
    town.run(1)
    alice.publish("/t/x", b"hello")
    before = len(town.sent)
    alice.interest(notifies(alice)[0])
    alice.interest(foreign_notify("/t/x", "/alice", b"1234"))
    assert alice.reasons("ignored") == ["own_message", "own_message"]
    assert len(town.sent) == before


def test_while_its_subscriber_is_behind_a_publisher_waits() -> None:
    town, alice, bob = pair()
    bob.feed(Hold(True))
    alice.publish("/t/x", b"hello")
    town.run(1.8)
    assert not bob.messages and not alice.receipts
    bob.feed(Hold(False))
    town.run(2)
    assert bob.messages == [b"hello"] and alice.outcomes == ["delivered"]
