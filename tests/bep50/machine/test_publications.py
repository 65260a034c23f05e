"""Publications: what each step waits for, how long, and the one end that each of them has."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from rumormill.bep50.effects import (
    Bootstrap,
    CasMismatch,
    Contact,
    ForgetPublication,
    Offer,
    PublishValue,
)
from rumormill.bep50.machine.publications import ATTEMPTS, RENUMBERED
from rumormill.bep50.wire.bencode import encode
from rumormill.core.errors import LocalProtocolError, NotReadyError
from rumormill.core.machine import Subscribe, Unsubscribe
from tests.helpers.bep50.machine_network import LATE, MachineNetwork
from tests.helpers.bep50.overlay_network import KEY, LATENCY, OTHER_TOPIC, TOPIC

TEXT = TOPIC.text


def pair(network: MachineNetwork) -> tuple[str, str]:
    """Two that know each other."""
    first, second = network.start(), network.start()
    network.feed(second, Bootstrap((first,)))
    network.run(5.0)
    return first, second


def newest(network: MachineNetwork, address: str) -> tuple[int, bytes]:
    item = network.machine(address).latest(TEXT)
    assert item is not None
    return item.seq, item.value


def nothing_left(network: MachineNetwork, addresses: Iterable[str]) -> bool:
    return all(network.machine(each).sizes()["publications"] == 0 for each in addresses)


# ---- the straight way


def test_a_publication_ends_when_the_first_neighbour_has_it() -> None:
    network = MachineNetwork()
    first, second = pair(network)
    token = network.publish_value(first, b"rain")
    assert network.end_of(first, token) is None, "on its way is not there"
    network.run(2.5 * LATENCY)
    receipt = network.done(first, token).receipt
    assert (receipt.reached, receipt.queued, receipt.dropped) == ((second,), (), {})
    assert receipt.fields == {"seq": 1}
    assert network.texts(second) == ["rain"]
    assert nothing_left(network, (first,))


def test_alone_it_ends_at_once_and_is_kept_for_those_who_come() -> None:
    network = MachineNetwork()
    first = network.start()
    token = network.publish_value(first, b"rain")
    receipt = network.done(first, token).receipt
    assert not receipt and receipt.fields == {"seq": 1}
    late = network.start()
    network.feed(late, Bootstrap((first,)))
    network.run(2.0)
    assert network.texts(late) == ["rain"]


def test_of_values_published_at_once_each_has_its_number_and_its_receipt() -> None:
    network = MachineNetwork()
    first, second = pair(network)
    tokens = [network.publish_value(first, b"%d" % number) for number in range(50)]
    network.run(1.0)
    receipts = [network.done(first, token).receipt for token in tokens]
    assert [receipt.fields["seq"] for receipt in receipts] == list(range(1, 51))
    assert all(receipt.reached == (second,) for receipt in receipts)


def test_neighbours_that_are_gone_are_told_in_the_receipt() -> None:
    network = MachineNetwork()
    first, second = pair(network)
    network.kill(second)
    token = network.publish_value(first, b"rain", timeout=60.0)
    network.run(10.0)
    receipt = network.done(first, token).receipt
    assert not receipt.reached and receipt.dropped == {second: "no_answer"}


def test_after_its_time_it_ends_with_who_has_not_answered_yet() -> None:
    network = MachineNetwork()
    first, second = pair(network)
    network.kill(second)
    token = network.publish_value(first, b"rain", timeout=0.5)
    network.run(0.4)
    assert network.end_of(first, token) is None
    network.run(0.2)
    assert network.done(first, token).receipt.queued == (second,)


def test_nobody_waits_for_a_publication_that_was_forgotten() -> None:
    network = MachineNetwork()
    first, second = pair(network)
    token = network.publish_value(first, b"rain")
    network.feed(first, ForgetPublication(token))
    network.feed(first, ForgetPublication(token))
    network.run(10.0)
    assert network.end_of(first, token) is None
    assert network.texts(second) == ["rain"], "it was on its way already"
    assert nothing_left(network, (first,))


# ---- what cannot be published


def test_what_cannot_be_published_fails_with_a_sentence() -> None:
    network = MachineNetwork()
    first = network.start(subscribe=False, keys=())
    network.feed(first, PublishValue(77, TEXT, encode(b"x")))
    assert "join the topic" in str(network.error_of(first, 77))
    network.feed(first, Subscribe(TEXT))
    token = network.publish_value(first, b"x")
    assert "secret key" in str(network.error_of(first, token))
    other = network.start()
    network.feed(other, PublishValue(78, TEXT, b"i007e"))
    assert "not bencoded" in str(network.error_of(other, 78))
    assert nothing_left(network, (first, other))


def test_a_topic_that_is_left_ends_its_publications() -> None:
    network = MachineNetwork()
    first, second = pair(network)
    waiting = network.publish_value(first, b"rain", ready=60.0)
    network.kill(second)
    alone = network.start()
    never = network.publish_value(alone, b"rain", ready=60.0)
    for address in (first, alone):
        network.feed(address, Unsubscribe(TEXT))
    assert network.done(first, waiting).receipt.dropped == {second: "no_answer"}
    assert "was left" in str(network.error_of(alone, never))
    assert nothing_left(network, (first, alone))


# ---- ready


def test_ready_waits_for_the_first_member() -> None:
    network = MachineNetwork()
    first = network.start()
    token = network.publish_value(first, b"rain", ready=10.0)
    network.run(5.0)
    assert network.end_of(first, token) is None
    second = network.start()
    network.feed(second, Bootstrap((first,)))
    network.run(4.0)
    assert network.done(first, token).receipt.reached == (second,)


def test_ready_gives_up_in_words() -> None:
    network = MachineNetwork()
    first = network.start()
    token = network.publish_value(first, b"rain", ready=0.05)
    network.run(0.1)
    error = network.error_of(first, token)
    assert isinstance(error, NotReadyError)
    assert str(error) == f"nobody listened to {TEXT!r} within 0.05 s"


# ---- finding out the newest number


def test_a_publisher_that_just_started_goes_on_where_the_last_one_stopped() -> None:
    network = MachineNetwork()
    hub = network.start()
    network.publish_value(hub, b"one")
    network.publish_value(hub, b"two")
    late = network.start()
    network.feed(late, Bootstrap((hub,)))
    token = network.publish_value(late, b"three")
    network.run(2.0)
    assert network.done(late, token).receipt.fields == {"seq": 3}
    assert network.texts(hub)[-1] == "three"


def test_an_item_under_check_is_waited_for() -> None:
    network = MachineNetwork()
    first = network.start()
    network.hold_checks = True
    network.feed(first, Offer(KEY.item(b"", 7, encode(b"old"))))
    token = network.publish_value(first, b"new")
    network.run(1.0)
    assert network.end_of(first, token) is None
    network.release()
    network.run(1.0)
    assert network.done(first, token).receipt.fields == {"seq": 8}


def test_a_name_that_is_being_looked_up_is_waited_for_but_not_for_ever() -> None:
    network = MachineNetwork()
    first = network.start()
    network.feed(first, Bootstrap((f"{LATE}:6881",)))
    token = network.publish_value(first, b"x", timeout=3.0)
    network.run(2.9)
    assert network.end_of(first, token) is None
    network.run(0.2)
    assert network.done(first, token)


def test_a_name_that_nobody_knows_holds_no_publication_up() -> None:
    network = MachineNetwork()
    first = network.start()
    network.feed(first, Bootstrap(("nobody.example:6881",)))
    network.run(10.5)
    token = network.publish_value(first, b"x", timeout=60.0)
    network.run(1.0)
    assert network.done(first, token)


def test_a_contact_that_does_not_answer_is_waited_for_until_it_counts_as_silent() -> None:
    network = MachineNetwork()
    first = network.start()
    network.feed(first, Contact(None, ("10.9.9.9:6881",)))
    token = network.publish_value(first, b"x", timeout=60.0)
    network.run(1.0)
    assert network.end_of(first, token) is None
    network.run(5.0)
    assert network.done(first, token)


# ---- others with the same key


def lagging(network: MachineNetwork, *values: bytes) -> tuple[str, str]:
    """One that only asks, and the neighbour that has published ``values`` without its knowledge."""
    hub = network.start()
    reader = network.start(read_only=True)
    network.feed(reader, Bootstrap((hub,)))
    network.run(3.0)
    for value in values:
        network.publish_value(hub, value)
    network.run(0.01)
    assert network.machine(reader).latest(TEXT) is None
    return hub, reader


def test_a_publisher_that_lags_behind_publishes_anew_above_the_newest() -> None:
    network = MachineNetwork()
    hub, reader = lagging(network, b"one", b"two")
    token = network.publish_value(reader, b"three")
    network.run(3.0)
    assert network.done(reader, token).receipt.fields == {"seq": 3}
    assert newest(network, hub) == (3, encode(b"three"))
    (event,) = network.events(reader, RENUMBERED)
    assert event.fields == {"seq": 1, "attempt": 1}


def test_who_said_what_it_replaces_is_told_that_it_lags_behind() -> None:
    network = MachineNetwork()
    hub, reader = lagging(network, b"one", b"two")
    token = network.publish_value(reader, b"three")
    network.run(3.0)
    assert network.done(reader, token).receipt.fields == {"seq": 3}
    network.forget()
    for value in (b"four", b"five"):
        network.publish_value(hub, value)
    network.run(0.01)
    token = network.publish_value(reader, b"too late", cas=3)
    network.run(3.0)
    error = network.error_of(reader, token)
    assert isinstance(error, CasMismatch)
    assert (error.expected, error.found) == (3, 5)
    assert newest(network, hub) == (5, encode(b"five"))
    assert not network.events(reader, RENUMBERED)


def test_a_wrong_condition_fails_before_anything_is_sent() -> None:
    network = MachineNetwork()
    first, second = pair(network)
    token = network.publish_value(first, b"x", cas=6)
    error = network.error_of(first, token)
    assert isinstance(error, CasMismatch) and error.found is None
    network.run(1.0)
    assert network.texts(second) == []


def test_a_value_is_renumbered_so_often_and_no_more() -> None:
    network = MachineNetwork()
    hub, reader = lagging(network, b"one")
    # Whenever a put of the reader arrives, the hub has just published something newer.
    published = network.publish_value

    def overtake(by: str, to: str, packet: bytes) -> bool:
        if (by, to) == (reader, hub) and b"1:q3:put" in packet:
            for _ in range(2):
                published(hub, b"faster")
        return False

    network.loses = overtake
    token = network.publish_value(reader, b"slow")
    network.run(20.0)
    receipt = network.done(reader, token).receipt
    assert not receipt.reached
    assert len(network.events(reader, RENUMBERED)) == ATTEMPTS - 1
    assert len(network.events(reader, "published")) == ATTEMPTS


def test_a_newer_value_of_our_own_is_meant_to_replace_an_earlier_one() -> None:
    network = MachineNetwork()
    first, second = pair(network)
    network.kill(second)
    tokens = [network.publish_value(first, b"%d" % number, timeout=0.2) for number in range(3)]
    network.run(2.0)
    seqs = [network.done(first, token).receipt.fields["seq"] for token in tokens]
    assert seqs == [1, 2, 3]
    assert newest(network, first) == (3, encode(b"2"))
    assert not network.events(first, RENUMBERED)


# ---- bounds


def test_publications_under_way_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rumormill.bep50.machine.publications.MOST_PUBLICATIONS", 5)
    network = MachineNetwork()
    first = network.start()
    tokens = [network.publish_value(first, b"x", ready=9.0) for _ in range(6)]
    assert network.machine(first).sizes()["publications"] == 5
    error = network.error_of(first, tokens[-1])
    assert isinstance(error, LocalProtocolError) and "under way already" in str(error)


def test_a_publication_looks_at_its_own_topic_alone() -> None:
    network = MachineNetwork()
    first, second = pair(network)
    network.feed(first, Subscribe(OTHER_TOPIC.text))
    network.feed(first, PublishValue(900, OTHER_TOPIC.text, encode(b"x"), ready=50.0))
    token = network.publish_value(first, b"rain")
    network.run(1.0)
    assert network.done(first, token).receipt.reached == (second,)
    assert network.end_of(first, 900) is None
    network.run(60.0)
    assert isinstance(network.error_of(first, 900), NotReadyError)


def test_every_publication_ends_once_whatever_is_lost() -> None:
    network = MachineNetwork(seed=3)
    hub = network.start()
    others = [network.start() for _ in range(7)]
    for other in others:
        network.feed(other, Bootstrap((hub,)))
    network.run(10.0)
    network.loses = lambda by, to, packet: network.random.random() < 0.3
    tokens = []
    for number in range(30):
        tokens.append(network.publish_value(hub, b"%d" % number + b"x" * (number % 3 * 300)))
        network.run(0.3)
    network.run(30.0)
    for token in tokens:
        receipt = network.done(hub, token).receipt
        assert set(receipt.reached) | set(receipt.queued) | set(receipt.dropped) <= set(others)
    assert nothing_left(network, (hub,))
