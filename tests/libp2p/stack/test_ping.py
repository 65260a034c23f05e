"""ping: the side that answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rumormill.libp2p.stack.ping import PING_SIZE, PingEcho


@given(st.lists(st.binary(max_size=100)))
def test_the_echo_gives_whole_pings_back_however_they_are_cut(pieces: list[bytes]) -> None:
    echo, sent, answered = PingEcho(), b"", b""
    for piece in pieces:
        sent += piece
        answered += echo.receive(piece)
        assert len(answered) % PING_SIZE == 0
        assert echo.pending == len(sent) - len(answered) < PING_SIZE
        assert sent.startswith(answered)
