"""What becomes of an Interest that comes in."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.ndn.wire.interest import Interest, decode_interest, encode_interest
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import name_from_uri
from tests.helpers.ndn.forwarding import NotedFace, World


def test_an_interest_goes_to_its_next_hop_byte_for_byte() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    asked = world.ask(consumer, "/a/b", parameters=b"hello")
    assert [sent.packet.raw for sent in producer.sent] == [asked.raw]
    assert consumer.sent == []


def test_an_interest_without_a_route_is_refused_at_once_and_not_kept() -> None:
    world = World()
    consumer, other = world.face(), world.face("/b")
    asked = world.ask(consumer, "/a", b"token")
    assert consumer.nacks == [("/a", NackReason.NO_ROUTE)]
    assert consumer.sent[0].packet.raw == asked.raw
    assert consumer.sent[0].token == b"token"
    assert other.sent == []
    assert world.sizes["pit"] == 0
    assert world.counted() == {("interest", "no_route"): 1}


def test_an_interest_never_goes_back_where_it_came_from() -> None:
    world = World()
    producer = world.face("/a")
    world.ask(producer, "/a/b")
    assert producer.interests == []
    assert producer.nacks == [("/a/b", NackReason.NO_ROUTE)]


def test_the_same_interest_of_another_face_waits_with_the_first() -> None:
    world = World()
    first, second, producer = world.face(), world.face(), world.face("/a")
    world.ask(first, "/a/b", b"1")
    world.ask(second, "/a/b", b"2")
    assert producer.interests == ["/a/b"]
    world.answer(producer, "/a/b")
    assert [sent.token for sent in first.sent] == [b"1"]
    assert [sent.token for sent in second.sent] == [b"2"]


@pytest.mark.parametrize(
    "fields", [{"can_be_prefix": True}, {"must_be_fresh": True}, {"hint": ["/elsewhere"]}]
)
def test_interests_that_ask_for_something_else_wait_by_themselves(
    fields: dict[str, Any],
) -> None:
    world = World()
    first, second, producer = world.face(), world.face(), world.face("/a")
    world.ask(first, "/a/b")
    world.ask(second, "/a/b", **fields)
    assert producer.interests == ["/a/b", "/a/b"]
    assert (world.sizes["pit"], world.sizes["pit_names"]) == (2, 1)
    world.answer(producer, "/a/b")
    assert first.data == second.data == ["/a/b"]
    assert world.sizes["pit"] == world.sizes["pit_names"] == 0


def test_what_was_answered_is_answered_again_from_the_store() -> None:
    world = World()
    first, second, producer = world.face(), world.face(), world.face("/a")
    world.ask(first, "/a/b")
    world.answer(producer, "/a/b")
    producer.take()
    world.ask(second, "/a/b", b"token")
    assert producer.sent == []
    assert second.data == ["/a/b"]
    assert second.sent[0].token == b"token"


def test_who_wants_fresh_data_is_not_answered_with_old() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    world.ask(consumer, "/a/b")
    world.answer(producer, "/a/b")
    producer.take()
    world.ask(consumer, "/a/b", must_be_fresh=True)
    assert producer.interests == ["/a/b"]


def test_interests_end_after_their_lifetime() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    world.ask(consumer, "/a/b", lifetime=2000)
    world.advance(1.99)
    assert world.sizes["pit"] == 1
    world.advance(0.1)
    assert world.sizes["pit"] == 0
    world.answer(producer, "/a/b")
    assert consumer.sent == []
    assert world.forwarder.statistics.unsatisfied == 1
    assert world.counted() == {("interest", "timed_out"): 1, ("data", "late"): 1}


def test_an_interest_lives_as_long_as_the_last_who_waits_for_it() -> None:
    world = World()
    first, second, producer = world.face(), world.face(), world.face("/a")
    world.ask(first, "/a/b", lifetime=1000)
    world.advance(0.5)
    world.ask(second, "/a/b", lifetime=3000)
    world.advance(1.0)
    world.answer(producer, "/a/b")
    assert first.sent == []
    assert second.data == ["/a/b"]


def test_no_interest_ends_too_early() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    world.ask(consumer, "/a/b", lifetime=2010)
    world.advance(2.005)
    world.answer(producer, "/a/b")
    assert consumer.data == ["/a/b"]


def test_asking_again_for_a_shorter_time_does_not_shorten_the_first() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    world.ask(consumer, "/a/b", lifetime=4000)
    world.ask(consumer, "/a/b", lifetime=100)
    world.advance(3)
    world.answer(producer, "/a/b")
    assert consumer.data == ["/a/b"]


def test_no_interest_lives_longer_than_the_longest_that_is_allowed() -> None:
    world = World(max_lifetime=5.0)
    consumer, _ = world.face(), world.face("/a")
    world.ask(consumer, "/a/b", lifetime=2**63)
    world.advance(5.1)
    assert world.sizes["pit"] == 0


def test_an_interest_of_no_lifetime_ends_soon() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    world.ask(consumer, "/a/b", lifetime=0)
    assert producer.interests == ["/a/b"]
    world.advance(0.1)
    assert world.sizes["pit"] == 0


# ---- hop limit


def sent_interest(face: NotedFace) -> Interest:
    packet = face.sent[-1].packet
    assert isinstance(packet, Interest)
    return decode_interest(packet.raw)


def test_the_hop_limit_becomes_less_with_each_hop() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a", local=False)
    asked = world.ask(consumer, "/a/b", hop_limit=5)
    sent = sent_interest(producer)
    assert sent.hop_limit == 4
    assert sent._replace(hop_limit=5, raw=asked.raw) == asked


def test_an_interest_whose_hop_limit_is_used_up_is_dropped() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    world.ask(consumer, "/a/b", hop_limit=0)
    assert producer.sent == consumer.sent == []
    assert world.counted() == {("interest", "hop_limit"): 1}


def test_the_last_hop_may_be_to_a_program_on_this_machine_only() -> None:
    world = World()
    consumer = world.face()
    far, here = world.face("/a", local=False), world.face("/a", local=True, cost=9)
    world.ask(consumer, "/a/b", hop_limit=1)
    assert (far.interests, here.interests) == ([], ["/a/b"])
    world.down(here)
    world.ask(consumer, "/a/c", hop_limit=1)
    assert ("/a/c", NackReason.NO_ROUTE) in consumer.nacks


# ---- nonces and loops


def test_an_interest_without_a_nonce_gets_one() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    raw = bytes.fromhex("0505 0703 080161")
    world.bring(consumer, decode_interest(raw))
    nonce = sent_interest(producer).nonce
    assert nonce is not None and len(nonce) == 4


def test_an_interest_that_comes_round_is_refused_as_a_duplicate() -> None:
    world = World()
    consumer, neighbour = world.face(), world.face("/a", local=False)
    asked = world.ask(consumer, "/a/b")
    world.bring(neighbour, asked, b"t")
    assert neighbour.nacks == [("/a/b", NackReason.DUPLICATE)]
    assert neighbour.sent[-1].token == b"t"
    assert world.counted() == {("interest", "loop"): 1}
    world.answer(neighbour, "/a/b")
    assert consumer.data == ["/a/b"]


def test_an_interest_that_comes_round_by_a_third_face_is_a_duplicate_too() -> None:
    world = World()
    consumer, _, third = world.face(), world.face("/a"), world.face()
    asked = world.ask(consumer, "/a/b")
    world.bring(third, asked)
    assert third.nacks == [("/a/b", NackReason.DUPLICATE)]


def test_an_older_nonce_that_comes_round_is_a_duplicate_too() -> None:
    world = World()
    consumer, neighbour = world.face(), world.face("/a", local=False)
    first = world.ask(consumer, "/a/b")
    world.ask(consumer, "/a/b")
    world.bring(neighbour, first)
    assert neighbour.nacks == [("/a/b", NackReason.DUPLICATE)]


def test_a_nonce_that_was_not_sent_on_is_a_duplicate_too() -> None:
    world = World()
    consumer, _, third = world.face(), world.face("/a"), world.face()
    world.ask(consumer, "/a/b")
    again = world.ask(consumer, "/a/b")  # too soon
    world.bring(third, again)
    assert third.nacks == [("/a/b", NackReason.DUPLICATE)]


def test_the_same_interest_of_the_same_face_is_no_loop() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    asked = world.ask(consumer, "/a/b")
    world.bring(consumer, asked)
    assert consumer.sent == []
    world.answer(producer, "/a/b")
    assert consumer.data == ["/a/b"]


def test_an_interest_that_comes_round_after_it_has_ended_is_a_duplicate_for_a_while() -> None:
    world = World()
    consumer, neighbour = world.face(), world.face("/a", local=False)
    asked = world.ask(consumer, "/a/b", lifetime=1000)
    world.advance(1.1)
    world.bring(neighbour, asked)
    assert neighbour.nacks == [("/a/b", NackReason.DUPLICATE)]
    world.advance(12.1)
    neighbour.take()
    world.bring(neighbour, asked)
    assert neighbour.nacks == [("/a/b", NackReason.NO_ROUTE)]


def test_an_interest_that_comes_round_after_its_data_is_answered_from_the_store() -> None:
    world = World()
    consumer, neighbour = world.face(), world.face("/a", local=False)
    asked = world.ask(consumer, "/a/b")
    world.answer(neighbour, "/a/b")
    world.bring(neighbour, asked)
    assert neighbour.data == ["/a/b"]


@pytest.mark.parametrize(("max_cs", "fresh"), [(0, False), (1_000_000, True)])
def test_an_interest_that_the_store_could_not_answer_is_a_duplicate_after_its_data(
    max_cs: int, fresh: bool
) -> None:
    world = World(max_cs=max_cs)
    consumer, neighbour = world.face(), world.face("/a", local=False)
    asked = world.ask(consumer, "/a/b", must_be_fresh=fresh)
    world.answer(neighbour, "/a/b")
    world.bring(neighbour, asked)
    assert neighbour.nacks == [("/a/b", NackReason.DUPLICATE)]


def test_interests_of_faces_that_are_gone_are_not_taken() -> None:
    world = World()
    gone, producer = world.face(), world.face("/a")
    world.down(gone)
    world.ask(gone, "/a/b")
    world.answer(gone, "/a/b")
    world.forwarder.nack(
        gone, encode_interest(name_from_uri("/a"), nonce=b"1234"), NackReason.NO_ROUTE, b""
    )
    assert gone.sent == producer.sent == []
