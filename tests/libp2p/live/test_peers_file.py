"""The file of peers: a node that restarts without a word from its user finds its network again."""

from __future__ import annotations

import contextlib
import json
import logging
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumormill
from rumormill import ConfigError, Libp2pNetwork
from rumormill.libp2p.discovery.remembered import MOST_PEERS, RememberedPeer
from rumormill.libp2p.live.peers_file import (
    HEADER,
    LARGEST_FILE,
    PeersFile,
    decode_peers,
    encode_peers,
)
from tests.helpers.interop.our_node import eventually
from tests.helpers.libp2p.host_net import key

LOOPBACK = "/ip4/127.0.0.1/tcp/0"
FIRST = json.dumps(HEADER).encode() + b"\n"

peers = st.builds(
    RememberedPeer,
    peer=st.integers(0, 40).map(lambda n: key(str(n)).peer),
    addresses=st.lists(
        st.integers(1, 65535).map(lambda port: f"/ip4/10.0.0.1/tcp/{port}"), min_size=1, max_size=8
    ).map(tuple),
    last_seen=st.integers(0, 2**40 - 1).map(float),
    failures=st.integers(0, 1000),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "peers"


# ---- the file


@given(st.lists(peers, max_size=20, unique_by=lambda each: each.peer))
def test_what_is_written_is_read(known: list[RememberedPeer]) -> None:
    assert decode_peers(encode_peers(known)) == (known, 0)


@given(st.binary(max_size=300))
def test_whatever_the_file_holds_it_is_read_or_refused(tail: bytes) -> None:
    found, bad = decode_peers(FIRST + tail)
    assert len(found) + bad <= tail.count(b"\n") + 1
    with contextlib.suppress(ValueError):
        decode_peers(tail)


@pytest.mark.parametrize(
    "line",
    [
        {"id": "nobody", "addresses": ["/ip4/10.0.0.1/tcp/1"], "last_seen": 1},
        {"id": key("1").peer, "addresses": [], "last_seen": 1},
        {"id": key("1").peer, "addresses": ["/ip4/10.0.0.1/udp/1"], "last_seen": 1},
        {"id": key("1").peer, "addresses": [7], "last_seen": 1},
        {"id": key("1").peer, "addresses": ["/ip4/10.0.0.1/tcp/1"], "last_seen": True},
        {"id": key("1").peer, "addresses": ["/ip4/10.0.0.1/tcp/1"], "last_seen": float("nan")},
        {"id": key("1").peer, "addresses": ["/ip4/10.0.0.1/tcp/1"]},
        {
            "id": key("1").peer,
            "addresses": [f"/ip4/10.0.0.1/tcp/1/p2p/{key('2').peer}"],
            "last_seen": 1,
        },
    ],
)
def test_a_line_that_makes_no_sense_costs_that_line(line: dict[str, Any]) -> None:
    good = RememberedPeer(key("9").peer, ("/ip4/10.0.0.9/tcp/1",), 9.0)
    raw = FIRST + json.dumps(line).encode() + b"\n" + encode_peers([good])[len(FIRST) :]
    assert decode_peers(raw) == ([good], 1)


def test_no_more_is_read_than_is_kept() -> None:
    many = [RememberedPeer(key(str(n)).peer, ("/ip4/10.0.0.1/tcp/1",), 1.0) for n in range(400)]
    assert len(decode_peers(encode_peers(many))[0]) == MOST_PEERS
    with pytest.raises(ValueError, match="more than"):
        decode_peers(bytes(LARGEST_FILE + 1))


# ---- restarts


async def node(**settings: Any) -> Libp2pNetwork:
    network = await rumormill.open("gossipsub", listen=LOOPBACK, **settings)
    assert isinstance(network, Libp2pNetwork)
    return network


async def remembered(path: Path, other: Libp2pNetwork) -> None:
    """Let a node know another one, and end."""
    async with await node(remember_peers=path, bootstrap=[other.addresses[0]]) as first:
        await eventually(lambda: first.counters["peer_identified"] > 0, "they have met")


async def test_a_node_that_restarts_without_bootstrap_finds_its_network_again(path: Path) -> None:
    async with await node() as other:
        await remembered(path, other)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        async with await node(remember_peers=path) as again:
            await eventually(lambda: other.id in again.peers, "it is back")
            assert again.counters["discovery_connected"] == 1


async def test_dead_addresses_in_the_file_cost_time_and_nothing_more(path: Path) -> None:
    async with await node() as other:
        await remembered(path, other)
        (alive,) = decode_peers(path.read_bytes())[0]
        dead = [
            RememberedPeer(key(str(n)).peer, ("/ip4/127.0.0.1/tcp/1",), alive.last_seen + n)
            for n in range(1, 101)
        ]
        path.write_bytes(encode_peers([*dead, alive]))
        async with await node(remember_peers=path) as again:
            await eventually(lambda: other.id in again.peers, "it is back")


async def test_a_file_with_broken_lines_is_used_as_far_as_it_goes(path: Path) -> None:
    async with await node() as other:
        await remembered(path, other)
        first, *rest = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(first + b'{"id": "12D3Koo\n\xff\xfe\n' + b"".join(rest))
        async with await node(remember_peers=path) as again:
            await eventually(lambda: other.id in again.peers, "it is back")
            assert again.counters["ignored.bad_peers_file"] == 1


@pytest.mark.parametrize(
    "content", [b"\x00\xff" * 99, b'{"file": "rumormill peers", "version": 2}\n', b"dear diary"]
)
async def test_a_file_of_something_else_is_moved_aside_and_said_so_once(
    path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
    async with await node() as other:
        with caplog.at_level(logging.WARNING, "rumormill"):
            await remembered(path, other)
        (sentence,) = caplog.messages
        assert str(path) in sentence and "remember_peers" in sentence and "\n" not in sentence
        assert path.with_name("peers.bad").read_bytes() == content
        assert [each.peer for each in decode_peers(path.read_bytes())[0]] == [other.id]


async def test_a_node_that_meets_nobody_keeps_what_the_file_says(path: Path) -> None:
    async with await node() as other:
        await remembered(path, other)
    async with await node(remember_peers=path):
        pass
    assert [each.peer for each in decode_peers(path.read_bytes())[0]] == [other.id]


async def test_a_folder_in_the_place_of_the_file_is_named_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="remember_peers"):
        PeersFile(tmp_path)
