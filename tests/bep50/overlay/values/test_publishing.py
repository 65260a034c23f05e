"""Publishing: what can be published, on which condition, and what the publisher hears of it."""

from __future__ import annotations

import pytest

from rumormill.bep50.effects import CasMismatch, Publish
from rumormill.bep50.overlay.topic_node import message_id
from rumormill.bep50.overlay.values.acknowledgements import ACKNOWLEDGED, REFUSED
from rumormill.bep50.wire.bencode import encode
from rumormill.bep50.wire.items import LARGEST_PUBLISHED_SEQ, torrent_value
from rumormill.bep50.wire.keys import ItemKey
from rumormill.core.errors import LocalProtocolError, MessageTooLargeError
from rumormill.core.machine import Published
from tests.helpers.bep50.overlay_network import (
    KEY,
    LATENCY,
    TOPIC,
    OverlayNetwork,
    lose_puts_between,
)

TEXT = TOPIC.text


# ---- our own


def test_our_own_message_is_delivered_to_ourselves_unless_that_is_not_wanted() -> None:
    network = OverlayNetwork()
    first = network.add()
    network.publish(first, b"x")
    (message,) = network.messages(first)
    assert message.received_from is None
    quiet = network.add(deliver_own=False)
    network.publish(quiet, b"x")
    assert network.messages(quiet) == []


def test_a_message_says_who_wrote_it_and_its_number() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.publish(first, b"one")
    network.publish(first, b"two")
    network.run(1)
    one, two = network.messages(second)
    assert (one.topic, one.data, one.sender) == (TEXT, b"one", KEY.public_key.hex())
    assert (one.fields["seq"], two.fields["seq"]) == (1, 2)
    assert one.received_from == first and one.network == "bep50"
    item = network.nodes[second].latest(TEXT)
    assert item is not None and two.id == message_id(TOPIC.target, item) and len(two.id) == 20


def test_a_value_that_is_no_string_is_delivered_bencoded() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.publish(first, {b"a": [1, b"b"]})
    network.feed(first, Publish(TEXT, torrent_value(b"h" * 20)))
    network.run(1)
    values, torrent = network.messages(second)
    assert values.data == b"d1:ali1e1:bee" and values.fields["bencoded"] is True
    assert torrent.fields["info_hash"] == b"h".hex() * 20


def test_numbers_go_on_from_the_newest_value_that_is_known() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    for text in (b"one", b"two", b"three"):
        network.publish(first, text)
    network.run(1)
    network.publish(second, b"four")
    network.run(1)
    assert network.messages(first)[-1].fields["seq"] == 4


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (encode(b"x" * 996), MessageTooLargeError),
        (b"5:ab", LocalProtocolError),
        (b"i007e", LocalProtocolError),
    ],
)
def test_what_no_peer_would_take_is_refused_with_a_sentence(
    value: bytes, error: type[Exception]
) -> None:
    network = OverlayNetwork()
    first = network.add()
    with pytest.raises(error):
        network.feed(first, Publish(TEXT, value))
    assert network.nodes[first].latest(TEXT) is None


def test_the_largest_value_goes_through() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.publish(first, b"x" * 995)
    network.run(1)
    assert len(network.messages(second)[0].data) == 995


def test_without_the_key_nothing_is_published() -> None:
    network = OverlayNetwork()
    reader = network.add(keys=[ItemKey.from_seed(b"o" * 32)])
    with pytest.raises(LocalProtocolError, match="secret key"):
        network.publish(reader, b"x")


def test_a_topic_has_to_be_joined_before_publishing() -> None:
    network = OverlayNetwork()
    first = network.add(subscribe=[])
    with pytest.raises(LocalProtocolError, match="join the topic"):
        network.publish(first, b"x")


def test_the_last_number_cannot_be_passed() -> None:
    network = OverlayNetwork()
    first = network.add()
    topic = network.nodes[first].topic_nodes[TOPIC.target]
    topic.hold(KEY.item(b"", LARGEST_PUBLISHED_SEQ, b"1:x"), None)
    with pytest.raises(LocalProtocolError, match="sequence numbers"):
        network.publish(first, b"x")


# ---- compare and swap


def test_cas_publishes_only_over_the_value_it_names() -> None:
    network = OverlayNetwork()
    first = network.add()
    with pytest.raises(CasMismatch) as raised:
        network.publish(first, b"x", cas=1)
    assert (raised.value.expected, raised.value.found) == (1, None)
    network.publish(first, b"one")
    network.publish(first, b"two", cas=1)
    with pytest.raises(CasMismatch) as raised:
        network.publish(first, b"three", cas=1)
    assert (raised.value.expected, raised.value.found) == (1, 2)
    assert network.texts(first) == ["one", "two"]


def test_cas_goes_to_the_neighbours_but_is_not_passed_on() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.publish(first, b"one")
    network.run(1)
    network.forget()
    network.loses = lambda by, to, packet: (by, to) == (first, third)
    network.publish(first, b"two", cas=1)
    network.run(1)
    (direct,) = network.queries(first, "put", second)
    (passed_on,) = network.queries(second, "put", third)
    assert direct[b"a"][b"cas"] == 1 and b"cas" not in passed_on[b"a"]
    assert network.texts(third)[-1:] == ["two"]


