"""TLS handshakes that fail, take too long, or are too many."""

from __future__ import annotations

import asyncio
import datetime
import shutil
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from rumormill.core.limits import WorkLimits
from rumormill.core.transport import (
    CancelTransport,
    OpenTransport,
    TransportClosed,
    TransportFailed,
    TransportOpened,
    WriteBytes,
)
from rumormill.core.words import FAILURES
from rumormill.live.transports import tls_handshakes, tls_session
from rumormill.live.transports.client_hello import Offer
from rumormill.live.transports.tls_words import (
    OF_CERTIFICATES,
    OTHER,
    REASONS,
    REFUSED_CERTIFICATE,
    TIMED_OUT,
)
from tests.helpers.live.tls_certificates import DAY, authority, leaf, pem_of
from tests.helpers.live.tls_ends import (
    TlsEnd,
    always,
    client_context,
    closing,
    dial,
    port_of,
    server_context,
)

HARDLY_ANY = WorkLimits(share=1e-9, burst=1e-6)
HOUR = datetime.timedelta(hours=1)
PAST, FUTURE = (-2 * DAY, -HOUR), (HOUR, DAY)


def client_as(valid: tuple[datetime.timedelta, datetime.timedelta]) -> ssl.SSLContext:
    return authority().context(authority().issue("client", valid), server=False)


def server_as(valid: tuple[datetime.timedelta, datetime.timedelta]) -> ssl.SSLContext:
    return authority().context(authority().issue("server", valid), server=True)


def stranger(*, server: bool) -> ssl.SSLContext:
    """Of another authority, and trusts ours."""
    context = authority().context(authority(number=1).issue("stranger"), server=server)
    context.load_verify_locations(cadata=authority(number=1).pem)
    return context


def without_certificate() -> ssl.SSLContext:
    return authority().context(None, server=False)


def old_fashioned() -> ssl.SSLContext:
    context = client_context()
    with pytest.warns(DeprecationWarning):
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


Case = tuple[Callable[[], ssl.SSLContext], str, str]
"""Who comes; why that one is refused; and what that one is told."""

REFUSED_CLIENTS: dict[str, Case] = {
    "no certificate": (without_certificate, "no_certificate", "handshake_refused"),
    "expired": (lambda: client_as(PAST), "certificate_expired", "our_certificate_expired"),
    "not yet valid": (
        lambda: client_as(FUTURE), "certificate_not_yet_valid", "our_certificate_refused",
    ),
    "another authority": (
        lambda: stranger(server=False), "certificate_of_another_ca",
        "our_certificate_of_another_ca",
    ),
    "old version": (old_fashioned, "protocol_version", "protocol_version"),
    "other kind": (
        lambda: client_context("rsa"), "nothing_in_common", "handshake_refused",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED_CLIENTS)
async def test_a_client_that_is_not_let_in_is_told_why_as_we_are(name: str) -> None:
    context, seen, told = REFUSED_CLIENTS[name]
    async with closing(TlsEnd(client=context()), TlsEnd()) as (left, right):
        await dial(left, right)
        assert await right.failure() == seen
        assert await left.first(TransportFailed) == TransportFailed(7, told)
        assert left.inputs == [TransportFailed(7, told)]
        assert right.inputs == []
        assert len(right.failed) == 1


REFUSED_SERVERS: dict[str, Case] = {
    "expired": (lambda: server_as(PAST), "certificate_expired", "our_certificate_expired"),
    "not yet valid": (
        lambda: server_as(FUTURE), "certificate_not_yet_valid", "our_certificate_refused",
    ),
    "another authority": (
        lambda: stranger(server=True), "certificate_of_another_ca",
        "our_certificate_of_another_ca",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED_SERVERS)
async def test_a_server_that_is_not_trusted_is_told_why_as_we_are(name: str) -> None:
    context, seen, told = REFUSED_SERVERS[name]
    async with closing(TlsEnd(), TlsEnd(server={"": always(context())})) as (left, right):
        await dial(left, right)
        assert await left.first(TransportFailed) == TransportFailed(7, seen)
        assert await right.failure() == told
        assert (left.inputs, right.inputs) == ([TransportFailed(7, seen)], [])


async def test_a_failure_comes_with_a_sentence() -> None:
    async with closing(TlsEnd(client=client_as(PAST)), TlsEnd()) as (left, right):
        await dial(left, right)
        await right.failure()
        assert right.failed == [("certificate_expired", "certificate has expired")]


def test_every_reason_is_a_short_name() -> None:
    for reason in (*REASONS.values(), *OF_CERTIFICATES.values()):
        assert reason.replace("_", "").isalpha()
        assert reason.islower()


# ---- those that do not speak TLS


@asynccontextmanager
async def a_stranger_at(
    end: TlsEnd,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    (listening,) = await end.tls.listen(["127.0.0.1:0"])
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(listening))
    try:
        yield reader, writer
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("garbage", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "not_tls"),
        (b"garbage, and a lot of it" * 100, "not_tls"),
        (b"\x16\x03\x01\xff\xff" + bytes(100), "bad_record"),
        (b"\x16\x03\x01\x00\x04\x01\x00\x00\x00", "bad_record"),
        (b"\x16\x03\x01\x00\x04\x02\x00\x00\x00", "tls_error"),
    ],
)
async def test_what_is_no_hello_is_one_failure_and_no_harm(garbage: bytes, reason: str) -> None:
    async with closing(TlsEnd(), TlsEnd()) as (server, client):
        async with a_stranger_at(server) as (reader, writer):
            writer.write(garbage)
            assert await server.failure() == reason
            await reader.read()
        await dial(client, server)
        await client.first(TransportOpened)


