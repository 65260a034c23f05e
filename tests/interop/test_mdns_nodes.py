"""Two nodes of ours that know nothing of each other, on one local network that the test makes."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from rumormill.libp2p.discovery.events import DISCOVERY_CONNECTED, DISCOVERY_FAILED
from tests.helpers.interop.network_namespace import NetworkNamespace
from tests.helpers.interop.our_node import OpenNode, contents, eventually


@pytest.mark.parametrize("listen", ["/ip4/0.0.0.0/tcp/0", "/ip4/127.0.0.1/tcp/0", "lan"])
async def test_two_nodes_of_ours_find_each_other(
    lan: NetworkNamespace, open_node: OpenNode, listen: str
) -> None:
    listen = f"/ip4/{lan.address}/tcp/0" if listen == "lan" else listen
    one = await open_node(listen=listen, discovery=["mdns"])
    two = await open_node(listen=listen, discovery=["mdns"])
    await one.sees(two.id)
    await two.sees(one.id)
    await one.publish(b"hello")
    assert contents(await two.received(1)) == [b"hello"]
    counts = one.network.counters, two.network.counters
    assert any(each[DISCOVERY_CONNECTED] for each in counts)
    assert not any(each["dropped"] or each["protocol_error"] for each in counts)


async def test_a_node_that_is_off_is_not_found(lan: NetworkNamespace, open_node: OpenNode) -> None:
    listen = f"/ip4/{lan.address}/tcp/0"
    one = await open_node(listen=listen, discovery=["mdns"])
    quiet = await open_node(listen=listen)
    two = await open_node(listen=listen, discovery=["mdns"])
    await one.sees(two.id)
    assert quiet.network.peers == () and len(one.network.peers) == 1


async def test_where_there_is_no_network_the_node_says_so_once_and_runs(
    lan: NetworkNamespace, open_node: OpenNode, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    lan.run("ip", "address", "flush", "dev", lan.interface)
    with caplog.at_level(logging.WARNING, "rumormill"):
        node = await open_node(discovery=["mdns"])
    (sentence,) = [each for each in caplog.messages if "mDNS" in each]
    assert "finds nobody here" in sentence and "\n" not in sentence
    assert node.network.counters[DISCOVERY_FAILED] == 1
    other = await open_node(bootstrap=[node.address])
    await other.sees(node.id)
    # Once there is a network, it is used.
    lan.run("ip", "address", "add", f"{lan.address}/24", "dev", lan.interface)
    third = await open_node(listen=f"/ip4/{lan.address}/tcp/0", discovery=["mdns"])
    await eventually(lambda: third.id in node.network.peers, "it is found at last", node.state)
