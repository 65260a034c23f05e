"""Which forwarder is used, and what happens when it is lost."""

from __future__ import annotations

from rumormill.core.machine import Subscribe
from rumormill.core.transport import Dial, DialEnded
from rumormill.ndn.effects import Publication, PublicationEnded
from tests.helpers.ndn.client import FORWARDER, ClientBench
from tests.helpers.ndn.faces import data, interest

FIRST, SECOND = "tcp://127.0.0.1:6363", "tcp://127.0.0.1:6364"


def used(bench: ClientBench) -> list[str | None]:
    return [event.peer for event in bench.events("uplink_used")]


def test_the_first_that_is_up_is_used_and_the_others_stand_by() -> None:
    bench = ClientBench()
    one, two = bench.dial(FIRST), bench.dial(SECOND)
    second = bench.forwarder(SECOND, two)
    first = bench.forwarder(FIRST, one)
    assert used(bench) == [SECOND]
    assert len(second.commands()) == 1
    assert first.commands() == []
    assert bench.machine.peers == (SECOND, FIRST)


def test_another_takes_over_when_the_one_in_use_is_lost() -> None:
    bench = ClientBench()
    bench.feed(Subscribe("/weather"))
    first, second = bench.forwarder(FIRST), bench.forwarder(SECOND)
    first.serve()
    first.leave("connection_reset")
    served = second.serve()
    assert [command.verb for command in served] == ["register", "register"]
    assert used(bench) == [FIRST, SECOND]
    assert len(bench.routes()) == 4
    # The first comes back, and stands by.
    bench.advance(1)
    again = bench.forwarder(FIRST, bench.last_dial())
    assert again.commands() == []
    assert used(bench) == [FIRST, SECOND]


def test_of_several_that_are_up_the_one_named_first_takes_over() -> None:
    bench = ClientBench()
    addresses = [f"tcp://127.0.0.1:{port}" for port in (7003, 7001, 7002)]
    dials = [bench.dial(address) for address in addresses]
    opened = [
        bench.forwarder(address, dial)
        for address, dial in zip(reversed(addresses), reversed(dials), strict=True)
    ]
    opened[0].leave()
    assert used(bench) == [addresses[2], addresses[0]]


def test_one_that_leaves_commands_unanswered_gives_way() -> None:
    bench = ClientBench()
    bench.forwarder(FIRST)
    second = bench.forwarder(SECOND)
    bench.advance(2.01)
    assert used(bench) == [FIRST, SECOND]
    assert len(second.serve()) == 1
    assert bench.routes() == ["/alice/msg"]


def test_it_gives_way_to_one_that_comes_later_too() -> None:
    bench = ClientBench()
    bench.forwarder(FIRST)
    bench.advance(10)
    bench.forwarder(SECOND).serve()
    assert used(bench) == [FIRST, SECOND]
    assert bench.routes() == ["/alice/msg"]


def test_when_none_answers_they_do_not_take_turns_for_ever() -> None:
    bench = ClientBench()
    bench.forwarder(FIRST)
    bench.forwarder(SECOND)
    bench.advance(600)
    assert used(bench) == [FIRST, SECOND]
    assert len(bench.problems()) == 2


def test_what_comes_from_one_that_stands_by_is_not_for_us() -> None:
    bench = ClientBench()
    first, second = bench.forwarder(FIRST), bench.forwarder(SECOND)
    first.serve()
    second.send(interest("/alice/msg/t/1").raw)
    second.nack(interest("/x"))
    assert len(bench.events("ignored", reason="not_in_use")) == 2
    assert second.received() == []


def test_an_unreachable_forwarder_is_told_at_once_and_its_routes_soon() -> None:
    bench = ClientBench(forwarder_patience=2)
    bench.feed(Subscribe("/weather"))
    bench.fail(bench.dial())
    sentence = f"could not connect to {FORWARDER}: connection refused"
    assert bench.take(DialEnded) == [DialEnded(FORWARDER, None, sentence)]
    assert bench.problems() == []
    for _ in range(5):
        bench.advance(0.5)
        if dial := bench.last_dial():
            bench.fail(dial)
    assert bench.problems() == [f"there is no forwarder: {sentence}"]
    bench.feed(Subscribe("/late"))
    bench.advance(0)
    assert len(bench.problems()) == 2


def test_a_publication_without_a_forwarder_does_not_wait_for_ever() -> None:
    bench = ClientBench(forwarder_patience=2)
    bench.fail(bench.dial())
    bench.feed(Publication(1, "/weather", b"rain"))
    for _ in range(20):
        bench.advance(0.5)
        if dial := bench.last_dial():
            bench.fail(dial)
    (ended,) = bench.take(PublicationEnded)
    assert ended.token == 1


def test_a_short_restart_is_not_told_as_a_problem() -> None:
    bench = ClientBench(forwarder_patience=2)
    forwarder = bench.forwarder()
    forwarder.serve()
    forwarder.leave()
    bench.advance(0.3)
    bench.fail(bench.last_dial())
    bench.advance(0.6)
    bench.forwarder(dial=bench.last_dial()).serve()
    assert bench.problems() == []
    assert bench.routes() == ["/alice/msg", "/alice/msg"]


def test_packets_for_nobody_are_counted() -> None:
    bench = ClientBench()
    line = bench.machine.pubsub._line
    assert not line.up
    line.send_interest(interest("/a"))
    line.send_data(data("/a"), b"")
    line.send_nack(interest("/a"), 150, b"")
    bench.advance(0)
    bench.feed(Dial(FORWARDER))
    dropped = bench.events("dropped", reason="no_forwarder")
    assert [event.fields["what"] for event in dropped] == ["interest", "data", "nack"]


def test_by_udp_there_is_a_line_at_once() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder("udp://127.0.0.1:6363")
    assert bench.take(DialEnded) == [DialEnded("udp://127.0.0.1:6363", "udp://127.0.0.1:6363")]
    assert len(forwarder.serve()) == 1
    assert bench.routes() == ["/alice/msg"]