async def test_a_client_that_goes_away_in_the_handshake_is_told() -> None:
    async with closing(TlsEnd()) as (server,), a_stranger_at(server) as (_, writer):
        writer.write(b"\x16\x03\x01")
        writer.close()
        assert await server.failure() == "closed_in_handshake"
        assert server.inputs == []


async def test_a_server_that_goes_away_in_the_handshake_is_a_dial_that_failed() -> None:
    async with closing(TlsEnd()) as (client,):
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client.tls.open(OpenTransport(1, f"127.0.0.1:{port}"))
        failed = await client.first(TransportFailed)
        assert failed.reason in ("closed_in_handshake", "connection_reset")
        server.close()


async def test_a_handshake_of_too_many_bytes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_session, "MOST_HANDSHAKE_BYTES", 100)
    async with closing(TlsEnd(), TlsEnd()) as (left, right):
        await dial(left, right)
        assert await right.failure() == "handshake_too_long"
        await left.first(TransportFailed)


async def test_a_hello_in_small_pieces_chooses_as_one_in_one_piece() -> None:
    offers: list[Offer] = []
    context = server_context()

    def choose(offer: Offer) -> ssl.SSLContext:
        offers.append(offer)
        return context

    async with closing(TlsEnd(server={"": choose})) as (server,):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = client_context().wrap_bio(incoming, outgoing)
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        async with a_stranger_at(server) as (reader, writer):
            for byte in outgoing.read():
                writer.write(bytes((byte,)))
                await writer.drain()
                await asyncio.sleep(0)
            assert (await reader.readexactly(1)) == b"\x16"
    assert [offer.groups for offer in offers] == [(22,)]


# ---- those that take too long, or are too many


async def test_a_handshake_has_its_time_however_its_bytes_dribble_in() -> None:
    async with closing(TlsEnd(handshake_timeout=0.2)) as (server,):
        async with a_stranger_at(server) as (reader, writer):
            writer.write(b"\x16\x03\x01\x20\x00")
            ended = asyncio.ensure_future(reader.read())
            while not ended.done():
                writer.write(b"\x01")
                await asyncio.wait([ended], timeout=0.01)
            await asyncio.gather(ended, return_exceptions=True)  # an end of one kind or the other
        assert server.failed == [("handshake_timed_out", "")]


async def test_a_server_that_says_nothing_is_a_dial_that_timed_out() -> None:
    async with closing(TlsEnd(handshake_timeout=0.05)) as (client,):
        server = socket.create_server(("127.0.0.1", 0))
        client.tls.open(OpenTransport(1, f"127.0.0.1:{server.getsockname()[1]}"))
        assert await client.first(TransportFailed) == TransportFailed(1, "handshake_timed_out")
        server.close()


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"max_handshakes": 3}, "too_many_handshakes"),
        ({"max_handshakes_of_address": 3}, "too_many_handshakes_of_address"),
    ],
)
async def test_half_handshakes_are_bounded_and_those_beyond_are_cut(
    limits: dict[str, Any], reason: str
) -> None:
    async with closing(TlsEnd(**limits), TlsEnd()) as (server, client):
        (listening,) = await server.tls.listen(["127.0.0.1:0"])
        flood = [await asyncio.open_connection("127.0.0.1", port_of(listening)) for _ in range(10)]
        await server.until(lambda: len(server.failed) == 7)
        assert server.failed == [(reason, "")] * 7
        sizes = server.tls.sizes()
        assert (sizes["handshakes"], sizes["lingering"]) == (3, 0)
        for _, writer in flood:
            writer.close()
        await server.until(lambda: len(server.failed) == 10)
        assert server.tls.sizes()["handshakes"] == 0
        client.tls.open(OpenTransport(1, listening))
        await client.first(TransportOpened)


