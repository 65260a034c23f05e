"""TLS connections that stand: bytes, records, back-pressure, rests, ends."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from rumormill.core.errors import LocalProtocolError
from rumormill.core.transport import (
    BytesReceived,
    CloseTransport,
    OpenTransport,
    RestTransport,
    TransportClosed,
    TransportOpened,
    WriteBytes,
    WriteReady,
)
from rumormill.live.transports import turns
from rumormill.live.transports.tls_session import PIECE
from tests.helpers.live.tls_certificates import leaf
from tests.helpers.live.tls_ends import (
    TlsEnd,
    always,
    both_kinds,
    client_context,
    closing,
    connect,
    port_of,
    server_context,
)

RECORD, ALERT = 1 << 14, 21


class Client:
    """A client that is not ours, record by record."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        context: ssl.SSLContext | None = None,
        session: ssl.SSLSession | None = None,
    ) -> None:
        self.reader, self.writer = reader, writer
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = context or client_context()
        self.ssl = context.wrap_bio(self.incoming, self.outgoing, session=session)

    async def record(self) -> tuple[int, bytes]:
        """The next record, as it is on the wire: its type, and all of it."""
        header = await self.reader.readexactly(5)
        body = await self.reader.readexactly(int.from_bytes(header[3:5], "big"))
        return header[0], header + body

    async def handshake(self) -> None:
        while True:
            try:
                self.ssl.do_handshake()
            except ssl.SSLWantReadError:
                self.flush()
                self.incoming.write((await self.record())[1])
            else:
                return self.flush()

    def flush(self) -> None:
        self.writer.write(self.outgoing.read())

    async def packet(self) -> bytes:
        """What is in the next record; empty at the end."""
        _, record = await self.record()
        self.incoming.write(record)
        return self.ssl.read(RECORD)


@asynccontextmanager
async def a_client_of(end: TlsEnd) -> AsyncIterator[tuple[Client, int]]:
    (listening,) = await end.tls.listen(["127.0.0.1:0"])
    client = Client(*await asyncio.open_connection("127.0.0.1", port_of(listening)))
    await client.handshake()
    number = (await end.first(TransportOpened)).connection
    try:
        yield client, number
    finally:
        client.writer.close()


@pytest.mark.parametrize("address", ["127.0.0.1:0", "[::1]:0"])
async def test_bytes_travel_both_ways(address: str) -> None:
    async with closing(TlsEnd(), TlsEnd()) as (left, right):
        ours, theirs = await connect(left, right, address)
        left.tls.write(WriteBytes(ours, b"ping"))
        await right.until(lambda: right.received == b"ping")
        right.tls.write(WriteBytes(theirs, b"pong"))
        await left.until(lambda: left.received == b"pong")


async def test_each_end_is_told_the_certificate_of_the_other() -> None:
    async with closing(TlsEnd(), TlsEnd()) as (left, right):
        await connect(left, right)
        assert left.all(TransportOpened)[0].credentials == leaf("ec", "server").der
        assert right.all(TransportOpened)[0].credentials == leaf("ec", "client").der


async def test_clients_of_both_kinds_are_served_at_one_port() -> None:
    server = TlsEnd(server={"": both_kinds()})
    kinds = ("ec", "rsa")
    clients = [TlsEnd(client=client_context(kind)) for kind in kinds]
    async with closing(server, *clients):
        (listening,) = await server.tls.listen(["127.0.0.1:0"])
        for client, kind in zip(clients, kinds, strict=True):
            client.tls.open(OpenTransport(1, listening))
            opened = await client.first(TransportOpened)
            assert opened.credentials == leaf(kind, "server").der
        await server.until(lambda: len(server.all(TransportOpened)) == 2)
        shown = [each.credentials for each in server.all(TransportOpened)]
        assert shown == [leaf(kind, "client").der for kind in kinds]
        assert server.failed == []


