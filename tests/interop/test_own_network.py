"""The network that a test makes for itself: multicast goes round in it, and never out of it."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
from pathlib import Path

import pytest

from tests.helpers.interop.network_namespace import NetworkNamespace

GROUP = "224.0.0.251"
PATIENCE = 10


def listener(address: str) -> socket.socket:
    """A socket that hears what is said to mDNS's group on the interface with this address."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((GROUP, 5353))
    membership = struct.pack("4s4s", socket.inet_aton(GROUP), socket.inet_aton(address))
    made.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    made.settimeout(PATIENCE)
    return made


def test_multicast_goes_round_in_it(lan: NetworkNamespace) -> None:
    with listener(lan.address) as hears, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as says:
        says.sendto(b"anybody here?", (GROUP, 5353))
        data, sender = hears.recvfrom(100)
    assert (data, sender[0]) == (b"anybody here?", lan.address)


def test_a_process_started_in_it_belongs_to_it(lan: NetworkNamespace) -> None:
    told = subprocess.run(["ip", "-brief", "address"], capture_output=True, text=True, check=True)
    names = {line.split()[0].partition("@")[0] for line in told.stdout.splitlines()}
    assert names == {"lo", lan.interface, "loose"}


def test_nothing_of_it_is_seen_from_outside() -> None:
    before = socket.if_nameindex()
    with NetworkNamespace.make() as one, NetworkNamespace.make() as other:
        with one.entered():
            assert socket.if_nameindex() != before
            server = socket.create_server((one.address, 0))
        port = server.getsockname()[1]
        assert socket.if_nameindex() == before
        # The socket stays where it was made: there it is reached, and from nowhere else.
        with server:
            with one.entered():
                socket.create_connection((one.address, port), PATIENCE).close()
            with other.entered(), pytest.raises(ConnectionRefusedError):
                socket.create_connection((other.address, port), PATIENCE)


def test_it_is_gone_when_it_is_removed() -> None:
    namespace = NetworkNamespace.make()
    namespace.remove()
    with pytest.raises(FileNotFoundError), namespace.entered():
        pass


def test_without_root_the_reason_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUMORMILL_REQUIRE_PEERS", raising=False)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(pytest.skip.Exception, match="a network of its own needs root"):
        NetworkNamespace.make()


def test_where_it_is_forbidden_the_reason_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RUMORMILL_REQUIRE_PEERS", raising=False)
    unshare = tmp_path / "unshare"
    unshare.write_text("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n")
    unshare.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(pytest.skip.Exception, match="Operation not permitted"):
        NetworkNamespace.make()