async def test_others_get_in_while_one_address_keeps_half_handshakes() -> None:
    async with closing(TlsEnd(max_handshakes_of_address=2), TlsEnd()) as (
        server,
        client,
    ):
        (listening, *_) = await server.tls.listen(["0.0.0.0:0"])
        port = port_of(listening)
        flood = [
            await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.9", 0))
            for _ in range(5)
        ]
        await server.until(lambda: len(server.failed) == 3)
        client.tls.open(OpenTransport(1, f"127.0.0.1:{port}"))
        await client.first(TransportOpened)
        for _, writer in flood:
            writer.close()


async def test_a_handshake_that_dawdles_makes_room_for_a_newcomer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All are of one address, as behind a NAT."""
    monkeypatch.setattr(tls_handshakes, "DAWDLING", -1.0)
    async with closing(TlsEnd(max_handshakes_of_address=3), TlsEnd()) as (server, client):
        (listening,) = await server.tls.listen(["127.0.0.1:0"])
        flood = [await asyncio.open_connection("127.0.0.1", port_of(listening)) for _ in range(10)]
        client.tls.open(OpenTransport(1, listening))
        await client.first(TransportOpened)
        made_room = [detail for reason, detail in server.failed if reason == "made_room"]
        assert len(made_room) == len(server.failed) == 8
        assert all(detail.startswith("for 127.0.0.1:") for detail in made_room)
        for _, writer in flood:
            writer.close()


async def test_who_makes_us_work_for_handshakes_that_fail_has_to_wait_and_others_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tls_handshakes, "LONGEST_WAIT", 0.5)
    intruder, server = TlsEnd(without_certificate()), TlsEnd(failed_work=HARDLY_ANY)
    async with closing(intruder, server):
        (listening, *_) = await server.tls.listen(["0.0.0.0:0"])
        for number in range(3):
            intruder.tls.open(OpenTransport(number, listening))
            await intruder.until(lambda: len(intruder.all(TransportFailed)) > number)  # noqa: B023
        assert [reason for reason, _ in server.failed] == ["no_certificate"] * 3
        assert len(server.waits) == 2
        assert all(0.0 < seconds <= 0.5 for seconds in server.waits)
        # Another address is another owner: that of the intruder is 127.0.0.1, as ours would be.
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port_of(listening), local_addr=("127.0.0.9", 0),
            ssl=client_context(), server_hostname="",
        )  # fmt: skip
        assert (await server.first(TransportOpened)).address.startswith("127.0.0.9:")
        assert len(server.waits) == 2
        writer.close()
        assert await reader.read() == b""


async def test_an_honest_client_of_the_same_address_has_to_wait_and_gets_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It waits once, however large the debts are."""
    monkeypatch.setattr(tls_handshakes, "LONGEST_WAIT", 0.05)
    intruder, honest = TlsEnd(without_certificate()), TlsEnd()
    async with closing(intruder, honest, TlsEnd(failed_work=HARDLY_ANY)) as (_, _, server):
        (listening,) = await server.tls.listen(["127.0.0.1:0"])
        for number in range(20):
            intruder.tls.open(OpenTransport(number, listening))
        await server.until(lambda: server.failed)
        honest.tls.open(OpenTransport(1, listening))
        await honest.first(TransportOpened)
        assert all(0.0 < seconds <= 0.05 for seconds in server.waits)
        await server.until(lambda: len(server.failed) == 20)