async def test_each_service_has_its_own_context() -> None:
    contexts = {"": always(server_context("ec")), "channel": always(server_context("rsa"))}
    server = TlsEnd(server=contexts)
    client = TlsEnd(client=client_context("rsa"))
    async with closing(server, client):
        await server.tls.listen(["127.0.0.1:0"])
        (listening,) = await server.tls.listen(["127.0.0.1:0"], "channel")
        client.tls.open(OpenTransport(1, listening))
        assert (await server.first(TransportOpened)).service == "channel"
        with pytest.raises(LocalProtocolError, match="'nothing'"):
            await server.tls.listen(["127.0.0.1:0"], "nothing")


async def test_a_session_that_is_taken_up_again_shows_the_certificate_too() -> None:
    async with closing(TlsEnd()) as (server,):
        (listening,) = await server.tls.listen(["127.0.0.1:0"])
        context, session = client_context(), None
        for number in (1, 2):
            streams = await asyncio.open_connection("127.0.0.1", port_of(listening))
            client = Client(*streams, context, session)
            await client.handshake()
            await server.until(lambda: len(server.all(TransportOpened)) == number)  # noqa: B023
            assert client.ssl.session_reused is (number == 2)
            session = client.ssl.session
            client.writer.close()
        shown = [each.credentials for each in server.all(TransportOpened)]
        assert shown == [leaf("ec", "client").der] * 2


async def test_names_of_hosts_are_not_checked_and_who_wants_that_is_told() -> None:
    with pytest.raises(LocalProtocolError, match="check_hostname"):
        TlsEnd(client=ssl.create_default_context())


# ---- records


async def test_each_write_is_a_record_and_those_of_one_turn_leave_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with closing(TlsEnd()) as (server,), a_client_of(server) as (client, number):
        sent: list[int] = []
        write = server.tls._tcp.write

        def noted(effect: WriteBytes) -> None:
            sent.append(len(effect.data))
            write(effect)

        monkeypatch.setattr(server.tls._tcp, "write", noted)
        packets = [b"one", b"", b"two", bytes(RECORD), b"three"]
        for packet in packets:
            server.tls.write(WriteBytes(number, packet))
        assert sent == []
        found = [await client.packet() for _ in range(4)]
        assert found == [packet for packet in packets if packet]
        assert len(sent) == 1


async def test_what_the_machine_answers_leaves_in_the_same_turn_as_records_of_their_own() -> None:
    async with closing(TlsEnd()) as (server,), a_client_of(server) as (client, number):
        feed = server.tls.feed

        def answer(input: Any) -> None:
            feed(input)
            if isinstance(input, BytesReceived):
                for word in (b"first", b"second"):
                    server.tls.write(WriteBytes(number, word))

        server.tls.feed = answer
        client.ssl.write(b"question")
        client.flush()
        assert [await client.packet(), await client.packet()] == [b"first", b"second"]


