"""Rendezvous with rust-libp2p, the one other that signs: each is the point of the other."""

from __future__ import annotations

from rumormill.core.trace import PROTOCOL_ERROR, REJECTED
from rumormill.libp2p.discovery.events import DISCOVERY_ADVERTISED, DISCOVERY_CONNECTED
from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.interop_matrix import OURS, THEIRS, row
from tests.helpers.interop.our_node import TOPIC, OpenNode, contents, eventually
from tests.helpers.interop.rust_peer import StartRustPeer

NAMESPACE = f"floodsub:{TOPIC}"


@row(matrix.RENDEZVOUS, THEIRS, peer="rust")
async def test_we_register_at_a_point_of_rust_and_find_each_other(
    start_rust_peer: StartRustPeer, open_node: OpenNode
) -> None:
    point = await start_rust_peer(rendezvous="server")
    other = await start_rust_peer(rendezvous="client", dial=[point.address], topics=[TOPIC])
    await other.expect("dial")
    await other.register(point.id, NAMESPACE, ttl=7200)
    ours = await open_node(discovery=["rendezvous"], rendezvous=[point.address])
    told = await point.expect("registered", id=ours.id)
    assert told["namespace"] == NAMESPACE
    await ours.sees(other.id)
    assert ours.network.counters[DISCOVERY_CONNECTED] == 1
    await other.meshes(ours.id, TOPIC)
    await other.publish(TOPIC, b"from rust")
    assert contents(await ours.received(1)) == [b"from rust"]
    found = {each["id"] for each in await other.discover(point.id, NAMESPACE)}
    assert found == {ours.id, other.id}
    assert ours.network.counters[PROTOCOL_ERROR] == ours.network.counters[REJECTED] == 0


@row(matrix.RENDEZVOUS, OURS, peer="rust")
async def test_rust_registers_at_a_point_of_ours_and_finds_others(
    start_rust_peer: StartRustPeer, open_node: OpenNode
) -> None:
    point = await open_node(topic="a topic of its own", rendezvous_server=True)
    first = await start_rust_peer(rendezvous="client", dial=[point.address])
    second = await start_rust_peer(rendezvous="client", dial=[point.address])
    for client in (first, second):
        await client.expect("dial")
    assert await first.register(point.id, NAMESPACE, ttl=7200) == 7200
    ours = await open_node(discovery=["rendezvous"], rendezvous=[point.address])
    await eventually(
        lambda: ours.network.counters[DISCOVERY_ADVERTISED] > 0, "we are registered", ours.state
    )
    found = {each["id"]: each for each in await second.discover(point.id, NAMESPACE)}
    assert found.keys() == {first.id, ours.id}
    assert any(ours.address.startswith(each) for each in found[ours.id]["addresses"])
    await eventually(lambda: first.id in ours.network.peers, "we meet rust", ours.state)
    await first.unregister(point.id, NAMESPACE)
    await eventually(
        lambda: point.network._host._seeking._machine.sizes()["rendezvous_registrations"] == 1,  # type: ignore[union-attr]
        "rust has left",
        point.state,
    )
    assert [each["id"] for each in await second.discover(point.id)] == [ours.id]
    assert point.network.counters[PROTOCOL_ERROR] == 0


async def test_a_point_of_rust_takes_no_record_of_the_standard_form(
    start_rust_peer: StartRustPeer, open_node: OpenNode
) -> None:
    """When this fails, the setting ``rendezvous_record`` can have the other default."""
    point = await start_rust_peer(rendezvous="server")
    ours = await open_node(
        discovery=["rendezvous"], rendezvous=[point.address], rendezvous_record="standard"
    )
    await eventually(
        lambda: ours.network.counters["discovery_failed"] > 0, "rust refuses", ours.state
    )
    assert ours.network.counters[DISCOVERY_ADVERTISED] == 0
