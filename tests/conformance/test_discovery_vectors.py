"""The kept bytes of peers that look for each other: all kinds are there, and they are whole."""

from __future__ import annotations

import hashlib

import pytest

from rumormill.libp2p.wire.frames import FrameReader
from tests.helpers.interop.discovery_vectors import RENDEZVOUS_KINDS, VectorLine, packet_kind, read

PEERS = ("rust", "js", "go")
KEY = b"\x12\x20" + hashlib.sha256(b"floodsub:weather").digest()


def check_frame(line: VectorLine) -> bytes:
    """The frame without its length, which is that of the rest of the line."""
    (frame,) = FrameReader(1024 * 1024).feed(line.raw)
    return frame


@pytest.mark.parametrize("peer", PEERS)
def test_requests_and_answers_of_kademlia(peer: str) -> None:
    lines = list(read("kademlia", peer))
    assert {line.kind for line in lines} == {
        "FIND_NODE request", "FIND_NODE answer", "GET_PROVIDERS request", "GET_PROVIDERS answer",
        "ADD_PROVIDER request",
    }  # fmt: skip
    for line in lines:
        frame = check_frame(line)
        if line.kind in ("GET_PROVIDERS request", "ADD_PROVIDER request"):
            assert KEY in frame


def test_requests_and_answers_of_rendezvous() -> None:
    lines = list(read("rendezvous", "rust"))
    assert {line.kind for line in lines} == set(RENDEZVOUS_KINDS.values())
    for line in lines:
        check_frame(line)


@pytest.mark.parametrize("peer", PEERS)
def test_queries_and_answers_of_mdns(peer: str) -> None:
    lines = list(read("mdns", peer))
    assert [line.kind for line in lines] == ["query", "answer"]
    assert [packet_kind(line.raw) for line in lines] == ["query", "answer"]
    assert b"dnsaddr=/ip4/" in lines[1].raw
