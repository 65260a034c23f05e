"""TLS for a machine that speaks in connections: as :class:`~rumormill.live.transports.tcp.Tcp`.

The machine hears of a connection once the handshake is done, with the other end's certificate as
its credentials. A dial whose handshake fails is a :class:`TransportFailed`, with one of the reasons
of :mod:`~rumormill.live.transports.tls_words`; of one that somebody else has dialed ``on_failed``
hears, since the machine knows nothing of it.

    tls = Tls(driver.feed, addresses, server={"": choose}, client=context, on_failed=tell)
    tls.attach(driver)
    listening = await tls.listen(["127.0.0.1:0"])
    ...
    await tls.close()

Each :class:`WriteBytes` becomes one record, if it is no longer than a record may be: there are
programs that take what is in a record for a packet. Records of one turn leave together.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Never

from rumormill.core.addresses import Addresses, owner_of
from rumormill.core.errors import LocalProtocolError
from rumormill.core.limits import WorkLimits
from rumormill.core.transport import (
    BytesReceived,
    CancelTransport,
    CloseTransport,
    OpenTransport,
    RestTransport,
    TransportClosed,
    TransportFailed,
    TransportInput,
    TransportOpened,
    WriteBytes,
    WriteReady,
)
from rumormill.live.driver import Driver
from rumormill.live.transports.tcp import Tcp
from rumormill.live.transports.tls_handshakes import USUAL_WORK, HandshakeLimits, Handshakes
from rumormill.live.transports.tls_session import PIECE, ContextChoice, HandshakeError, Session
from rumormill.live.transports.tls_words import CLOSED, MADE_ROOM, TIMED_OUT, Failure

Failed = Callable[[str, str, str], object]
"""Told of a connection that came in and never stood: the address, a short reason, a sentence."""


class Tls:
    """All TLS connections of one node.

    * ``server``: by service, which context serves a client; ``client``: for what we dial. Names of
      hosts are not checked. Renegotiation is switched off in all of them.
    * ``handshake_timeout``: seconds for a handshake, all in all.
    * ``max_handshakes``, ``max_handshakes_of_address``: of those that others have dialed and are
      under way at once; one that dawdles makes room for one more, else that is cut off, and either
      told to ``on_failed``. ``failed_work``: what one address (of IPv6 a /64) may make us do by
      handshakes that fail; then its next ones have to wait, which ``on_wait`` hears.
    """

    def __init__(
        self,
        feed: Callable[[TransportInput], None],
        addresses: Addresses,
        *,
        server: Mapping[str, ContextChoice],
        client: ssl.SSLContext,
        on_failed: Failed = lambda address, reason, detail: None,
        on_wait: Callable[[str, float], object] = lambda address, seconds: None,
        handshake_timeout: float = 10.0,
        max_handshakes: int = 256,
        max_handshakes_of_address: int = 64,
        failed_work: WorkLimits = USUAL_WORK,
        close_timeout: float = 5.0,
        on_short: Callable[[], None] = lambda: None,
    ) -> None:
        if client.check_hostname:
            raise LocalProtocolError("names of hosts are not checked: set check_hostname to False")
        self.feed = feed
        self._tcp = Tcp(self._fed, addresses, close_timeout=close_timeout, on_short=on_short)
        self._addresses = addresses
        self._server, self._client = dict(server), client
        self._on_failed = on_failed
        self._on_wait = on_wait
        self._handshakes = Handshakes(
            HandshakeLimits(
                handshake_timeout, max_handshakes, max_handshakes_of_address, failed_work
            ),
            self._timed_out,
        )
        self._sessions: dict[int, Session] = {}
        self._unsent: list[Session] = []
        """Those with bytes to be sent at the end of the turn."""
        self._in_turn = False
        self._scheduled = False
        self._late_writes = 0

    def attach(self, driver: Driver[Never]) -> None:
        """Carry out what the driver's machine wants of its transport."""
        driver.on(OpenTransport, self.open)
        driver.on(CancelTransport, self.cancel)
        driver.on(WriteBytes, self.write)
        driver.on(CloseTransport, self.finish)
        driver.on(RestTransport, self.rest)

    def sizes(self) -> dict[str, int]:
        """As of TCP, where a connection is one from its first byte on; and handshakes under way."""
        sizes = self._tcp.sizes()
        sizes["late_writes"] += self._late_writes
        sizes["handshakes"] = len(self._handshakes)
        return sizes

    async def listen(self, addresses: Sequence[str], service: str = "") -> tuple[str, ...]:
        """Listen on each address; returns what others can dial, with the real ports."""
        if service not in self._server:
            raise LocalProtocolError(f"there is no context for the service {service!r}")
        return await self._tcp.listen(addresses, service)

    # ---- what the machine wants

    def open(self, effect: OpenTransport) -> None:
        """Dial; the answer is fed to the machine."""
        self._tcp.open(effect)

    def cancel(self, effect: CancelTransport) -> None:
        """Give up a dial; nothing is fed to the machine."""
        session = self._handshakes.of_dial(effect.dial)
        if session is None:
            self._tcp.cancel(effect)
        else:
            self._forget(session)
            self._tcp.cut(session.number)

    def write(self, effect: WriteBytes) -> None:
        """Write; it leaves at the end of the turn."""
        session = self._sessions.get(effect.connection)
        if session is None or session.closing or not session.established:
            self._late_writes += 1
            return
        data = effect.data
        if len(data) > PIECE:
            self._write_in_pieces(session, data)
        elif data:
            session.seal(data)
            if session.pending > PIECE:
                self._send(session)
        if not session.waits:
            self._send_soon(session)

    def _write_in_pieces(self, session: Session, data: bytes) -> None:
        view = memoryview(data)
        for start in range(0, len(data), PIECE):
            session.seal(view[start : start + PIECE])
            self._send(session)

    def finish(self, effect: CloseTransport) -> None:
        """Close a connection once what was written has left."""
        session = self._sessions.get(effect.connection)
        if session is not None and session.established:
            self._part(session)
            self._tcp.finish(effect)

    def rest(self, effect: RestTransport) -> None:
        """Read nothing of a connection for a while."""
        self._tcp.rest(effect)

    async def close(self, timeout: float | None = None) -> None:
        """Stop listening and dialing, close every connection, wait until all sockets are gone.

        What could not be written within ``timeout`` seconds is lost, on connections too that were
        given more time before.
        """
        for session in self._handshakes.all():
            self._forget(session)
            self._tcp.cut(session.number)
        for session in list(self._sessions.values()):
            self._part(session)
        await self._tcp.close(timeout)

    # ---- what the sockets bring

    def _fed(self, input: TransportInput) -> None:
        """What TCP would tell the machine."""
        if type(input) is BytesReceived:
            session = self._sessions.get(input.connection)
            if session is not None and not session.closing:
                self._in_turn = True
                try:
                    self._received(session, input)
                finally:
                    self._in_turn = False
                    if self._unsent:
                        self._send_all()
        elif type(input) is TransportOpened:
            self._begin(input)
        elif type(input) is TransportClosed:
            self._closed(input)
        elif type(input) is WriteReady:
            session = self._sessions.get(input.connection)
            if session is not None:
                session.blocked = not input.ready
                if session.established:
                    self.feed(input)
        else:
            self.feed(input)

    def _received(self, session: Session, input: BytesReceived) -> None:
        if session.established:
            # Without bytes, a rest has ended: the machine goes on with what it has kept.
            data = session.open(input.data) if input.data else b""
            self._hand_on(session, data, even_nothing=not input.data)
        elif not self._waits(session, input.data) and self._shake(session, input.data):
            self._stands(session)
            if not session.closing:
                self._hand_on(session, session.opened())

    def _hand_on(self, session: Session, data: bytes, even_nothing: bool = False) -> None:
        """Give the machine what was decrypted; then see whether the session is over."""
        if session.pending and not session.waits:  # OpenSSL has answered something by itself
            self._send_soon(session)
        if data or even_nothing:
            self.feed(BytesReceived(session.number, data))
        if session.failure is not None and not session.closing:
            self._part(session)
            self._tcp.finish(CloseTransport(session.number, session.failure.reason))

    def _closed(self, input: TransportClosed) -> None:
        session = self._sessions.pop(input.connection, None)
        if session is None:
            return
        if not session.established:
            reason = CLOSED if input.reason == "closed" else input.reason
            self._fail(session, Failure(reason))
            return
        session.closing = True
        if session.failure is not None and session.failure.reason != "closed":
            input = TransportClosed(input.connection, session.failure.reason)
        self.feed(input)

    # ---- handshakes

    def _begin(self, opened: TransportOpened) -> None:
        """A connection stands: let its handshake begin."""
        if opened.dial is not None:
            session = Session(opened, lambda offer: self._client)
        else:
            session = Session(opened, self._server[opened.service])
            session.owner = self._owner(opened.address)
            refusal = self._handshakes.refusal(session.owner)
            if refusal and not self._make_room(session):
                self._tcp.cut(session.number)
                self._on_failed(session.address, refusal, "")
                return
        self._sessions[session.number] = session
        self._handshakes.begin(session)
        if session.dial is not None:
            self._shake(session, b"")

    def _make_room(self, newcomer: Session) -> bool:
        """Have a handshake that dawdles end in favour of another."""
        dawdler = self._handshakes.dawdler(newcomer.owner)
        if dawdler is None:
            return False
        self._tcp.cut(dawdler.number)
        self._fail(dawdler, Failure(MADE_ROOM, f"for {newcomer.address}"))
        return True

    def _owner(self, address: str) -> str:
        try:
            return owner_of(self._addresses.parse(address).host)
        except LocalProtocolError:  # an address that the family writes and does not read
            return address

    def _waits(self, session: Session, data: bytes) -> bool:
        """Whether a handshake has to wait; what came is kept until its turn."""
        if session.waited or session.dial is not None:
            return False
        seconds = self._handshakes.wait(session)
        if not seconds:
            return False
        session.keep(data)
        self._on_wait(session.address, seconds)
        self._tcp.rest(RestTransport(session.number, seconds))
        return True

    def _shake(self, session: Session, data: bytes) -> bool:
        """Go on with a handshake; whether it is done now."""
        try:
            return session.shake(data)
        except HandshakeError as error:
            failure = error.failure
        finally:
            self._send(session)
        self._tcp.finish(CloseTransport(session.number, failure.reason))
        self._fail(session, failure)
        return False

    def _stands(self, session: Session) -> None:
        self._handshakes.end(session)
        session.established = True
        number, address, dial = session.number, session.address, session.dial
        self.feed(TransportOpened(number, address, dial, session.service, session.certificate()))

    def _timed_out(self, session: Session) -> None:
        self._tcp.cut(session.number)
        self._fail(session, Failure(TIMED_OUT))

    def _fail(self, session: Session, failure: Failure) -> None:
        """Tell whoever wants to know that a handshake came to nothing."""
        self._forget(session)
        if session.dial is not None:
            self.feed(TransportFailed(session.dial, failure.reason))
        else:
            self._handshakes.charge(session)
            self._on_failed(session.address, *failure)

    def _forget(self, session: Session) -> None:
        """A session that the machine never heard of is over."""
        session.closing = True
        self._handshakes.end(session)
        self._sessions.pop(session.number, None)

    # ---- sending

    def _part(self, session: Session) -> None:
        """Write nothing more: what there is leaves, and a goodbye."""
        if not session.closing:
            session.closing = True
            session.say_goodbye()
            self._send(session)

    def _send(self, session: Session) -> None:
        if session.pending:
            self._tcp.write(WriteBytes(session.number, session.sealed()))

    def _send_soon(self, session: Session) -> None:
        """Send at the end of the turn: of the connection that is served, or else of the loop."""
        session.waits = True
        self._unsent.append(session)
        if not self._in_turn and not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._end_of_turn)

    def _end_of_turn(self) -> None:
        self._scheduled = False
        self._send_all()

    def _send_all(self) -> None:
        # What is written meanwhile, because a socket is full, comes to the end of the list.
        unsent, self._unsent = self._unsent, []
        for session in unsent:
            session.waits = False
            self._send(session)
