"""Publishing only here, without gossip about it, or in the name of another."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Published
from rumormill.core.receipt import Receipt
from rumormill.libp2p.effects import PublishOtherwise
from rumormill.libp2p.wire.message import build_message
from rumormill.libp2p.wire.signing import verify
from tests.helpers.libp2p.workbench import Workbench, floodsub, gossipsub, identity, origin_id


def listening(**parameters: Any) -> Workbench:
    """A node with one peer in its mesh of t, and one outside of it."""
    bench = gossipsub(**{"D": 1, "D_low": 1, "D_high": 1, "D_out": 0, "D_score": 0, **parameters})
    bench.subscribe("t")
    bench.join("mesh", "t")
    bench.join("outside", "t")
    assert bench.pubsub.mesh("t") == ("mesh",)
    bench.forget()
    return bench


def publish(bench: Workbench, data: bytes = b"rain", **how: Any) -> Receipt:
    effects = bench.feed(PublishOtherwise(("t",), data, **how))
    (published,) = [effect for effect in effects if isinstance(effect, Published)]
    return published.receipt


# ---- only here


def test_what_is_published_here_comes_to_our_subscriptions_and_to_no_peer() -> None:
    bench = listening()
    receipt = publish(bench, local=True)
    assert [(each.data, each.id) for each in bench.delivered()] == [(b"rain", receipt.id)]
    for _ in range(3):
        bench.heartbeat()
    for peer in ("mesh", "outside"):
        bench.iwant(peer, receipt.id)
        assert bench.took_items(peer) == []


def test_the_receipt_of_what_is_published_here_says_so() -> None:
    receipt = publish(listening(), local=True)
    assert receipt.fields == {"local": True}
    assert receipt.to_json()["local"] is True
    assert (receipt.peers, bool(receipt)) == ((), False)


def test_it_is_delivered_here_though_own_messages_are_not() -> None:
    bench = listening(deliver_own=False)
    publish(bench, local=True)
    assert [each.data for each in bench.delivered()] == [b"rain"]


def test_nobody_who_reads_the_trace_waits_for_it_at_other_nodes() -> None:
    bench = listening()
    receipt = publish(bench, local=True)
    assert not bench.events(trace.PUBLISHED)
    assert not bench.events(trace.DELIVERED)
    (told,) = bench.events("published_here", topic="t", message_id=receipt.id)
    assert told.fields == {"size": 4, "delivered": 1}


def test_without_a_subscription_it_goes_nowhere_and_the_trace_says_so() -> None:
    bench = floodsub()
    publish(bench, local=True)
    assert bench.delivered() == []
    assert bench.events("published_here", delivered=0)


def test_a_copy_of_it_that_a_peer_brings_is_a_duplicate() -> None:
    bench = listening(message_id="sha256", signing="StrictNoSign")
    publish(bench, local=True)
    bench.send_message("mesh", build_message(data=b"rain", topics=("t",)))
    assert bench.events(trace.DUPLICATE, peer="mesh")
    assert len(bench.delivered()) == 1


# ---- without gossip about it


def test_what_is_not_kept_is_sent_but_neither_told_of_nor_sent_again() -> None:
    bench = listening(D_lazy=6)
    receipt = publish(bench, gossip=False)
    assert receipt.peers == ("mesh",)
    assert bench.pubsub.sizes()["cached"] == 0
    bench.heartbeat()
    assert not [item for item in bench.took_items("outside") if item[0] == "ihave"]
    bench.iwant("outside", receipt.id)
    assert bench.events(trace.IGNORED, peer="outside", reason="iwant_not_cached")


def test_what_is_published_as_ever_is_kept_and_told_of() -> None:
    bench = listening(D_lazy=6)
    receipt = bench.publish("t")
    assert bench.pubsub.sizes()["cached"] == 1
    bench.heartbeat()
    told = [item for item in bench.took_items("outside") if item[0] == "ihave"]
    assert told == [("ihave", "t", frozenset([receipt.id]))]


# ---- in the name of another


def test_a_message_is_signed_by_whom_the_publisher_names() -> None:
    bench, other = listening(), identity("another")
    receipt = publish(bench, author=other)
    (message,) = [each for rpc in bench.took("mesh") for each in rpc.messages]
    assert message.sender_id == other.peer_id
    assert verify(message)
    assert receipt.id == origin_id(message)
    assert [each.sender for each in bench.delivered()] == [other.peer]


def test_no_two_messages_of_one_author_have_the_same_number() -> None:
    bench, other = listening(), identity("another")
    ids = [publish(bench, data, author=other).id for data in (b"1", b"2")]
    ids += [publish(bench, data, gossip=False).id for data in (b"3", b"4")]
    assert len(set(ids)) == 4


def test_who_sends_it_back_brings_a_duplicate() -> None:
    bench = listening()
    publish(bench, author=identity("another"))
    (message,) = [each for rpc in bench.took("mesh") for each in rpc.messages]
    bench.forget()
    bench.send_message("mesh", message)
    assert bench.events(trace.DUPLICATE, peer="mesh")
    assert not bench.delivered()


def test_a_topic_without_authors_takes_no_author() -> None:
    bench = listening(signing="StrictNoSign", message_id="sha256")
    with pytest.raises(LocalProtocolError, match="'t' have no author"):
        publish(bench, author=identity("another"))