@pytest.mark.parametrize("size", [RECORD + 1, PIECE, PIECE + 1, (5 << 20) + 7])
async def test_what_is_longer_than_a_record_arrives_whole(size: int) -> None:
    data = bytes(range(251)) * (size // 251 + 1)
    async with closing(TlsEnd(), TlsEnd()) as (left, right):
        ours, theirs = await connect(left, right)
        left.tls.write(WriteBytes(ours, b"before"))
        left.tls.write(WriteBytes(ours, data[:size]))
        left.tls.write(WriteBytes(ours, b"after"))
        right.tls.write(WriteBytes(theirs, data[:size]))
        await right.until(lambda: len(right.received) == size + 11)
        assert right.received == b"before" + data[:size] + b"after"
        await left.until(lambda: left.received == data[:size])


async def test_what_comes_with_the_end_of_the_handshake_is_not_lost() -> None:
    async with closing(TlsEnd()) as (server,):
        (listening,) = await server.tls.listen(["127.0.0.1:0"])
        client = Client(*await asyncio.open_connection("127.0.0.1", port_of(listening)))
        while True:  # as in a handshake, but for what is sent at its end
            try:
                client.ssl.do_handshake()
                break
            except ssl.SSLWantReadError:
                # TLS 1.2: the client's last flight is sent before the handshake is done.
                client.flush()
                client.incoming.write((await client.record())[1])
        client.ssl.write(b"at once")
        client.ssl.write(b", and more")
        client.flush()
        await server.until(lambda: server.received == b"at once, and more")
        client.writer.close()


async def test_bytes_that_dribble_in_arrive_whole() -> None:
    async with closing(TlsEnd()) as (server,), a_client_of(server) as (client, _):
        client.ssl.write(b"slowly")
        for byte in client.outgoing.read():
            client.writer.write(bytes((byte,)))
            await asyncio.sleep(0)
        await server.until(lambda: server.received == b"slowly")


# ---- flow


async def test_a_socket_that_is_full_says_so_and_says_when_it_is_not() -> None:
    async with closing(TlsEnd()) as (server,), a_client_of(server) as (client, number):
        size = 0
        while not server.all(WriteReady):
            server.tls.write(WriteBytes(number, bytes(1 << 20)))
            size += 1 << 20
            await asyncio.sleep(0)
        assert server.all(WriteReady) == [WriteReady(number, False)]
        while size:
            size -= len(await client.packet())
        await server.until(lambda: len(server.all(WriteReady)) == 2)
        assert server.all(WriteReady)[1] == WriteReady(number, True)


async def test_small_writes_of_one_turn_fill_a_socket_too() -> None:
    async with closing(TlsEnd()) as (server,), a_client_of(server) as (_, number):
        for _ in range(100_000):
            server.tls.write(WriteBytes(number, bytes(1000)))
            if server.all(WriteReady):
                break
        assert server.all(WriteReady) == [WriteReady(number, False)]


async def test_a_resting_connection_is_not_read_and_goes_on_with_an_empty_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting: list[Callable[[], None]] = []

    def call_later(seconds: float, ring: Callable[[], None]) -> Any:
        waiting.append(ring)
        return SimpleNamespace(cancel=lambda: None)

    loop = asyncio.get_running_loop()
    timers = SimpleNamespace(call_soon=loop.call_soon, call_later=call_later)
    async with closing(TlsEnd(), TlsEnd()) as (left, right):
        ours, theirs = await connect(left, right)
        monkeypatch.setattr(turns, "asyncio", SimpleNamespace(get_running_loop=lambda: timers))
        right.tls.rest(RestTransport(theirs, 60.0))
        left.tls.write(WriteBytes(ours, b"resting"))
        right.tls.write(WriteBytes(theirs, b"written meanwhile"))
        await left.until(lambda: left.received == b"written meanwhile")
        assert right.all(BytesReceived) == []
        (ring,) = waiting
        ring()
        await right.until(lambda: right.received == b"resting")
        assert [each.data for each in right.all(BytesReceived)] == [b"", b"resting"]


# ---- ends


async def test_what_was_written_arrives_before_the_close() -> None:
    async with closing(TlsEnd(), TlsEnd()) as (left, right):
        ours, theirs = await connect(left, right)
        right.tls.write(WriteBytes(theirs, b"never read by the other end" * 1000))
        left.tls.write(WriteBytes(ours, bytes(8 << 20)))
        left.tls.write(WriteBytes(ours, b"last words"))
        left.tls.finish(CloseTransport(ours, "shutdown"))
        left.tls.finish(CloseTransport(ours, "again"))
        closed = await right.first(TransportClosed)
        assert len(right.received) == (8 << 20) + 10
        assert closed == TransportClosed(theirs, "closed")
        await left.first(TransportClosed)


async def test_a_close_is_told_as_one_to_the_other_end() -> None:
    async with closing(TlsEnd()) as (server,), a_client_of(server) as (client, number):
        server.tls.write(WriteBytes(number, b"bye"))
        server.tls.finish(CloseTransport(number, "shutdown"))
        assert await client.packet() == b"bye"
        assert await client.packet() == b""  # a close_notify
        assert await client.reader.read() == b""
        client.writer.close()
        assert await server.first(TransportClosed) == TransportClosed(number, "closed")


async def test_closing_all_says_goodbye_to_each() -> None:
    async with closing(TlsEnd()) as (server,), a_client_of(server) as (client, number):
        server.tls.write(WriteBytes(number, b"bye"))
        closed = asyncio.ensure_future(server.tls.close())
        assert [await client.packet(), await client.packet()] == [b"bye", b""]
        client.writer.close()
        await closed


async def test_the_close_of_the_other_end_closes_ours() -> None:
    async with closing(TlsEnd()) as (server,), a_client_of(server) as (client, number):
        client.ssl.write(b"last words")
        with pytest.raises(ssl.SSLWantReadError):
            client.ssl.unwrap()
        client.flush()
        assert (await client.record())[0] == ALERT
        assert await client.reader.read() == b""
        client.writer.close()
        assert await server.first(TransportClosed) == TransportClosed(number, "closed")
        assert server.received == b"last words"


async def test_a_peer_that_closes_without_a_word_has_closed() -> None:
    async with closing(TlsEnd()) as (server,), a_client_of(server) as (client, number):
        client.ssl.write(b"half of this is los")
        client.writer.write(client.outgoing.read()[:-5])
        client.writer.close()
        assert await server.first(TransportClosed) == TransportClosed(number, "closed")
        assert server.received == b""


async def test_what_is_no_record_ends_the_connection_after_what_came_before() -> None:
    async with closing(TlsEnd()) as (server,), a_client_of(server) as (client, number):
        client.ssl.write(b"good")
        client.flush()
        client.writer.write(b"\x17\x03\x03\x00\x20" + bytes(32))
        assert await server.first(TransportClosed) == TransportClosed(number, "bad_record")
        assert server.received == b"good"


async def test_writing_to_a_connection_that_is_closed_or_unknown_is_counted() -> None:
    async with closing(TlsEnd(), TlsEnd()) as (left, right):
        left.tls.write(WriteBytes(99, b"hello"))
        left.tls.finish(CloseTransport(99, "shutdown"))
        ours, _ = await connect(left, right)
        left.tls.write(WriteBytes(ours, b"last words"))
        left.tls.finish(CloseTransport(ours, "shutdown"))
        left.tls.write(WriteBytes(ours, b"too late"))
        await right.first(TransportClosed)
        assert right.received == b"last words"
        assert left.tls.sizes()["late_writes"] == 2


async def test_a_machine_that_closes_as_soon_as_it_hears_hears_nothing_more() -> None:
    async with closing(TlsEnd(), TlsEnd()) as (left, right):
        feed = right.tls.feed

        def close(input: Any) -> None:
            feed(input)
            if isinstance(input, TransportOpened):
                right.tls.finish(CloseTransport(input.connection, "not_wanted"))

        right.tls.feed = close
        ours, _ = await connect(left, right)
        left.tls.write(WriteBytes(ours, b"hello"))
        await left.first(TransportClosed)
        await right.first(TransportClosed)
        assert right.received == b""


# ---- what others may try


async def test_answers_that_nobody_reads_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that asks for new handshakes without end, and reads none of the refusals."""
    async with closing(TlsEnd()) as (server,), a_client_of(server) as (client, number):
        session = server.tls._sessions[number]

        def refuse(size: int) -> bytes:
            session._incoming.read()
            session._outgoing.write(b"a refusal")
            raise ssl.SSLWantReadError

        monkeypatch.setattr(session, "_read", refuse)
        client.writer.write(b"hello again")
        assert (await client.reader.readexactly(9)) == b"a refusal"
        assert server.all(TransportClosed) == []
        server.tls._fed(WriteReady(number, False))
        client.writer.write(b"hello again")
        assert await server.first(TransportClosed) == TransportClosed(number, "answers_not_read")


async def test_many_connections_at_once_each_have_their_own_bytes() -> None:
    async with closing(TlsEnd(), TlsEnd()) as (left, right):
        (listening,) = await right.tls.listen(["127.0.0.1:0"])
        for number in range(20):
            left.tls.open(OpenTransport(number, listening))
        await left.until(lambda: len(left.all(TransportOpened)) == 20)
        for opened in left.all(TransportOpened):
            left.tls.write(WriteBytes(opened.connection, b"%d" % opened.connection * 10))
        await right.until(lambda: len(right.all(BytesReceived)) == 20)
        found = {each.data for each in right.all(BytesReceived)}
        assert found == {b"%d" % each.connection * 10 for each in left.all(TransportOpened)}