async def test_debts_are_forgotten_after_the_longest_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may have the address then."""
    monkeypatch.setattr(tls_handshakes, "LONGEST_WAIT", 0.05)
    intruder, later = TlsEnd(without_certificate()), TlsEnd()
    async with closing(intruder, later, TlsEnd(failed_work=HARDLY_ANY)) as (_, _, server):
        (listening,) = await server.tls.listen(["127.0.0.1:0"])
        for number in range(20):
            intruder.tls.open(OpenTransport(number, listening))
        await server.until(lambda: len(server.failed) == 20)
        await asyncio.sleep(0.06)
        waits = len(server.waits)
        later.tls.open(OpenTransport(1, listening))
        await later.first(TransportOpened)
        assert len(server.waits) == waits


async def test_handshakes_that_succeed_are_charged_to_nobody() -> None:
    async with closing(TlsEnd(), TlsEnd(failed_work=HARDLY_ANY)) as (client, server):
        (listening,) = await server.tls.listen(["127.0.0.1:0"])
        for number in range(3):
            client.tls.open(OpenTransport(number, listening))
            await server.until(lambda: len(server.all(TransportOpened)) > number)  # noqa: B023
        assert server.failed == []


async def test_what_stands_is_no_handshake_any_more() -> None:
    async with closing(TlsEnd(max_handshakes=1), TlsEnd()) as (server, client):
        (listening,) = await server.tls.listen(["127.0.0.1:0"])
        for number in range(3):
            client.tls.open(OpenTransport(number, listening))
            await server.until(lambda: len(server.all(TransportOpened)) > number)  # noqa: B023
        assert server.failed == []


# ---- cancelled


async def test_a_dial_that_is_cancelled_in_its_handshake_is_not_heard_of() -> None:
    async with closing(TlsEnd()) as (client,):
        said: asyncio.Queue[bytes] = asyncio.Queue()

        async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            said.put_nowait(await reader.read(5))
            with suppress(ConnectionResetError):
                await reader.read()
            writer.close()
            said.put_nowait(b"")

        server = await asyncio.start_server(listen, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client.tls.open(OpenTransport(1, f"127.0.0.1:{port}"))
        assert await said.get()  # the hello is there
        assert client.tls.sizes()["handshakes"] == 1
        client.tls.cancel(CancelTransport(1))
        client.tls.cancel(CancelTransport(1))
        assert await said.get() == b""
        assert (client.inputs, client.tls.sizes()["handshakes"]) == ([], 0)
        server.close()


async def test_a_dial_that_is_cancelled_at_once_is_not_heard_of() -> None:
    async with closing(TlsEnd(), TlsEnd()) as (left, right):
        listening = await dial(left, right)
        left.tls.cancel(CancelTransport(7))
        left.tls.open(OpenTransport(8, listening))
        assert (await left.first(TransportOpened)).dial == 8
        assert len(left.inputs) == 1


async def test_closing_ends_handshakes_that_are_under_way() -> None:
    async with closing(TlsEnd()) as (server,), a_stranger_at(server) as (reader, writer):
        writer.write(b"\x16\x03")
        while not server.tls.sizes()["handshakes"]:
            await asyncio.sleep(0)
        await server.tls.close()
        with suppress(ConnectionResetError):
            await reader.read()
        assert (server.inputs, server.failed) == ([], [])


# ---- renegotiation


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl")
async def test_an_attempt_to_renegotiate_is_refused_and_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "client.pem").write_bytes(pem_of(leaf("rsa", "client")))
    (tmp_path / "ca.pem").write_text(authority("rsa").pem)
    server = TlsEnd(server={"": always(server_context("rsa"))})
    other = TlsEnd(client=client_context("rsa"))
    async with closing(server, other):
        (listening,) = await server.tls.listen(["127.0.0.1:0"])
        other.tls.open(OpenTransport(1, listening))
        number = (await other.first(TransportOpened)).connection
        client = await asyncio.create_subprocess_exec(
            "openssl", "s_client", "-connect", listening, "-tls1_2",
            "-cert", tmp_path / "client.pem", "-CAfile", tmp_path / "ca.pem",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        assert client.stdin is not None
        await server.until(lambda: len(server.all(TransportOpened)) == 2)
        client.stdin.write(b"hello\n")
        await server.until(lambda: server.received == b"hello\n")
        client.stdin.write(b"R\n")
        said, _ = await client.communicate()
        assert b"RENEGOTIATING" in said
        assert b"no renegotiation" in said
        await server.first(TransportClosed)
        other.tls.write(WriteBytes(number, b"all is well"))
        await server.until(lambda: server.received == b"hello\nall is well")
        assert server.failed == []


def test_every_reason_that_names_a_certificate_has_a_sentence() -> None:
    reasons = {*OF_CERTIFICATES.values(), *REASONS.values(), REFUSED_CERTIFICATE, OTHER, TIMED_OUT}
    assert reasons - set(FAILURES) == {"bad_record"}
