"""From one run to the next: the id, the tables and the items, none of them trusted blindly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bep50.effects import Publish, Restore
from rumormill.bep50.overlay.saved.saved_state import load, saved_id
from rumormill.bep50.wire.bencode import DEEPEST_VALUE, encode
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.machine import Subscribe
from tests.helpers.bep50.overlay_network import KEY, OTHER_TOPIC, TOPIC, OverlayNetwork, value_of

TEXT = TOPIC.text


def stopped(network: OverlayNetwork, address: str) -> bytes:
    """Stop a node; its state."""
    return network.kill(address).state()


def test_a_node_comes_back_with_its_id_its_neighbours_and_its_value() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(6)
    network.publish(addresses[0], b"before")
    network.run(2)
    id = network.nodes[addresses[3]].id
    state = stopped(network, addresses[3])
    network.run(1)
    assert saved_id(state) == id
    network.forget()
    back = network.add(addresses[3], id=id, subscribe=[])
    network.feed(back, Restore(state))
    assert network.sent(back) == [], "no topic is joined yet"
    network.feed(back, Subscribe(TEXT))
    network.run(3)
    node = network.nodes[back]
    assert node.joined(TEXT) and len(node.subscribers(TEXT)) == 5
    latest = node.latest(TEXT)
    assert latest is not None and latest.value == b"6:before"
    assert network.texts(back) == [], "it was delivered in the run before"
    network.publish(addresses[0], b"after")
    network.run(1)
    assert network.texts(back) == ["after"]


def test_a_value_that_is_nested_as_deep_as_it_may_be_comes_back_too() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(2)
    value = b"l" * DEEPEST_VALUE + b"e" * DEEPEST_VALUE
    network.feed(addresses[0], Publish(TEXT, value))
    network.run(1)
    saved = load(stopped(network, addresses[1])).topics[TOPIC.target].item
    assert saved is not None and saved.value == value


def test_what_was_published_meanwhile_is_caught_up_with() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(4)
    network.publish(addresses[0], b"before")
    network.run(1)
    state = stopped(network, addresses[3])
    network.publish(addresses[0], b"meanwhile")
    network.run(1)
    network.forget()
    back = network.add(addresses[3])
    network.feed(back, Restore(state))
    network.run(2)
    assert network.texts(back) == ["meanwhile"]


def test_a_forged_item_in_the_state_is_not_taken() -> None:
    network = OverlayNetwork()
    first = network.add()
    network.publish(first, b"x")
    state = value_of(stopped(network, first))
    state[b"topics"][TOPIC.target][b"item"][b"v"] = b"y"
    back = network.add(first)
    network.feed(back, Restore(encode(state)))
    network.run(1)
    assert network.nodes[back].latest(TEXT) is None
    item = KEY.item(b"other", 9, b"1:z")
    other = {b"k": item.public_key, b"salt": b"other", b"seq": 9, b"sig": item.signature}
    state[b"topics"][TOPIC.target][b"item"] = {**other, b"v": b"z"}
    network.feed(back, Restore(encode(state)))
    network.run(1)
    assert network.nodes[back].latest(TEXT) is None, "it is an item of another topic"


def test_neighbours_that_are_gone_are_not_taken() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(4)
    state = stopped(network, addresses[0])
    network.kill(addresses[1])
    back = network.add(addresses[0])
    network.feed(back, Restore(state))
    network.run(10)
    assert set(network.nodes[back].subscribers(TEXT)) == set(addresses[2:])


def test_topics_that_are_not_joined_again_are_not_forgotten() -> None:
    network = OverlayNetwork()
    first = network.add(subscribe=[TOPIC, OTHER_TOPIC])
    network.publish(first, b"x", OTHER_TOPIC)
    state = stopped(network, first)
    back = network.add(first)
    network.feed(back, Restore(state))
    again = load(network.nodes[back].state())
    item = again.topics[OTHER_TOPIC.target].item
    assert item is not None and item.value == b"1:x"


def test_ipv6_neighbours_are_kept_too() -> None:
    network = OverlayNetwork()
    first = network.add("[2001:db8::1]:6881")
    second = network.add("[2001:db8::2]:6881", contacts=[first])
    network.run(2)
    saved = load(network.nodes[second].state())
    assert [node.peer for node in saved.topics[TOPIC.target].nodes] == [first]


@pytest.mark.parametrize("state", [b"", b"de", b"i7e", b"d7:versioni9ee", b"\x00" * 100])
def test_a_state_that_cannot_be_read_is_refused_with_a_sentence(state: bytes) -> None:
    network = OverlayNetwork()
    node = network.add()
    with pytest.raises(LocalProtocolError, match="saved state"):
        network.feed(node, Restore(state))
    assert saved_id(state) is None


values = st.recursive(
    st.integers(-(2**70), 2**70) | st.binary(max_size=80),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.binary(max_size=4), inner),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {
            b"id": st.just(b"i" * 20) | values,
            b"version": st.just(1),
            b"topics": st.dictionaries(
                st.just(TOPIC.target) | st.binary(max_size=21),
                st.fixed_dictionaries(
                    {},
                    optional={
                        b"nodes": st.binary(max_size=60) | values,
                        b"nodes6": st.binary(max_size=80) | values,
                        b"item": st.fixed_dictionaries(
                            {},
                            optional={key: values for key in (b"k", b"v", b"seq", b"sig", b"salt")},
                        )
                        | values,
                    },
                )
                | values,
            )
            | values,
        }
    )
)
def test_any_state_gives_a_value_or_an_error(state: dict[bytes, object]) -> None:
    raw = encode(state)  # type: ignore[arg-type]
    try:
        saved = load(raw)
    except RemoteProtocolError:
        return
    assert len(saved.id) == 20
    network = OverlayNetwork()
    node = network.add()
    network.feed(node, Restore(raw))
