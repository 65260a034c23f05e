"""SDK machines and node machines together: what one says, another hears."""

from __future__ import annotations

from rumormill.bcos.effects import (
    Multicast,
    MulticastEnded,
    Request,
    Respond,
    SetResponder,
    Unicast,
    UnicastEnded,
    Watch,
)
from rumormill.bcos.sdk.private_topics import TopicKeys
from rumormill.bcos.sdk.topic_keys import TopicPrivateKey
from rumormill.bcos.wire.channel_packet import Result
from rumormill.core.machine import Subscribe, Unsubscribe
from tests.helpers.bcos.nodes import id_of
from tests.helpers.bcos.sdks import Chain

KEY = TopicPrivateKey(bytes([7] * 32))


def test_a_multicast_reaches_all_subscribers_on_all_nodes() -> None:
    chain = Chain("ab")
    publisher = chain.sdk("publisher", "a")
    names = ["near", "far", "farther"]
    for name, node in zip(names, "abb", strict=True):
        chain.sdk(name, node)
        chain.feed(name, Subscribe("weather"))
    chain.feed("publisher", Watch("weather", True))
    chain.run(1)
    assert publisher.holders("weather") == (id_of("a"), id_of("b"))
    chain.feed("publisher", Multicast(1, "weather", b"rain", 5))
    chain.run(1)
    (ended,) = chain.take("publisher", MulticastEnded)
    assert ended.result == Result.OK
    assert ended.receipt.reached == (id_of("a"), id_of("b"))
    for name in names:
        (message,) = chain.messages(name)
        assert (message.data, message.id) == (b"rain", ended.receipt.id)
    assert chain.messages("publisher") == []


def test_one_subscriber_answers_a_unicast() -> None:
    chain = Chain("ab")
    chain.sdk("publisher", "a")
    chain.sdk("subscriber", "b")
    chain.feed("subscriber", SetResponder("time", True))
    chain.run(1)
    chain.feed("publisher", Unicast(1, "time", b"what", 10))
    chain.run(1)
    (request,) = chain.take("subscriber", Request)
    chain.feed("subscriber", Respond(request.token, b"noon"))
    chain.run(1)
    (ended,) = chain.take("publisher", UnicastEnded)
    assert (ended.result, ended.data, ended.node) == (Result.OK, b"noon", id_of("a"))


def test_a_unicast_without_a_subscriber_ends_with_100_and_a_silent_one_with_104() -> None:
    chain = Chain("ab")
    chain.sdk("publisher", "a")
    chain.sdk("subscriber", "b")
    chain.feed("publisher", Unicast(1, "time", b"what", 30))
    chain.run(1)
    assert chain.take("publisher", UnicastEnded)[0].result == Result.NO_NODE
    chain.feed("subscriber", SetResponder("time", True))
    chain.run(1)
    chain.feed("publisher", Unicast(2, "time", b"what", 30))
    chain.run(6)
    assert chain.take("publisher", UnicastEnded)[0].result == Result.NO_SUBSCRIBER


def test_a_subscriber_at_two_nodes_gets_a_multicast_once() -> None:
    chain = Chain("ab")
    chain.sdk("publisher", "a")
    chain.sdk("subscriber", "ab")
    chain.feed("subscriber", Subscribe("weather"))
    chain.run(1)
    chain.feed("publisher", Multicast(1, "weather", b"rain", 5))
    chain.run(1)
    assert len(chain.messages("subscriber")) == 1
    assert len(chain.traced("subscriber", "duplicate")) == 1


def test_who_unsubscribes_gets_nothing_more() -> None:
    chain = Chain("ab")
    publisher = chain.sdk("publisher", "a")
    chain.sdk("subscriber", "b")
    chain.feed("subscriber", Subscribe("weather"))
    chain.run(1)
    chain.feed("publisher", Watch("weather", True))
    chain.run(1)
    assert publisher.has_targets("weather")
    chain.feed("subscriber", Unsubscribe("weather"))
    chain.run(1)
    assert not publisher.has_targets("weather")
    chain.feed("publisher", Multicast(1, "weather", b"rain", 5))
    chain.run(1)
    assert chain.messages("subscriber") == []
    assert not chain.take("publisher", MulticastEnded)[0].receipt


def test_a_lost_node_is_replaced_by_another_and_found_again() -> None:
    chain = Chain("ab")
    publisher = chain.sdk("publisher", "ab")
    chain.sdk("subscriber", "ba")
    chain.feed("subscriber", Subscribe("weather"))
    chain.run(1)
    chain.sever("publisher", "a", for_good=True)
    chain.sever("subscriber", "a", for_good=True)
    assert publisher.peers() == (id_of("b"),)
    chain.feed("publisher", Multicast(1, "weather", b"rain", 5))
    chain.run(1)
    assert [message.data for message in chain.messages("subscriber")] == [b"rain"]
    chain.cut.clear()
    chain.run(30)
    assert publisher.peers() == (id_of("a"), id_of("b"))
    chain.feed("publisher", Multicast(2, "weather", b"sun", 5))
    chain.run(1)
    assert [message.data for message in chain.messages("subscriber")] == [b"sun"]


def test_an_idle_connection_stays_for_an_hour() -> None:
    chain = Chain("ab")
    chain.sdk("sdk", "a")
    chain.run(3600)
    assert chain.traced("sdk", "peer_left") == []


def test_a_private_topic_reaches_those_alone_who_have_the_key() -> None:
    chain = Chain("ab", "ac")
    publisher = chain.sdk("publisher", "a", keys=TopicKeys(public_keys=(KEY.public_key,)))
    chain.sdk("reader", "b", keys=TopicKeys(private_key=KEY))
    chain.sdk("stranger", "c", keys=TopicKeys(private_key=TopicPrivateKey(bytes([9] * 32))))
    for name in "reader", "stranger":
        chain.feed(name, Subscribe("secret"))
    chain.run(1)
    chain.feed("publisher", Watch("secret", True))
    chain.run(12)
    assert publisher.holders("secret") == (id_of("b"),)
    verdicts = {e.peer: e.fields["passed"] for e in chain.traced("publisher", "verification")}
    assert verdicts == {id_of("b"): True, id_of("c"): False}
    chain.feed("publisher", Multicast(1, "secret", b"psst", 5))
    chain.run(1)
    (message,) = chain.messages("reader")
    assert (message.topic, message.data) == ("secret", b"psst")
    assert chain.messages("stranger") == []


def test_a_reader_that_comes_back_is_verified_anew() -> None:
    chain = Chain("ab")
    publisher = chain.sdk("publisher", "a", keys=TopicKeys(public_keys=(KEY.public_key,)))
    chain.sdk("reader", "b", keys=TopicKeys(private_key=KEY))
    chain.feed("reader", Subscribe("secret"))
    chain.feed("publisher", Watch("secret", True))
    chain.run(12)
    chain.sever("reader", "b")
    chain.run(20)
    assert publisher.holders("secret") == (id_of("b"),)
    chain.feed("publisher", Unicast(1, "secret", b"psst", 10))
    chain.run(2)
    assert chain.take("publisher", UnicastEnded)[0].result == Result.OK
    assert len(chain.messages("reader")) == 1
