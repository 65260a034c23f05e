"""Handshakes that fail, dawdle or never end, at both ports of a node, while honest SDKs talk.

Attackers and honest ones have the same address here, as behind a NAT.
"""

from __future__ import annotations

import asyncio
import shutil
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from rumormill.bcos.live.chain_folder import extend_chain
from rumormill.live.transports import tls_handshakes
from tests.helpers.bcos.attacker import Attacker, context_of
from tests.helpers.bcos.besieged import ATTACKER_NODE, ATTACKER_SDK, Town, channel_of
from tests.helpers.live.siege import PATIENCE


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chain of somebody else."""
    folder = tmp_path_factory.mktemp("elsewhere") / "chain"
    extend_chain(folder, nodes=1, sdks=1, topic_keys=0)
    return folder


PORTS: dict[str, Callable[[Town], str]] = {
    "p2p": lambda town: town.node.addresses[0],
    "channel": lambda town: channel_of(town.node),
}


def failures(town: Town, reason: str) -> int:
    return town.node.counters[f"connection_failed.{reason}"]


async def fails(address: str, context: ssl.SSLContext) -> None:
    """Try a handshake that the node refuses, and wait until it has."""
    try:
        attacker = await Attacker.connect(address, context)
        assert await attacker.is_closed()
        attacker.cut()
    except (ConnectionError, ssl.SSLError):
        pass


@pytest.mark.parametrize("port", PORTS)
async def test_who_shows_no_certificate_of_the_chain_does_not_get_in(
    town: Town, elsewhere: Path, port: str
) -> None:
    address = PORTS[port](town)
    async with town.honest_traffic():
        await fails(address, context_of(None))
        await town.until(lambda: failures(town, "no_certificate") == 1)
        for unit in "sdk", "node":
            await fails(address, context_of(elsewhere / f"{unit}s" / "0", unit))
        await town.until(lambda: failures(town, "certificate_of_another_ca") == 2)
    assert town.node.counters["connection_failed"] == 3
    assert town.node.peers == (town.other.id,)
    assert town.node.sizes()["channel_sessions"] == 2


@pytest.mark.parametrize("port", PORTS)
async def test_who_does_not_speak_tls_is_hung_up_on(town: Town, port: str) -> None:
    address = PORTS[port](town)
    async with town.honest_traffic():
        for number, raw in enumerate((b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x2a" + bytes(38)), 1):
            attacker = await Attacker.connect(address, None)
            attacker.write(raw)
            assert await attacker.is_closed()
            attacker.cut()
            await town.until(lambda: failures(town, "not_tls") == number)  # noqa: B023


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl")
@pytest.mark.parametrize("port", PORTS)
async def test_who_wants_to_renegotiate_is_alone_with_that(town: Town, port: str) -> None:
    unit, number = {"p2p": ("node", ATTACKER_NODE), "channel": ("sdk", ATTACKER_SDK)}[port]
    folder = town.chain / f"{unit}s" / str(number)
    opened = town.node.counters["connection_opened"]
    async with town.honest_traffic():
        client = await asyncio.create_subprocess_exec(
            "openssl", "s_client", "-connect", PORTS[port](town), "-tls1_2",
            "-curves", "secp256k1", "-CAfile", folder / "ca.crt",
            "-cert", folder / f"{unit}.crt", "-cert_chain", folder / f"{unit}.crt",
            "-key", folder / f"{unit}.key",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        assert client.stdin is not None
        await town.until(lambda: town.node.counters["connection_opened"] > opened)
        client.stdin.write(b"R\n")
        said, _ = await asyncio.wait_for(client.communicate(), PATIENCE)
        assert b"RENEGOTIATING" in said
        assert b"no renegotiation" in said


@pytest.mark.parametrize("port", PORTS)
async def test_handshakes_that_dawdle_make_room(
    town: Town, port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_handshakes, "DAWDLING", -1.0)
    address = PORTS[port](town)
    async with town.honest_traffic():
        slow = [await Attacker.connect(address, None) for _ in range(64)]
        for each in slow:
            each.write(b"\x16\x03\x01\x02")  # a hello that never ends
        await town.until(lambda: town.node.sizes()["handshakes"] == 64)
        late = await town.sdk(4)
        assert late.peers
    assert failures(town, "made_room") == 1
    for each in slow:
        each.cut()


async def test_a_handshake_that_never_ends_has_its_time(idle_town: Town) -> None:
    town = idle_town
    await town.start(handshake_timeout=1.0)
    async with town.honest_traffic():
        slow = [await Attacker.connect(port(town), None) for port in PORTS.values()]
        for each in slow:
            each.write(b"\x16\x03\x01\x02")
            assert await each.is_closed()
    assert {each.address for each in slow} <= town.blamed(
        "connection_failed", "handshake_timed_out"
    )
    assert town.node.sizes()["handshakes"] == 0
    for each in slow:
        each.cut()


async def test_handshakes_that_keep_failing_wait_and_an_honest_one_gets_in(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_handshakes, "LONGEST_WAIT", 0.2)
    address, nobody = channel_of(town.node), context_of(None)
    over = False

    async def keep_failing() -> None:
        while not over:
            await fails(address, nobody)

    async with town.honest_traffic():
        failing = [asyncio.ensure_future(keep_failing()) for _ in range(8)]
        await town.until(lambda: town.node.counters["held_back.failed_handshakes"])
        late = await town.sdk(4)
        assert late.peers
        over = True
        await asyncio.gather(*failing)
    (blamed,) = {each.rpartition(":")[0] for each in town.blamed("held_back", "failed_handshakes")}
    assert blamed == "127.0.0.1"
