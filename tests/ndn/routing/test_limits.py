"""What a neighbour may make us keep and do: what it lies costs itself alone."""

from __future__ import annotations

from collections.abc import Sequence

from rumormill.core import trace
from rumormill.ndn.routing.events import NEIGHBOUR_DOWN
from rumormill.ndn.routing.messages import (
    ROUTING,
    Goodbye,
    Group,
    Hello,
    RoutingMessage,
    Update,
    node_with_epoch,
)
from rumormill.ndn.security.signers import DigestSigner, HmacSigner
from rumormill.ndn.wire.data import encode_data
from rumormill.ndn.wire.interest import Interest, encode_interest
from rumormill.ndn.wire.name import name_from_uri
from tests.helpers.ndn.routers import Routers, WireFace

LIAR = node_with_epoch(name_from_uri("/liar"), b"epoch..1")


class Liar:
    """Somebody with a line to router ``a`` who says what the test wants, and answers everything."""

    def __init__(self, net: Routers, uri: str = "tcp") -> None:
        self.net = net
        net.add("z")
        net.join("za", uri=uri)
        (self.face,) = net.faces("z", "a")
        net["z"].vector.shutdown()
        net["z"].vector = self  # type: ignore[assignment]
        self.heard: list[Interest] = []
        self.answers = 0
        self._sequence = 0

    def interest(self, face: WireFace, interest: Interest, token: bytes) -> None:
        self.heard.append(interest)
        face.send_data(encode_data(interest.name, None, DigestSigner()), token)

    def data(self, face: WireFace, data: object) -> None:
        self.answers += 1

    def nack(self, face: WireFace, interest: Interest, reason: int) -> None:
        pass

    def next_wake(self) -> float | None:
        return None

    def wake(self, now: float) -> None:
        pass

    def say(self, *messages: RoutingMessage, pause: float = 0.1) -> int:
        """Say it, and return how many answers came."""
        before = self.answers
        for message in messages:
            self.net.say(self.face, message)
            self.net.run(pause)
        return self.answers - before

    def hello(self) -> None:
        self.say(Hello(LIAR, 0, bytes(8)))

    def tell(self, prefixes: Sequence[str], cost: int = 0, begin: bool = False) -> int:
        self._sequence += 1
        names = tuple(map(name_from_uri, prefixes))
        return self.say(Update(LIAR, self._sequence, begin, begin, (Group(LIAR, cost, names),)))


def beside_an_honest_one(**parameters: object) -> tuple[Routers, Liar]:
    """Router ``a`` with an honest neighbour ``b`` that has /b, and a liar."""
    net = Routers()
    net.add("a", **parameters)
    net.add("b")
    net.announce("b", "/b")
    net.join("ab")
    liar = Liar(net)
    liar.hello()
    assert len(net["a"].vector.neighbours()) == 2
    return net, liar


def test_a_neighbour_may_tell_only_so_many_routes() -> None:
    net, liar = beside_an_honest_one(max_neighbour_prefixes=50)
    assert liar.tell([f"/z/{number}" for number in range(80)], begin=True) == 1
    assert net["a"].vector.sizes()["routing_heard"] == 51
    assert net["a"].told(trace.DROPPED, what="route", reason="too_many_prefixes", count=30) == 1
    assert net["a"].hops("/b") == {"b": 1}


def test_nobody_asks_again_for_what_was_refused() -> None:
    net = Routers()
    net.add("a", max_neighbour_prefixes=50)
    net.add("b")
    net.announce("b", *(f"/b/{number}" for number in range(80)))
    net.join("ab")
    net.run(60.0)
    assert len(net["a"].fib) == 50
    assert net["a"].told("routes_asked") == 0


def test_who_told_most_gives_way_when_all_together_told_too_much() -> None:
    net, liar = beside_an_honest_one(max_prefixes=60)
    liar.tell([f"/z/{number}" for number in range(80)], begin=True)
    assert net["a"].vector.sizes()["routing_heard"] == 60
    net.announce("b", *(f"/b/{number}" for number in range(20)))
    net.run(1.0)
    assert [net["a"].hops(f"/b/{number}") for number in range(20)] == [{"b": 1}] * 20
    assert net["a"].vector.sizes()["routing_heard"] == 60
    assert net["a"].told(trace.DROPPED, reason="gives_way") == 20
    net.announce("b", *(f"/b/{number}" for number in range(20, 60)))
    net.run(1.0)
    assert net["a"].vector.sizes()["routing_heard"] == 60
    assert sum(face.uri == "tcp://b:6363" for _, face in net["a"].fib) == 30


def test_long_prefixes_and_those_of_a_scope_are_refused() -> None:
    net, liar = beside_an_honest_one(max_prefix_bytes=20)
    liar.tell(["/localhost/nfd", "/localhop/x", "/" + "x" * 30, "/fine"], begin=True)
    assert [name_from_uri("/b"), name_from_uri("/fine")] == [prefix for prefix, _ in net["a"].fib]
    assert net["a"].told(trace.DROPPED, reason="scope", count=2) == 1
    assert net["a"].told(trace.DROPPED, reason="prefix_too_long", count=1) == 1


def test_what_is_of_a_scope_or_too_long_is_not_told() -> None:
    net = Routers()
    net.add("ab", max_prefix_bytes=20)
    net.announce("a", "/localhost/x", "/localhop/x", "/" + "x" * 30, "/fine")
    net.join("ab")
    net.run(1.0)
    assert [prefix for prefix, _ in net["b"].fib] == [name_from_uri("/fine")]


