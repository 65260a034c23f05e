"""The multicast sockets on a network that the test makes: who hears whom, what comes and goes."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from rumormill.live.transports.multicast import LARGEST_DATAGRAM, LinkState, Multicast
from tests.helpers.interop.network_namespace import NetworkNamespace
from tests.helpers.interop.our_node import eventually

GROUPS = {4: "224.0.0.251", 6: "ff02::fb"}


class Ears:
    """One node's sockets, and what they heard and lost."""

    def __init__(self, port: int = 5353) -> None:
        self.heard: list[tuple[str, str, bytes]] = []
        self.lost: list[str] = []
        self.multicast = Multicast(
            GROUPS, port, lambda *what: self.heard.append(what), self._on_lost
        )
        self.links = dict(self.multicast.look())

    def _on_lost(self, reason: str, peer: str | None, count: int) -> None:
        self.lost.append(reason)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def ears(stack: ExitStack, port: int = 5353) -> Ears:
    made = Ears(port)
    stack.callback(made.multicast.close)
    return made


async def test_all_on_the_link_hear_what_is_said_there(
    lan: NetworkNamespace, stack: ExitStack
) -> None:
    one, two = ears(stack), ears(stack)
    four = f"{lan.interface}/4"
    assert one.links[four] == lan.address
    assert not any(link.startswith(("lo/", "loose/4")) for link in one.links)
    for link in one.links:
        one.multicast.send(link, link.encode())
    expected = sorted((link, link.encode()) for link in one.links)
    for each in (one, two):
        await eventually(
            lambda each=each: sorted((a, c) for a, _, c in each.heard) == expected,  # type: ignore[misc]
            "all is heard, each on its own link",
        )
    assert (four, lan.address, four.encode()) in two.heard
    assert one.lost == two.lost == []


async def test_an_interface_that_goes_is_left_and_one_that_changes_is_joined_anew(
    lan: NetworkNamespace, stack: ExitStack
) -> None:
    node = ears(stack)
    four = f"{lan.interface}/4"
    assert node.multicast.look() == []
    lan.run("ip", "address", "flush", "dev", lan.interface, "scope", "global")
    assert node.multicast.look() == [LinkState(four, None)]
    lan.run("ip", "address", "add", "10.77.0.9/24", "dev", lan.interface)
    assert node.multicast.look() == [LinkState(four, "10.77.0.9")]
    lan.run("ip", "address", "flush", "dev", lan.interface, "scope", "global")
    lan.run("ip", "address", "add", "10.77.0.8/24", "dev", lan.interface)
    assert node.multicast.look() == [LinkState(four, None), LinkState(four, "10.77.0.8")]
    node.multicast.send("eth9/4", b"nobody")
    assert node.lost == ["no_such_link"]


async def test_what_is_too_large_is_dropped_and_counted(
    lan: NetworkNamespace, stack: ExitStack
) -> None:
    node = ears(stack)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as says:
        says.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(lan.address))
        says.sendto(bytes(LARGEST_DATAGRAM + 1), (GROUPS[4], 5353))
        says.sendto(b"small", (GROUPS[4], 5353))
    await eventually(lambda: len(node.heard) == 1, "the small one is heard")
    assert node.heard[0][2] == b"small" and node.lost == ["datagram_too_large"]


async def test_a_port_that_somebody_does_not_share_is_named_and_costs_nothing_else(
    lan: NetworkNamespace, stack: ExitStack
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as selfish:
        selfish.bind(("", 5353))
        node = ears(stack)
        assert f"{lan.interface}/4" not in node.links
        assert node.multicast.problem == f"{lan.interface}/4: address already in use"
    assert LinkState(f"{lan.interface}/4", lan.address) in node.multicast.look()
