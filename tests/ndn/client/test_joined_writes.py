"""Publications that come one after the other leave in one write, at a client and at a node."""

from __future__ import annotations

from rumormill.core.transport import WriteBytes
from rumormill.ndn.effects import Publication
from rumormill.ndn.wire.name import name_from_uri
from tests.helpers.ndn.client import ClientBench
from tests.helpers.ndn.node_bench import NodeBench

NOTIFY = name_from_uri("/weather/notify")


def test_a_client_writes_several_publications_at_once_and_does_not_wait_with_them() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder()
    forwarder.serve()
    forwarder.received()
    for token in range(5):
        bench.feed(Publication(token, "/weather", b"rain"))
    assert bench.written.get(forwarder.connection) is None
    assert bench.machine.next_wake() == bench.now
    bench.advance(0)
    assert len(bench.written[forwarder.connection]) == 1
    names = [interest.name for interest in forwarder.interests()]
    assert len(names) == 5
    assert all(name.startswith(NOTIFY) for name in names)
    assert bench.machine.next_wake() != bench.now


def test_what_a_client_has_not_written_yet_goes_with_the_next_thing_that_happens() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder()
    forwarder.serve()
    forwarder.received()
    bench.feed(Publication(1, "/weather", b"rain"))
    forwarder.send(b"")
    assert len(forwarder.interests()) == 1
    assert bench.machine.wake(bench.now) == []


def test_a_node_writes_several_publications_at_once() -> None:
    bench = NodeBench()
    program = bench.connect()
    program.register("/weather/notify")
    bench.effects.clear()
    for token in range(5):
        bench.feed(Publication(token, "/weather", b"rain"))
    assert bench.of(WriteBytes) == []
    assert bench.machine.next_wake() == bench.now
    bench.run(0)
    assert len(bench.of(WriteBytes)) == 1
    assert len(program.interests) == 5