def test_nobody_tells_us_ways_to_ourselves() -> None:
    net, liar = beside_an_honest_one()
    group = Group(net["a"].vector.node, 1, (name_from_uri("/mine"),))
    assert liar.say(Update(LIAR, 1, True, True, (group,))) == 1
    assert net["a"].hops("/mine") == {}
    assert net["a"].told(trace.DROPPED, reason="our_own", count=1) == 1


def test_a_flapping_neighbour_is_not_answered_past_its_allowance() -> None:
    net, liar = beside_an_honest_one(max_neighbour_prefixes=100, update_rate=10.0)
    names = [f"/z/{number}" for number in range(50)]
    answers = [liar.tell(names, cost=number % 2, begin=not number) for number in range(20)]
    assert answers[:3] == [1, 1, 1]
    assert sum(answers) < 6
    assert net["a"].told(trace.HELD_BACK, reason="routing_updates") == 20 - sum(answers)
    net.run(60.0)
    assert net["a"].hops("/b") == {"b": 1}


def test_hellos_without_end_are_not_answered_without_end() -> None:
    net, liar = beside_an_honest_one(max_neighbour_prefixes=100, update_rate=10.0)
    hellos = [Hello(LIAR, number, bytes(8), True) for number in range(200)]
    assert liar.say(*hellos, pause=0.01) < 40
    assert net["a"].told(trace.HELD_BACK, reason="hellos") > 160
    assert len(liar.heard) < 50


def test_updates_without_a_beginning_or_of_a_stranger_are_not_taken() -> None:
    net, liar = beside_an_honest_one()
    assert liar.tell(["/z"]) == 0
    other = node_with_epoch(name_from_uri("/other"), b"epoch..1")
    assert liar.say(Update(other, 9, True, True, ())) == 0
    assert net["a"].told(trace.IGNORED, reason="without_beginning") == 1
    assert net["a"].told(trace.IGNORED, reason="no_neighbour") == 1


def test_an_update_that_comes_twice_counts_once_and_is_answered_twice() -> None:
    net, liar = beside_an_honest_one()
    update = Update(LIAR, 5, True, True, (Group(LIAR, 0, (name_from_uri("/z"),)),))
    later = Update(LIAR, 6, False, False, (Group(LIAR, 16, (name_from_uri("/z"),)),))
    assert liar.say(update, later, update) == 3
    assert net["a"].hops("/z") == {}


def test_who_sends_what_cannot_be_read_is_left_alone_in_the_end() -> None:
    net, liar = beside_an_honest_one()
    liar.tell(["/z"], begin=True)
    for _ in range(8):
        junk = encode_interest(ROUTING, nonce=b"1234", parameters=b"junk", signer=DigestSigner())
        liar.face.send_interest(junk)
        net.run(0.1)
    assert net["a"].told(trace.PROTOCOL_ERROR) == 8
    assert net["a"].told(NEIGHBOUR_DOWN, reason="protocol_errors") == 1
    assert net["a"].hops("/z") == {}
    assert net["a"].hops("/b") == {"b": 1}


def test_a_message_must_have_a_right_digest() -> None:
    net, liar = beside_an_honest_one()
    for signer in (None, HmacSigner(b"key", name_from_uri("/key"))):
        liar.face.send_interest(
            encode_interest(ROUTING, nonce=b"1234", parameters=b"\x85\x00", signer=signer)
        )
        net.run(0.1)
    assert net["a"].told(trace.PROTOCOL_ERROR, reason="bad_signature") == 2


def test_nobody_can_say_goodbye_for_others() -> None:
    net, liar = beside_an_honest_one()
    liar.say(Goodbye(net["b"].vector.node))
    assert net["a"].hops("/b") == {"b": 1}


def test_strangers_that_only_say_hello_are_few_and_soon_forgotten() -> None:
    net = Routers()
    net.add("a", max_neighbours=10)
    for number in range(30):
        net.add([f"z{number}"])
        near = WireFace(net, net["a"], 1000 + number, f"udp://z{number}:1")
        far = WireFace(net, net[f"z{number}"], 2000 + number, "udp://a:6363")
        near.other, far.other = far, near
        near.mute = True
        net.say(far, Hello(node_with_epoch(b"", b"%08d" % number), 0, bytes(8)))
    net.run(0.1)
    assert net["a"].vector.sizes()["neighbours"] == 10
    assert net["a"].told(trace.IGNORED, reason="too_many_neighbours") == 20
    packets = net.packets
    net.run(100.0)
    assert net["a"].vector.sizes()["neighbours"] == 0
    assert net.packets - packets <= 20  # three hellos each, the first of them before


def test_what_waits_for_a_slow_neighbour_stays_as_small_as_what_there_is() -> None:
    net, liar = beside_an_honest_one()
    (slow,) = net.faces("b", "a")
    slow.mute = True  # it answers nothing
    for number in range(100):
        liar.tell([f"/z/{number}"], begin=not number)
        liar.tell([f"/z/{number}"], cost=16)
    sizes = net["a"].vector.sizes()
    assert sizes["routing_dirty"] + sizes["routing_told"] < 40


def test_where_the_fib_has_no_room_nothing_breaks() -> None:
    net, liar = beside_an_honest_one()
    net["a"].room = 10
    liar.tell([f"/z/{number}" for number in range(50)], begin=True)
    assert len(net["a"].fib) == 10
    liar.tell([f"/z/{number}" for number in range(50)], cost=16)
    net.run(2.0)
    assert [prefix for prefix, _ in net["a"].fib] == [name_from_uri("/b")]
    assert net["a"].vector.sizes()["routing_installed"] == 1