def test_a_neighbour_that_is_behind_the_cas_gets_the_value_all_the_same() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.publish(first, b"one")
    network.run(1)
    lose_puts_between(network, first, second)
    network.publish(first, b"two")
    network.run(0.1)
    network.loses = lambda by, to, packet: False
    network.publish(first, b"three", cas=2)
    network.run(1)
    errors = [packet[b"e"][0] for packet in network.sent(second) if b"e" in packet]
    assert errors == [301]
    assert network.texts(second) == ["one", "three"]
    assert network.events(first, ACKNOWLEDGED)[-1].peer == second


def test_who_lags_by_one_value_and_says_so_is_refused() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.publish(first, b"one")
    network.run(1)
    # The second publisher is faster, and the first does not hear of it.
    network.nodes[second].topic_nodes[TOPIC.target].hold(KEY.item(b"", 2, b"5:other"), None)
    network.publish(first, b"two", cas=1)
    network.run(1)
    (refused,) = network.events(first, REFUSED)
    assert (refused.peer, refused.fields["reason"]) == (second, "error_301")
    errors = [packet[b"e"][0] for packet in network.sent(second) if b"e" in packet]
    assert errors == [301]


def test_a_value_that_came_on_another_way_after_its_condition_failed_is_taken() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.publish(first, b"one")
    network.run(1)
    lose_puts_between(network, first, second)
    network.publish(first, b"two")
    network.loses = lambda by, to, packet: False
    network.publish(first, b"three", cas=2)
    network.run(1.5 * LATENCY)
    newest = network.nodes[first].latest(TEXT)
    assert newest is not None
    network.nodes[second].topic_nodes[TOPIC.target].hold(newest, None)
    network.run(1)
    assert network.events(first, REFUSED) == []
    assert network.events(first, ACKNOWLEDGED)[-1].message_id == message_id(TOPIC.target, newest)


def test_a_large_value_with_a_condition_is_put_at_once_for_only_a_put_carries_it() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.publish(first, b"one")
    network.run(1)
    network.nodes[second].topic_nodes[TOPIC.target].hold(KEY.item(b"", 2, b"5:other"), None)
    network.publish(first, b"x" * 700, cas=1)
    network.run(1)
    (refused,) = network.events(first, REFUSED)
    assert refused.fields["reason"] == "error_301"


# ---- acknowledgements


def test_each_neighbour_acknowledges_our_own_publication_once() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.publish(first, b"x")
    network.run(600)
    told = network.events(first, ACKNOWLEDGED)
    assert {each.peer for each in told} == {second, third} and len(told) == 2
    assert {each.message_id for each in told} == {network.messages(second)[0].id}
    assert network.events(first, REFUSED) == []
    assert network.events(second, ACKNOWLEDGED) == [], "that was not its own"


def test_a_neighbour_that_is_gone_refuses_at_last() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.kill(third)
    network.publish(first, b"x")
    network.run(10)
    assert [each.peer for each in network.events(first, ACKNOWLEDGED)] == [second]
    (refused,) = network.events(first, REFUSED)
    assert (refused.peer, refused.fields["reason"]) == (third, "no_answer")


def test_every_peer_of_a_receipt_ends_once_whatever_is_lost() -> None:
    network = OverlayNetwork(seed=3)
    addresses = network.add_many(12)
    network.forget()
    network.loses = lambda by, to, packet: network.random.random() < 0.3
    expected: list[tuple[bytes, str]] = []
    for number in range(20):
        size = 500 if number % 3 == 0 else 5
        network.publish(addresses[0], b"%d" % number + b"x" * size)
        receipt = network.of_type(addresses[0], Published)[-1].receipt
        expected += [(receipt.id, peer) for peer in receipt.peers]
        network.run(0.3)
    network.run(700)
    ends = network.events(addresses[0], ACKNOWLEDGED) + network.events(addresses[0], REFUSED)
    assert sorted((each.message_id, each.peer) for each in ends) == sorted(expected)
    assert not network.nodes[addresses[0]].topic_nodes[TOPIC.target].acknowledgements


def test_pending_counts_those_whom_a_value_is_on_its_way_to() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    node = network.nodes[first]
    assert node.pending() == 0
    network.publish(first, b"x" * 500)
    assert node.pending(TEXT) == 2
    network.run(2.5 * LATENCY)
    assert node.pending(TEXT) == 2, "asked, and put to now"
    network.run(2 * LATENCY)
    assert node.pending() == 0
    assert network.texts(second) == network.texts(third)


def test_with_no_room_for_queries_a_publication_is_dropped_and_that_is_said() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(5, most_queries=2)
    network.run(60)
    network.publish(addresses[0], b"x")
    receipt = network.of_type(addresses[0], Published)[-1].receipt
    assert (
        len(receipt.reached) == 2
        and len(receipt.dropped) == len(network.nodes[addresses[0]].subscribers(TEXT)) - 2
    )
    assert set(receipt.dropped.values()) == {"queries_full"}
    network.run(600)
    assert all(network.texts(address) == ["x"] for address in addresses)
