"""A node takes anything: it costs who sent it, never the node, and memory stays bounded."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rumormill.core.machine import Subscribe
from rumormill.ndn.effects import Publication, PublicationEnded
from rumormill.ndn.routing.messages import Goodbye, Group, Hello, Update, node_with_epoch
from rumormill.ndn.wire.interest import encode_interest
from rumormill.ndn.wire.link import encode_link
from rumormill.ndn.wire.name import component, name_from_uri
from tests.helpers.ndn.node_bench import STRANGER, NodeBench

names = st.sampled_from(
    [name_from_uri(uri) for uri in ("/weather/notify", "/us/msg/x", "/localhost/nfd/rib/register",
                                    "/localhop/rumormill/routing/1", "/localhop/nfd", "/z")]
)  # fmt: skip
interests = st.builds(
    lambda name, nonce, parameters: encode_interest(name, nonce=nonce, parameters=parameters).raw,
    names,
    st.binary(min_size=4, max_size=4),
    st.one_of(st.none(), st.binary(max_size=40)),
)
epochs = st.binary(min_size=8, max_size=8)
nodes = st.builds(node_with_epoch, st.just(name_from_uri("/s")), epochs)
groups = st.builds(Group, nodes, st.integers(0, 16), st.lists(names).map(tuple))
messages = st.one_of(
    st.builds(Hello, nodes, st.integers(0, 9), epochs, st.booleans()),
    st.builds(
        Update, nodes, st.integers(1, 9), st.booleans(), st.booleans(),
        st.lists(groups).map(tuple),
    ),
    st.builds(Goodbye, nodes),
)  # fmt: skip
raws = st.one_of(
    st.binary(max_size=100),
    interests,
    interests.map(lambda raw: encode_link(raw, b"token")),
    interests.map(lambda raw: encode_link(raw, nack=150)),
    interests.map(lambda raw: raw[:-3]),
)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.one_of(raws, messages)), max_size=20))
def test_whatever_comes_the_node_goes_on(inputs: list[tuple[bool, object]]) -> None:
    bench = NodeBench()
    bench.feed(Subscribe("/weather"))
    stream, datagrams = bench.connect("tcp://192.0.2.9:1"), bench.datagrams()
    for by_stream, each in inputs:
        end = stream if by_stream else datagrams
        if isinstance(each, bytes):
            end.send(each)
        else:
            end.say(each)  # type: ignore[arg-type]
        end.answer_routing()
        bench.run(0.3)
    bench.run(30.0)
    effects = bench.feed(Publication(1, "/elsewhere", b"data"))
    assert any(isinstance(effect, PublicationEnded) for effect in effects)


def test_strangers_without_number_take_no_memory_without_bound() -> None:
    bench = NodeBench(max_udp_faces=50, max_neighbours=20, max_prefixes=100)
    for number in range(300):
        end = bench.datagrams(f"udp://198.51.{number % 100}.{number // 100}:6363")
        node = node_with_epoch(name_from_uri("/s"), b"%08d" % number)
        end.become_neighbour(node)
        prefixes = tuple(name_from_uri(f"/{number}/{each}") for each in range(20))
        end.say(Update(node, 1, True, True, (Group(node, 0, prefixes),)))
        bench.ends.remove(end)
        bench.run(0.1)
    sizes = bench.machine.sizes()
    assert sizes["udp_faces"] <= 50
    assert sizes["neighbours"] <= 20
    assert sizes["routing_heard"] <= 100
    assert sizes["routes"] <= 101
    assert sizes["routing_destinations"] <= 500
    bench.run(700.0)
    sizes = bench.machine.sizes()
    assert (sizes["udp_faces"], sizes["neighbours"], sizes["routes"]) == (0, 0, 1)
    assert sizes["routing_destinations"] == sizes["routing_timers"] == 0


def test_a_liar_costs_its_own_routes_alone() -> None:
    """An honest neighbour's route stays the best of its cost whatever a liar tells beside it."""
    bench = NodeBench()
    honest, liar = bench.datagrams(), bench.datagrams("udp://203.0.113.1:6363")
    honest.become_neighbour()
    group = Group(STRANGER, 0, (name_from_uri("/weather/notify"),))
    honest.say(Update(STRANGER, 1, True, True, (group,)))
    bad = node_with_epoch(name_from_uri("/liar"), b"epoch..1")
    liar.become_neighbour(bad)
    for sequence in range(1, 200):
        lies = (
            Group(bad, sequence % 17, (name_from_uri(f"/lie/{sequence}"),)),
            Group(STRANGER, 16, (name_from_uri("/weather/notify"),)),
            Group(STRANGER, 3, (component(b"x" * 2000),)),
        )
        liar.say(Update(bad, sequence, sequence == 1, False, lies))
    assert bench.machine.subscribers("/weather") == ("udp://192.0.2.7:6363",)
    assert bench.events("dropped", reason="prefix_too_long")
